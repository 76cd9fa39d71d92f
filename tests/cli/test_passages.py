"""``twinset passages``, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call
from tests.cli.screen.test_show import in_a_terminal

BOOK = "It was the best of times it was the worst of times it was the age of wisdom"
ROWS = [
    {"id": "book", "text": f"{BOOK}. It was the age of foolishness."},
    {"id": "essay", "text": f"As one said: “{BOOK.upper()}”, and so on."},
    {"id": "other", "text": "Nothing of the kind stands here, only a few plain words of its own."},
    {"id": "empty", "text": " "},
]


@pytest.fixture(autouse=True)
def essays(tmp_path: Path) -> Path:
    path = tmp_path / "essays.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_in_a_pipe_passages_are_csv(call: Call) -> None:
    done = call("passages", "essays.jsonl", "--least", "8")
    assert done.code == 0, done.err
    [row] = csv.DictReader(io.StringIO(done.out))
    assert (row["left"], row["right"], row["words"], row["documents"]) == ("book", "essay", "18", "2")
    assert ROWS[1]["text"][int(row["right_start"]) : int(row["right_end"])] == BOOK.upper()
    assert "1 passage; 2 of 4 documents share one" in done.err
    assert "1 document without words" in done.err
    quiet = call("passages", "essays.jsonl", "--least", "8", "--quiet")
    assert (quiet.out, quiet.err) == (done.out, "")


def test_on_a_terminal_documents_are_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "twinset", "passages", "essays.jsonl", "--least", "8", "--quiet"]
    shown = in_a_terminal(command, tmp_path, width=40)
    assert " ".join(shown.split()) == (
        "book: 18 of 24 words are shared, 18 of them with essay "
        "essay: 18 of 24 words are shared, 18 of them with book"
    )
    assert all(len(line) <= 40 for line in shown.splitlines())


@pytest.mark.parametrize("name", ["found.parquet", "found.csv", "found.jsonl"])
def test_to_a_file(call: Call, tmp_path: Path, name: str) -> None:
    done = call("passages", "essays.jsonl", "--least", "8", "-o", name)
    assert done.code == 0, done.err
    assert f"1 passage in {name}; 2 of 4 documents share one" in " ".join(done.out.split())
    assert (tmp_path / name).is_file()
    assert "exists" in call("passages", "essays.jsonl", "--least", "8", "-o", name).refusal
    again = call("passages", "essays.jsonl", "--least", "80", "-o", name, "--force", "--json")
    assert (again.json["passages"], again.json["output"]) == (0, name)


def test_to_a_folder(call: Call, tmp_path: Path) -> None:
    done = call("passages", "essays.jsonl", "--least", "8", "-o", "FOUND/", "--details-format", "csv", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    names = {path.name for path in (tmp_path / "FOUND").iterdir()}
    for name in ("passages", "copied", "boilerplate"):
        assert {f"{name}.parquet", f"{name}.csv"} <= names
    assert pq.read_table(tmp_path / "FOUND/copied.parquet")["copied"].to_pylist() == [18, 18, 0, 0]


def test_json_without_an_output(call: Call) -> None:
    found = call("passages", "essays.jsonl", "--least", "8", "--json", "--quiet").json
    assert found["passages"] == 1
    assert [(row["left"], row["right"], row["shared"]) for row in found["found"]] == [("book", "essay", 18)]


def test_against(call: Call, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q17", "text": BOOK}) + "\n")
    done = call("passages", "q.jsonl", "--against", "essays.jsonl", "--least", "8", "--quiet")
    rows = [*csv.DictReader(io.StringIO(done.out))]
    assert [(row["left"], row["right"]) for row in rows] == [("q17", "book"), ("q17", "essay")]


def test_boilerplate_and_gaps_are_told(call: Call) -> None:
    done = call("passages", "essays.jsonl", "--least", "8", "--crowd", "1", "-o", "found.csv")
    assert "1 boilerplate text, paired with the first occurrence only (--crowd)" in " ".join(done.out.split())
    assert call("passages", "essays.jsonl", "--least", "8", "--gap", "4", "--json", "--quiet").json["passages"] == 1


def test_dry_run_reads_nothing(call: Call, tmp_path: Path) -> None:
    told = call("passages", "essays.jsonl", "--least", "20", "-o", "OUT/", "--dry-run", "--json").json
    assert told["plan"]["least_words"] == 20
    assert call("passages", "essays.jsonl", "--dry-run").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["essays.jsonl"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--least", "0"), "least is 0; allowed: "),
        (("--least", "many"), "least is 'many'; allowed: "),
        (("--gap", "5", "--run", "60"), "run is 60, more than least, 50"),
        (("--within", "--against", "essays.jsonl"), "--within cannot be used with --against"),
        (("-o", "found.txt"), "found.txt"),
        (("--crowd", "0"), "crowd is 0; allowed: "),
        (("--threshold", ".5"), "--threshold"),
        (("-o", "essays.jsonl", "--force"), "would be replaced"),
        (("-o", "gone/../essays.jsonl"), "there is no folder gone; leave out gone/.."),
        (("--against", "gone.jsonl"), "gone.jsonl"),
    ],
)
def test_wrong_words(call: Call, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    assert told in call("passages", "essays.jsonl", *words).refusal
    assert [path.name for path in tmp_path.iterdir()] == ["essays.jsonl"]
