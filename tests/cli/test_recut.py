"""``twinset recut``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def out(run: Run, corpus: Path) -> str:
    done = run("dedup", corpus.name, "-o", "OUT", "--threshold", ".8", "--floor", ".5", "--quiet")
    assert done.returncode == 0, done.stderr
    return "OUT"


def test_a_cut_says_what_it_found_and_where_it_lies(run: Run, out: str, tmp_path: Path) -> None:
    done = run("recut", out, "--threshold", ".99", "--keep", "longest", "-o", "NEW")
    assert done.returncode == 0, done.stderr
    for words in (
        "6  documents",
        "5  kept",
        "1  removed as a near-duplicate",
        "pairs, down to 0.5",
        "clean data: NEW/kept",
    ):
        assert words in done.stdout
    fresh = run(
        *("dedup", "corpus.jsonl", "--threshold", ".99", "--floor", ".5", "--keep", "longest"), "-o", "FRESH", "--quiet"
    )
    assert (fresh.returncode, fresh.stdout, fresh.stderr) == (0, "", "")
    for name in ("removed.parquet", "pairs.parquet", "clusters.parquet", "kept/corpus.jsonl"):
        assert (tmp_path / "NEW" / name).read_bytes() == (tmp_path / "FRESH" / name).read_bytes(), name


def test_json_and_quiet(run: Run, out: str, tmp_path: Path) -> None:
    done = run("recut", out, "--threshold", ".99", "-o", "NEW", "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary == json.loads((tmp_path / "NEW/summary.json").read_text("utf-8"))
    assert (summary["options"]["threshold"], summary["options"]["floor"]) == (0.99, 0.5)
    assert summary["timings"]["cut_from"]["folder"] == "OUT"
    done = run("recut", out, "-o", "NEW", "--force", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_so_many_rows(run: Run, out: str) -> None:
    done = run("recut", out, "--rows", "5", "-o", "NEW")
    assert done.returncode == 0, done.stderr
    assert "threshold: " in done.stdout
    assert "5  kept" in done.stdout
    refused = run("recut", out, "--rows", "100", "-o", "NEWER")
    assert refused.returncode == 2
    assert "rows is 100, but thresholds from 0.5 to 1 leave 4 to 5" in refused.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("OUT", "--threshold", ".4"), "threshold is 0.4, and pairs below 0.5, the floor of OUT"),
        (("OUT", "--threshold", "1.5"), "threshold is 1.5; allowed: a number above 0 and up to 1"),
        (("OUT", "--threshold", ".9", "--rows", "3"), "leave one of them out"),
        (("OUT", "--keep", "best"), "'best' is not a rule"),
        (("OUT", "--cluster", "best"), "allowed: leader, components or complete"),
        (("OUT", "--source", "gone.jsonl"), "gone.jsonl: there is no such file"),
        (("nowhere",), "nowhere/summary.json: there is no such file; name a folder or a file of rows that dedup"),
        (("corpus.jsonl",), "name a folder or a file of rows that dedup, recut, pairs or passages wrote"),
    ],
)
def test_refusals_are_one_line(run: Run, out: str, words: tuple[str, ...], told: str) -> None:
    done = run("recut", *words, "-o", "NEW", "--quiet")
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_output_that_exists_is_refused(run: Run, out: str, tmp_path: Path) -> None:
    done = run("recut", out, "--threshold", ".9", "-o", out)
    assert done.returncode == 2
    assert "OUT exists" in done.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("precious")
    done = run("recut", out, "--threshold", ".9", "-o", "mine", "--force")
    assert "is not a result of an earlier run" in done.stderr
    assert (tmp_path / "mine/file").read_text() == "precious"


def test_a_moved_and_a_changed_source(run: Run, out: str, corpus: Path, tmp_path: Path) -> None:
    corpus.rename(tmp_path / "moved.jsonl")
    said = run("recut", out, "-o", "NEW").stderr
    assert "corpus.jsonl: this source no longer exists; give its new path with --source" in said
    done = run("recut", out, "--source", "moved.jsonl", "-o", "NEW")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "NEW/kept/moved.jsonl").exists()
    (tmp_path / "moved.jsonl").write_text((tmp_path / "moved.jsonl").read_text().replace("hello", "hallo"))
    done = run("recut", out, "--source", "moved.jsonl", "-o", "NEWER")
    assert done.returncode == 2
    assert "moved.jsonl: was changed since that run" in done.stderr
    assert not (tmp_path / "NEWER").exists()
