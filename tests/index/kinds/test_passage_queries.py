"""Queries for passages: each answer is what comparing all words with all words in plain Python gives."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from tests.index.conftest import NewIndex, Place
from tests.index.kinds.test_samples import place_of, rows_in
from twinset.errors import DamagedError, OptionError, UnknownIdError
from twinset.index.kinds.anchors import anchor_keys, anchored
from twinset.index.query import QueryCounts
from twinset.index.settings import Settings
from twinset.options.index import IndexOptions
from twinset.system import batch_sizes
from twinset.textbook.passages import maximal_runs

Span = tuple[str, str, int, int, int, int, int]
ANY = 1_000_000


def corpus(seed: int = 2, words: int = 40) -> dict[str, str]:
    """Texts of few different words, made of a few pieces that return."""
    dice = random.Random(seed)

    def some(n: int) -> str:
        return " ".join(f"w{dice.randrange(words)}" for _ in range(n))

    pieces = [some(n) for n in (12, 25, 40, 60)]
    texts = {"empty": "", "short": "w1 w2", "repeated": "w1 w2 w3 " * 40}
    for number in range(50):
        texts[f"d{number}"] = " ".join([some(1 + dice.randrange(9)), dice.choice(pieces), some(4), dice.choice(pieces)])
    return texts


def spans_of(texts: dict[str, str], query: str, least: int) -> set[Span]:
    """All maximal runs of a query with texts of words and single spaces, by definition."""
    ours, found = query.split(), set()
    places = [sum(map(len, ours[:at])) + at for at in range(len(ours) + 1)]
    for id, text in texts.items():
        theirs = text.split()
        other = [sum(map(len, theirs[:at])) + at for at in range(len(theirs) + 1)]
        for i, j, n in maximal_runs(ours, theirs, least):
            found.add((id, " ".join(ours[i : i + n]), places[i], places[i + n] - 1, other[j], other[j + n] - 1, n))
    return found


def spans_in(table: Any, query: str) -> set[Span]:
    """The same of the answers; no row may be there twice."""
    found = [
        (row["right"], " ".join(query[row["left_start"] : row["left_end"]].split()), row["left_start"],
         row["left_end"], row["right_start"], row["right_end"], row["words"])
        for row in table.to_pylist()
    ]  # fmt: skip
    assert len(set(found)) == len(found)
    assert all(row["words"] == row["shared"] for row in table.to_pylist())
    return set(found)


TEXTS = corpus()


@pytest.mark.parametrize("least", [1, 4, 8, 20, 50])
def test_every_maximal_run_is_an_answer(new_index: NewIndex, least: int) -> None:
    index = new_index(passages=least)
    texts = corpus(words=4000) if least == 1 else TEXTS
    index.add(texts)
    assert index.verify() == []
    queries = {id: texts[id] for id in ("d1", "d7", "d20", "short", "empty")} | {"new": f"x {texts['d3']} y"}
    for text in queries.values():
        assert spans_in(index.passages(text, crowd=ANY), text) == spans_of(texts, text, least)
    # All columns, and the number of documents, are those of a search of the same texts.
    found = index.passages(queries, crowd=ANY).to_pylist()
    wanted = twinset.find_passages(queries, against=[texts], least=least, crowd=ANY).passages.to_pylist()
    assert Counter(tuple(row.values()) for row in found) == Counter(tuple(row.values()) for row in wanted)
    assert len(found) > 20


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abc", max_size=30), min_size=1, max_size=5), st.text("abc", max_size=40), st.integers(1, 9))
def test_texts_that_repeat_themselves(texts: list[str], query: str, least: int) -> None:
    named = {str(number): " ".join(text) for number, text in enumerate(texts)}
    spaced = " ".join(query)
    with (
        TemporaryDirectory() as folder,
        twinset.Index.create(f"{folder}/index.twinset", passages=least, seed=3) as index,
    ):
        index.add(named)
        assert spans_in(index.passages(spaced, crowd=ANY), spaced) == spans_of(named, spaced, least)


def keys_of(index: twinset.Index, text: str) -> tuple[list[int], list[int]]:
    """The keys of a text's anchors, and their places."""
    found = anchored(pa.array([text]), index.settings).anchors
    return anchor_keys(found.hashes, index.settings).tolist(), found.places.tolist()


