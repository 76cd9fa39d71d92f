"""``twinset index query``: what is asked, and how answers are shown and written."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import oracles
from tests.cli.conftest import Call, text
from twinset.cli.screen.answers import ROWS

HEAD = ["query", "id", *oracles.columns("answer"), "estimate", "recall"]
LONG = "a-rather-long-name-of-a-folder/and-of-a-file-in-it-"


@pytest.fixture
def news(call: Call, corpus: Path) -> str:
    call("index", "create", "news.twinset", "--seed", 1)
    assert call("index", "add", "news.twinset", corpus.name).code == 0
    return "news.twinset"


@pytest.fixture
def steps(call: Call, tmp_path: Path) -> str:
    """An index of ten texts, each a little less like the first."""
    words = text(1, 100).split()
    rows = [
        {"id": f"{LONG}{n}", "text": " ".join([*(f"x{n}y{i}" for i in range(6 * n)), *words[6 * n :]])}
        for n in range(10)
    ]
    (tmp_path / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("index", "create", "steps.twinset", "--seed", 1, "--shingle", "word:1")
    assert call("index", "add", "steps.twinset", "steps.jsonl").code == 0
    return "steps.twinset"


def rows_of(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written)))


def test_answers_to_a_pipe_are_csv(call: Call, news: str, corpus: Path) -> None:
    done = call("index", "query", news, corpus.name)
    rows = rows_of(done.out)
    assert list(rows[0]) == HEAD
    assert [row["id"] for row in rows if row["query"] == "d"] == ["d", "a", "c"]
    assert "querying: 6 documents, " in done.err
    assert "11 answers to 5 of 6 queries\n1 query has no words, so no answers\n" in done.err


def test_one_text(call: Call, news: str) -> None:
    done = call("index", "query", news, "--string", text(1))
    assert [row["id"] for row in rows_of(done.out)] == ["a", "c", "d"]
    assert list(rows_of(done.out)[0]) == HEAD[1:]
    assert done.err == "3 answers\n"
    nothing = call("index", "query", news, "--string", "something else that nobody has written")
    assert rows_of(nothing.out) == []
    assert nothing.err == "0 answers\nno document with a similarity of 0.8 or more; -k N finds the nearest\n"
    assert rows_of(call("index", "query", news, "--string", "").out) == []


def test_a_document_of_the_index(call: Call, news: str) -> None:
    found = call("index", "query", news, "--similar-to", "a", "--json").json
    assert [row["id"] for row in found["answers"]] == ["c", "d"]
    assert call("index", "query", news, "--similar-to", "f", "--json").json["answers"] == []
    assert "no document with the id 'nowhere'" in call("index", "query", news, "--similar-to", "nowhere").refusal


def test_an_index_that_holds_nothing(call: Call) -> None:
    call("index", "create", "x")
    assert call("index", "query", "x", "--string", "hello").err == "0 answers\nx holds no documents\n"


def test_json(call: Call, news: str, corpus: Path) -> None:
    found = call("index", "query", news, corpus.name, "-k", 2, "--json").json
    answers = found.pop("answers")
    least = min(row["similarity"] for row in answers)
    assert found == {
        "index": news, "threshold": None, "k": 2, "nearest_by": "all", "planned_threshold": 0.8, "shingle": "word:5",
        "estimates": False, "output": None, "short": 1, "queries": 6, "answered": 5, "found": len(answers),
        "least_similarity": least, "empty": 1,
        "undecoded": 0, "unreadable": 0, "named": [], "skipped": [],
    }  # fmt: skip
    assert [list(row) for row in answers] == [HEAD] * 8
    assert answers[0]["estimate"] is False


def test_the_nearest_and_those_from_a_threshold_on(call: Call, steps: str) -> None:
    first = " ".join(text(1, 100).split())

    def asked(*words: object) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = call("index", "query", steps, "--string", first, "--json", *words).json["answers"]
        return rows

    above = [row for row in asked("-k", 10) if row["similarity"] >= 0.8]
    assert asked() == [{**row, "recall": now["recall"]} for row, now in zip(above, asked(), strict=True)]
    assert [row["id"][-1] for row in asked("-k", 3)] == ["0", "1", "2"]
    assert len(asked("-k", 10)) > len(above)
    assert [row["id"] for row in asked("-k", 10, "--threshold", 0.9)] == [
        row["id"] for row in above if row["similarity"] >= 0.9
    ]
    assert {row["recall"] for row in asked("-k", 10)} == {1.0}, "all documents were compared"
    recalls = [row["recall"] for row in asked("-k", 10, "--threshold", 0.3, "--force")]
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[-1] < 0.9


def test_a_threshold_below_the_plan(call: Call, steps: str) -> None:
    words = ["index", "query", steps, "--string", text(1, 100), "--threshold", 0.6]
    refusal = call(*words).refusal
    assert re.search(r"planned for 0\.8: a document at 0\.6 would be found only with probability 0\.5\d+", refusal)
    done = call(*words, "--force")
    assert done.code == 0
    assert all(float(row["similarity"]) >= 0.6 for row in rows_of(done.out))
    assert min(float(row["similarity"]) for row in rows_of(done.out)) < 0.8
    assert "the index was planned for 0.8" in done.err
    assert "planned" not in call("index", "query", steps, "--string", text(1, 100)).err
    assert "planned" not in call("index", "query", steps, "--string", text(1, 100), "-k", 2).err


def test_estimates_say_that_they_are(call: Call, corpus: Path) -> None:
    call("index", "create", "x", "--store", "none", "--seed", 1)
    call("index", "add", "x", corpus.name)
    done = call("index", "query", "x", "--string", text(1))
    assert [(row["id"], row["estimate"]) for row in rows_of(done.out)][:2] == [("a", "true"), ("c", "true")]
    assert "these are estimates: the index stores sketches only (--store none)" in done.err
    assert call("index", "query", "x", "--string", text(1), "--json").json["estimates"] is True


def test_answers_in_files_are_the_same(call: Call, news: str, corpus: Path) -> None:
    answers = call("index", "query", news, corpus.name, "--json").json["answers"]
    for ending in ("parquet", "csv", "jsonl"):
        done = call("index", "query", news, corpus.name, "-o", f"out.{ending}")
        assert done.out == f"11 answers to 5 of 6 queries in out.{ending}\n"
    assert pq.read_table("out.parquet").to_pylist() == answers
    assert [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()] == answers
    lines = rows_of(Path("out.csv").read_text())
    assert [[row["query"], row["id"], float(row["similarity"])] for row in lines] == [
        [row["query"], row["id"], row["similarity"]] for row in answers
    ]
    told = call("index", "query", news, corpus.name, "-o", "out.parquet", "--force", "--json").json
    assert (told["output"], told["found"], "answers" in told) == ("out.parquet", 11, False)
    assert call("index", "query", news, "--string", text(1), "-o", "one.jsonl", "--quiet") == (0, "", "")
    assert len(Path("one.jsonl").read_text().splitlines()) == 3


def test_an_output_is_not_replaced_by_chance(call: Call, news: str, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("precious")
    assert "out.csv exists" in call("index", "query", news, corpus.name, "-o", "out.csv").refusal
    assert "a source" in call("index", "query", news, corpus.name, "-o", corpus.name, "--force").refusal
    assert "a source" in call("index", "query", news, "*.jsonl", "-o", corpus.name, "--force").refusal
    (tmp_path / "bad.jsonl").write_text(corpus.read_text() + "{")
    assert "bad.jsonl, line 7" in call("index", "query", news, "bad.jsonl", "-o", "out.csv", "--force").refusal
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert "bad.jsonl, line 7" in call("index", "query", news, "bad.jsonl", "-o", "new.csv").refusal
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in call("index", "query", news, corpus.name, "-o", "folder.csv", "--force").refusal
    assert "cannot write" in call("index", "query", news, corpus.name, "-o", "no/where.csv").refusal
    names = {"out.csv", "bad.jsonl", "folder.csv", corpus.name, news}
    assert {path.name for path in tmp_path.iterdir()} <= names


def test_rows_that_cannot_be_read_are_named(call: Call, news: str, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{\n" * 8 + corpus.read_text())
    done = call("index", "query", news, "bad.jsonl", "--on-error", "skip")
    assert len(rows_of(done.out)) == 11
    lines = [line for line in done.err.splitlines() if line.startswith("  ")]
    assert len(lines) == 6
    assert lines[0].startswith("  skipped bad.jsonl:0: line 1: ")
    assert lines[5] == "  … and 3 more; --json names the first thousand"
    assert len(call("index", "query", news, "bad.jsonl", "--on-error", "skip", "--json").json["named"]) == 8


def test_answers_do_not_depend_on_threads_or_batches(call: Call, steps: str) -> None:
    words = ["index", "query", steps, "steps.jsonl", "-k", 4, "--quiet"]
    first = call(*words, "--threads", 1)
    assert len(rows_of(first.out)) > 10
    assert call(*words, "--threads", 4, "--batch", "1KiB") == first


def test_a_reader_that_leaves_early_is_no_error(news: str, corpus: Path, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": text(1)}) + "\n" for _ in range(4000))
    (tmp_path / "same.jsonl").write_text(lines)
    for more in ("", " --json"):
        command = f"{sys.executable} -m twinset index query {news} same.jsonl --quiet{more} | head -n 1"
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == 1


def on_a_terminal(width: int, folder: Path, *words: str) -> list[str]:
    """Run a command on a terminal of its own; give the lines of its table and what follows them."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"NO_COLOR": "1"}
    command = [sys.executable, "-m", "twinset", *words]
    written = b""
    with subprocess.Popen(command, cwd=folder, stdin=there, stdout=there, stderr=there, env=environment) as child:
        os.close(there)
        while select.select([here], [], [], 120)[0]:
            try:
                piece = os.read(here, 65536)
            except OSError:
                break  # the terminal is closed when the command has ended
            if not piece:
                break
            written += piece
    os.close(here)
    assert child.returncode == 0, written.decode()
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", written.decode()).replace("\r\n", "\n")
    return [line.rsplit("\r", 1)[-1].rstrip() for line in plain.splitlines()]


