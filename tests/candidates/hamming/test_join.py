"""All pairs within a number of bits: those that brute force finds, each once, whatever the codes are like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.candidates.hamming import blocks as hamming_choice
from twinset.candidates.hamming import join as hamming
from twinset.candidates.hamming import join_kernels
from twinset.candidates.hamming.blocks import BitBlock, Side
from twinset.candidates.hamming.join import CodePairs, Join, Table
from twinset.errors import OptionError
from twinset.schema import Codes

Rows = list[list[int]]
DISTANCES = st.sampled_from([0, 1, 2, 3, 4, 6, 9, 16, 33, 64]) | st.integers(0, 64)


@st.composite
def codes(draw: st.DrawFn, words: int | None = None, most: int = 60) -> Rows:
    """Rows of words: random, near to each other, biased, of few free bits, repeated, all zero or all one."""
    width = words or draw(st.integers(1, 3))
    total = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["random", "biased", "few bits", "flipped", "doubled"]))
    found = rng.integers(0, 2**64, (total, width), np.uint64)
    if kind == "biased":
        for _ in range(draw(st.integers(1, 4))):
            found &= rng.integers(0, 2**64, (total, width), np.uint64)
    elif kind == "few bits":
        found &= np.uint64((1 << draw(st.integers(0, 12))) - 1) << np.uint64(draw(st.integers(0, 50)))
    elif kind == "flipped":
        found[:] = rng.integers(0, 2**64, (1, width), np.uint64)
        for _ in range(draw(st.integers(0, 6))):
            found[np.arange(total), rng.integers(0, width, total)] ^= np.uint64(1) << rng.integers(0, 64, total).astype(
                np.uint64
            )
    elif kind == "doubled":  # bits that say the same thing twice
        half = found & np.uint64(0x5555555555555555)
        found = half | half << np.uint64(1)
    for special in (0, 2**64 - 1):
        if total and draw(st.booleans()):
            found[rng.integers(0, total, 1 + total // 8)] = special
    if total and draw(st.booleans()):
        found[rng.integers(0, total, total // 2)] = found[rng.integers(0, total, total // 2)]
    return [list(row) for row in found.tolist()]


def array(rows: Rows, words: int = 1) -> Codes:
    return np.array(rows, np.uint64).reshape(len(rows), len(rows[0]) if rows else words)


def triples(portions: Iterable[CodePairs]) -> set[tuple[int, int, int]]:
    """What was found, none of it twice."""
    found = Counter(
        (left, right, bits)
        for portion in portions
        for (left, right), bits in zip(portion.numbers.tolist(), portion.distances.tolist(), strict=True)
    )
    assert set(found.values()) <= {1}
    return set(found)


@pytest.fixture(params=["as it comes", "wide radii", "many blocks", "everything is crowded"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few codes are compared one by one: with other costs they take the way of a million."""
    if request.param != "as it comes":
        visit = 1e-3 if request.param == "wide radii" else 30.0
        monkeypatch.setattr(hamming_choice, "_JOIN_COSTS", np.array([1e-3, 1.0, visit, 1e-3, 100.0, 100.0]))
    if request.param == "everything is crowded":
        monkeypatch.setattr(hamming, "_CROWD", 1)
    return str(request.param)


# Against brute force


@pytest.mark.usefixtures("way")
def test_pairs_within_are_those_of_brute_force() -> None:
    @given(codes(), DISTANCES)
    def check(rows: Rows, distance: int) -> None:
        assert triples(Join.within(array(rows), distance).pairs()) == oracles.near_codes(rows, distance)

    check()


@pytest.mark.usefixtures("way")
def test_pairs_across_are_those_of_brute_force() -> None:
    @given(st.integers(1, 2).flatmap(lambda words: st.tuples(codes(words, 40), codes(words, 40))), DISTANCES)
    def check(sides: tuple[Rows, Rows], distance: int) -> None:
        left, right = sides
        words = len((left or right or [[0]])[0])
        found = triples(Join.across(array(left, words), array(right, words), distance).pairs())
        assert found == oracles.near_codes_across(left, right, distance)

    check()


