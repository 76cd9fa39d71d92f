"""What the screen says about short texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.jobs.test_short_texts import titles


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "titles.jsonl"
    lines = [json.dumps({"id": id, "text": text}) for id, text in titles().items()]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_the_audit_does_not_say_that_all_is_well(call: Call, source: Path, tmp_path: Path) -> None:
    out = call("dedup", str(source), "-o", str(tmp_path / "out")).out
    assert "no pairs to find" in out
    assert "short texts that differ in one word are not a pair; try --shingle auto" in " ".join(out.split())


def test_stdin_is_measured_and_read(call: Call, source: Path, tmp_path: Path) -> None:
    done = call("dedup", "-", "-o", str(tmp_path / "out"), "--shingle", "auto", "--json", stdin=source.read_bytes())
    assert json.loads(done.out)["shingle_auto"]["documents"] == 200


def test_a_comparison_says_what_to_try(call: Call) -> None:
    words = ("compare", "--string", "the quick brown fox", "--string", "the quick brown dog")
    done = call(*words)
    said = " ".join(done.err.split())
    assert "both texts are short for shingles of word:5: one changed word leaves a similarity below 0.5" in said
    assert said.endswith("; try --shingle word:1")
    assert json.loads(call(*words, "--json").out)["short_texts"]["try"] == "--shingle word:1"
    assert call(*words, "--shingle", "word:1").err == ""


def test_records_say_what_to_try(call: Call, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,the street\nAnna Meier,12 Mill Lane\nAna Meier,12 Mill Lane\n", "utf-8")
    done = call("pairs", str(tmp_path / "people.csv"), "--text", "name", "--text", "the street")
    said = " ".join(done.err.split())
    assert "2 of 2 documents are short for shingles of word:5 in name and the street" in said
    assert "try --text name,char:2 --text 'the street,char:3'" in said
    assert "audit: with word:5 short texts that differ in one word are not a pair; try --text name,char:2" in said