@pytest.mark.parametrize("width", [40, 80, 120, 240])
def test_a_table_fits_the_window(steps: str, tmp_path: Path, width: int) -> None:
    limits = ("-k", "3", "--threshold", "0.3", "--force")
    lines = on_a_terminal(width, tmp_path, "index", "query", steps, "steps.jsonl", *limits)
    assert all(len(line) <= width for line in lines), lines
    head = next(number for number, line in enumerate(lines) if re.match(r"query\b", line) or " id " in f" {line} ")
    wide = {"similarity": 40, "recall": 80, "in query": 240}  # ids are cut last
    for word, least in wide.items():
        assert (word in lines[head]) == (width >= least)
    rows = lines[head + 1 : head + 21]
    numbers = [line.split()[-(1 if width == 40 else 4 if width == 240 else 2)] for line in rows]
    assert all(re.fullmatch(r"[01]\.\d{4}", number) for number in numbers)
    assert ("…" not in "".join(rows)) == (width == 240)
    # Each query is named once, above its answers.
    assert [line.startswith(" ") for line in rows[:6]] == [False, True, True, False, True, True]
    assert any("20 answers to 10 of 10 queries" in line for line in lines)
    assert "planned for 0.8" in " ".join(lines)


def test_a_long_table_says_what_it_leaves_out(call: Call, tmp_path: Path) -> None:
    rows = "".join(json.dumps({"id": f"[d{n}]", "text": text(1)}) + "\n" for n in range(ROWS + 25))
    (tmp_path / "same.jsonl").write_text(rows)
    call("index", "create", "x", "--store", "shingles")
    call("index", "add", "x", "same.jsonl")
    lines = on_a_terminal(60, tmp_path, "index", "query", "x", "--string", text(1))
    assert sum("1.0000" in line for line in lines) == ROWS
    assert any(line.startswith("[d0] ") for line in lines)
    assert "… and 25 more; -o FILE writes all" in lines
    assert lines[-1] == f"{ROWS + 25} answers"


def test_progress_on_a_terminal(call: Call, corpus: Path, tmp_path: Path) -> None:
    call("index", "create", "x")
    lines = on_a_terminal(40, tmp_path, "index", "add", "x", corpus.name)
    assert any("adding" in line and "━" in line for line in lines)
    assert all(len(line) <= 40 for line in lines if "━" in line)
    assert lines[-1] == "x holds 6 documents"
