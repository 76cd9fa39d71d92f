"""The nearest sets from lists and bitmaps, against counting what each pair shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinset.candidates.nearest import sets as nearest_sets
from twinset.candidates.nearest.sets import SetLists
from twinset.compiled.bytes_kernels import splitmix64
from twinset.system import batch_sizes

Sets = list[set[int]]
Nearest = dict[int, list[tuple[int, int]]]


def brute(sets: Sets, top: int, ranks: list[int], border: int | None) -> Nearest:
    """The nearest of each, and how many elements they share."""
    count = len(sets)
    found = {}
    for query in range(count if border is None else border):
        near = []
        for other in range(0 if border is None else border, count):
            shared = len(sets[query] & sets[other])
            if shared and other != query:
                near.append((-shared / len(sets[query] | sets[other]), ranks[other], other, shared))
        found[query] = [(other, shared) for _, _, other, shared in sorted(near)[:top]]
    return found


def flat(sets: Sets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes = np.array([len(one) for one in sets], np.uint32)
    starts = np.zeros(len(sets) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return splitmix64(np.array([item for one in sets for item in one], np.uint64)), starts[:-1], sizes


def listed(sets: Sets, top: int, ranks: list[int], border: int | None) -> Nearest:
    lists = SetLists(*flat(sets), np.array(ranks, np.uint32), border)
    found = {}
    for rows in lists.tasks:
        nearest = lists.search(rows, top)
        for place, row in enumerate(range(rows.start, rows.stop)):
            query = int(lists.queries[row])
            some = slice(0, int(nearest.found[place]))
            others = lists.targets[nearest.positions[place, some]].tolist()
            both = zip(others, nearest.shared[place, some].tolist(), strict=True)
            scores = {other: shared / len(sets[query] | sets[other]) for other, shared in both}
            order = sorted(scores, key=lambda other: (-scores[other], ranks[other]))
            found[query] = [(other, len(sets[query] & sets[other])) for other in order]
            shared = nearest.shared[place, some].tolist()
            assert shared == [len(sets[query] & sets[other]) for other in others]
    return {query: found.get(query, []) for query in range(len(sets) if border is None else border)}


def drawn(seed: int, alike: bool) -> Sets:
    """Sets of a skewed distribution, some empty; or families of sets that have most of their elements in common."""
    rng = np.random.default_rng(seed)
    items = int(rng.integers(3, 400))
    chances = 1 / np.arange(1, items + 1) ** rng.uniform(0, 1.3)
    sizes = rng.integers(0, 60, int(rng.integers(2, 300)))
    sets = [set(rng.choice(items, size, p=chances / chances.sum()).tolist()) for size in sizes]
    if alike:
        wholes = [sorted(one) for one in sets[: 1 + len(sets) // 8]]
        sets = [{item for item in wholes[rng.integers(len(wholes))] if rng.random() < 0.8} for _ in sets]
    return sets


@settings(max_examples=150)
@given(
    st.integers(0, 2**32), st.booleans(), st.integers(1, 20), st.sampled_from([1, 30, 300, 1 << 17]), st.booleans(),
    st.sampled_from([2, 24, 10_000]),
)  # fmt: skip
def test_the_nearest_are_those_of_counting(
    seed: int, alike: bool, top: int, entries: int, sides: bool, frequent: int
) -> None:
    sets = drawn(seed, alike)
    rng = np.random.default_rng(seed)
    ranks = rng.permutation(len(sets)).tolist()
    border = int(rng.integers(0, len(sets) + 1)) if sides else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_sizes, "BOUND_ENTRIES", entries)
        patch.setattr(nearest_sets, "_FREQUENT", frequent)
        assert listed(sets, top, ranks, border) == brute(sets, top, ranks, border)


def test_more_than_one_block_and_one_word_of_frequent_elements() -> None:
    rng = np.random.default_rng(5)
    sets = [set(rng.choice(150, int(size), replace=False).tolist()) for size in rng.integers(1, 90, 700)]
    ranks = list(range(700))
    assert listed(sets, 7, ranks, None) == brute(sets, 7, ranks, None)


def test_other_sets_may_ask_and_have_unknown_elements() -> None:
    sets = drawn(9, True)
    lists = SetLists(*flat(sets), np.arange(len(sets), dtype=np.uint32), border=0)
    asking = [*sets[:20], {10**6}, set(), {*sets[3], 10**6, 10**7}]
    found = lists.search_sets(*flat(asking), 3)
    for place, one in enumerate(asking):
        expected = brute([one, *sets], 3, list(range(len(sets) + 1)), 1)[0]
        some = slice(0, int(found.found[place]))
        others = lists.targets[found.positions[place, some]].tolist()
        both = zip(others, found.shared[place, some].tolist(), strict=True)
        assert sorted(both) == sorted((other - 1, shared) for other, shared in expected)


def test_a_search_of_families_compares_few_of_many_sets() -> None:
    rng = np.random.default_rng(2)
    sets = []
    for family in range(400):
        whole = [*range(family * 15, family * 15 + 15), 10**6, 10**6 + 1]  # two elements that all sets have
        sets += [{item for item in whole if rng.random() < 0.9 or item >= 10**6} for _ in range(12)]
    ranks = list(range(len(sets)))
    lists = SetLists(*flat(sets), np.array(ranks, np.uint32))
    assert sum(lists.search(rows, 5).compared for rows in lists.tasks) < 20 * len(sets)
    found = lists.search(slice(0, len(sets)), 5)
    for row in range(0, len(sets), 400):
        query = int(lists.queries[row])
        family = range(query // 12 * 12, query // 12 * 12 + 12)
        assert set(lists.targets[found.positions[row]].tolist()) <= {*family} - {query}


def test_the_rarest_elements_bound_the_others() -> None:
    rng = np.random.default_rng(3)
    sets = []
    for family in range(600):  # five elements of the family alone, and ten that 200 of 4,800 sets have
        whole = [*range(family * 5, family * 5 + 5), *(10**6 + rng.choice(250, 10, replace=False)).tolist()]
        sets += [{item for item in whole if item < 10**6 or rng.random() < 0.95} for _ in range(8)]
    lists = SetLists(*flat(sets), np.arange(len(sets), dtype=np.uint32))
    whole_search = lists.search(slice(0, len(sets)), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_sizes, "BOUND_ENTRIES", 1)
        bounded = lists.search(slice(0, len(sets)), 3)
    assert bounded.compared < whole_search.compared / 5
    for one, other in zip(bounded.positions, whole_search.positions, strict=True):
        assert set(one.tolist()) == set(other.tolist())
