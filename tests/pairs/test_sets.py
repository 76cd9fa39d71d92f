"""Exact verification: set sizes and overlaps equal Python's sets, and the threshold is inclusive to the last digit."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.pairs import sets as sets_module
from twinset.pairs import sets_kernels
from twinset.pairs.sets import Bags, Sets, compared, gathered, overlaps, scores
from twinset.schema import Shingles, equal_scores, in_order
from twinset.system import batch_sizes
from twinset.system.arrays import Room

# Few values, some of them equal in their low bits, so that places in the hash table are fought for.
hashes = st.one_of(st.integers(1, 12), st.integers(1, 40).map(lambda n: n << 40), st.integers(1, 2**64 - 1))
rows_of_hashes = st.lists(st.lists(hashes, max_size=30), min_size=1, max_size=6)


def sets_of(rows: list[list[int]]) -> Sets:
    offsets = np.cumsum([0, *map(len, rows)])
    packed = Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))
    sets = Sets.with_room(np.diff(offsets))
    everything = np.arange(len(rows))
    sets.fill(packed, everything, everything)
    return sets


def overlap(rows: list[list[int]], pairs: list[tuple[int, int]], threshold: float) -> list[int]:
    lefts, rights = (np.array([pair[side] for pair in pairs], np.uint32) for side in (0, 1))
    return overlaps(sets_of(rows), lefts, rights, threshold).tolist()


@given(rows_of_hashes)
def test_distinct_equals_sets(rows: list[list[int]]) -> None:
    sets = sets_of(rows)
    for i, row in enumerate(rows):
        found = sets.hashes[sets.starts[i] : sets.starts[i] + sets.sizes[i]].tolist()
        assert len(found) == len(set(found))
        assert set(found) == set(row)


@given(rows_of_hashes, st.randoms(use_true_random=False))
def test_sets_may_be_filled_piece_by_piece_in_any_order(rows: list[list[int]], rng: object) -> None:
    offsets = np.cumsum([0, *map(len, rows)])
    packed = Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))
    order = list(range(len(rows)))
    rng.shuffle(order)  # type: ignore[attr-defined]
    place_of = {row: place for place, row in enumerate(order)}
    sets = Sets.with_room(np.array([len(rows[row]) for row in order]))
    for row in range(len(rows)):
        sets.fill(packed, np.array([row]), np.array([place_of[row]]))
    for row, place in place_of.items():
        found = sets.hashes[sets.starts[place] : sets.starts[place] + sets.sizes[place]].tolist()
        assert set(found) == set(rows[row])


@given(rows_of_hashes, st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.8, 0.9, 0.95, 1.0]))
def test_overlaps_equal_sets(rows: list[list[int]], threshold: float) -> None:
    pairs = list(product(range(len(rows)), repeat=2))
    expected = []
    for left, right in pairs:
        a, b = set(rows[left]), set(rows[right])
        reached = bool(a | b) and len(a & b) / len(a | b) >= threshold
        expected.append(len(a & b) if reached or threshold == 0 else 0)
    assert overlap(rows, pairs, threshold) == expected


def comparison(rows: list[list[int]], pairs: list[tuple[int, int]], threshold: float) -> tuple[list[int], list[int]]:
    """Shared shingles and sizes, of documents that are laid down last first."""
    offsets = np.cumsum([0, *map(len, rows)])
    packed = Shingles(np.arange(len(rows)), offsets, np.array([x for row in rows for x in row], np.uint64))
    bags = Bags.with_room(np.diff(offsets)[::-1], Room())
    bags.fill(packed, np.arange(len(rows))[::-1].copy())
    lefts, rights = (np.array([len(rows) - 1 - pair[side] for pair in pairs], np.uint32) for side in (0, 1))
    shared, sizes = compared(bags, lefts, rights, threshold)
    return shared.tolist(), sizes[::-1].tolist()


@given(rows_of_hashes, st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.6, 2 / 3, 0.8, 0.95, 1.0]), st.integers(60, 200))
def test_compared_equals_sets(rows: list[list[int]], threshold: float, most: int) -> None:
    pairs = [pair for pair in product(range(len(rows)), repeat=2) if rows[pair[0]] or rows[pair[1]]]
    expected = [len(set(rows[left]) & set(rows[right])) for left, right in pairs]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batch_sizes, "COMPARED_SHINGLES", most)  # few shingles at once: what hangs together is cut
        shared, sizes = comparison(rows, pairs, threshold)
    assert shared == [
        count if count / len(set(rows[left]) | set(rows[right])) >= threshold else 0
        for count, (left, right) in zip(expected, pairs, strict=True)
    ]
    assert [sizes[i] for i, _ in pairs] == [len(set(rows[i])) for i, _ in pairs]


def test_more_documents_hang_together_than_are_compared_at_once() -> None:
    rng = np.random.default_rng(5)
    rows = [rng.integers(1, 300, 90).tolist() for _ in range(70)]
    for pairs in (
        [(0, other) for other in range(1, 70)],
        [(one, one + 1) for one in range(69)],
        [(int(a), int(b)) for a, b in rng.integers(0, 70, (900, 2))],
    ):
        shared, sizes = comparison(rows, pairs, 0.0)
        assert shared == [len(set(rows[a]) & set(rows[b])) for a, b in pairs]
        assert {sizes[a] == len(set(rows[a])) for pair in pairs for a in pair} == {True}


def test_texts_of_several_batches_one_after_another() -> None:
    one, other = (np.frombuffer(text, np.uint8) for text in (b"one two three", b"a longer text of words"))
    pieces = [
        (one, np.array([0, 8, 4]), np.array([3, 13, 4])),
        (other, np.array([2]), np.array([13])),
        (other, np.array([], np.int64), np.array([], np.int64)),
    ]
    room = Room()
    for _ in range(2):
        data, offsets = gathered(pieces, room)
        assert [bytes(data[a:b]) for a, b in pairwise(offsets)] == [b"one", b"three", b"", b"longer text"]


def test_lefts_in_any_order() -> None:
    """Quickest with equal lefts together, right in any order."""
    rng = np.random.default_rng(4)
    rows = [rng.integers(1, 60, 40).tolist() for _ in range(12)]
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 12, (300, 2))]
    expected = [len(set(rows[a]) & set(rows[b])) for a, b in pairs]
    assert overlap(rows, pairs, 0.0) == expected


@pytest.mark.parametrize(
    "share",
    [
        Fraction(one)
        for one in ["4/5", "3/5", "2/3", "1/3", "7/10", "9/10", "19/20", "1/2", "1", "1/7", "99/100", "17/19"]
    ],
    ids=str,
)
@pytest.mark.parametrize("times", [1, 2, 3, 7, 50, 333])
def test_the_threshold_is_inclusive(share: Fraction, times: int) -> None:
    """Exactly at the threshold a pair counts; one shingle less and it does not."""
    shared, union = share.numerator * times, share.denominator * times
    threshold = share.numerator / share.denominator
    for only_left in {0, (union - shared) // 2, union - shared}:
        left = list(range(1, 1 + shared + only_left))
        right = list(range(1, 1 + shared)) + list(range(10**6, 10**6 + union - shared - only_left))
        assert overlap([left, right], [(0, 1), (1, 0)], threshold) == [shared, shared]
        longer = [*left, 10**7]
        assert overlap([longer, right], [(0, 1), (1, 0)], threshold) == [0, 0]
        above = np.nextafter(threshold, 2.0)
        assert overlap([left, right], [(0, 1)], float(above)) == [0]


@pytest.mark.parametrize("threshold", [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95])
def test_every_small_overlap_at_decimal_thresholds(threshold: float) -> None:
    """All sizes up to 24 with all overlaps: kept where shared / union is at least the threshold, as Python divides."""
    rows, pairs, expected = [], [], []
    for n_left, n_right in product(range(1, 25), repeat=2):
        for shared in range(min(n_left, n_right) + 1):
            pairs.append((len(rows), len(rows) + 1))
            rows.append(list(range(1, 1 + n_left)))
            rows.append(list(range(1 + n_left - shared, 1 + n_left - shared + n_right)))
            expected.append(shared if shared / (n_left + n_right - shared) >= threshold else 0)
    assert overlap(rows, pairs, threshold) == expected


@pytest.mark.parametrize("hundredths", range(5, 100, 2))
def test_hundredths_are_inclusive(hundredths: int) -> None:
    """What a user types as 0.56 is reached by 14 of 25 shingles, however the product of the two is rounded.

    One set may hold the other, which is decided by their sizes alone; or both are of nearly the same size.
    """
    share, threshold = Fraction(hundredths, 100), hundredths / 100
    rows: list[list[int]] = []
    pairs, expected = [], []
    for union in range(share.denominator, 301, share.denominator):
        shared = union * share.numerator // share.denominator
        for only_left in {0, 1, (union - shared) // 2, union - shared}:
            pairs += [(len(rows), len(rows) + 1), (len(rows) + 1, len(rows))]
            rows.append(list(range(1, 1 + shared + only_left)))
            rows.append([*range(1, 1 + shared), *range(1000, 1000 + union - shared - only_left)])
            expected += [shared, shared]
    assert overlap(rows, pairs, threshold) == expected
    assert comparison(rows, pairs, threshold)[0] == expected


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 15, 16, 17, 1000, 4097, 200_000])
def test_a_table_has_room_for_what_the_kernel_clears(size: int) -> None:
    """A table smaller than the part that the kernels clear would be memory of somebody else."""
    hashes, chosen = np.arange(1, size + 1, dtype=np.uint64), np.zeros(1, np.int64)
    places = np.full(1 << 20, 2**64 - 1, np.uint64)
    sizes = np.zeros(1, np.uint32)
    sets_kernels.distinct(hashes, np.array([0, size]), chosen, np.empty(size, np.uint64), chosen, sizes, places)
    cleared = int(np.flatnonzero(places != 2**64 - 1).max()) + 1
    assert cleared >= 2 * size
    assert sizes.tolist() == [size]
    scratch = sets_module._OverlapScratch()
    assert len(scratch.fit(size)) >= cleared
    for table in sets_module._OverlapScratch().fit_table(size):
        assert len(table) >= cleared


def test_threshold_zero_counts_everything() -> None:
    assert overlap([[1, 2, 3], [3, 4], [9], []], [(0, 1), (0, 2), (0, 3), (3, 3)], 0.0) == [1, 0, 0, 0]


def test_large_sets_after_small_ones() -> None:
    """The table's scratch grows, and what a smaller set left in it is not found again."""
    rng = np.random.default_rng(8)
    rows = [rng.integers(1, 2**64, n, np.uint64).tolist() for n in (3, 5000, 10, 40000, 1)]
    rows += [rows[3][::2], rows[1][:2500] + rows[3][:10], rows[0]]
    pairs = list(pairwise([0, 1, 2, 3, 4, 5, 3, 6, 1, 7, 0]))
    expected = [len(set(rows[a]) & set(rows[b])) for a, b in pairs]
    assert overlap(rows, pairs, 0.0) == expected


def test_scores() -> None:
    shared, left, right = (np.array(column, np.uint32) for column in zip((3, 4, 6), (5, 5, 6), strict=True))
    similarity, in_right, in_left = in_order(scores(shared, left, right), "jaccard")[:3]
    assert similarity.tolist() == [3 / 7, 5 / 6]
    assert in_right.tolist() == [3 / 4, 1.0]
    assert in_left.tolist() == [3 / 6, 5 / 6]


def test_scores_of_sets_as_large_as_they_come() -> None:
    """Sizes that sum to more than 32 bits."""
    large = np.array([2**32 - 1], np.uint32)
    assert {name: one.tolist() for name, one in scores(large, large, large).items()} == {
        name: one.tolist() for name, one in equal_scores("jaccard", 1).items()
    }
