"""``twinset trim``, as a user runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call
from tests.cli.screen.test_show import in_a_terminal

HEAD = "all rights reserved by the company"
ROWS = [
    {"id": "a", "text": f"{HEAD}. The harbour froze."},
    {"id": "b", "text": f"{HEAD.upper()}. The bakery burned."},
    {"id": "c", "text": HEAD},
]


@pytest.fixture(autouse=True)
def pages(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_a_run_adds_up(call: Call, tmp_path: Path) -> None:
    done = call("trim", "pages.jsonl", "--least", "5", "-o", "OUT")
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines[:4] == ["3 documents", "24 words", "13 words cut (0.5417), in 2 documents", "11 words kept"]
    assert "1 document with few words left, listed in left.parquet" in lines
    assert lines[-2:] == ["trimmed data: OUT/kept", "cuts: OUT/cuts.parquet"]
    kept = [json.loads(line) for line in (tmp_path / "OUT/kept/pages.jsonl").read_text().splitlines()]
    assert [row["text"] for row in kept] == [ROWS[0]["text"], " bakery burned.", ""]


def test_on_a_narrow_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "twinset", "trim", "pages.jsonl", "--least", "5", "-o", "OUT"]
    shown = in_a_terminal(command, tmp_path, width=40)
    assert "words kept" in shown
    assert "OUT/kept" in shown
    assert "Traceback" not in shown


def test_json_and_quiet(call: Call, tmp_path: Path) -> None:
    summary = call("trim", "pages.jsonl", "--least", "5", "-o", "OUT", "--json", "--quiet").json
    assert summary == json.loads((tmp_path / "OUT/summary.json").read_text())
    assert summary["words"] == summary["words_kept"] + summary["words_cut"] == 24
    assert "--force" in call("trim", "pages.jsonl", "-o", "OUT").refusal
    done = call("trim", "pages.jsonl", "--least", "50", "-o", "OUT", "--force", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert pq.read_table(tmp_path / "OUT/cuts.parquet").num_rows == 0


@pytest.mark.parametrize("name", ["clean.jsonl", "clean.csv", "clean.parquet"])
def test_to_one_file(call: Call, tmp_path: Path, name: str) -> None:
    done = call("trim", "pages.jsonl", "--least", "5", "-o", name)
    assert done.code == 0, done.err
    assert f"trimmed data: {name}" in done.out
    assert f"cuts: {name}.details/cuts.parquet" in done.out
    assert (tmp_path / name).is_file()


def test_units_marks_and_copies(call: Call, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(
        json.dumps({"text": "Head\none\n"}) + "\n" + json.dumps({"text": "HEAD\ntwo\n"}) + "\n"
    )
    assert call("trim", "lines.jsonl", "--unit", "line", "-o", "1.jsonl", "--quiet").code == 0
    assert [json.loads(line)["text"] for line in (tmp_path / "1.jsonl").read_text().splitlines()] == [
        "Head\none\n",
        "two\n",
    ]
    cut = [
        call("trim", "pages.jsonl", "--least", "5", *words, "-o", f"{at}.csv", "--json", "--quiet").json["words_cut"]
        for at, words in enumerate([("--copies", "2"), ("--everywhere",), ("--keep", "longest"), ("--mark", "###")])
    ]
    assert cut == [6, 20, 13, 13]


def test_dry_run_reads_nothing(call: Call, tmp_path: Path) -> None:
    told = call("trim", "pages.jsonl", "--dry-run", "--json").json
    assert told["plan"]["least_words"] == 50
    assert [path.name for path in tmp_path.iterdir()] == ["pages.jsonl"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "missing output; name a folder or a file for the result with -o OUT"),
        (("-o", "OUT", "--copies", "2", "--everywhere"), "--copies cannot be used with --everywhere"),
        (("-o", "OUT", "--against", "pages.jsonl"), "--against cannot be used with trim"),
        (("-o", "OUT", "--unit", "line", "--mark", "|"), "--mark cannot be used with --unit line"),
        (("-o", "OUT", "--unit", "sentence"), "unit is 'sentence'; allowed: words, line or paragraph"),
        (("-o", "OUT", "--mark", ""), "allowed: a text of 1 to 100 characters"),
        (("-o", "OUT", "--keep", "best"), "'best' is not a rule"),
        (("-o", "OUT", "--keep", "newest:day"), "day"),
        (("-o", "pages.jsonl", "--force"), "would be replaced"),
        (
            (
                "-o",
                "clean.xyz/../pages.jsonl",
            ),
            "pages.jsonl",
        ),
        (("-o", "OUT", "--gap", "3"), "--gap"),
    ],
)
def test_wrong_words(call: Call, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    assert told in call("trim", "pages.jsonl", *words).refusal
    assert [path.name for path in tmp_path.iterdir()] == ["pages.jsonl"]


def test_a_result_of_trim_is_not_explained(call: Call) -> None:
    assert call("trim", "pages.jsonl", "--least", "5", "-o", "OUT").code == 0
    for words in (("explain", "OUT", "b"), ("report", "OUT", "-o", "page.html")):
        done = call(*words)
        assert done.code == 2
        assert "OUT is a result of trim; cuts.parquet has its cuts with their reasons" in done.err
