"""Short fields and texts: runs over records, runs with shingles of characters, and comparisons say what to try."""

from __future__ import annotations

import random
import shlex
from typing import Any

import pytest

import twinset
from tests.jobs.test_short_texts import WORDS, Notes

NAMES = ["Anna Meier", "Robert Okafor", "Jun Watanabe", "Maria Ruiz", "Peter Hill", "Sofia Lindqvist"]


def people(count: int = 60) -> list[dict[str, str]]:
    """Records of which each second has a changed letter in the name of the one before."""
    rng = random.Random(5)
    rows = []
    for number in range(0, count, 2):
        name, street = rng.choice(NAMES) + f" {chr(65 + number % 26)}.", f"{number} {rng.choice(WORDS).title()} Street"
        rows.append({"id": f"{number}", "name": name, "street": street})
        rows.append({"id": f"{number + 1}", "name": name[:3] + "x" + name[4:], "street": street})
    return rows


def keywords(flags: str) -> dict[str, Any]:
    """The options that flags give."""
    words = shlex.split(flags)
    given: dict[str, Any] = {"text": []}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        if flag == "--text":
            given["text"].append(value)
        else:
            given[flag.removeprefix("--")] = float(value)
    return given


def test_records_with_short_fields_are_told_what_to_try() -> None:
    notes = Notes()
    found = twinset.find_pairs(people(), text=["name", "street"], progress=notes)
    assert found.summary["pairs"] == 0
    short = found.summary["short_texts"]
    assert (short["documents"], short["columns"], short["shingle"]) == (60, ["name", "street"], "word:5")
    assert short["try"].startswith("--text name,char:3 --text street,char:3")
    [note] = [note for note in notes.said if "short" in note]
    assert note.startswith("60 of 60 documents are short for shingles of word:5 in name and street: one changed word")
    assert 'try text=["name,char:3", "street,char:3"]' in note
    # What it says to try finds records of the median length or more.
    again = twinset.find_pairs(people(), exact=True, **keywords(short["try"])).pairs
    pairs = {(row["left"], row["right"]) for row in again.select(["left", "right"]).to_pylist()}
    assert len({(f"{at}", f"{at + 1}") for at in range(0, 60, 2)} & pairs) >= 15


def test_only_the_columns_that_matter_are_named_and_weights_stay() -> None:
    short = twinset.find_pairs(people(), text=["name,char:2", "street,20"]).summary["short_texts"]
    assert short["columns"] == ["street"]
    assert short["try"].split(" --threshold")[0] == "--text name,char:2 --text street,char:3,20"


def test_a_short_field_beside_a_long_one_is_not_mentioned() -> None:
    rng = random.Random(1)
    rows = [{"title": "a short title", "body": " ".join(rng.choices(WORDS, k=90))} for _ in range(30)]
    assert "short_texts" not in twinset.find_pairs(rows, text=["title", "body"]).summary


@pytest.mark.parametrize("columns", [["name,char:2,2", "street,char:3"], ["name,char:3", "street,char:3"]])
def test_fields_with_fitting_shingles_are_not_mentioned(columns: list[str]) -> None:
    assert "short_texts" not in twinset.find_pairs(people(), text=columns).summary


def test_the_hint_depends_on_no_batch_and_is_kept_by_a_recut() -> None:
    rows = [*people(1500), *({"name": "one two " * 30, "street": "three four " * 30} for _ in range(300))]
    given: dict[str, Any] = {"text": ["name", "street"], "no_id": True}
    done = [
        twinset.dedup([{**row, "id": None} for row in rows], batch_bytes=batch, threads=threads, **given)
        for batch, threads in ((1024, 2), (2**20, 1))
    ]
    shorts = [one.summary["short_texts"] for one in done]
    assert shorts[0] == shorts[1]
    assert (shorts[0]["documents"], shorts[0]["measured"]) == (1000, 1000)
    assert done[1].recut(0.9).summary["short_texts"] == shorts[1]


def test_names_with_shingles_of_two_characters_are_not_called_short() -> None:
    names = [row["name"] for row in people()]
    for size in ("char:2", "char:3"):
        assert "short_texts" not in twinset.find_pairs(names, shingle=size).summary


def test_shingles_of_characters_that_are_too_long_are() -> None:
    notes = Notes()
    short = twinset.find_pairs(NAMES, shingle="char:6", progress=notes).summary["short_texts"]
    assert short["try"].split(" --threshold")[0] == "--shingle char:2"
    [note] = [note for note in notes.said if "short" in note]
    assert "are short for shingles of char:6: one changed character leaves a similarity below 0.5" in note


def test_one_text_is_short_in_the_singular() -> None:
    notes = Notes()
    twinset.find_pairs(["one two three"], progress=notes)
    assert any(note.startswith("1 of 1 document is short") for note in notes.said)


@pytest.mark.parametrize(
    ("left", "right", "shingle", "advice"),
    [
        ("the quick brown fox", "the quick brown dog", "word:5", "--shingle word:1"),
        ("Anna Meier", "Ana Meier", "word:5", "--shingle char:2"),
        ("Anna Meier", "Ana Meier", "char:9", "--shingle char:2"),
    ],
)
def test_a_comparison_of_short_texts_says_what_to_try(left: str, right: str, shingle: str, advice: str) -> None:
    compared = twinset.compare(left, right, shingle=shingle)
    assert compared.similarity == 0
    assert compared.short_texts is not None
    assert (compared.short_texts["texts"], compared.short_texts["try"]) == (2, advice)
    again = twinset.compare(left, right, shingle=advice.split()[1])
    assert again.similarity >= 0.5
    assert again.short_texts is None
    assert compared.to_dict()["short_texts"] == compared.short_texts


@pytest.mark.parametrize(
    ("left", "right", "shingle"),
    [
        ("Nadal", "Nadia", "char:2"),
        ("the quick brown fox", "The quick brown fox!", "word:5"),
        ("", "the quick brown fox", "word:5"),
        (" ".join(WORDS[:40]), " ".join(WORDS[40:80]), "word:5"),
    ],
)
def test_other_comparisons_have_no_hint(left: str, right: str, shingle: str) -> None:
    assert twinset.compare(left, right, shingle=shingle).short_texts is None


def test_one_short_text_beside_a_long_one() -> None:
    compared = twinset.compare("the quick brown fox", " ".join(WORDS[:40]))
    assert compared.short_texts is not None
    assert compared.short_texts["texts"] == 1


@pytest.mark.parametrize("new", [[], [{"name": None, "street": None}], [{"name": "", "street": ""}]])
def test_a_side_without_fields_is_no_obstacle(new: list[dict[str, str | None]]) -> None:
    found = twinset.find_pairs(new, against=[people(8)], text=["name", "street"], no_id=True)
    assert found.summary["pairs"] == 0
    assert found.summary["short_texts"]["columns"] == ["name", "street"]
    assert "short_texts" not in twinset.find_pairs(new, text=["name", "street"]).summary
