"""Documents that equal an earlier one byte for byte are told from those that only share all shingles with it."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import twinset

Texts = dict[str, str]


def variants(seed: int) -> Texts:
    """Families of texts of equal words: some equal in every byte, others in other case or spacing."""
    rng = random.Random(seed)
    texts: Texts = {"empty 1": "", "empty 2": "", "short 1": "One", "short 2": "one", "short 3": "One"}
    for family in range(30):
        words = [f"w{rng.randrange(500)}" for _ in range(rng.randrange(6, 60))]
        forms = [" ".join(words), "  ".join(words), " ".join(words).upper(), ", ".join(words), " ".join([*words, "x"])]
        for member in range(rng.randrange(1, 9)):
            texts[f"{family:02}-{member}"] = rng.choice(forms)
    return dict(rng.sample(sorted(texts.items()), len(texts)))


def first_of_equals(texts: Texts) -> list[int]:
    """The place of the first text that is equal in every byte; a text without words is its own."""
    places: dict[str, int] = {}
    return [places.setdefault(text, place) if text else place for place, text in enumerate(texts.values())]


@pytest.mark.parametrize(
    "options", [{}, {"threads": 1, "batch_bytes": 4096}, {"memory": "512MB", "keep": "longest"}], ids=str
)
def test_equal_bytes_are_counted_and_named(tmp_path: Path, options: dict[str, Any]) -> None:
    texts = variants(1)
    done = twinset.dedup(texts, output=tmp_path / "out", **options)
    table = pq.read_table(tmp_path / "out" / "documents.parquet")
    expected = first_of_equals(texts)
    assert table["verbatim"].to_pylist() == expected
    copies = sum(first != place for place, first in enumerate(expected))
    assert done.summary["verbatim"] == copies
    assert done.summary["identical"] == sum(
        first != place for place, first in enumerate(table["content"].to_pylist())
    )
    assert 20 < copies < done.summary["identical"]
    assert twinset.find_pairs(texts).summary["verbatim"] == copies
    again = done.recut(threshold=0.95, output=tmp_path / "recut")
    assert again.summary["verbatim"] == copies
    assert pq.read_table(tmp_path / "recut" / "documents.parquet")["verbatim"].to_pylist() == expected


def test_groups_and_sides_are_apart() -> None:
    """A copy in another group, or on the other side, is no copy, and so no copy byte for byte."""
    rows = [{"id": str(number), "text": "the same few words here", "lang": "ab"[number % 2]} for number in range(4)]
    assert twinset.find_pairs(rows, by="lang").summary["verbatim"] == 2
    one, other = ["the same few words here"] * 2, ["the same few words here"] * 3
    counts = twinset.find_pairs(one, against=[other]).summary
    assert (counts["identical"], counts["verbatim"]) == (3, 3)  # one and two copies, each of their own side


def test_records_are_equal_in_all_columns() -> None:
    forms = ["Ann Lee", "ann lee", "Ann  Lee"]
    rows = [
        {"id": str(number), "name": name, "town": town}
        for number, (name, town) in enumerate(itertools.product([*forms, forms[0]], ["York", "york"]))
    ]
    counts = twinset.find_pairs(rows, text=["name", "town"]).summary
    assert (counts["identical"], counts["verbatim"]) == (7, 2)


def test_sets_of_equal_content_are_equal() -> None:
    """The elements of a set have no order."""
    counts = twinset.find_pairs([["a", "b", "c"], ["c", "b", "a"], ["a", "b"]], items="items").summary
    assert (counts["identical"], counts["verbatim"]) == (1, 1)
