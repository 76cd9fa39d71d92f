"""Candidates: exactly the pairs that share a band and enough slots, each once, in whatever blocks they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset import textbook
from twinset.candidates import banding
from twinset.candidates.banding import Banded, Partitions, across, band_keys, first_of_equals, within
from twinset.plan import Plan
from twinset.schema import Hashes, Sketches
from twinset.sketches import minhash_kernels as sketch_kernels


def plan_of(k: int, bands: int, rows: int, least: int = 0) -> Plan:
    return Plan(0.8, 0.99, k, bands, rows, least)


def banded(slots: Sketches, salts: Hashes, plan: Plan, numbers: npt.NDArray[np.uint32]) -> Banded:
    low = np.zeros((len(slots), banding.width(plan.n_hashes)), np.uint8)
    low[:, : plan.n_hashes] = slots & np.uint32(0xFF)
    return Banded(numbers, band_keys(slots, salts, plan), low)


def joined(
    slots: Sketches, salts: Hashes, plan: Plan, cuts: list[int], border: int | None = None, stride: int = 1
) -> Counter[tuple[int, int]]:
    """All candidates by position, the documents cut into blocks at `cuts`; numbers are positions times `stride`."""
    edges = [0, *sorted(cuts), len(slots)]
    blocks = []
    for first, last in pairwise(edges):
        numbers = np.arange(first, last, dtype=np.uint32) * np.uint32(stride)
        blocks.append(banded(slots[first:last], salts[first:last], plan, numbers))
    limit = None if border is None else border * stride
    found: Counter[tuple[int, int]] = Counter()
    for i, left in enumerate(blocks):
        for band in range(plan.n_bands):
            for pairs in within(left, band, plan, limit):
                found.update((a // stride, b // stride) for a, b in pairs.tolist())
            for right in blocks[i + 1 :]:
                for pairs in across(left, right, band, plan, limit):
                    found.update((a // stride, b // stride) for a, b in pairs.tolist())
    return found


@st.composite
def collections(draw: st.DrawFn) -> tuple[Sketches, Hashes, Plan, list[int], int | None]:
    """Documents of few different slot values, so that bands agree often, with equal low bytes now and then."""
    k = draw(st.integers(1, 20))
    bands = draw(st.integers(1, k))
    rows = draw(st.integers(1, k // bands))
    documents = draw(st.integers(0, 24))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    values = np.array([3, 3 + 256, 7, 2**32 - 1], np.uint32)[: draw(st.integers(1, 4))]
    slots = rng.choice(values, (documents, k))
    salts = rng.integers(0, draw(st.integers(1, 3)), documents, np.uint64)
    cuts = draw(st.lists(st.integers(0, documents), max_size=4))
    border = draw(st.none() | st.integers(0, documents))
    return slots, salts, plan_of(k, bands, rows, draw(st.integers(0, k))), cuts, border


@contextmanager
def sizes(keys: int, bits: int, room: int = 1 << 16) -> Iterator[None]:
    """Partitions of so many keys, chosen by so many bits at most, and room for so many pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(banding, "_PARTITION", keys)
        patch.setattr(banding, "_MOST_BITS", bits)
        patch.setattr(banding, "_ROOM", room)
        yield


few_keys = st.builds(sizes, st.integers(1, 9), st.integers(1, 6), st.integers(1, 9))


@given(collections(), few_keys)
def test_partitions_of_any_size_give_the_same_pairs(
    given_collection: tuple[Sketches, Hashes, Plan, list[int], int | None], small: AbstractContextManager[None]
) -> None:
    slots, salts, plan, cuts, border = given_collection
    expected = joined(slots, salts, plan, cuts, border)
    with small:
        assert joined(slots, salts, plan, cuts, border) == expected
        assert joined(slots, salts, plan, [], border) == expected


hashes = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=30)


