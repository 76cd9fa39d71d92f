"""The exact join: every pair at or above the threshold is a candidate, once, however the sets are cut into blocks."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.candidates import prefix, prefix_kernels
from twinset.candidates.prefix import Frequencies, Prefixes, Probing, fitting, lists_of
from twinset.schema import Hashes, Numbers, Places

THRESHOLDS = st.sampled_from([0.05, 0.3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]) | st.floats(0.01, 1.0)
Sets = list[list[int]]


def flat(sets: Sets) -> tuple[Hashes, Places, Numbers]:
    hashes = np.array([token for one in sets for token in one], np.uint64)
    sizes = np.array([len(one) for one in sets], np.uint32)
    return hashes, prefix.offsets_of(sizes)[:-1], sizes


def prefixes_of(sets: Sets, salts: list[int], threshold: float, crowd: bool | None) -> Prefixes:
    """All sets that have something to join, by size; `crowd` overrules which way each takes."""
    hashes, starts, sizes = flat(sets)
    all_salts = np.array(salts, np.uint64)
    frequencies = Frequencies.for_tokens(len(hashes))
    frequencies.add(hashes, starts, sizes, all_salts)
    alone, counts, work, keys = prefix.prefixes(frequencies, hashes, starts, sizes, all_salts, threshold)
    bits = prefix.bitmaps(hashes, starts, sizes, threshold)
    runs = np.split(keys, np.cumsum(counts)[:-1]) if len(counts) else []
    maps = np.split(bits, np.cumsum(prefix.bitmap_words(sizes, threshold))[:-1]) if len(counts) else []
    listed = [int(i) for i in np.lexsort((np.arange(len(sizes)), sizes)) if counts[i]]
    crowded = prefix.crowded(sizes, np.sort(sizes[listed]), work, threshold)
    if crowd is not None:
        crowded[:] = crowd
    nothing = [np.empty(0, np.uint64)]
    return Prefixes(
        numbers=np.array(listed, np.uint32),
        sizes=sizes[listed],
        alone=alone[listed],
        salts=all_salts[listed] if any(salts) else np.empty(0, np.uint64),
        crowded=crowded[listed],
        offsets=prefix.offsets_of(counts[listed]),
        keys=np.concatenate([*nothing, *(runs[i] for i in listed)]),
        bit_offsets=prefix.offsets_of(np.array([len(maps[i]) for i in listed], np.int64)),
        bits=np.concatenate([*nothing, *(maps[i] for i in listed)]),
    )


def part(whole: Prefixes, chosen: npt.NDArray[np.int64]) -> Prefixes:
    """Some of the documents, in the same order."""
    salts = whole.salts[chosen] if len(whole.salts) else whole.salts
    runs = [whole.keys[whole.offsets[i] : whole.offsets[i + 1]] for i in chosen]
    maps = [whole.bits[whole.bit_offsets[i] : whole.bit_offsets[i + 1]] for i in chosen]
    nothing = [np.empty(0, np.uint64)]
    return Prefixes(
        whole.numbers[chosen], whole.sizes[chosen], whole.alone[chosen], salts, whole.crowded[chosen],
        prefix.offsets_of(np.array([len(run) for run in runs], np.int64)), np.concatenate(nothing + runs),
        prefix.offsets_of(np.array([len(one) for one in maps], np.int64)), np.concatenate(nothing + maps),
    )  # fmt: skip


def joined(whole: Prefixes, threshold: float, cuts: list[int], border: int | None = None) -> Counter[tuple[int, int]]:
    """All candidates, the documents cut into blocks at `cuts`; with `border`, only across it."""
    places = np.arange(len(whole.numbers))
    sides = [places] if border is None else [places[whole.numbers >= border], places[whole.numbers < border]]
    edges = [0, *sorted(min(cut, len(places)) for cut in cuts), len(places)]
    blocks = [[part(whole, side[(side >= a) & (side < b)]) for a, b in pairwise(edges)] for side in sides]
    found: Counter[tuple[int, int]] = Counter()
    for number, left in enumerate(blocks[0]):
        lists = lists_of(left, threshold, asked_by_larger=border is None)
        for right in blocks[0][number:] if border is None else blocks[1]:
            probing = Probing.of(lists, right, threshold, before=border is None)
            met = [pair for task in probing.tasks for pair in probing.candidates(task).tolist()]
            found.update((a, b) for a, b in met)
            if met:
                sizes = [(int(block.sizes[0]), int(block.sizes[-1])) for block in (left, right)]
                assert fitting(*sizes, threshold)
    return found


def wanted(sets: Sets, salts: list[int], threshold: float, border: int | None) -> set[tuple[int, int]]:
    """The pairs at or above the threshold."""
    found = oracles.pairs_of_sets({str(i): frozenset(one) for i, one in enumerate(sets)}, threshold)
    pairs = {(min(int(a), int(b)), max(int(a), int(b))) for a, b in found}
    return {(a, b) for a, b in pairs if salts[a] == salts[b] and (border is None or a < border <= b)}


@st.composite
def collections(draw: st.DrawFn) -> tuple[Sets, list[int], float, list[int], int | None]:
    """Sets of few tokens with near copies among them; some tokens share their high bits, some their low ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tokens = rng.integers(1, 2**64, draw(st.integers(1, 60)), np.uint64)
    kind = draw(st.sampled_from(["apart", "equal keys", "equal places"]))
    if kind == "equal keys":  # all but the low 24 bits are in a key
        low = np.uint64(0xFFFFFF)
        tokens = (tokens & low) | (tokens[rng.integers(0, 3, len(tokens)) % len(tokens)] & ~low)
    elif kind == "equal places":
        tokens = (tokens & ~np.uint64(0xFFFF)) | rng.integers(0, 3, len(tokens), np.uint64)
    pool = np.unique(np.maximum(tokens, np.uint64(1)))
    sets: Sets = []
    for _ in range(draw(st.integers(0, 25))):
        one = set(rng.choice(pool, rng.integers(1, len(pool) + 1)).tolist())
        if sets and rng.random() < 0.6:  # a near copy of an earlier one
            one = set(sets[rng.integers(len(sets))]) ^ set(rng.choice(pool, 1 + rng.integers(0, 3)).tolist())
        sets.append(sorted(one or {int(pool[0])}))
    salts = [0x9E3779B97F4A7C15 * int(salt) for salt in rng.integers(0, draw(st.integers(1, 2)), len(sets))]
    cuts = draw(st.lists(st.integers(0, 25), max_size=4))
    border = draw(st.none() | st.integers(0, 25))
    return sets, salts, draw(THRESHOLDS), cuts, border


