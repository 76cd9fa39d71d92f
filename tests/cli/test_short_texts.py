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
    assert "short texts that differ in one word are no pair; try --shingle auto" in " ".join(out.split())


def test_stdin_is_measured_and_read(call: Call, source: Path, tmp_path: Path) -> None:
    done = call("dedup", "-", "-o", str(tmp_path / "out"), "--shingle", "auto", "--json", stdin=source.read_bytes())
    assert json.loads(done.out)["shingle_auto"]["documents"] == 200