def planted(total: int, words: int, seed: int, flips: int) -> Codes:
    """Random codes, a tenth of them 0 to `flips` bits from an earlier one, or fewer where a bit is flipped twice."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 2**64, (total, words), np.uint64)
    copied = total // 10
    found[-copied:] = found[:copied]
    for flip in range(flips):
        turned = np.arange(copied) % (flips + 1) > flip
        places, which = np.arange(total - copied, total), rng.integers(0, words, copied)
        bits = np.where(turned, np.uint64(1) << rng.integers(0, 64, copied).astype(np.uint64), np.uint64(0))
        found[places, which] ^= bits
    return found


def brute(codes: Codes, distance: int) -> set[tuple[int, int, int]]:
    """All pairs, compared a row at a time."""
    found = set()
    for i in range(len(codes)):
        bits = np.unpackbits((codes[i + 1 :] ^ codes[i]).view(np.uint8), axis=1).sum(axis=1)
        found |= {(i, i + 1 + int(j), int(bits[j])) for j in np.flatnonzero(bits <= distance)}
    return found


@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("distance", [0, 3, 6])
def test_thousands_of_codes(words: int, distance: int) -> None:
    """Enough for blocks to be chosen as they are for a million."""
    found = planted(3000, words, 5, 8)
    assert all(isinstance(table, Table) for table in Join.within(found, distance).tables())
    expected = brute(found, distance)
    assert len(expected) >= 15
    assert triples(Join.within(found, distance).pairs()) == expected


SKEWED = {
    "one of few centres and some bits": lambda rng, n: (
        rng.integers(0, 2**64, 5, np.uint64)[rng.integers(0, 5, n)] ^ flipped(rng, n, 5)
    ),
    "a third share 32 bits": lambda rng, n: np.where(
        rng.random(n) < 0.33, rng.integers(0, 2**32, n, np.uint64), rng.integers(0, 2**64, n, np.uint64)
    ),
    "mostly zeros": lambda rng, n: flipped(rng, n, 6),
    "every bit four times": lambda rng, n: (
        np.repeat(rng.integers(0, 2, (n, 16), np.uint8), 4, axis=1) @ (np.uint64(1) << np.arange(64, dtype=np.uint64))
        ^ flipped(rng, n, 2)
    ),
}


def flipped(rng: np.random.Generator, total: int, flips: int) -> npt.NDArray[np.uint64]:
    found = np.zeros(total, np.uint64)
    for _ in range(flips):
        found ^= np.uint64(1) << rng.integers(0, 64, total).astype(np.uint64)
    return found


@pytest.mark.parametrize("kind", SKEWED)
@pytest.mark.parametrize("distance", [2, 5])
def test_skewed_codes(kind: str, distance: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hamming, "_CROWD", 3000)
    found = SKEWED[kind](np.random.default_rng(11), 3000)[:, None]
    assert triples(Join.within(found, distance).pairs()) == brute(found, distance)


# How the work is cut


@pytest.mark.parametrize("parts", [1, 2, 7, 100_000])
def test_spans_and_threads_do_not_matter(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = planted(3000, 1, 8, 6)
    expected = brute(found, 4)
    with ThreadPoolExecutor(4) as pool:
        tasks = [
            pool.submit(lambda table, span: list(table.pairs(span)), table, span)
            for table in Join.within(found, 4).tables()
            for span in table.spans(parts)
        ]
        assert triples(portion for task in tasks for portion in task.result()) == expected
    monkeypatch.setattr(hamming_choice, "_LEAST_GAIN", 0.0)  # all pairs compared
    [whole] = Join.within(found, 4).tables()
    spans = whole.spans(parts)
    assert triples(portion for span in spans for portion in whole.pairs(span)) == expected


@pytest.mark.parametrize("room", [8, 9, 64])
def test_portions_are_no_larger_than_their_room(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hamming, "_ROOM", room)
    found = planted(500, 1, 3, 6)
    found[:60] &= np.uint64(7)
    portions = list(Join.within(found, 5).pairs())
    assert max(map(len, portions)) <= room
    assert triples(portions) == brute(found, 5)


def test_the_border_is_kept() -> None:
    """Both sides of a border, as a run of A against B has it: no pair of one side."""
    found = planted(1000, 1, 4, 3)
    border = 950
    every = brute(found, 3)
    wanted = {(i, j - border, bits) for i, j, bits in every if i < border <= j}
    assert 0 < len(wanted) < len(every)
    assert triples(Join.across(found[:border], found[border:], 3).pairs()) == wanted


def test_blocks_do_not_decide_what_is_found() -> None:
    """Tables of other blocks give the same pairs, as long as radii plus one add up."""
    found = planted(600, 1, 6, 8)
    join = Join.within(found, 5)
    expected = brute(found, 5)
    for widths, radii in (((20, 20, 20), (1, 1, 1)), ((10, 12), (2, 2)), ((16, 8, 8, 8), (2, 0, 0, 0)), ((8,), (5,))):
        assert sum(radii) + len(radii) == 6
        places = np.random.default_rng(1).permutation(64).tolist()
        earlier, allowed = np.empty((0, 1), np.uint64), np.empty(0, np.int64)
        got: list[CodePairs] = []
        for width, radius in zip(widths, radii, strict=True):
            bits, places = places[:width], places[width:]
            block = BitBlock(np.array([sum(1 << bit for bit in bits)], np.uint64), radius)
            table = Table.of(join, block, earlier, allowed)
            got += [portion for span in table.spans(3) for portion in table.pairs(span)]
            earlier = np.concatenate([earlier, block.masks[None]])
            allowed = np.append(allowed, radius)
        assert triples(got) == expected


# Kernels


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=2), max_size=20), st.data())
def test_keys_are_the_bits_of_the_block(rows: Rows, data: st.DataObject) -> None:
    places = data.draw(st.sets(st.integers(0, 127), max_size=22))
    masks = [sum(1 << place for place in places if place < 64), sum(1 << place - 64 for place in places if place >= 64)]
    steps, keys = np.empty((2, 6), np.uint64), np.empty(len(rows), np.uint32)
    join_kernels.squeeze_steps(np.array(masks, np.uint64), steps)
    side = Side.of(array(rows, 2), np.arange(len(rows), dtype=np.uint32))
    join_kernels.keys(side.codes, np.array(masks, np.uint64), steps, keys)
    assert keys.tolist() == [oracles.squeezed_bits(row, masks) for row in rows]


@given(codes(words=1))
def test_groups_are_in_order_of_keys(rows: Rows) -> None:
    side = Side.of(array(rows), np.arange(len(rows), dtype=np.uint32))
    masks = [0xF0000000000000F0]
    there, starts = hamming.grouped(side, BitBlock(np.array(masks, np.uint64), 0))
    keys = [oracles.squeezed_bits(row, masks) for row in rows]
    assert there.numbers.tolist() == sorted(range(len(rows)), key=lambda place: (keys[place], place))
    assert there.codes[0, : len(rows)].tolist() == [rows[place][0] for place in there.numbers]
    assert np.diff(starts).tolist() == [keys.count(key) for key in range(256)]


def test_blocks_are_cut_so_that_none_can_be_missed() -> None:
    rng = np.random.default_rng(2)
    for words, distance in ((1, 0), (1, 3), (1, 8), (2, 3), (2, 16)):
        side = Side.of(rng.integers(0, 2**64, (20_000, words), np.uint64), np.arange(20_000, dtype=np.uint32))
        blocks = hamming_choice.choose(side, side, True, distance).blocks
        assert sum(block.radius + 1 for block in blocks) == distance + 1
        for one, other in combinations(blocks, 2):
            assert not (one.masks & other.masks).any()


def test_few_codes_are_looked_at() -> None:
    """Blocks that bring everything together would pass every test above: here they must not."""
    rng = np.random.default_rng(2)
    for kind, most in (("random", 5e-3), ("biased", 2e-2)):
        found = rng.integers(0, 2**64, (100_000, 1), np.uint64)
        if kind == "biased":
            found &= rng.integers(0, 2**64, (100_000, 1), np.uint64)
        meetings = 0
        for table in Join.within(found, 3).tables():
            assert isinstance(table, Table)
            assert table.block.radius <= 1
            sizes = np.diff(table.left_starts).astype(np.int64)
            for flip in [0, *(1 << bit for bit in range(table.block.width * table.block.radius))]:
                meetings += int((sizes * sizes[np.arange(len(sizes)) ^ flip]).sum())
        assert meetings / 100_000**2 < most, kind


def test_a_bit_that_all_agree_in_is_in_no_block() -> None:
    found = np.random.default_rng(2).integers(0, 2**64, (5000, 1), np.uint64) & np.uint64(0x00FFFF00FFFF0000)
    side = Side.of(found, np.arange(5000, dtype=np.uint32))
    for block in hamming_choice.choose(side, side, True, 3).blocks:
        assert int(block.masks[0]) & ~0x00FFFF00FFFF0000 == 0


def test_sides_that_always_differ_have_no_pairs() -> None:
    left = np.arange(3000, dtype=np.uint64)
    right = left | np.uint64(0xFF << 56)
    join = Join.across(left, right, 7)
    assert not hamming_choice.choose(join.left, join.right, False, 7).possible
    assert triples(Join.across(left, right, 7).pairs()) == set()
    assert len(triples(Join.across(left, right, 8).pairs())) == 3000


# What is refused


def test_wrong_codes_and_distances_are_refused() -> None:
    with pytest.raises(OptionError, match=r"codes are int64 of shape \(3,\); allowed: uint64"):
        Join.within(np.arange(3), 1)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="distance is -1; allowed: a number of bits"):
        Join.within(np.zeros(3, np.uint64), -1)
    with pytest.raises(OptionError, match="on the left have 64 bits, on the right 128"):
        Join.across(np.zeros(3, np.uint64), np.zeros((3, 2), np.uint64), 1)