@given(collections(), st.sampled_from([None, True, False]))
def test_no_pair_is_missed_and_none_comes_twice(
    collection: tuple[Sets, list[int], float, list[int], int | None], crowd: bool | None
) -> None:
    sets, salts, threshold, cuts, border = collection
    whole = prefixes_of(sets, salts, threshold, crowd)
    expected = wanted(sets, salts, threshold, border)
    found = joined(whole, threshold, [], border)
    assert expected <= set(found)
    assert set(found.values()) <= {1}
    assert joined(whole, threshold, cuts, border) == found
    for left, right in found:
        assert left < right
        assert salts[left] == salts[right]
        assert border is None or left < border <= right


@given(collections())
def test_bounds_hold_for_every_pair(collection: tuple[Sets, list[int], float, list[int], int | None]) -> None:
    """Each bound by itself, on sets that are listed or not: what it rules out is below the threshold."""
    sets, _, threshold, _, _ = collection
    hashes, starts, sizes = flat(sets)
    bits = prefix.bitmaps(hashes, starts, sizes, threshold)
    ends = prefix.offsets_of(prefix.bitmap_words(sizes, threshold))
    maps = [int.from_bytes(bits[a:b].tobytes(), "little") for a, b in pairwise(ends.tolist())]
    for i, j in combinations(range(len(sets)), 2):
        bound = oracles.differing_bits(maps[i], maps[j], 64 * int(min(ends[i + 1] - ends[i], ends[j + 1] - ends[j])))
        assert bound <= len(set(sets[i]) ^ set(sets[j]))


@given(collections())
def test_bitmaps_are_the_oracles(collection: tuple[Sets, list[int], float, list[int], int | None]) -> None:
    sets, _, threshold, _, _ = collection
    hashes, starts, sizes = flat(sets)
    words = prefix.bitmap_words(sizes, threshold)
    bits = np.split(prefix.bitmaps(hashes, starts, sizes, threshold), np.cumsum(words)[:-1]) if sets else []
    for one, size, got in zip(sets, words.tolist(), bits, strict=True):
        assert size & (size - 1) == 0
        assert int.from_bytes(got.tobytes(), "little") == oracles.bitmap(one, 64 * size)


