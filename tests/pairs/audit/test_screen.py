"""The beginnings of texts: what they rule out has no pair, whatever the texts; and they rule out nearly all."""

from __future__ import annotations

import itertools
import random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.pairs.audit.screen import LEAST_COUNT, Screen, first_parts
from twinset.pairs.audit.screen_kernels import GROUPS
from twinset.pairs.sets import Sets
from twinset.schema import Shingles
from twinset.shingles.texts import shingle

HASHES = st.integers(0, 60).map(lambda n: oracles.fmix64(n + 1))
ROW = st.lists(st.one_of(HASHES, st.integers(1, 2**64 - 1)), min_size=1, max_size=40, unique=True)
ROWS = st.lists(ROW, min_size=1, max_size=12)
THRESHOLDS = st.sampled_from([0.05, 0.3, 0.5, 2 / 3, 0.8, 0.9, 1.0])


def as_shingles(rows: list[list[int]]) -> Shingles:
    offsets = np.cumsum([0, *map(len, rows)])
    return Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))


def screen_of(rows: list[list[int]], threshold: float) -> Screen:
    counts = np.array([len(row) for row in rows], np.uint32)
    sets = Sets.with_room(counts)
    sets.fill(as_shingles(rows), np.arange(len(rows)), np.arange(len(rows)))
    return Screen.of(sets, counts, threshold)


def sizes(rows: list[list[int]]) -> npt.NDArray[np.uint32]:
    return np.array([len(row) for row in rows], np.uint32)


@given(ROWS, ROWS, THRESHOLDS, st.integers(0, 3), st.floats(0, 1), st.integers(1, 15))
def test_no_pair_is_ruled_out(
    rows: list[list[int]], few: list[list[int]], threshold: float, repeats: int, share: float, often: int
) -> None:
    """Any part of a text's shingles, repeats among them, against a sample of up to 180 documents."""
    few = [row[turn % len(row) :] for turn in range(often) for row in few]
    parts = [(row + row[:repeats])[: max(1, round(share * len(row)))] for row in rows]
    alive = screen_of(few, threshold).passes(as_shingles(parts), sizes(rows) + repeats)
    assert all(alive[row] for row, _, _ in oracles.meetings([*map(set, rows)], [*map(set, few)], threshold))


ALPHABETS = ["ab ", "abcde \n", "aäA b\n。、\u3000中文e\u0301😀_.9"]


