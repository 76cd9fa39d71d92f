"""Passages by their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.textbook import passages

words = st.lists(st.sampled_from("ab"), max_size=14)


@given(words, words, st.integers(1, 4))
def test_runs_are_maximal_and_hold_every_shared_window(left: list[str], right: list[str], least: int) -> None:
    runs = passages.maximal_runs(left, right, least)
    for i, j, n in runs:
        assert left[i : i + n] == right[j : j + n]
        assert n >= least
        assert not (i and j and left[i - 1] == right[j - 1])
        assert not (i + n < len(left) and j + n < len(right) and left[i + n] == right[j + n])
    for i in range(len(left) - least + 1):
        for j in range(len(right) - least + 1):
            if left[i : i + least] == right[j : j + least]:
                assert sum(j - i == y - x and x <= i and i + least <= x + n for x, y, n in runs) == 1


@given(st.lists(words, min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_every_window_elsewhere_is_in_a_run_or_tied(
    documents: list[list[str]], least: int, crowd: int, within: bool
) -> None:
    rows = passages.runs_between(documents, least, crowd, None, within)
    rows |= passages.ties(documents, least, crowd, None, within)
    told = {
        (number, at) for a, b, i, j, n in rows for number, start in ((a, i), (b, j)) for at in range(start, start + n)
    }
    for places in passages.windows(documents, least).values():
        if len({number for number, _ in places}) > 1:
            # In the document of the first place, a crowd's other places are tied to it only within documents.
            first = places[0]
            asked = [place for place in places if place[0] != first[0] or place == first]
            assert {(number, at + word) for number, at in asked for word in range(least)} <= told


@given(st.lists(words, min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 3))
def test_what_is_left_has_no_more_copies_than_are_kept(documents: list[list[str]], least: int, copies: int) -> None:
    cut = passages.repeated_words(documents, least, range(len(documents)), copies)
    left = []
    for number, one in enumerate(documents):
        piece: list[str] = []
        for at, word in enumerate(one):
            if (number, at) in cut:
                left.append(piece)
                piece = []
            else:
                piece.append(word)
        left.append(piece)
    again = passages.repeated_words(left, least, range(len(left)), copies)
    assert again == set()
    every = passages.repeated_words(documents, least, range(len(documents)), everywhere=True)
    assert passages.repeated_words(documents, least, range(len(documents))) <= every


@pytest.mark.parametrize(("text", "least", "n"), [("la la la la", 2, 2), ("la la la", 2, 0), ("a b a b a b", 2, 4)])
def test_copies_in_one_document(text: str, least: int, n: int) -> None:
    assert len(passages.repeated_words([text.split()], least, [0])) == n


def test_the_order_says_which_copy_stays() -> None:
    documents = [list("abc"), list("xabc")]
    assert {number for number, _ in passages.repeated_words(documents, 3, [0, 1])} == {1}
    assert {number for number, _ in passages.repeated_words(documents, 3, [1, 0])} == {0}


def test_a_crowd_is_tied_to_the_first_place() -> None:
    documents = [f"{name} all rights reserved".split() for name in "abcd"]
    assert len(passages.runs_between(documents, 3, 4)) == 6
    assert passages.runs_between(documents, 3, 3) == set()
    assert passages.ties(documents, 3, 3) == {(0, 1, 1, 1, 3), (0, 2, 1, 1, 3), (0, 3, 1, 1, 3)}
    assert passages.ties(documents, 3, 3, border=2) == {(0, 2, 1, 1, 3), (0, 3, 1, 1, 3), (1, 2, 1, 1, 3)}
