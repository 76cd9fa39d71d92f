"""Thousands of copies and whole families in one bucket: answers stay right, and memory stays bounded."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.index.conftest import NewIndex, Place
from tests.index.corpora import Model, rows, rows_by_query, same, words

COPIES = 2000


@pytest.mark.parametrize("store", ["text", "shingles", "none"])
def test_copies(new_index: NewIndex, store: str) -> None:
    index = new_index(shingle="word:1", store=store)
    copied, other = " ".join(words(20, "w")), " ".join([*words(19, "w"), "different"])
    index.add({"first": copied, "other": other} | {f"c{number}": copied for number in range(COPIES)})
    assert len(rows(index.query(copied, threshold=0.95))) == COPIES + 1
    for found in (rows(index.query(copied, k=3)), rows(index.query(copied, k=3, threshold=0.9))):
        assert [row[:2] for row in found] == [("first", 1.0), ("c0", 1.0), ("c1", 1.0)]
    nearest = rows_by_query(index.query({"one": other, "two": copied, "three": other}, k=2))
    assert [row[0] for row in nearest["one"]] == [row[0] for row in nearest["three"]] == ["other", "first"]
    assert [row[0] for row in nearest["two"]] == ["first", "c0"]
    assert len(rows(index.similar_to("c7", threshold=0.95))) == COPIES
    assert index.remove(f"c{number}" for number in range(COPIES)) == COPIES
    assert index.verify() == []
    assert [row[0] for row in rows(index.query(copied))] == ["first", "other"]


def test_a_family_of_one_template(new_index: NewIndex) -> None:
    """All are a third to four fifths similar, so that most of them meet; none is an answer that is too far."""
    dice = random.Random(2)
    template = words(40, "t")
    texts = {}
    for number in range(200):
        own = dice.sample(range(40), dice.randint(4, 16))
        texts[str(number)] = " ".join(f"own{number}x{at}" if at in own else word for at, word in enumerate(template))
    index = new_index(shingle="word:1", threshold=0.5)
    index.add(texts)
    model = Model(texts, index.settings.options)
    answers = nearest = 0
    above, five = rows_by_query(index.query(texts)), rows_by_query(index.query(texts, k=5))
    for id in list(texts)[::10]:
        candidates = model.candidates(texts[id])
        assert same(above[id], model.answers(texts[id], 0.5, among=candidates))
        assert same(five[id], model.nearest(texts[id], 5))
        answers, nearest = answers + len(above[id]), nearest + len(candidates)
    assert nearest > 1.5 * answers > 100


CROWD = """
import json, resource, sys
import twinset

copied = " ".join(f"w{number}" for number in range(20))
with twinset.Index.create(sys.argv[1], shingle="word:1", store=sys.argv[2]) as index:
    index.add({str(number): copied for number in range(10_000)})
    index.query([copied] * 3, k=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = index.query([copied] * 200, k=2)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"answers": found.num_rows, "ids": sorted(set(found["id"].to_pylist())), "grown": after - before}))
"""


def test_memory_does_not_grow_with_what_queries_meet(place: Place, where: str) -> None:
    """200 queries meet 10,000 copies in 16 bands each: 32 million rows, which took 850 megabytes at once."""
    command = [sys.executable, "-c", CROWD, where, "none" if place.kind == "postgres" else "text"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = json.loads(done.stdout)
    assert (found["answers"], found["ids"]) == (400, ["0", "1"])
    assert found["grown"] < 300_000, "kilobytes"


def test_nothing_is_left_open(tmp_path: Path) -> None:
    """An index that was closed leaves one file."""
    import twinset

    with twinset.Index.create(tmp_path / "a.twinset") as index:
        index.add({str(number): f"text number {number}" for number in range(100)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.twinset"]