@pytest.mark.parametrize("crowd", [1, 2, 5, 12])
def test_crowded_anchors_lead_to_the_first_document(new_index: NewIndex, crowd: int) -> None:
    least = 8
    index = new_index(passages=least)
    index.add(TEXTS)
    keys = {id: set(keys_of(index, text)[0]) for id, text in TEXTS.items()}
    common = {key for key, times in Counter(key for some in keys.values() for key in some).items() if times > crowd}
    counts: dict[str, int] = {}
    for query in (f"d{number}" for number in range(0, 50, 3)):
        text = TEXTS[query]
        found = index.passages(text, crowd=crowd)
        if query in ("d3", "d21", "d33"):
            compared = {id for id in TEXTS if (keys[query] & keys[id]) - common}
            compared |= {next(id for id in TEXTS if key in keys[id]) for key in keys[query] & common}
            assert spans_in(found, text) == spans_of({id: TEXTS[id] for id in compared}, text, least)
        for row in found.to_pylist():
            passage = text[row["left_start"] : row["left_end"]]
            if passage not in counts:
                # All documents that have the passage have its anchors; if one of these is rare, all are compared.
                every = sum(f" {passage} " in f" {other} " for other in TEXTS.values())
                counts[passage] = crowd + 1 if set(keys_of(index, passage)[0]) <= common else 1 + every
            assert row["documents"] == counts[passage]
    are_common = {set(keys_of(index, passage)[0]) <= common for passage in counts}
    assert are_common == {True, False}


def test_the_first_answers_share_most_words(new_index: NewIndex) -> None:
    index = new_index(passages=3)
    index.add({"a": "x one two three y", "b": "one two three four five", "c": "one two three z", "d": "nothing"})
    found = index.passages("one two three four five six").to_pylist()
    assert [(row["right"], row["words"], row["documents"]) for row in found] == [("b", 5, 2), ("a", 3, 4), ("c", 3, 4)]
    assert {row["left"] for row in found} == {"query"}
    of_b = index.passages_of("b").to_pylist()
    assert [(row["left"], row["right"], row["words"], row["documents"]) for row in of_b] == [
        ("b", "a", 3, 3), ("b", "c", 3, 3),
    ]  # fmt: skip
    assert index.passages("one two three four five six", least=4)["right"].to_pylist() == ["b"]
    index.update({"b": "four five six"})
    index.remove(["c"])
    assert index.passages("one two three four five six")["right"].to_pylist() == ["a", "b"]
    assert index.passages("one two").num_rows == index.passages("").num_rows == 0
    with pytest.raises(UnknownIdError, match="holds no document with the id 'c'"):
        index.passages_of("c")


def test_a_document_is_not_a_crowd_by_itself(new_index: NewIndex) -> None:
    """The query's own rows are left out before documents are counted."""
    index = new_index(passages=3)
    index.add({str(number): f"one two three {number}" for number in range(4)})
    assert index.passages_of("0", crowd=3)["right"].to_pylist() == ["1", "2", "3"]
    assert index.passages_of("0", crowd=2)["right"].to_pylist() == ["1"]
    assert index.passages_of("3", crowd=2)["right"].to_pylist() == ["0"]
    assert index.passages_of("3", crowd=2)["documents"].to_pylist() == [3]


def test_places_are_those_of_the_text_as_it_came(new_index: NewIndex) -> None:
    index = new_index(passages=4)
    texts = {
        "han": "「春眠不覺曉」，處處聞啼鳥。", "marks": "Cafe\u0301 re\u0301sume\u0301, de\u0301ja\u0300 vu!",
        "mixed": "İstanbul'da 東京タワー 👍🏽 ﬁne ΣΟΦΟΣ",
    }  # fmt: skip
    index.add(texts)
    for id, query, words in (
        ("han", "他說：春眠不覺曉處處聞啼鳥！", 10), ("marks", "Le café résumé déjà vu.", 4),
        ("mixed", "x 東京タワー 👍🏽 ﬁne σοφοσ", 9),
    ):  # fmt: skip
        [row] = index.passages(query).to_pylist()
        assert row["right"] == id
        left, right = query[row["left_start"] : row["left_end"]], texts[id][row["right_start"] : row["right_end"]]
        assert row["words"] == words
        [same] = twinset.find_passages({"query": query}, against=[texts], least=4).passages.to_pylist()
        assert row == same
        assert unicodedata.normalize("NFC", left[:2]).lower() == unicodedata.normalize("NFC", right[:3]).lower()[:2]


