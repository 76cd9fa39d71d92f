"""Cuts: the words of the textbook, each once, each with an equal one that is the reason."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.word_search import Search, collections, lengths
from twinset.clusters.cuts import cut_spans, repeated_units
from twinset.textbook import passages


@settings(max_examples=150)
@given(
    collections(),
    lengths,
    st.randoms(use_true_random=False),
    st.sampled_from([(1, False), (2, False), (3, False), (1, True)]),
)
def test_cut_words_are_those_of_the_textbook(documents, least, dice, how) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(documents)))
    dice.shuffle(order)
    copies, everywhere = how
    search = Search(documents, least, crowd=0, within=True, rank=order, places_per_crowd=0)
    cuts = cut_spans(search.later_copies(copies, everywhere), least)
    found: set[tuple[int, int]] = set()
    for document, start, end, because, at in cuts.tolist():
        assert documents[document][start:end] == documents[because][at : at + end - start]
        assert (document, start) != (because, at)
        mine = {(document, word) for word in range(start, end)}
        assert not mine & found
        found |= mine
    assert found == passages.repeated_words(documents, least, order, copies, everywhere)
    assert cuts[:, :2].tolist() == sorted(cuts[:, :2].tolist())


units = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=20)


@given(units, st.permutations(range(5)), st.integers(1, 3), st.booleans())
def test_repeated_units(units: list[tuple[int, int]], order: list[int], copies: int, everywhere: bool) -> None:
    """A unit is its words, here a number, and its document; it has as many words as the number says, and one more."""
    units = sorted(units, key=lambda unit: unit[1])
    first: list[int] = []
    for at, (_, document) in enumerate(units):
        before = at and units[at - 1][1] == document
        first.append(first[-1] + units[at - 1][0] + 1 if before else 0)
    rank = np.argsort(np.array(order)).astype(np.uint32)
    places = sorted(range(len(units)), key=lambda at: (rank[units[at][1]], first[at]))
    same = {at: [other for other in places if units[other][0] == units[at][0]] for at in places}
    expected = []
    for at, others in same.items():
        repeated = len(others) > 1 if everywhere else at in others[copies:]
        if repeated:
            because = others[1] if everywhere and at == others[0] else others[0]
            words, document = units[at]
            expected.append([document, first[at], first[at] + words + 1, units[because][1], first[because]])
    columns = [np.array(some, kind) for some, kind in (
        ([words * 7 for words, _ in units], np.uint64), ([document for _, document in units], np.uint32),
        (first, np.uint32), ([words + 1 for words, _ in units], np.uint32),
    )]  # fmt: skip
    found = repeated_units(*columns, rank, 1 if everywhere else copies, everywhere)
    assert found.tolist() == sorted(expected)
