"""``twinset dedup --index``: what is said, what is printed, and what is left alone."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import twinset
from tests.cli.conftest import Call, text


def lines(file: Path, texts: dict[str, str]) -> Path:
    file.write_text("".join(json.dumps({"id": id, "text": one}) + "\n" for id, one in texts.items()))
    return file


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """Arrivals beside an index of two stories, one of which they repeat."""
    with twinset.Index.create(tmp_path / "news.twinset", seed=5) as index:
        index.add(["old", "other"], [text(1), text(9)])
    return lines(tmp_path / "today.jsonl", {"a": text(1) + " late", "b": text(2), "c": text(2) + " late", "d": ""})


def test_a_run_says_what_came_of_the_index(call: Call, news: Path) -> None:
    done = call("dedup", news, "--index", "news.twinset", "-o", "OUT")
    assert done.code == 0, done.err
    assert done.out.splitlines()[:6] == [
        "  4  documents",
        "  2  kept",
        "  2  removed as near-duplicates",
        "  1  of these because of documents in news.twinset",
        "  2  added to news.twinset",
        "  1  empty (kept)",
    ]
    assert "index: compared with 2 documents; a match at 0.8 is found with a probability of at least 0.99" in done.out
    assert done.err.splitlines()[0].startswith("index news.twinset: 2 documents; plan: 128 hashes, 16 bands × 6 rows")
    assert sum("plan:" in line for line in done.err.splitlines()) == 1
    again = call("dedup", news, "--index", "news.twinset", "-o", "OUT", "--force")
    assert "  0  added to news.twinset\n  2  kept, already in news.twinset\n" in again.out


def test_the_summary_as_json(call: Call, news: Path) -> None:
    found = call("dedup", news, "--index", "news.twinset", "-o", "OUT", "--json").json
    recall = found["index"].pop("recall")
    assert found["index"] == {"name": "news.twinset", "documents": 2, "added": 2, "there": 0, "matched": 1}
    assert 0.99 < recall < 1
    assert json.loads(Path("OUT/summary.json").read_text())["index"]["recall"] == recall


def test_a_dry_run_says_the_index_and_its_size_and_changes_nothing(call: Call, news: Path) -> None:
    index = news.parent / "news.twinset"
    before = hashlib.sha256(index.read_bytes()).hexdigest()
    done = call("dedup", news, "--index", "news.twinset", "--threshold", "0.9", "--dry-run")
    assert done.code == 0, done.err
    assert ["index", "news.twinset,", "2", "documents"] in [line.split() for line in done.out.splitlines()]
    found = call("dedup", news, "--index", "news.twinset", "--dry-run", "--json").json
    assert found["index"] == {"name": "news.twinset", "documents": 2}
    assert (found["plan"]["n_bands"], found["options"]["threshold"]) == (16, 0.8)
    assert "seed" not in found["options"]
    assert hashlib.sha256(index.read_bytes()).hexdigest() == before
    assert "made with 'word:5'" in call("dedup", news, "--index", index, "--shingle", "char:9", "--dry-run").refusal
    assert not Path("OUT").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--shingle word:3", "news.twinset: shingle is 'word:3', but the index was made with 'word:5'"),
        ("--no-lowercase", "lowercase is False, but the index was made with True"),
        ("--bands 9", "--bands is 9, but the index was made with 16"),
        ("--threshold 0.5", "threshold is 0.5, and the index news.twinset was planned for 0.8: a document at"),
        ("--against today.jsonl", "--against cannot be used with --index"),
        ("--by id", "--by cannot be used with --index"),
        ("--timeout x", "--timeout is 'x'; allowed: a whole number from 0 to 86400"),
    ],
)
def test_what_does_not_go_with_an_index_is_refused(call: Call, news: Path, words: str, message: str) -> None:
    assert message in call("dedup", news, "--index", "news.twinset", "-o", "OUT", *words.split()).refusal
    assert sorted(path.name for path in news.parent.iterdir() if "OUT" in path.name) == []


def test_a_missing_index_is_refused_before_anything_is_read(call: Call, news: Path) -> None:
    found = call("dedup", news, "--index", "nowhere.twinset", "-o", "OUT")
    assert "nowhere.twinset: there is no such index; create one with twinset index create" in found.refusal


def test_explain_report_and_recut(call: Call, news: Path) -> None:
    assert call("dedup", news, "--index", "news.twinset", "-o", "OUT", "--quiet").code == 0
    told = call("explain", "OUT", "a")
    assert told.out.startswith("a was removed: it is 0.98")
    assert "only in a: 1 shingle" in told.out
    earlier = call("explain", "OUT", "old")
    assert earlier.out.startswith("old is a document of the index, and is kept\nremoved because of it: 1 document")
    assert call("report", "OUT", "-o", "page.html").code == 0
    cut = call("recut", "OUT", "--threshold", "1", "-o", "CUT")
    assert "  4  kept" in cut.out
    assert "  0  of these because of documents in news.twinset" in cut.out
    assert "added to" not in cut.out
    with twinset.Index.open("news.twinset") as index:
        index.remove("old")
    assert "the index has no text to compare it with" in call("explain", "OUT", "a").out


def test_arrivals_on_stdin(call: Call, news: Path) -> None:
    assert call("dedup", "-", "--index", "news.twinset", "-o", "OUT", "--quiet", stdin=news.read_bytes()).code == 0
    assert len(Path("OUT/kept/stdin.jsonl").read_text().splitlines()) == 2


def test_the_help_has_a_heading_for_it(call: Call) -> None:
    out = call("dedup", "--help-all").out
    assert "\nIndex:\n  --index PATH|URL " in out
    assert "--index" not in call("pairs", "--help-all").out