@pytest.mark.parametrize(
    ("off", "other", "text"),
    [
        ("lowercase", "One two three", "one two three"),
        ("nfc", "cafe\u0301 au lait", "café au lait"),
        ("split", "我爱北京天安门", "我爱 北京 天安门"),
    ],
)
def test_words_are_equal_by_the_options_of_the_index(new_index: NewIndex, off: str, other: str, text: str) -> None:
    for options, names in (({}, ["a", "b"]), ({off: False}, ["b"])):
        index = new_index(passages=3, **options)
        index.add({"a": other, "b": text})
        assert index.passages(text)["right"].to_pylist() == names


def test_text_at_too_many_places(new_index: NewIndex) -> None:
    """A word that is repeated 20,000 times in both texts would have a passage for each pair of places."""
    index = new_index(passages=10)
    index.add({"a": "one " * 20_000, "b": "two " * 50 + "one " * 20_000 + " ".join(f"w{i}" for i in range(30))})
    query = "one " * 20_000 + " ".join(f"w{i}" for i in range(30))
    found = index.passages(query, crowd=5).to_pylist()
    assert {row["right"] for row in found} == {"a", "b"}
    assert len(found) < 2000
    assert max(row["words"] for row in found if row["right"] == "a") == 20_000
    assert max(row["words"] for row in found if row["right"] == "b") == 20_030


