"""Windows around crowded anchors: which are crowds, and the stretches of text they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.word_search import Search, collections, lengths
from twinset.candidates.crowds import stretches
from twinset.system import batch_sizes
from twinset.textbook import passages


@given(collections(), lengths, st.integers(1, 3))
def test_stretches_are_the_first_places_of_crowded_windows(documents: list[list[str]], least: int, crowd: int) -> None:
    places = passages.windows(documents, least)
    crowded = passages.crowded_windows(documents, least, crowd)
    firsts = {places[one][0]: len({number for number, _ in places[one]}) for one in crowded if _is_shared(places[one])}
    expected = set()
    for number, at in firsts:
        if (number, at - 1) not in firsts:
            end = at
            while (number, end) in firsts:
                end += 1
            expected.add((number, at, end - at, max(firsts[number, one] for one in range(at, end))))
    crowds = Search(documents, least, crowd).crowds
    found = [] if crowds is None else [*stretches(*crowds.first_places())]
    assert {(one.document, one.place, one.windows, one.documents) for one in found} == expected
    assert len(found) == len(expected)


def _is_shared(places: list[tuple[int, int]]) -> bool:
    """Whether more than one document has a window: nothing else is compared unless it is asked for."""
    return len({number for number, _ in places}) > 1


@pytest.mark.parametrize("size", [1, 5])
def test_nothing_depends_on_how_much_is_made_at_a_time(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    texts = ("abcabcabd", "xabcabcy", "zzabcabcabd", "abcab", "cabcabc", "abdabcabc", "aaza", "bczza")
    documents = [list(text) for text in texts]

    def found() -> list[object]:
        crowds = Search(documents, 3, crowd=2, within=True).crowds
        assert crowds is not None
        pairs = sorted(row for rows in crowds.pairs() for row in rows.tolist())
        copies = [crowds.later_copies(copies, False).tolist() for copies in (1, 2)]
        everywhere = crowds.later_copies(1, True).tolist()
        return [pairs, crowds.ties().tolist(), *copies, everywhere, [*stretches(*crowds.first_places())]]

    expected = found()
    monkeypatch.setattr(batch_sizes, "CANDIDATE_ROWS", size)
    assert found() == expected
    assert all(expected)


def test_a_window_of_one_document_is_a_crowd_at_many_places() -> None:
    documents = [list("ab" * 40), list("ab" * 3), list("abc")]
    search = Search(documents, 4, crowd=2)
    runs, ties = search.runs_and_ties()
    assert runs == passages.runs_between(documents, 4, 2)
    assert ties == passages.ties(documents, 4, 2) != set()


@pytest.mark.parametrize("places", [18, 19, 20])
def test_a_window_is_a_crowd_above_its_number_of_places(places: int) -> None:
    """The limit is 20 places: one more is in the other document. Of the words `a b`, there are more in any case."""
    for letter in "cdefgh":
        first = [word for number in range(places) for word in ("a", "b", letter, f"x{number}")]
        documents = [[*first, "a", "b", "y"], ["a", "b", letter, "a", "b", "z"]]
        runs, ties = Search(documents, 3, crowd=2).runs_and_ties()
        assert runs == passages.runs_between(documents, 3, 2)
        assert ties == passages.ties(documents, 3, 2)
        assert len(runs) == (0 if places == 20 else places)
