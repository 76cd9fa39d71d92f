"""Keys to try, cheapest first; candidates: exactly those that either side finds, in whatever blocks they come."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.candidates import probing
from twinset.candidates.probing import Probed, across, buckets, find_candidates, next_keys, probed, within
from twinset.schema import Codes, Hashes, Moves

# Keys to try


def moves_of(costs: list[list[float]], groups: list[int], keys: list[int], own_turns: bool) -> Moves:
    """Each move turns a bit of its own, so that a key tells which moves led to it."""
    turns = np.uint64(1) << np.arange(len(groups), dtype=np.uint64)
    rows = len(costs) if own_turns else 1
    return Moves(
        np.array(keys, np.uint64), np.array(costs, np.float32).reshape(len(keys), len(groups)),
        np.tile(turns, (rows, 1)), np.array(groups, np.uint8),
    )  # fmt: skip


@st.composite
def some_moves(draw: st.DrawFn) -> tuple[list[list[float]], list[int], list[int], int]:
    size, rows = draw(st.integers(0, 8)), draw(st.integers(1, 4))
    few = draw(st.booleans())  # equal costs, often
    cost = st.sampled_from([0.0, 0.25, 1.0, 1.25]) if few else st.floats(0, 100, width=32)
    costs = draw(st.lists(st.lists(cost, min_size=size, max_size=size), min_size=rows, max_size=rows))
    groups = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 2, 63]))), min_size=size, max_size=size))
    keys = draw(st.lists(st.integers(0, 2**64 - 1), min_size=rows, max_size=rows))
    return costs, groups, keys, draw(st.integers(0, 40))


@given(some_moves(), st.booleans())
def test_sets_of_moves_come_cheapest_first(
    drawn: tuple[list[list[float]], list[int], list[int], int], own: bool
) -> None:
    costs, groups, keys, probes = drawn
    found = next_keys(moves_of(costs, groups, keys, own), probes)
    assert found.shape == (len(keys), probes + 1)
    for row, key in enumerate(keys):
        every = oracles.probe_costs(costs[row], groups)
        totals = {sum(1 << move for move in some): total for total, some in every}
        taken = [int(one) ^ key for one in found[row]]
        sets = taken[: len(every)]
        assert taken[len(every) :] == [0] * max(0, probes + 1 - len(every)), "the key itself, once there are no more"
        assert len(set(sets)) == len(sets)
        assert [totals[one] for one in sets] == [total for total, _ in every][: probes + 1]


def test_the_worked_example() -> None:
    """One table, probing buckets one or two bits away: first the bits that the vector is nearest to."""
    found = next_keys(moves_of([[0.4, 0.1, 0.2]], [0, 1, 2], [0b101], False), 7)
    assert [int(key) ^ 0b101 for key in found[0]] == [0, 0b010, 0b100, 0b110, 0b001, 0b011, 0b101, 0b111]


def test_many_probes_of_many_moves() -> None:
    rng = np.random.default_rng(1)
    costs = rng.random((3, 12)).astype(np.float32)
    found = next_keys(moves_of(costs.tolist(), list(range(12)), [0, 0, 0], False), 255)
    for row in range(3):
        every = oracles.probe_costs([float(cost) for cost in costs[row]], list(range(12)))
        assert [int(key) for key in found[row]] == [sum(1 << m for m in some) for _, some in every[:256]]


# Candidates


@st.composite
def tables(draw: st.DrawFn) -> tuple[Hashes, Codes, tuple[int, int], list[int]]:
    """Vectors of few different keys and signatures, so that they meet often."""
    n, probes = draw(st.integers(0, 30)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.integers(0, 2**64, draw(st.integers(1, 12)), np.uint64)
    tried = rng.choice(values, (n, probes + 1))
    signatures = rng.integers(0, 8, (n, draw(st.integers(1, 3))), np.uint64)
    limits = (draw(st.integers(0, 3)), draw(st.integers(0, 9)))
    return tried, signatures, limits, draw(st.lists(st.integers(0, n), max_size=3))


def expected(tried: Hashes, signatures: Codes, limits: tuple[int, int]) -> set[tuple[int, int]]:
    first = [int(row[0]) for row in signatures]
    whole = [int.from_bytes(row.tobytes(), "little") for row in signatures]
    keys = [int(row[0]) for row in tried]
    rows = [[int(key) for key in row] for row in tried]
    met = oracles.looked_up(rows, keys, first, first, limits[0]) & oracles.looked_up(
        rows, keys, whole, whole, limits[1]
    )
    return {(min(pair), max(pair)) for pair in met if pair[0] != pair[1]}


def blocks_of(tried: Hashes, signatures: Codes, cuts: list[int], stride: int) -> list[Probed]:
    edges = [0, *sorted(cuts), len(tried)]
    return [
        probed(np.arange(a, b, dtype=np.uint32) * np.uint32(stride), tried[a:b], signatures[a:b])
        for a, b in pairwise(edges)
    ]


def joined(blocks: list[Probed], limits: tuple[int, int], stride: int, parts: int = 1) -> set[tuple[int, int]]:
    found: list[list[int]] = []
    for i, left in enumerate(blocks):
        edges = np.linspace(0, len(left.numbers), parts + 1).astype(int).tolist()
        for rows in pairwise(edges):
            found += [pair for pairs in within(left, limits, rows) for pair in pairs.tolist()]
        for right in blocks[i + 1 :]:
            found += [pair for pairs in across(left, right, limits) for pair in pairs.tolist()]
    assert all(a < b for a, b in found)
    return {(a // stride, b // stride) for a, b in found}


@given(tables())
def test_exactly_the_oracles_pairs(drawn: tuple[Hashes, Codes, tuple[int, int], list[int]]) -> None:
    tried, signatures, limits, cuts = drawn
    right = expected(tried, signatures, limits)
    for places in ([], cuts):
        for parts in (1, 3):
            assert joined(blocks_of(tried, signatures, places, 3), limits, 3, parts) == right


@given(tables())
def test_queries_find_what_they_try(drawn: tuple[Hashes, Codes, tuple[int, int], list[int]]) -> None:
    tried, signatures, limits, _ = drawn
    half = len(tried) // 2
    block = blocks_of(tried[half:], signatures[half:], [], 5)[0]
    candidates = find_candidates(tried[:half], signatures[:half], block, limits)
    found = [pair for pairs in candidates for pair in pairs.tolist()]
    keys = [[int(key) for key in row] for row in tried]
    signed = [[int(word) for word in row] for row in signatures]
    right = []
    for query in range(half):
        for place in range(half, len(tried)):
            bits = [(a ^ b).bit_count() for a, b in zip(signed[query], signed[place], strict=True)]
            if keys[place][0] in keys[query] and bits[0] <= limits[0] and sum(bits) <= limits[1]:
                right.append([query, (place - half) * 5])
    assert sorted({tuple(pair) for pair in found}) == [tuple(pair) for pair in right]
    assert [pair[0] for pair in found] == sorted(pair[0] for pair in found)


def test_within_a_key_each_pair_comes_once() -> None:
    block = probed(np.arange(50, dtype=np.uint32), np.full((50, 1), 9, np.uint64))
    found = np.concatenate(list(within(block)))
    assert len(found) == len({tuple(pair) for pair in found.tolist()}) == 50 * 49 // 2


@pytest.mark.parametrize("room", [1, 2, 7, 1000])
def test_room_that_ends_at_every_place(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets so full that what they hold does not fit: they are left and taken up again."""
    rng = np.random.default_rng(3)
    tried = rng.choice(rng.integers(0, 2**64, 4, np.uint64), (60, 3))
    signatures = rng.integers(0, 4, (60, 2), np.uint64)
    right = expected(tried, signatures, (2, 3))
    monkeypatch.setattr(probing, "_LEAST_ROOM", room)
    for cuts in ([], [20, 41]):
        assert joined(blocks_of(tried, signatures, cuts, 1), (2, 3), 1) == right


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=300))
def test_buckets_hold_everything_in_order(keys: list[int]) -> None:
    table = buckets(np.array(keys, np.uint64))
    assert sorted(table.members.tolist()) == list(range(len(keys)))
    assert [keys[member] for member in table.members] == table.keys.tolist()
    for bucket, (start, end) in enumerate(pairwise(table.starts.tolist())):
        inside = table.members[start:end].tolist()
        assert inside == sorted(inside)
        assert all(oracles.fmix64(keys[member]) >> int(table.shift) == bucket for member in inside)


def test_no_vectors_and_one() -> None:
    for count in (0, 1):
        block = probed(np.arange(count, dtype=np.uint32), np.zeros((count, 3), np.uint64))
        assert not list(within(block))
        assert not list(across(block, probed(np.empty(0, np.uint32), np.empty((0, 3), np.uint64))))
        assert not list(find_candidates(np.empty((0, 3), np.uint64), np.empty((0, 0), np.uint64), block))