@given(collections())
def test_prefixes_are_the_oracles(collection: tuple[Sets, list[int], float, list[int], int | None]) -> None:
    sets, salts, threshold, _, _ = collection
    hashes, starts, sizes = flat(sets)
    frequencies = Frequencies.for_tokens(len(hashes))
    frequencies.add(hashes, starts, sizes, np.array(salts, np.uint64))
    alone, counts, work, keys = prefix.prefixes(
        frequencies, hashes, starts, sizes, np.array(salts, np.uint64), threshold
    )
    expected = oracles.prefixes(sets, salts, threshold, len(frequencies.low))
    runs = np.split(keys, np.cumsum(counts)[:-1]) if sets else []
    for i, (one, theirs) in enumerate(expected):
        assert (int(alone[i]), runs[i].tolist()) == (one, theirs)
        assert int(work[i]) == sum(key >> prefix_kernels.KEY_HASH_BITS for key in theirs)


def test_frequencies_beyond_what_a_byte_holds() -> None:
    """A token of 1,000 sets comes after one of 400, which comes after those of fewer than 255."""
    often, less, seldom = 7 << 40 | 1, 8 << 40 | 2, 9 << 40 | 3
    sets = [[often, *([less] * (i < 400)), *([seldom] * (i < 200)), i + (i << 44) + 1000] for i in range(1000)]
    hashes, starts, sizes = flat(sets)
    salts = np.zeros(len(sets), np.uint64)
    frequencies = Frequencies.for_tokens(len(hashes))
    frequencies.add(hashes, starts, sizes, salts)
    _, _, _, keys = prefix.prefixes(frequencies, hashes, starts[:1], sizes[:1], salts[:1], 0.01)
    met = [(int(key) >> 40, int(key) & (2**40 - 1)) for key in keys]
    assert met == [(200, seldom >> 24), (400, less >> 24), (1000, often >> 24)]


def test_the_order_in_which_sets_are_counted_says_nothing() -> None:
    rng = np.random.default_rng(4)
    sets = [sorted(set(rng.integers(1, 2**64, 40, np.uint64).tolist())) for _ in range(5)] * 300
    hashes, starts, sizes = flat(sets)
    salts = np.zeros(len(sets), np.uint64)
    whole, pieces = Frequencies.for_tokens(1000), Frequencies.for_tokens(1000)
    whole.add(hashes, starts, sizes, salts)
    for chosen in np.array_split(rng.permutation(len(sets)), 7):
        pieces.add(hashes, starts[chosen], sizes[chosen], salts[chosen])
    np.testing.assert_array_equal(whole.low, pieces.low)
    np.testing.assert_array_equal(whole.high, pieces.high)
    assert whole.high.any()


@pytest.mark.parametrize("crowd", [None, True, False])
def test_a_crowd_cut_into_many_tasks(crowd: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of few tokens that everybody has: their lists are longer than there are sets."""
    monkeypatch.setattr(prefix, "_WORK", 500)
    rng = np.random.default_rng(2)
    pool = rng.integers(1, 2**64, 30, np.uint64)
    sets = [sorted(rng.choice(pool, rng.integers(22, 30), replace=False).tolist()) for _ in range(300)]
    whole = prefixes_of(sets, [0] * len(sets), 0.75, crowd)
    found = joined(whole, 0.75, [])
    assert len(Probing.of(lists_of(whole, 0.75, True), whole, 0.75, before=True).tasks) > 10
    expected = wanted(sets, [0] * len(sets), 0.75, None)
    assert expected <= set(found)
    assert set(found.values()) == {1}
    assert len(expected) > 100
    assert crowd is False or whole.crowded.any()
    assert joined(whole, 0.75, [40, 41, 200]) == found


def test_few_candidates_where_little_is_shared() -> None:
    """Bounds that rule nothing out would pass every test above."""
    rng = np.random.default_rng(3)
    common = rng.integers(1, 2**64, 50, np.uint64)
    # Any two share about a third: a form, filled in.
    sets = [sorted({*common.tolist(), *rng.integers(1, 2**64, 50, np.uint64).tolist()}) for _ in range(400)]
    assert not joined(prefixes_of(sets, [0] * len(sets), 0.8, None), 0.8, [])
    crowd = joined(prefixes_of(sets, [0] * len(sets), 0.8, True), 0.8, [])
    assert len(crowd) < 0.01 * 400 * 399 / 2
    low = joined(prefixes_of(sets, [0] * len(sets), 0.5, None), 0.5, [])
    assert len(low) < 0.01 * 400 * 399 / 2
