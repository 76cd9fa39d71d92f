"""Runs of equal words: those of the textbook, whatever anchors, crowds and places led to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.word_search import Search, collections, lengths
from twinset.pairs.coverage import NONE, count_holders, coverage
from twinset.pairs.passages import joined_runs, maximal_runs, spans_of
from twinset.textbook import passages


@settings(max_examples=150)
@given(collections(), lengths, st.sampled_from([1, 2, 3, 100]), st.booleans(), st.integers(0, 5))
def test_runs_and_ties_are_those_of_the_textbook(
    documents: list[list[str]], least: int, crowd: int, within: bool, border: int
) -> None:
    border = 0 if within or border >= len(documents) else border
    runs, ties = Search(documents, least, crowd, border, within).runs_and_ties()
    assert runs == passages.runs_between(documents, least, crowd, border or None, within)
    assert ties == passages.ties(documents, least, crowd, border or None, within)


@pytest.mark.parametrize(("least", "crowd"), [(20, 3), (50, 3), (50, 100)])
def test_long_runs(least: int, crowd: int) -> None:
    dice = np.random.default_rng(least)
    pool = [[str(word) for word in dice.integers(0, 5, 70)] for _ in range(3)]
    documents = []
    for _ in range(12):
        pieces = [pool[dice.integers(3)][dice.integers(9) :], [str(word) for word in dice.integers(0, 5, 15)]]
        documents.append([word for at in dice.permutation(2) for word in pieces[at]])
    runs, ties = Search(documents, least, crowd).runs_and_ties()
    assert runs == passages.runs_between(documents, least, crowd)
    assert ties == passages.ties(documents, least, crowd)
    assert len(runs | ties) > 5


@pytest.mark.parametrize("words", [1, 4, 5, 9, 30])
def test_runs_on_both_sides_of_replaced_words(words: int) -> None:
    """Both runs have the same distance in both documents, and yet one does not lead to the other."""
    before, after = ([f"{name}{at}" for at in range(30)] for name in ("before", "after"))
    documents = [[*before, *(f"{name}{at}" for at in range(words)), *after] for name in ("left", "right")]
    runs, ties = Search(documents, 8).runs_and_ties()
    assert runs == {(0, 1, 0, 0, 30), (0, 1, 30 + words, 30 + words, 30)}
    assert ties == set()


@pytest.mark.parametrize("least", [4, 8, 20])
def test_a_rare_window_after_a_crowded_one(least: int) -> None:
    """Four documents have the same words, and two of them one word more: their last window is no crowd."""
    for letter in "abcdefgh":
        shared = [f"{letter}{at}" for at in range(least + 3)]
        documents = [[*shared, *more] for more in (("more", "x"), ("more", "y"), (), ("z",))]
        runs, ties = Search(documents, least, crowd=2).runs_and_ties()
        assert runs == passages.runs_between(documents, least, 2) == {(0, 1, 0, 0, least + 4)}
        assert ties == passages.ties(documents, least, 2) != set()


@settings(max_examples=60)
@given(collections(2), st.integers(1, 4), st.integers(1, 6), st.integers(1, 12))
def test_joined_runs(documents: list[list[str]], run: int, gap: int, least: int) -> None:
    left, right = documents[0], documents[-1]
    words = Search([left, right], run).words
    starts = [(0, 1, i, j) for i, j, _ in passages.maximal_runs(left, right, run)]
    runs = maximal_runs(np.array(starts, np.uint32).reshape(-1, 4), words, run)
    found = joined_runs(runs, words, least, run, gap)
    assert {tuple(row[2:]) for row in found.tolist()} == oracles.joined_passages(left, right, least, run, gap)


@pytest.mark.parametrize("start", [0, 3, 6])
def test_one_run_leads_to_the_others_up_to_the_ends_of_both_texts(start: int) -> None:
    documents = [list("abLcdLef"), list("abRcdRef")]
    words = Search(documents, 2).words
    runs = maximal_runs(np.array([[0, 1, start, start]], np.uint32), words, 2)
    assert joined_runs(runs, words, 6, 2, 1).tolist() == [[0, 1, 0, 8, 0, 8, 6]]


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_runs_in_another_order_are_joined_over_the_same_gap(gap: int) -> None:
    """No run follows the other on both sides: they are joined because they are near."""
    documents = [list("abc12def"), list("def34abc")]
    words = Search(documents, 3).words
    runs = maximal_runs(np.array([[0, 1, 0, 5], [0, 1, 5, 0]], np.uint32), words, 3)
    apart = [[0, 1, 0, 3, 5, 8, 3], [0, 1, 5, 8, 0, 3, 3]]
    assert joined_runs(runs, words, 3, 3, gap).tolist() == ([[0, 1, 0, 8, 0, 8, 6]] if gap >= 2 else apart)


def test_the_sides_of_joined_runs_of_one_text_may_touch() -> None:
    words = Search([list("abcxdefdefyabc")], 3).words
    runs = maximal_runs(np.array([[0, 0, 0, 11], [0, 0, 4, 7]], np.uint32), words, 3)
    assert joined_runs(runs, words, 3, 3, 1).tolist() == [[0, 0, 0, 7, 7, 14, 6]]


def test_a_chain_of_many_runs_finds_room() -> None:
    left, right = (
        [word for at in range(3000) for word in (f"a{at}", f"b{at}", end)] for end in ("left", "right")
    )  # fmt: skip
    words = Search([list(left), list(right)], 2).words
    found = joined_runs(maximal_runs(np.array([[0, 1, 0, 0]], np.uint32), words, 2), words, 10, 2, 1)
    assert found.tolist() == [[0, 1, 0, 8999, 0, 8999, 6000]]


@settings(max_examples=60)
@given(collections(), st.integers(1, 5), st.booleans())
def test_coverage_and_holders(documents: list[list[str]], least: int, within: bool) -> None:
    runs = sorted(passages.runs_between(documents, least, 10**6, None, within))
    rows = spans_of(np.array(runs, np.uint32).reshape(-1, 5))
    expected: list[dict[int, set[int]]] = [{} for _ in documents]
    for a, b, i, j, n in runs:
        expected[a].setdefault(b, set()).update(range(i, i + n))
        expected[b].setdefault(a, set()).update(range(j, j + n))
    found = coverage(rows, len(documents))
    for number, shared in enumerate(expected):
        most = min(shared, key=lambda other: (-len(shared[other]), other), default=NONE)
        words = set().union(*shared.values())
        assert (found.copied[number], found.most_in[number]) == (len(words), most)
        assert found.most[number] == len(shared.get(most, ()))
    held = [oracles.holders(documents, documents[a][i : i + n]) for a, _, i, _, n in runs]
    assert count_holders(rows, len(documents)).tolist() == held
