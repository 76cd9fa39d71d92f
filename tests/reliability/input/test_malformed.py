"""Input of every malformed kind, through the command line: an error that says where, or counted and named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.reliability.command import Done, at_once, twinset

GOOD = b'{"id":"%s","text":"a text that is fine, with words enough"}\n'
FIRST, LAST = GOOD % b"first", GOOD % b"last"


def write(name: str, data: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return make


def table(name: str, rows: dict[str, Any]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        pq.write_table(pa.table(rows), folder / name)
        return folder / name

    return make


def mixed(folder: Path) -> Path:
    place = folder / "mixed"
    place.mkdir()
    table("a.parquet", {"text": ["one text here"], "n": [1]})(place)
    table("b.parquet", {"n": ["x"], "text": [7]})(place)
    return place


def nothing(folder: Path) -> Path:
    place = folder / "nothing"
    (place / ".hidden").mkdir(parents=True)
    (place / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    return place


def lines(middle: bytes) -> Callable[[Path], Path]:
    return write("in.jsonl", FIRST + middle + b"\n" + LAST)


class Kind(NamedTuple):
    """A malformed input; what is said of it (empty: nothing is wrong), by default, with stop, and with skip."""

    make: Callable[[Path], Path]
    default: str
    stop: str
    skip: str
    unreadable: int = 1


SECOND = "in.jsonl, line 2: "
KINDS = {
    "not UTF-8": Kind(
        lines(b'{"id":"x","text":"some \xff\xfe bytes"}'), "", "in.jsonl, row 1, counted from 0: the text holds", "", 0
    ),
    "an id not UTF-8": Kind(lines(b'{"id":"\xff","text":"some"}'), SECOND, SECOND, ""),
    "a lone surrogate": Kind(lines(b'{"id":"x","text":"half \\ud800 a pair"}'), "", SECOND, ""),
    "a NUL escaped": Kind(lines(b'{"id":"x","text":"a NUL \\u0000 in the text"}'), "", "", "", 0),
    "a NUL byte": Kind(lines(b'{"id":"x","text":"a NUL \0 in the text"}'), SECOND, SECOND, ""),
    "very deep": Kind(
        lines(b'{"id":"x","text":"deep","more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        SECOND, SECOND, "",
    ),
    "not JSON": Kind(lines(b'{"id":"x","text":'), SECOND, SECOND, ""),
    "no object": Kind(lines(b'["x"]'), SECOND, SECOND, ""),
    "wrong type of text": Kind(lines(b'{"id":"x","text":{"a":1}}'), SECOND, SECOND, ""),
    "no text in a row": Kind(lines(b'{"id":"x","body":"words"}'), SECOND, SECOND, ""),
    "an id twice": Kind(lines(GOOD[:-1] % b"first"), "", "", "", 0),
    "wrong column": Kind(table("in.parquet", {"body": ["a"]}), "no column 'text'", "no column", "no column"),
    "wrong type": Kind(table("in.parquet", {"text": [1]}), "must hold text", "must hold text", "must hold text"),
    "mixed schemas": Kind(mixed, "b.parquet", "b.parquet", "b.parquet"),
    "gzip cut short": Kind(
        write("in.jsonl.gz", gzip.compress(FIRST * 3)[:-20]), "in.jsonl.gz", "in.jsonl.gz", "in.jsonl.gz"
    ),
    "gzip with a wrong checksum": Kind(
        write("in.jsonl.gz", gzip.compress(FIRST)[:-8] + b"\0" * 8), "in.jsonl.gz", "in.jsonl.gz", "in.jsonl.gz"
    ),
    "Parquet cut short": Kind(write("in.parquet", b"PAR1abc"), "in.parquet", "in.parquet", "in.parquet"),
    "nothing to read": Kind(nothing, "no documents", "no documents", "no documents"),
    "ragged CSV": Kind(write("in.csv", b"id,text\na,b\nc\nd,e\n"), "in.csv, line 3: ", "in.csv, line 3: ", ""),
    "a quote never closed": Kind(write("in.csv", b'id,text\na,b\nc,"d\n'), "in.csv, line 3: ", "in.csv, line 3: ", ""),
    "empty CSV": Kind(write("in.csv", b""), "in.csv", "in.csv", "in.csv"),
    "empty JSON lines": Kind(write("in.jsonl", b""), "", "", "", 0),
    "no such file": Kind(lambda folder: folder / "none.jsonl", "no such file", "no such file", "no such file"),
}  # fmt: skip

STOPPED = ("not UTF-8", "a lone surrogate", "a NUL escaped", "very deep", "not JSON")
CASES = [(name, on_error) for name in KINDS for on_error in ("default", "skip")] + [(name, "stop") for name in STOPPED]
Outcome = tuple[Done, Path]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Outcome]:
    """All runs, made together."""

    def run(name: str, on_error: str) -> Outcome:
        folder = tmp_path_factory.mktemp("malformed")
        source = KINDS[name].make(folder)
        how = [] if on_error == "default" else ["--on-error", on_error]
        return twinset("dedup", source, "-o", folder / "out", "--json", "--quiet", *how), folder / "out"

    return dict(zip(CASES, at_once([lambda case=case: run(*case) for case in CASES]), strict=True))


@pytest.mark.parametrize(("name", "on_error"), CASES)
def test_malformed(outcomes: dict[tuple[str, str], Outcome], name: str, on_error: str) -> None:
    done, out = outcomes[name, on_error]
    said: str = getattr(KINDS[name], on_error)
    if said:
        done.refused(said)
        assert done.out == ""
        assert sorted(path.name for path in out.parent.iterdir() if path.name.startswith("out")) == []
        return
    assert done.code == 0, done.err
    counts = done.summary
    assert counts["kept"] + counts["removed"] + counts["unreadable"] == counts["documents"]
    assert counts["unreadable"] == (KINDS[name].unreadable if on_error == "skip" else 0)
    named = pq.read_table(out / "unreadable.parquet").to_pylist()
    assert len(named) == counts["unreadable"]
    for row in named:
        assert row["id"]
        assert row["reason"].startswith("line ")


def test_bytes_that_are_not_utf8_are_counted_and_kept_as_they_are(outcomes: dict[tuple[str, str], Outcome]) -> None:
    done, out = outcomes["not UTF-8", "default"]
    assert done.summary["replaced"] == 1
    assert b"some \xff\xfe bytes" in (out / "kept/in.jsonl").read_bytes()


def test_half_a_surrogate_pair_is_counted_and_kept_as_it_is(outcomes: dict[tuple[str, str], Outcome]) -> None:
    done, out = outcomes["a lone surrogate", "default"]
    assert done.summary["replaced"] == 1
    assert b"half \\ud800 a pair" in (out / "kept/in.jsonl").read_bytes()


def test_rows_left_out_are_not_among_the_kept(outcomes: dict[tuple[str, str], Outcome]) -> None:
    _, out = outcomes["not JSON", "skip"]
    kept = [json.loads(line)["id"] for line in (out / "kept/in.jsonl").read_text().splitlines()]
    assert kept == ["first"]  # the last is a copy of it
