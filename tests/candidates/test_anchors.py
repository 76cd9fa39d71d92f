"""Anchors that repeat, the groups they form, and the pairs of places among them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.word_search import Search, collections, lengths
from twinset.candidates.anchors import CROWD, FEW, Repeats
from twinset.system import batch_sizes
from twinset.textbook import passages

few = st.integers(0, 20)  # bits of one word of the filter, or one bit of it
hashes = st.lists(st.integers(0, 2**64 - 1) | few | few.map(lambda n: n << 40), max_size=60)


@given(hashes, st.sampled_from([1, 1 << 28]))
def test_no_repeated_anchor_is_lost(values: list[int], most_bytes: int) -> None:
    known = Repeats(len(values), most_bytes)
    half = len(values) // 2
    for some in (values[:half], values[half:]):
        known.add(np.array(some, np.uint64))
    every = np.array(values, np.uint64)
    counts = Counter(values)
    assert known.added(every).all()
    assert known.repeated(every)[[counts[value] > 1 for value in values]].all()


def test_few_others_pass() -> None:
    dice = np.random.default_rng(2)
    own, other = (dice.integers(0, 2**63, 20_000).astype(np.uint64) for _ in range(2))
    known = Repeats(len(own))
    known.add(own)
    assert known.repeated(own).mean() < 0.15
    assert known.added(other).mean() < 0.15


@given(collections(), lengths, st.integers(1, 3), st.booleans(), st.integers(0, 5))
def test_each_run_of_few_documents_has_a_pair(
    documents: list[list[str]], least: int, crowd: int, within: bool, border: int
) -> None:
    border = 0 if within or border >= len(documents) else border
    search = Search(documents, least, crowd, border, within)
    anchors = search.anchors
    every = [*zip(anchors.hashes.tolist(), anchors.documents.tolist(), anchors.places.tolist(), strict=True)]
    places: dict[int, list[tuple[int, int]]] = {}
    for value, document, place in every:
        places.setdefault(value, []).append((document, place))

    def is_crowd(some: list[tuple[int, int]]) -> bool:
        return len({document for document, _ in some}) > crowd or len(some) > 10 * crowd

    value_at = {(document, place): value for value, document, place in every}
    pairs = [tuple(row) for rows in search.groups.pairs(search.sizes.k) for row in rows.tolist()]
    assert len(set(pairs)) == len(pairs)
    for a, b, i, j in pairs:
        assert value_at[a, i] == value_at[b, j]
        assert not is_crowd(places[value_at[a, i]])
        assert (a, i) < (b, j)
        assert a != b or within
        assert not border or a < border <= b
    found = {(a, b, j - i, i) for a, b, i, j in pairs}
    for a, b, i, j, n in passages.runs_between(documents, least, 10**6, border or None, within):
        rare = [
            at
            for at in range(n - search.sizes.k + 1)
            if (a, i + at) in value_at and (b, j + at) in value_at and not is_crowd(places[value_at[a, i + at]])
        ]
        if rare and a != b:
            assert any((a, b, j - i, at) in found for at in range(i, i + n))


@given(collections(), lengths, st.integers(1, 3), st.integers(0, 5))
def test_crowded_places_are_those_of_crowds(documents: list[list[str]], least: int, crowd: int, border: int) -> None:
    border = 0 if border >= len(documents) else border
    search = Search(documents, least, crowd, border)
    anchors = search.anchors
    holders: dict[int, list[tuple[int, int]]] = {}
    for value, document, place in zip(
        anchors.hashes.tolist(), anchors.documents.tolist(), anchors.places.tolist(), strict=True
    ):
        holders.setdefault(value, []).append((document, place))
    expected = []
    for places in holders.values():
        numbers = {document for document, _ in places}
        sides = len({document < border for document in numbers})
        if (len(numbers) > crowd or len(places) > 10 * crowd) and (sides == 2 if border else len(numbers) > 1):
            expected += places
    found_documents, found_places = search.crowded
    assert [*zip(found_documents.tolist(), found_places.tolist(), strict=True)] == sorted(expected)
    for most in (1, 5):
        portions = [[*zip(one.tolist(), other.tolist(), strict=True)] for one, other in search.groups.crowded(most)]
        assert sorted(place for portion in portions for place in portion) == sorted(expected)
        for portion in portions:
            assert portion == sorted(portion)
            grams = {value for value, places in holders.items() if set(places) & set(portion)}
            assert sum(len(holders[value]) for value in grams) == len(portion)  # whole crowds
            assert len(portion) <= most or len(grams) == 1


def test_an_anchor_is_a_crowd_above_its_number_of_places() -> None:
    for words, kind in ((18, FEW), (19, FEW), (20, CROWD)):
        assert Search([["a"] * words, ["a"]], 1, crowd=2).groups.kinds.tolist() == [kind]


@pytest.mark.parametrize("size", [1, 7])
def test_pairs_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    documents = [list("abcabcdabcaabbcc"), list("aabbccabcabcd"), list("dcbaabcabc")]
    expected = np.concatenate([*Search(documents, 3).groups.pairs(2)])
    monkeypatch.setattr(batch_sizes, "CANDIDATE_ROWS", size)
    portions = [*Search(documents, 3).groups.pairs(2)]
    assert len(portions) > 1
    assert np.concatenate(portions).tolist() == expected.tolist()
