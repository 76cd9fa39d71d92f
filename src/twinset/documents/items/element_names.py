"""Read the elements of sets again from their sources, because names cannot be computed from hashes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import orjson

from twinset.documents.parts import Part
from twinset.options import ReadOptions
from twinset.schema import Places

_BATCH = 1 << 20


@dataclass(frozen=True, kw_only=True)
class _AsWritten(ReadOptions):
    """Options that read lists as text."""

    lists_as_text: ClassVar[bool] = True


def written_sets(part: Part, rows: Places) -> list[list[str] | None]:
    """The elements of some items of a part, by row; None where a row has none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from twinset.documents.sources import open_sources
    >>> opened = open_sources([[["a", 5], []]], ReadOptions.of(items="tags"), scratch=Path("scratch"))
    >>> written_sets(opened.parts[0], np.array([1, 0]))
    [[], ['a', '5']]
    """
    of_groups = part.elements(rows)
    return _lists_written(part, rows) if of_groups is None else of_groups


def _lists_written(part: Part, rows: Places) -> list[Any]:
    """The lists of some rows of a part."""
    values: list[Any] = [None] * len(rows)
    with _as_written(part):
        for chunk in part.chunks(_BATCH):
            positions = np.flatnonzero((rows >= chunk.first_row) & (rows < chunk.first_row + chunk.rows))
            if len(positions):
                texts = chunk.read(texts_only=True).texts
                for position in positions.tolist():
                    text: Any = texts[int(rows[position]) - chunk.first_row].as_py()
                    values[position] = None if text is None else orjson.loads(text)
    return values


def weighted_sets(part: Part, rows: Places) -> list[dict[str, float] | None]:
    """The elements of some weighted items of a part with their weights; None where a row has none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from twinset.documents.sources import open_sources
    >>> options = ReadOptions.of(items="tags", weight="counts")
    >>> opened = open_sources([[{"a": 2, "b": 0.5}]], options, scratch=Path("scratch"))
    >>> weighted_sets(opened.parts[0], np.array([0]))
    [{'a': 2.0, 'b': 0.5}]
    """
    of_groups = part.weights(rows)
    return _lists_written(part, rows) if of_groups is None else of_groups


@contextmanager
def _as_written(part: Part) -> Iterator[None]:
    """Make the part read its lists as text."""
    was = part.options
    known = {name for name, _ in ReadOptions.specs()}
    part.options = _AsWritten.of(**{name: getattr(was, name) for name, _ in was.specs() if name in known})
    try:
        yield
    finally:
        part.options = was
