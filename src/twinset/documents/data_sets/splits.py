"""The splits of a Hugging Face `DatasetDict`: each is a source of its own, with the name of the split."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Split:
    """A split of a `DatasetDict`: its name, its rows, and the whole."""

    name: str
    rows: Any
    whole: Any


def spread(sources: Sequence[object]) -> tuple[object, ...]:
    """Return the sources with the splits of each `DatasetDict` in its place.

    Examples
    --------
    >>> spread(["news.jsonl", ["one text"]])
    ('news.jsonl', ['one text'])
    """
    found: list[object] = []
    for one in sources:
        if has_splits(one):
            found += [Split(str(name), rows, one) for name, rows in one.items()]  # type: ignore[attr-defined]
        else:
            found.append(one)
    return tuple(found)


def has_splits(given: object) -> bool:
    """Whether it is a `DatasetDict` or an `IterableDatasetDict`; if it is, datasets is already loaded."""
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(given, (datasets.DatasetDict, datasets.IterableDatasetDict))


def is_data_set(given: object) -> bool:
    """Whether it is a `Dataset`, whose rows can be read in any order."""
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(given, datasets.Dataset)
