"""A dry run, as people read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call


def test_it_says_what_is_read_planned_and_written(call: Call, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "twinset.toml").write_text("[common]\nthreads = 1\n")
    out = call("dedup", "corpus.jsonl", "--keep", "longest", "--dry-run", "-o", "OUT").out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["source", "format", "size"]
    assert lines[1][:2] == ["corpus.jsonl", "jsonl"]
    assert ["columns", "id,", "text"] in lines
    assert "16 bands × 6 rows" in out
    assert ["output", "OUT", "(new)"] in lines
    assert ["threads", "1", "twinset.toml", "[common]"] in lines
    assert ["keep", "longest", "command", "line"] in lines
    (tmp_path / "OUT").mkdir()
    assert "OUT (exists; refused without --force)" in call("dedup", corpus, "--dry-run", "-o", "OUT").out
    assert "OUT (exists; it would be replaced)" in call("dedup", corpus, "--force", "--dry-run", "-o", "OUT").out


def test_json_has_the_origins_of_settings(call: Call, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "settings" not in call("pairs", corpus, "--dry-run", "--json").json
    monkeypatch.setenv("TWINSET_PAIRS_SEED", "3")
    assert call("pairs", corpus, "--dry-run", "--json").json["settings"] == {"seed": "TWINSET_PAIRS_SEED"}


def test_many_sources_and_a_narrow_window(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / f"a-rather-long-name-of-a-file-of-texts-{number:02}.jsonl").write_text('{"text": "a"}\n')
    monkeypatch.setenv("COLUMNS", "40")
    out = call("pairs", "*.jsonl", "--dry-run").out
    assert "… and 10 more; --json lists all" in out
    assert max(map(len, out.splitlines()[:-1])) <= 40
    assert "output   the screen" in out


def test_a_password_is_not_shown(call: Call, corpus: Path) -> None:
    out = call("pairs", corpus, "--against", "x://ada:secret@host/db", "--dry-run")
    assert "secret" not in out.out + out.err
