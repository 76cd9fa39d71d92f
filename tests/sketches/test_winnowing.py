"""Winnowing: equal runs share an anchor, and its values are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.word_search import Search, collections, lengths
from twinset.sketches.winnowing import Winnow, surroundings, window_hashes
from twinset.textbook import passages


def gram_hashes(words: list[str], k: int) -> list[int]:
    """A polynomial in the word hashes of each k-gram, finished."""
    found = []
    for at in range(len(words) - k + 1):
        h = 0
        for word in words[at : at + k]:
            h = (h * oracles.MIX_A + oracles.word_hash(word)) & oracles.BITS_64
        found.append(oracles.fmix64(h))
    return found


def kept_by(words: list[str], sizes: Winnow) -> list[int]:
    """For each window the place of its least gram, the rightmost of equal ones."""
    grams = gram_hashes(words, sizes.k)
    return [min(range(at, at + sizes.w), key=lambda i: (grams[i], -i)) for at in range(len(grams) - sizes.w + 1)]


@given(st.integers(1, 70_000))
def test_lengths_fit_the_least_run(least: int) -> None:
    sizes = Winnow.of(least)
    assert sizes.least == least
    assert 1 <= sizes.w <= sizes.k


@given(collections(3), lengths)
def test_anchors_are_the_least_grams_of_windows(documents: list[list[str]], least: int) -> None:
    search = Search(documents, least)
    sizes, found = search.sizes, search.anchors
    expected = [
        (gram_hashes(words, sizes.k)[place], number, place)
        for number, words in enumerate(documents)
        for place in sorted(set(kept_by(words, sizes)))
    ]
    assert list(zip(*(one.tolist() for one in (found.hashes, found.documents, found.places)), strict=True)) == expected


@given(collections(3), lengths)
def test_equal_runs_share_an_anchor_at_one_distance(documents: list[list[str]], least: int) -> None:
    found = Search(documents, least).anchors
    anchors = {
        (d, p): h
        for h, d, p in zip(found.hashes.tolist(), found.documents.tolist(), found.places.tolist(), strict=True)
    }
    k = Winnow.of(least).k
    for a, left in enumerate(documents):
        for b, right in enumerate(documents[a:], a):
            for i, j, n in passages.maximal_runs(left, right, least):
                shared = [at for at in range(n - k + 1) if (a, i + at) in anchors and (b, j + at) in anchors]
                assert shared
                assert all(anchors[a, i + at] == anchors[b, j + at] for at in shared)


@given(collections(3), lengths)
def test_surroundings_are_the_windows_that_keep_an_anchor(documents: list[list[str]], least: int) -> None:
    search = Search(documents, least)
    found = search.anchors
    ends = np.searchsorted(found.documents, np.arange(len(documents)), side="right").astype(np.int64)
    around = surroundings(search.words.words, search.offsets, ends, found.places, search.sizes)
    seen: dict[int, tuple[str, ...]] = {}
    for at, (number, place) in enumerate(zip(found.documents.tolist(), found.places.tolist(), strict=True)):
        windows = [window for window, kept in enumerate(kept_by(documents[number], search.sizes)) if kept == place]
        assert windows == list(range(around.first[at], around.last[at] + 1))
        words = tuple(documents[number][windows[0] : windows[-1] + least])
        assert seen.setdefault(int(around.hashes[at]), words) == words
    hashes = window_hashes(search.words.words, search.words.starts[found.documents], around.first, around.last, least)
    expected = [
        hash
        for number, first, last in zip(
            found.documents.tolist(), around.first.tolist(), around.last.tolist(), strict=True
        )
        for hash in gram_hashes(documents[number][first : last + least], least)
    ]
    assert hashes.tolist() == expected


def test_wanted_anchors_must_be_anchors() -> None:
    search = Search([list("abcdefgh")], 3)
    missing = sorted(set(range(8)) - set(search.anchors.places.tolist()))[:1]
    with pytest.raises(RuntimeError, match="1 anchors are not those of these words"):
        surroundings(search.words.words, search.offsets, np.array([1]), np.array(missing, np.uint32), search.sizes)


def test_golden_values() -> None:
    words = ["it", "was", "the", "best", "of", "times", "it", "was", "the", "worst", "of", "times"]
    found = Search([words], 5).anchors
    assert list(zip(found.hashes.tolist(), found.places.tolist(), strict=True)) == [
        (1237666721919383379, 1),
        (1588439795437914426, 4),
        (8829900206715600094, 6),
        (860548287524552292, 8),
    ]
