"""Ids that repeat, on the command line: what is printed, and the way around."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

TEXTS = ("the quick brown fox jumps over the lazy dog", "a story about something else in the old town")


@pytest.fixture(autouse=True)
def shards(tmp_path: Path) -> None:
    for number, texts in enumerate((TEXTS, TEXTS[::-1])):
        rows = [json.dumps({"id": row, "meta": {"body": text}}) for row, text in enumerate(texts)]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(rows) + "\n")


def test_a_run_says_that_rows_are_named_by_their_file_and_row(run: Run) -> None:
    done = run("pairs", "0.jsonl", "1.jsonl", "--text", "meta.body")
    assert done.returncode == 0
    assert "the column id repeats (2 rows, such as '0'): rows are named file:row instead" in done.stderr
    assert "0.jsonl:0" in done.stdout
    assert "1.jsonl:1" in done.stdout


def test_without_ids_nothing_repeats(run: Run) -> None:
    done = run("dedup", "0.jsonl", "1.jsonl", "--text", "meta.body", "--no-id", "-o", "out", "--json")
    summary = json.loads(done.stdout)
    assert (summary["removed"], summary["options"]["no_id"], "repeated_ids" in summary) == (2, True, False)
    assert "repeats" not in done.stderr
    assert run("explain", "out", "1.jsonl:0").stdout.startswith("1.jsonl:0 was removed")


def test_a_named_column_that_repeats_is_refused_with_the_way_around(run: Run) -> None:
    done = run("dedup", "0.jsonl", "1.jsonl", "--text", "meta.body", "--id", "id", "-o", "out", "--quiet")
    assert done.returncode == 2
    assert done.stderr.endswith("name a column of unique ids with --id, or name rows file:row with --no-id\n")
    assert run("dedup", "0.jsonl", "--id", "id", "--no-id", "-o", "out").returncode == 2
