"""The data of a page of passages: joined again, the pieces are the texts, and what was left out is said."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.report.passages import Shared, boilerplate_table, page_of
from twinset.report.passage_views import CONTEXT, LEAST_FOLD, PageLimits, PassageTables, page_data

LONG = "plain words that nobody else has written anywhere " * 8
ONE, TWO = "the same seven words are in both 🚢", "another run of words, in both of them"


def data_of(page: bytes) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.decode(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def words_of(page: bytes) -> str:
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", page.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def two() -> Shared:
    texts = {"a": f"𝒜 {LONG}{ONE} {LONG}{TWO}", "b": f"{TWO} {ONE}", "c": LONG[:40]}
    return Shared(texts, [("a", "b", ONE, 2), ("a", "b", TWO, 2)])


def test_pieces_are_cut_by_code_points() -> None:
    shared = two()
    data = data_of(page_of(shared))
    assert [text["id"] for text in data["texts"]] == ["b", "a"], "by descending share"
    for text in data["texts"]:
        assert "".join(text["pieces"]) == shared.texts[text["id"]]
    [pair] = data["pairs"]
    left, right = (data["texts"][side]["pieces"] for side in pair["sides"])
    shown = [("".join(left[a:b]), "".join(right[c:d])) for a, b, c, d, *_ in pair["passages"]]
    assert shown == [(ONE, ONE), (TWO, TWO)]
    assert data["pairs_of"] == [[0], [0]]
    folded = ["".join(left[a:b]) for a, b in pair["folds"][0]]
    assert len(folded) == 2
    assert pair["folds"][1] == []


spans = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 120)), min_size=1, max_size=6)


@given(st.text(st.sampled_from("ab é🚢\n字"), min_size=1, max_size=500), spans, st.integers(0, 600))
def test_pieces_are_the_text_whatever_the_places(text: str, places: list[tuple[int, int]], longest: int) -> None:
    shared = Shared({"a": text, "b": text}, [("a", "b", text[:1], 2)])
    [row] = shared.passages.to_pylist()
    rows = []
    for start, length in places:
        ends = {"left_start": start, "left_end": start + length, "right_start": 0, "right_end": length}
        rows.append({**row, **ends})
    passages = shared.passages.from_pylist(rows, shared.passages.schema)
    tables = PassageTables(passages, shared.copied, None)
    data = page_data(tables, tables.listed(), shared.read, PageLimits(longest=longest))
    for one in data["texts"]:
        lengths = [piece if isinstance(piece, int) else len(piece) for piece in one["pieces"]]
        assert sum(lengths) == len(text)
        at = 0
        for piece, length in zip(one["pieces"], lengths, strict=True):
            assert isinstance(piece, int) or piece == text[at : at + length]
            at += length
    [pair] = data["pairs"]
    for side, (place, folds) in enumerate(zip(pair["sides"], pair["folds"], strict=True)):
        pieces = data["texts"][place]["pieces"]
        covered = {at for one in pair["passages"] for at in range(*one[2 * side : 2 * side + 2])}
        hidden = {at for fold in folds for at in range(*fold)}
        assert not covered & hidden, "a passage is never folded"
        assert all(isinstance(pieces[at], str) for at in covered)
        for first, stop in folds:
            assert (
                sum(len(str(piece)) if isinstance(piece, str) else piece for piece in pieces[first:stop]) >= LEAST_FOLD
            )
        run = 0
        for at, piece in enumerate(pieces):
            run = 0 if at in covered or at in hidden else run + len(piece)
            assert run <= 2 * CONTEXT + LEAST_FOLD, "what is neither shared nor folded is a few words"


def test_a_long_text_is_its_passages_and_their_context() -> None:
    shared = two()
    page = page_of(shared, longest=300)
    text = next(text for text in data_of(page)["texts"] if text["id"] == "a")
    kept = [piece for piece in text["pieces"] if isinstance(piece, str)]
    assert {ONE, TWO} <= set(kept)
    assert sum(map(len, kept)) < 400
    assert sum(piece for piece in text["pieces"] if isinstance(piece, int)) + sum(map(len, kept)) == len(
        shared.texts["a"]
    )
    assert "Left out: all but the passages and their context in 1 long text." in words_of(page)


def test_what_has_no_room_is_left_out_and_said() -> None:
    page = page_of(two(), characters=100)
    assert [text["pieces"] is None for text in data_of(page)["texts"]] == [False, True]
    assert "and 100 characters of text. Left out: 1 text that could not be read or did not fit." in words_of(page)
    page = page_of(two(), documents=1)
    assert len(data_of(page)["pairs_of"]) == 1
    assert "Left out: the texts of 1 document with smaller shares." in words_of(page)
    page = page_of(two(), passages=1)
    [pair] = data_of(page)["pairs"]
    assert (len(pair["passages"]), pair["left_out"]) == (1, 1)
    page = page_of(two(), texts=False)
    assert "Texts were left out of this page." in words_of(page)
    assert b"seven words" not in page
    assert len(data_of(page)["documents"]["id"]) == 2


def test_partners_are_ordered_by_shared_words_and_boilerplate_is_last() -> None:
    footer = "all rights are reserved by the many editors of this long series"
    texts = {"a": f"{ONE} {footer} {TWO}", "b": footer, "c": ONE, "d": f"{ONE} {TWO}"}
    rows = [("a", "b", footer, 9), ("a", "c", ONE, 3), ("a", "d", ONE, 3), ("a", "d", TWO, 2)]
    data = data_of(page_of(Shared(texts, rows), partners=2))
    row = data["documents"]["id"].index("a")
    partners = [data["texts"][data["pairs"][pair]["sides"][1]]["id"] for pair in data["pairs_of"][row]]
    assert partners == ["d", "c"]
    assert data["partners"][row] == 3


def test_an_id_of_two_sources_names_two_documents() -> None:
    asked: list[tuple[str, str]] = []
    shared = Shared({"a": ONE, "b": f"{ONE} {LONG}"}, [("a", "b", ONE, 2)], against=["b"])
    copied = shared.copied.set_column(0, "id", [["a", "a"]])
    passages = shared.passages.set_column(1, "right", [["a"]])

    def read(documents: Any) -> list[str | None]:
        asked.extend(documents)
        return [shared.texts["a" if role == "source" else "b"] for role, _ in documents]

    tables = PassageTables(passages, copied, None)
    data = page_data(tables, tables.listed(), read, PageLimits())
    assert asked == [("source", "a"), ("against", "a")]
    assert data["pairs"][0]["sides"] == [0, 1]


def test_a_result_without_passages() -> None:
    told = words_of(page_of(Shared({"a": LONG, "b": TWO}, [])))
    assert "Of 2 documents, none shares a passage with another document." in told
    assert "No document shares a passage with another one." in told
    assert "No text occurs in enough documents" in told
    assert "0 documents, none" in words_of(page_of(Shared({}, [])))


def test_counts_and_boilerplate_are_said() -> None:
    told = words_of(page_of(two(), boilerplate_table([("<b>All rights", 9, 14, "b")])))
    assert "Of 3 documents, 2 share passages with another document: 32 of 168 words, 19.0 %." in told
    assert "&lt;b&gt;All rights 9 words in 14 documents, first in b" in told
    assert "Texts in more than 5 documents" in told