@given(hashes, hashes, st.integers(0, 2**20), st.integers(1, 9), st.integers(1, 6))
def test_partitions_are_the_oracles(left: list[int], right: list[int], offset: int, keys: int, bits: int) -> None:
    with sizes(keys, bits):
        found = Partitions.of(np.array(left, np.uint64), np.array(right, np.uint64), offset)
    count = len(found.ends)
    assert count == min(2**bits, max(2, 2 ** ((len(left) + len(right)) // keys).bit_length()))
    kept = 64 - max(len(left), len(right) + offset).bit_length()
    starts = [0, *found.ends.tolist()]
    words = [
        [found.words[start:middle].tolist(), found.words[middle:end].tolist()]
        for (start, end), middle in zip(pairwise(starts), found.middles.tolist(), strict=True)
    ]
    assert words == oracles.partitions(left, right, offset, count.bit_length() - 1, kept)
    assert len(found.before) == max(len(ours) + len(theirs) for ours, theirs in words)


@given(collections())
def test_exactly_the_oracles_pairs_each_once(
    given_collection: tuple[Sketches, Hashes, Plan, list[int], int | None],
) -> None:
    slots, salts, plan, cuts, border = given_collection
    expected = oracles.candidates(
        slots.tolist(), salts.tolist(), plan.n_bands, plan.rows_per_band, plan.min_matches, border
    )
    for places in ([], cuts):
        found = joined(slots, salts, plan, places, border, stride=3)
        assert set(found) == expected
        assert set(found.values()) <= {1}


@given(collections())
def test_keys_are_equal_where_bands_are(given_collection: tuple[Sketches, Hashes, Plan, list[int], int | None]) -> None:
    slots, salts, plan, _, _ = given_collection
    keys = band_keys(slots, salts, plan)
    rows = plan.rows_per_band
    named = {}
    for band in range(plan.n_bands):
        for i, document in enumerate(slots.tolist()):
            content = (band, tuple(document[band * rows : (band + 1) * rows]), int(salts[i]))
            assert named.setdefault(content, int(keys[band, i])) == keys[band, i]
            assert keys[band, i] == oracles.band_key(document, band, rows, int(salts[i]))
    assert len(set(named.values())) == len(named)


def test_the_worked_example() -> None:
    """Five bands of four rows; in the first band documents one and three agree."""
    first_band = [(1, 3, 6, 0), (2, 3, 1, 0), (1, 3, 6, 0), (2, 1, 3, 1)]
    rest = np.random.default_rng(1).integers(100, 2**32, (4, 16), np.uint32)
    slots = np.concatenate([np.array(first_band, np.uint32), rest], axis=1)
    found = joined(slots, np.zeros(4, np.uint64), plan_of(20, 5, 4), [])
    assert set(found) == {(0, 2)} == textbook.candidates(dict(enumerate(slots.tolist())), 5, 4)


# Buckets so hot that their pairs do not fit the room for results


def hot(documents: int, families: int) -> Sketches:
    rng = np.random.default_rng(9)
    slots = rng.integers(0, 2**32, (documents, 8), np.uint32)
    slots[:, :2] = (np.arange(documents) % families)[:, None]  # one band shared by the whole family
    slots[::2, 2:4] = 5  # and another one by half of all
    return slots


@pytest.mark.parametrize("border", [None, 200])
@pytest.mark.parametrize("cuts", [[], [260], [100, 101, 400]])
def test_more_pairs_than_room(border: int | None, cuts: list[int]) -> None:
    """600 documents of two families have 89,700 pairs in one band alone; there is room for 65,536 at a time."""
    slots = hot(600, 2)
    found = joined(slots, np.zeros(600, np.uint64), plan_of(8, 4, 2), cuts, border)
    expected = {
        (a, b)
        for a in range(600)
        for b in range(a + 1, 600)
        if (a % 2 == b % 2) and (border is None or a < border <= b)
    }
    assert set(found) == expected
    assert set(found.values()) == {1}


def test_room_that_ends_at_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least room there may be: one pair. Every bucket is left and resumed many times."""
    monkeypatch.setattr(banding, "_ROOM", 1)
    slots = hot(90, 3)
    plan, salts = plan_of(8, 4, 2, least=2), np.zeros(90, np.uint64)
    for border in (None, 31):
        expected = oracles.candidates(slots.tolist(), salts.tolist(), 4, 2, 2, border)
        for cuts in ([], [45], [10, 11, 80]):
            found = joined(slots, salts, plan, cuts, border)
            assert set(found) == expected
            assert set(found.values()) == {1}


# Comparing sketches by their low bytes


@pytest.mark.parametrize("k", [1, 7, 8, 9, 127, 128, 130, 2039, 2040, 2041, 2048, 4096, 5000])
def test_counting_equal_slots(k: int) -> None:
    """Sketches of any length that agree in every number of slots: kept from exactly the demanded number on."""
    rng = np.random.default_rng(k)
    base = rng.integers(0, 2**32, k, np.uint32)
    base[0] = 77
    for equal in sorted({1, 2, k // 2, k - 1, k} - {0} & set(range(1, k + 1))):
        other = base ^ np.uint32(1 << (k % 8))
        chosen = np.concatenate([[0], 1 + rng.permutation(k - 1)[: equal - 1]])
        other[chosen] = base[chosen]
        slots = np.stack([base, other])
        for least, kept in ((equal, True), (equal + 1, False)):
            if least <= k:
                found = joined(slots, np.zeros(2, np.uint64), plan_of(k, 1, 1, least), [])
                assert bool(found) == kept
                assert bool(joined(slots, np.zeros(2, np.uint64), plan_of(k, 1, 1, least), [1])) == kept


def test_every_value_of_a_byte_is_told_from_every_other() -> None:
    values = np.arange(256, dtype=np.uint32)
    slots = np.stack([np.zeros(256, np.uint32), values], axis=1)
    found = joined(slots, np.zeros(256, np.uint64), plan_of(2, 1, 1, least=2), [])
    assert not found
    twice = np.concatenate([slots, slots])
    assert set(joined(twice, np.zeros(512, np.uint64), plan_of(2, 1, 1, least=2), [])) == {
        (i, i + 256) for i in range(256)
    }


def test_no_documents_and_one() -> None:
    for documents in (0, 1):
        slots = np.zeros((documents, 4), np.uint32)
        assert not joined(slots, np.zeros(documents, np.uint64), plan_of(4, 2, 2), [])


# Identical contents


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_first_of_equals(digests: list[tuple[int, int]]) -> None:
    """Halves of few values, so that one half agrees where the other does not."""
    scattered = [(first * 0x9E3779B97F4A7C15 % 2**64, second) for first, second in digests]
    array = np.array(scattered, np.uint64).reshape(-1, 2)
    assert first_of_equals(array).tolist() == [scattered.index(one) for one in scattered]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), max_size=60), few_keys)
def test_first_of_equals_in_partitions_of_any_size(
    digests: list[tuple[int, int]], small: AbstractContextManager[None]
) -> None:
    scattered = [(first * 0x9E3779B97F4A7C15 % 2**64, second) for first, second in digests]
    with small:
        found = first_of_equals(np.array(scattered, np.uint64).reshape(-1, 2))
    assert found.tolist() == [scattered.index(one) for one in scattered]


@given(st.lists(st.integers(0, 9), max_size=40))
def test_first_of_equals_that_differ_in_low_bits_only(values: list[int]) -> None:
    """The low bits of a digest make room for positions while sorting; they must count all the same."""
    array = np.array([(value, 1) for value in values], np.uint64).reshape(-1, 2)
    assert first_of_equals(array).tolist() == [values.index(value) for value in values]


def test_equal_bags_have_equal_digests_and_are_found() -> None:
    rows = [[5, 6, 7], [7, 6, 5], [5, 6], [5, 6, 6], [5, 6, 7]]
    offsets = np.cumsum([0, *map(len, rows)])
    digests = np.empty((5, 2), np.uint64)
    sketch_kernels.digest(np.array([*chain(*rows)], np.uint64), offsets, np.arange(len(rows)), digests)
    assert first_of_equals(digests).tolist() == [0, 0, 2, 3, 0]
