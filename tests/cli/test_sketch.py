"""``twinset sketch``, and ``twinset pairs`` on what it made."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import Call


def test_sketch_then_pairs(call: Call, corpus: Path) -> None:
    done = call("sketch", corpus, "-o", "s.parquet")
    assert done.code == 0
    assert done.out.splitlines() == [
        "s.parquet: 6 sketches (fss, 128 hashes)",
        "  1  of these empty: they hold nothing, and are like nothing",
        "next: twinset pairs s.parquet",
    ]
    assert pq.read_table("s.parquet")["id"].to_pylist() == list("abcdef")
    found = call("pairs", "s.parquet")
    assert found.out.splitlines()[0] == '"left","right","similarity","standard_error","estimate"'
    assert [line.split(",")[:2] for line in found.out.splitlines()[1:]] == [
        ['"a"', '"c"'],
        ['"a"', '"d"'],
        ['"c"', '"d"'],
    ]
    assert "plan: 128 hashes, 16 bands × 6 rows: a pair estimated at 0.8 is found with probability 0.9925" in found.err
    assert "3 pairs of 6 sketches, by estimate: none was verified" in found.err
    written = call("pairs", "s.parquet", "-o", "pairs.jsonl")
    assert written.out == "3 pairs of 6 sketches in pairs.jsonl, by estimate: none was verified\n"
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    assert all(row["estimate"] and row["standard_error"] > 0 for row in rows)


def test_dry_run(call: Call, corpus: Path) -> None:
    assert call("sketch", corpus, "-o", "s.parquet", "--hashes", "64", "--quiet").code == 0
    said = call("pairs", "s.parquet", "--threshold", "0.5", "--dry-run", "--json").json
    assert said["sketches"] == {"s.parquet": 6}
    assert (said["made"]["sketch"], said["made"]["hashes"], said["made"]["shingle"]) == ("fss", 64, "word:5")
    assert said["plan"]["reached"] >= 0.99
    assert "has no meaning" in call("pairs", "s.parquet", "--exact", "--dry-run").refusal


def test_merge_and_json(call: Call) -> None:
    Path("posts.csv").write_text("who,text\nann,one two three\nben,four\nann,three five\n")
    words = ("--id", "who", "--shingle", "word:1", "--sketch", "bottom-k", "--hashes", "8")
    assert "the id 'ann' appears twice" in call("sketch", "posts.csv", *words, "-o", "s.parquet").refusal
    done = call("sketch", "posts.csv", *words, "--merge", "-o", "s.parquet", "--json").json
    assert (done["documents"], done["sketches"], done["empty"], done["unreadable"]) == (3, 2, 0, 0)
    assert done["options"]["merge"] is True
    shown = call("sketch", "posts.csv", *words, "--merge", "-o", "t.parquet")
    assert "s.parquet: " not in shown.out
    assert "  1  merged into others of the same id" in shown.out
    again = call("sketch", "s.parquet", "t.parquet", "--merge", "-o", "u.parquet", "--quiet")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert pq.read_table("u.parquet")["sketch"].equals(pq.read_table("s.parquet")["sketch"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sketch", "corpus.jsonl"), "Missing option '-o'"),
        (("sketch", "corpus.jsonl", "-o", "s.csv"), "allowed is a name that ends in .parquet"),
        (("sketch", "corpus.jsonl", "-o", "s.parquet", "--sketch", "x"), "allowed is fss, kperm or bottom-k"),
        (("sketch", "corpus.jsonl", "-o", "s.parquet", "--hashes", "0"), "allowed is a whole number from 1 to 65536"),
        (("sketch", "nothing.jsonl", "-o", "s.parquet"), "there is no such file or folder"),
        (("pairs", "made.parquet", "--exact"), "--exact has no meaning for a file of sketches"),
        (("pairs", "made.parquet", "corpus.jsonl"), "SOURCE 1 is a file of sketches and SOURCE 2 is not"),
        (("dedup", "made.parquet", "-o", "out"), "there is no column 'text'"),
    ],
)
def test_what_is_refused(call: Call, corpus: Path, words: tuple[str, ...], said: str) -> None:
    assert call("sketch", corpus, "-o", "made.parquet", "--quiet").code == 0
    assert said in call(*words).refusal
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["corpus.jsonl", "made.parquet"]
