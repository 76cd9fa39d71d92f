"""Lines and paragraphs that stood somewhere before: compared as words, cut whole."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest

import twinset
from twinset.textbook import normalize, tokens

LINE, PARAGRAPH = r"\n", r"\n[ \t\r]*\n[ \t\r\n]*"


def units_of(text: str, unit: str) -> list[str]:
    """The lines or paragraphs of a text, each with the breaks after it: together they are the text."""
    ends = [found.end() for found in re.finditer(LINE if unit == "line" else PARAGRAPH, text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def expected_texts(texts: list[str], unit: str, least: int, copies: int, everywhere: bool) -> list[str]:
    """The texts without the units after the first copies of each, or without all that repeat."""
    split = [[(one, tuple(tokens(normalize(one)))) for one in units_of(text, unit)] for text in texts]
    every = [words for units in split for _, words in units]
    seen: dict[tuple[str, ...], int] = {}
    kept = []
    for units in split:
        left = ""
        for one, words in units:
            seen[words] = seen.get(words, 0) + 1
            repeated = every.count(words) > 1 if everywhere else seen[words] > copies
            left += "" if len(words) >= least and repeated else one
        kept.append(left)
    return kept


def text_of(dice: random.Random) -> str:
    """Lines of few words: repeated, blank, with spaces, without words, with either kind of line break."""
    lines = [
        "",
        "",
        " \t",
        "one two",
        "One, two!",
        "three",
        "***",
        "- three -",
        "中文 é",
        "中文 e\u0301",
        "four five six",
    ]
    breaks = dice.choice([["\n"], ["\r\n"], ["\n", "\r\n", "\n\n", "\n \n"]])
    text = "".join(dice.choice(lines) + dice.choice(breaks) for _ in range(dice.randrange(9)))
    return text if dice.random() < 0.5 else text.rstrip("\r\n")


@pytest.mark.parametrize("unit", ["line", "paragraph"])
@pytest.mark.parametrize(
    "how", [{}, {"least": 2}, {"copies": 2}, {"everywhere": True}, {"least": 3, "everywhere": True}]
)
def test_whole_units_are_cut(unit: str, how: dict[str, Any]) -> None:
    dice = random.Random(7)
    groups = [[text_of(dice) for _ in range(dice.randrange(1, 5))] for _ in range(150)]
    rows = [{"text": text, "group": number} for number, texts in enumerate(groups) for text in texts]
    done = twinset.trim(pa.Table.from_pylist(rows), by="group", unit=unit, **how)
    settings_of = {"least": 1, "copies": 1, "everywhere": False, **how}
    expected = [text for texts in groups for text in expected_texts(texts, unit, **settings_of)]
    found = done.kept["text"].to_pylist()
    assert [(row["text"], text) for row, text in zip(rows, found, strict=True) if text != row["text"]] == [
        (row["text"], text) for row, text in zip(rows, expected, strict=True) if text != row["text"]
    ]
    words_in, words_out = (sum(len(tokens(normalize(text))) for text in some) for some in (column(rows), found))
    summary = done.summary
    assert (summary["words"], summary["words_kept"], summary["words_cut"]) == (
        words_in,
        words_out,
        words_in - words_out,
    )
    assert words_out < words_in
    _check_reasons(rows, done)
    if "copies" not in how:
        again = twinset.trim(done.kept, by="group", unit=unit, **how)
        assert again.summary["cuts"] == 0
        assert again.kept.equals(done.kept)


def column(rows: list[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows]


def _check_reasons(rows: list[dict[str, Any]], done: twinset.TrimResult) -> None:
    def words(name: str, start: int, end: int) -> list[str]:
        return tokens(normalize(rows[int(name.rpartition(":")[2])]["text"][start:end]))

    seen = set()
    cut_words = 0
    for cut in done.cuts.to_pylist():
        mine = words(cut["id"], cut["start"], cut["end"])
        assert mine == words(cut["because_of"], cut["because_start"], cut["because_end"])
        assert (cut["id"], cut["start"]) != (cut["because_of"], cut["because_start"])
        assert (cut["id"], cut["start"]) not in seen
        seen.add((cut["id"], cut["start"]))
        cut_words += len(mine)
    assert cut_words == done.summary["words_cut"]


def test_the_keep_policy_says_which_line_stays() -> None:
    texts = {"short": "a head line\nx\n", "long": "a head line\nsome more words\n"}
    assert twinset.trim(texts, unit="line").kept["text"].to_pylist() == [texts["short"], "some more words\n"]
    longest = twinset.trim(texts, unit="line", keep="longest")
    assert longest.kept["text"].to_pylist() == ["x\n", texts["long"]]
    [cut] = longest.cuts.to_pylist()
    assert (cut["id"], cut["because_of"], cut["start"], cut["end"]) == ("short", "long", 0, 11)


def test_a_document_of_repeated_lines_stays_as_a_row() -> None:
    done = twinset.trim({"a": "one\ntwo\n", "b": "two\r\none", "c": "\n \n"}, unit="line")
    assert done.kept["text"].to_pylist() == ["one\ntwo\n", "", "\n \n"]
    assert done.left.to_pylist() == [{"id": "b", "words": 2, "left": 0}]
    assert (done.summary["documents"], done.summary["empty"], done.summary["documents_cut"]) == (3, 1, 1)


def test_words_are_counted_where_there_are_as_many_units_as_documents() -> None:
    summary = twinset.trim({"a": "x y z", "b": "x y z"}, unit="line").summary
    assert (summary["words"], summary["words_kept"], summary["words_cut"]) == (6, 3, 3)