def test_portions_of_documents(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index = new_index(passages=8)
    index.add(TEXTS)
    whole = index.passages(TEXTS)
    for name, size in {"INDEX_SHINGLES": 100, "INDEX_RUN": 3, "INDEX_ROWS": 5, "CANDIDATE_ROWS": 4}.items():
        monkeypatch.setattr(batch_sizes, name, size)
    assert index.passages(TEXTS).equals(whole)
    assert index.passages(TEXTS, threads=1, batch_bytes=1024).equals(whole)


def test_queries_are_counted(new_index: NewIndex) -> None:
    index = new_index(passages=3)
    index.add({"a": "one two three four", "b": "x"})
    queries = {"all": "one two three four", "three": "one two three", "other": "five six seven", "two": "one two"}
    for least, found, short in ((None, 2, 1), (4, 1, 3)):
        counts = QueryCounts()
        tables = [*index.each_passages({**queries, "empty": ""}, least=least, counts=counts)]
        assert sum(table.num_rows for table in tables) == counts.found == counts.answered == found
        assert (counts.queries, counts.empty, counts.short) == (5, 1, short)


def rows_expected(index: twinset.Index, texts: dict[str, str]) -> set[tuple[int, int]]:
    numbers = index._backend.numbers(list(texts))
    return {(key, numbers[id]) for id, text in texts.items() for key in keys_of(index, text)[0]}


@pytest.mark.parametrize("contained", [False, True])
def test_life(place: Place, contained: bool, tmp_path: Path) -> None:
    where, again, now = place.new(), place.new(), dict(TEXTS)
    with twinset.Index.create(where, passages=8, seed=5, shingle="word:2", contained=contained) as index:
        index.add(TEXTS)
        assert rows_in(place, where, "anchors") == rows_expected(index, now)
        changed = {"d1": TEXTS["d2"] + " w3", "d2": "", "short": TEXTS["repeated"]}
        now |= changed
        assert index.update({"d5": TEXTS["d5"], **changed}).replaced == 3
        assert rows_in(place, where, "anchors") == rows_expected(index, now)
        index.remove(["d3", "d4", "empty"])
        for id in ("d3", "d4", "empty"):
            del now[id]
        assert rows_in(place, where, "anchors") == rows_expected(index, now)
        assert index.verify() == []
        index.compact()
        assert index.stats()["bytes"]["anchors"] > 0
        assert index.stats()["options"]["passages"] == 8
        index.export(tmp_path / "all.parquet")
        answers = index.passages(TEXTS["d9"])
    with twinset.Index.import_from(tmp_path / "all.parquet", again) as index:
        assert rows_in(place, again, "anchors") == rows_expected(index, now)
        assert index.verify() == []
        assert sorted(map(str, index.passages(TEXTS["d9"]).to_pylist())) == sorted(map(str, answers.to_pylist()))
    with twinset.Index.open(again, passages=8) as index:
        index.remove(list(now))
        assert rows_in(place, again, "anchors") == rows_in(place, again, "samples") == set()
    with pytest.raises(OptionError, match="passages is 9, but the index was made with 8"):
        twinset.Index.open(again, passages=9)


def test_dedup_adds_anchors(place: Place) -> None:
    where = place.new()
    with twinset.Index.create(where, passages=8, seed=5, shingle="word:2", contained=True) as index:
        index.add({"old": TEXTS["d1"]})
    twinset.dedup(TEXTS, index=where)
    with twinset.Index.open(where) as index:
        assert len(index) > 10
        assert index.verify() == []
        assert "old" in index.passages(TEXTS["d1"])["right"].to_pylist()


def test_damage_is_named(place: Place) -> None:
    where = place.new()
    with twinset.Index.create(where, passages=8, seed=5) as index:
        index.add(TEXTS)
        number = index._backend.numbers(["d1"])["d1"]
    [(key,), *_] = place.run(where, "SELECT key FROM anchors WHERE document = ?", number)

    def problems() -> list[str]:
        with twinset.Index.open(where, read_only=True) as index:
            return index.verify()

    place.run(where, "DELETE FROM anchors WHERE key = ? AND document = ?", key, number)
    assert problems()[1:] == ["an anchor row is missing: 'd1'"]
    place.run(where, "INSERT INTO anchors VALUES (?, ?)", key, number)
    assert problems() == []
    place.run(where, "INSERT INTO anchors VALUES (?, ?)", key, 100_000)  # of no document
    assert [one.partition(":")[0] for one in problems()] == ["the anchor rows are wrong"]
    with (
        twinset.Index.open(where, read_only=True) as index,
        pytest.raises(DamagedError, match="a document in its anchors is missing; run twinset index verify"),
    ):
        index.passages(TEXTS["d1"])
    place.run(where, "DELETE FROM anchors WHERE document = ?", 100_000)
    place.run(where, "UPDATE documents SET text = NULL WHERE number = ?", number)
    with twinset.Index.open(where, read_only=True) as index:
        named = re.escape(f"{index.name}: the index is damaged: the content of a document is missing")
        with pytest.raises(DamagedError, match=named):
            index.passages(TEXTS["d1"])
        with pytest.raises(DamagedError, match=named):
            index.query(TEXTS["d1"], contained=0.5)
    with twinset.Index.open(where) as index, pytest.raises(DamagedError, match=named):
        index.remove(["d1"])


def test_what_has_no_passages(place: Place, new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index()
    index.add({"a": "one two three"})
    with pytest.raises(OptionError, match="the index stores no anchors, which queries for passages need"):
        index.passages("one two three")
    assert rows_in(place, place_of(place, index), "anchors") == set()
    with (
        twinset.Index.create(tmp_path / "codes", codes="code") as other,
        pytest.raises(OptionError, match="passages are found in an index of texts"),
    ):
        other.passages([])
    small = new_index(passages=8)
    for words, problem in (
        ({"least": 7}, "least is 7, and the index was made for passages of 8 words or more"),
        ({"least": 0}, "least is 0; allowed"), ({"crowd": 0}, "crowd is 0; allowed"),
        ({"threads": 1}, "threads is for sources; leave it out with a single text"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=problem):
            small.passages("a b c", **words)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"store": "shingles"}, "passages are found in stored texts, and store is 'shingles'"),
        ({"items": "tags"}, "passages does not apply to sets"),
        ({"passages": 0}, "passages is 0; allowed: a whole number from 1 to 65535"),
    ],
)
def test_options_are_checked(words: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        twinset.Index.create("never", **{"passages": 8, **words})


def test_golden() -> None:
    """Keys are stored: another value is another hash scheme."""
    settings = Settings.create(IndexOptions.of(passages=4, seed=1))
    found = anchored(pa.array(["to be or not to be that is"]), settings).anchors
    assert anchor_keys(found.hashes, settings).tolist() == [1660724828, -1715980446, -1577159598]