@st.composite
def families(draw: st.DrawFn) -> list[str]:
    """Texts of few letters, and copies with a stretch replaced, often the first."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    texts = draw(st.lists(st.text(alphabet, min_size=30, max_size=120), min_size=1, max_size=4))
    for text in list(texts):
        start = draw(st.sampled_from([0, 0, len(text) // 3, len(text) - 8]))
        texts.append(text[:start] + draw(st.text(alphabet, max_size=8)) + text[start + 8 :])
    return texts


@given(
    families(),
    st.sampled_from(["char:1", "char:2", "char:5", "char:9", "word:1", "word:3"]),
    st.booleans(),
    st.sampled_from([0.5, 0.7, 0.8, 0.9]),
    st.floats(0.05, 1.0),
)
def test_no_beginning_rules_out_a_pair(texts: list[str], kind: str, bag: bool, threshold: float, share: float) -> None:
    """From texts to their beginnings to the screen, against the brute force over whole texts."""
    options = ShingleOptions.of(shingle=kind, bag=bag)
    whole = [hashes(text.encode(), options) for text in texts]
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    bounds = np.cumsum([0, *(len(text.encode()) for text in texts)])
    first, offsets = first_parts(data, bounds[:-1], bounds[1:], share)
    beginnings = [hashes(bytes(first[a:b]), options) for a, b in itertools.pairwise(offsets)]
    sample = [row for row in whole[::2] if row]
    if not sample:
        return
    alive = screen_of(sample, threshold).passes(as_shingles(beginnings), sizes(whole))
    for row, _, _ in oracles.meetings([*map(set, whole)], [*map(set, sample)], threshold):
        assert alive[row] or len(beginnings[row]) < 2


@pytest.mark.parametrize("length", [1, 2, 7, 8, 15, 16, 17, 31, 127, 128, 129, 1000, 5000])
def test_counts_are_exact(length: int) -> None:
    """Each group's lacks against a plain count: ruled out with one more than the limit in all groups; repeats are none.

    The top bits of a hash say which groups have it, the low ones are its own.
    """
    dice = random.Random(length)
    marks = [dice.getrandbits(64) & dice.getrandbits(64) for _ in range(1 << 8)]
    screen = Screen(np.array(marks, np.uint64), np.uint64(56), np.zeros(GROUPS, np.int64), 0.5, 1.0)
    row = [dice.getrandbits(8) << 56 | number for number in range(length)]
    lacks = [sum(1 - (marks[x >> 56] >> group & 1) for x in row) for group in range(GROUPS)]
    for limit in {0, min(lacks) - 1, min(lacks), min(lacks) + 1, max(lacks), 2 * length} - {-1}:
        rows = [row, row + row[: length // 2], row[::-1]]
        alive = screen.passes(as_shingles(rows), np.full(3, 2 * limit))  # half of them are allowed
        assert alive.tolist() == [min(lacks) <= limit] * 3


def test_it_rules_out_what_shares_nothing() -> None:
    dice = random.Random(4)
    few = [[dice.getrandbits(64) | 1 for _ in range(200)] for _ in range(300)]
    others = [[dice.getrandbits(64) | 1 for _ in range(60)] for _ in range(500)]
    screen = screen_of(few, 0.8)
    assert 0.11 < screen.share < 0.2  # of sets of one size, a pair leaves a ninth
    assert not screen.passes(as_shingles(others), np.full(500, 200)).any()


def test_sets_of_other_sizes_need_less_to_be_told_apart() -> None:
    """Half of it in a far larger set makes no pair; in one of its own size, the same half does not say so yet."""
    dice = random.Random(7)
    small = [dice.getrandbits(64) | 1 for _ in range(100)]
    larger = small[:50] + [dice.getrandbits(64) | 1 for _ in range(400)]
    alike = small[:50] + [dice.getrandbits(64) | 1 for _ in range(50)]
    beginning = as_shingles([small[:52]])
    assert not screen_of([larger], 0.8).passes(beginning, sizes([small])).any()
    assert screen_of([alike], 0.8).passes(beginning, sizes([small])).all()


def crowd(dice: random.Random, count: int) -> list[list[int]]:
    """Documents of 400 shingles out of 1,500: a hundred of them have all there are, each has a quarter."""
    return [dice.sample([oracles.fmix64(n + 1) for n in range(1500)], 400) for _ in range(count)]


def test_it_rules_out_what_a_sample_as_a_whole_has() -> None:
    dice = random.Random(5)
    few, others = crowd(dice, 96), crowd(dice, 200)
    assert len({x for row in few for x in row}) == 1500
    screen = screen_of(few, 0.8)
    assert 0.3 < screen.share < 0.75
    part = round(screen.share * 400)
    alive = screen.passes(as_shingles([row[:part] for row in others]), np.full(200, 400))
    assert np.mean(alive) < 0.2


def test_it_is_not_worth_it_where_all_are_alike() -> None:
    dice = random.Random(6)
    form = [dice.getrandbits(64) | 1 for _ in range(300)]
    assert screen_of([form + [dice.getrandbits(64) | 1 for _ in range(30)] for _ in range(100)], 0.8).share == 0.0
    assert screen_of([form[:20] for _ in range(10)], 0.8).share == 0.0
    assert LEAST_COUNT > 20  # so short a document says nothing about shares


TEXTS = st.lists(st.text("aäA b\n。、\u3000中文e\u0301😀_.9", max_size=60), min_size=1, max_size=5)


@given(TEXTS, st.sampled_from(["word:1", "word:2", "char:1", "char:3"]), st.booleans(), st.floats(0.05, 0.9))
def test_what_a_beginning_has_the_whole_has(texts: list[str], kind: str, bag: bool, share: float) -> None:
    """Those of a beginning, unless it is shorter than a shingle, are some of the whole text's."""
    options = ShingleOptions.of(shingle=kind, bag=bag)
    data = np.frombuffer("".join(texts).encode() or b" ", np.uint8)
    bounds = np.cumsum([0, *(len(text.encode()) for text in texts)])
    first, offsets = first_parts(data, bounds[:-1], bounds[1:], share)
    for number, text in enumerate(texts):
        part = bytes(first[offsets[number] : offsets[number + 1]])
        assert text.encode().startswith(part)
        assert len(part) >= int(share * len(text.encode()))
        beginning, whole = hashes(part, options), hashes(text.encode(), options)
        assert len(beginning) < 2 or set(beginning) <= set(whole)


def hashes(text: bytes, options: ShingleOptions) -> list[int]:
    found: list[int] = []
    for ready in normalize(pa.array([text], pa.large_binary())).texts:
        for portion in shingle(ready, options, 1):
            found += portion.hashes.tolist()
    return found
