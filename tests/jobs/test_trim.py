"""Documents without later copies: which words go, because of what, and that nothing else changes."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from tests import oracles
from twinset.errors import OptionError
from twinset.system import batch_sizes
from twinset.textbook import normalize, passages, tokens

MARK = "\u2028"
SEPARATORS = (" ", " ", " ", ", ", ". ", "\n", " - ", "\r\n\r\n", "\u3000")
ALPHABETS = ("ab", "abc", "abcdefgh", "Äöß", "a1_", "中文字", "aB中🙂")

Rows = list[dict[str, Any]]


def corpora(seed: int, count: int, marks: Sequence[str] = ()) -> Rows:
    """Many small collections, told apart by a column; texts of small alphabets, so that all kinds of repeats occur."""
    dice = random.Random(seed)
    rows: Rows = []
    for group in range(count):
        letters = dice.choice(ALPHABETS)
        pool = [[dice.choice(letters) for _ in range(dice.randrange(1, 25))] for _ in range(3)]
        for number in range(dice.randrange(1, 6)):
            words: list[str] = []
            for _ in range(dice.randrange(4)):
                words += dice.choice(pool) if dice.random() < 0.6 else dice.choices(letters, k=dice.randrange(12))
            text = ""
            for word in words:
                text += word + dice.choice([*SEPARATORS, *(marks if group % 3 == 0 else ())])
            row: dict[str, Any] = {"id": f"{group}-{dice.randrange(10**6)}", "text": text, "group": group}
            row |= {"day": f"2024-01-{dice.randrange(1, 5):02}", "score": dice.randrange(3), "number": number}
            rows.append(row)
    return rows


def order_of(rows: Rows, keep: str) -> list[int]:
    """The documents of one collection, the best first."""
    keys = {
        "first": lambda row: row["number"],
        "longest": lambda row: (-len(row["text"]), row["id"]),
        "newest:day": lambda row: (-int(row["day"][-2:]), row["id"]),
        "highest:score,first": lambda row: (-row["score"], row["number"]),
    }
    return sorted(range(len(rows)), key=lambda at: keys[keep](rows[at]))


def checked_cuts(rows: Rows, result: twinset.TrimResult, mark: str = MARK) -> set[tuple[str, int]]:
    """The words that were cut, after checking that cuts, reasons, kept texts and counts agree."""
    placed = {row["id"]: oracles.placed_words(row["text"]) for row in rows}
    texts = {row["id"]: row["text"] for row in rows}
    found: set[tuple[str, int]] = set()
    holes: dict[str, list[list[int]]] = {}
    for cut in result.cuts.to_pylist():
        words = placed[cut["id"]]
        inside = [at for at, (_, start, end) in enumerate(words) if cut["start"] <= start and end <= cut["end"]]
        assert (words[inside[0]][1], words[inside[-1]][2]) == (cut["start"], cut["end"]), "a part of a word was cut"
        reason = texts[cut["because_of"]][cut["because_start"] : cut["because_end"]]
        assert [word for word, _, _ in oracles.placed_words(reason)] == [words[at][0] for at in inside]
        mine = {(cut["id"], at) for at in inside}
        assert not mine & found, "a word was cut twice"
        found |= mine
        before = holes.setdefault(cut["id"], [])
        between = texts[cut["id"]][before[-1][1] : cut["start"]] if before else mark
        if mark not in between and not tokens(between):  # nothing is left between this cut and the one before
            before[-1][1] = cut["end"]
        else:
            before.append([cut["start"], cut["end"]])
    kept = result.kept.to_pylist()
    expected = {name: oracles.without_holes(text, holes.get(name, []), mark) for name, text in texts.items()}
    assert kept == [{**row, "text": expected[row["id"]]} for row in rows]
    total = sum(map(len, placed.values()))
    counts = [result.summary[name] for name in ("words", "words_cut", "words_kept", "cuts", "documents_cut")]
    assert counts == [total, len(found), total - len(found), len(result.cuts), len({name for name, _ in found})]
    assert sum(len(tokens(normalize(row["text"]))) for row in kept) == total - len(found)
    return found


def expected_cuts(rows: Rows, least: int, keep: str = "first", **how: Any) -> set[tuple[str, int]]:
    """The words that the textbook cuts, collection by collection; a mark in a text equals no word."""
    found = set()
    for group in sorted({row["group"] for row in rows}):
        mine = [row for row in rows if row["group"] == group]
        words, numbers = [], []
        for row in mine:
            one, count = [], 0
            number: list[int] = []
            for at, piece in enumerate(row["text"].split(MARK)):
                if at:
                    one.append(f"mark {row['id']} {at}")
                    number.append(-1)
                for word in tokens(normalize(piece)):
                    one.append(word)
                    number.append(count)
                    count += 1
            words.append(one)
            numbers.append(number)
        cut = passages.repeated_words(words, least, order_of(mine, keep), **how)
        found |= {(mine[document]["id"], numbers[document][at]) for document, at in cut}
    return found


@pytest.mark.parametrize(
    ("keep", "how"),
    [
        ("first", {}),
        ("longest", {}),
        ("newest:day", {}),
        ("highest:score,first", {"copies": 2}),
        ("first", {"everywhere": True}),
    ],
)
@pytest.mark.parametrize("least", [1, 3, 8])
def test_the_words_of_the_textbook_are_cut(least: int, keep: str, how: dict[str, Any]) -> None:
    rows = corpora(seed=least, count=40, marks=[MARK])
    result = twinset.trim(pa.Table.from_pylist(rows), by="group", least=least, keep=keep, **how)
    expected = expected_cuts(rows, least, keep, **how)
    assert checked_cuts(rows, result) == expected
    assert len(expected) > 50


@pytest.mark.parametrize("mark", ["\u2028", " [cut] ", "|", "--", "\n", "a", "b b", "中", "É.", "🙂"])
@pytest.mark.parametrize("least", [1, 3])
def test_nothing_is_left_to_cut(mark: str, least: int) -> None:
    rows = corpora(seed=least, count=40, marks=[mark, mark.upper()])
    words: dict[str, Any] = {"by": "group", "least": least, "mark": mark}
    once = twinset.trim(pa.Table.from_pylist(rows), **words)
    assert once.summary["words"] == once.summary["words_cut"] + once.summary["words_kept"]
    again = twinset.trim(once.kept, **words)
    assert again.cuts.to_pylist() == []
    assert again.kept.equals(once.kept)


PIECES = ["a", "b", "a b", "B.", " ", "|", "| ", "x", "x x", "\u0301", "e\u0301", "é"]
PIECES += ["中", "🙂", "\u2028", "\n", "\0", "İ"]
pieces = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(max_examples=10)
@given(
    st.lists(st.lists(pieces, min_size=1, max_size=3), min_size=1, max_size=20),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("".join),
    st.integers(1, 3),
)
def test_nothing_is_left_to_cut_whatever_the_texts(groups: list[list[str]], mark: str, least: int) -> None:
    rows = [{"text": text, "group": number} for number, texts in enumerate(groups) for text in texts]
    words: dict[str, Any] = {"by": "group", "least": least, "mark": mark}
    once = twinset.trim(pa.Table.from_pylist(rows), **words)
    assert twinset.trim(once.kept, **words).cuts.to_pylist() == []


def test_documents_left_with_few_words_are_named() -> None:
    texts = {"a": "one two three four", "b": "One, two, three, four!", "c": "one two three four five six"}
    texts |= {"d": "", "e": "x"}
    done = twinset.trim(texts, least=4)
    assert done.kept["text"].to_pylist() == ["one two three four", "!", " five six", "", "x"]
    assert done.left.to_pylist() == [{"id": "b", "words": 4, "left": 0}]
    assert (done.summary["left_with_few"], done.summary["empty"]) == (1, 1)
    few = twinset.trim(texts, least=4, leave=3)
    assert few.left.to_pylist() == [{"id": "b", "words": 4, "left": 0}, {"id": "c", "words": 6, "left": 2}]
    assert few.kept.equals(done.kept)
    assert twinset.trim(texts, least=4, leave=2).left.equals(done.left)  # two words are not fewer than two


@pytest.mark.parametrize("size", [1, 4])
def test_all_of_many_documents_left_without_words_are_named(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(batch_sizes, "TABLE_ROWS", size)
    done = twinset.trim({str(number): "one two three four" for number in range(10)}, least=4)
    assert done.left["id"].to_pylist() == [str(number) for number in range(1, 10)]


def test_a_mark_equals_no_other_mark(tmp_path: Path) -> None:
    """Whatever the files, the batches and the rows they are in: no run goes on over a mark."""
    for name in ("a", "b"):
        rows = [{"text": f"one two | three four {name}{number} " + "x" * 200} for number in range(40)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = twinset.trim(tmp_path / "a.jsonl", tmp_path / "b.jsonl", least=3, mark="|", batch_bytes=1024)
    assert (done.summary["words"], done.summary["words_cut"]) == (480, 0)


def test_a_copy_that_overlaps_its_original_is_none() -> None:
    assert twinset.trim({"a": "la " * 7}, least=4).summary["words_cut"] == 0
    done = twinset.trim({"a": "la " * 8}, least=4)
    [cut] = done.cuts.to_pylist()
    assert cut == {"id": "a", "start": 12, "end": 23, "because_of": "a", "because_start": 0, "because_end": 11}


def test_places_are_those_of_the_text_as_it_came() -> None:
    spoken = "Cafe\u0301 DE\u0301JA\u0300 vu, ge\u0301nial"
    done = twinset.trim({"a": "café déjà vu génial", "b": f"(i\u0308) {spoken}! fin"}, least=4)
    [cut] = done.cuts.to_pylist()
    assert f"(i\u0308) {spoken}! fin"[cut["start"] : cut["end"]] == spoken
    assert (cut["because_start"], cut["because_end"]) == (0, 19)
    assert done.kept["text"].to_pylist()[1] == f"(i\u0308) {MARK}! fin"


def test_what_words_are_can_be_said() -> None:
    texts = {"a": "Ab cd 中文", "b": "ab cd 中文", "c": "e\u0301a", "d": "éa"}
    off: list[dict[str, Any]] = [{name: False} for name in ("lowercase", "nfc", "split")]
    assert twinset.trim(texts, least=1).summary["words_cut"] == 5
    found = {name: twinset.trim(texts, least=1, **words).summary["words_cut"] for words in off for name in words}
    assert found == {"lowercase": 4, "nfc": 4, "split": 4}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"least": 0}, "least is 0; allowed: "),
        ({"least": 70_000}, "least is 70000; allowed: "),
        ({"copies": 0}, "copies is 0; allowed: "),
        ({"copies": 2, "everywhere": True}, "copies cannot be used with everywhere=True"),
        ({"against": ["x.jsonl"]}, "against cannot be used with trim"),
        ({"unit": "line", "mark": "|"}, 'mark cannot be used with unit="line"'),
        ({"unit": "sentence"}, "unit is 'sentence'; allowed: words, line or paragraph"),
        ({"mark": ""}, "mark is ''; allowed: a text of 1 to 100 characters"),
        ({"mark": "x" * 101}, "allowed: a text of 1 to 100 characters"),
        ({"leave": -1}, "leave is -1; allowed: "),
        ({"keep": "newest"}, "keep"),
        ({"gap": 3}, "gap"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises((OptionError, TypeError), match=words.replace(".", r"\.")):
        twinset.trim({"a": "some words"}, **options)
