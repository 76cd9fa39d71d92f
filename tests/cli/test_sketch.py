"""``twinset sketch``, and ``twinset pairs`` on what it made."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call


def test_sketch_then_pairs(call: Call, corpus: Path) -> None:
    done = call("sketch", corpus, "-o", "s.parquet")
    assert done.code == 0
    assert done.out.splitlines() == [
        "s.parquet: 6 sketches (fss, 128 hashes)",
        "  1  of these empty, so without pairs",
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
    assert "3 pairs of 6 sketches (estimated, not verified)" in found.err
    written = call("pairs", "s.parquet", "-o", "pairs.jsonl")
    assert written.out == "3 pairs of 6 sketches in pairs.jsonl (estimated, not verified)\n"
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    assert all(row["estimate"] and row["standard_error"] > 0 for row in rows)


def test_dry_run(call: Call, corpus: Path) -> None:
    assert call("sketch", corpus, "-o", "s.parquet", "--hashes", "64", "--quiet").code == 0
    said = call("pairs", "s.parquet", "--threshold", "0.5", "--dry-run", "--json").json
    assert said["sketches"] == {"s.parquet": 6}
    assert (said["made"]["sketch"], said["made"]["hashes"], said["made"]["shingle"]) == ("fss", 64, "word:5")
    assert said["plan"]["reached"] >= 0.99
    assert "does not apply to" in call("pairs", "s.parquet", "--exact", "--dry-run").refusal


def test_merge_and_json(call: Call) -> None:
    Path("posts.csv").write_text("who,text\nann,one two three\nben,four\nann,three five\n")
    words = ("--id", "who", "--shingle", "word:1", "--sketch", "bottom-k", "--hashes", "8")
    assert "the id 'ann' appears twice" in call("sketch", "posts.csv", *words, "-o", "s.parquet").refusal
    done = call("sketch", "posts.csv", *words, "--merge", "-o", "s.parquet", "--json").json
    assert (done["documents"], done["sketches"], done["empty"], done["unreadable"]) == (3, 2, 0, 0)
    assert done["options"]["merge"] is True
    shown = call("sketch", "posts.csv", *words, "--merge", "-o", "t.parquet")
    assert "s.parquet: " not in shown.out
    assert "  1  merged into others with the same id" in shown.out
    again = call("sketch", "s.parquet", "t.parquet", "--merge", "-o", "u.parquet", "--quiet")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert pq.read_table("u.parquet")["sketch"].equals(pq.read_table("s.parquet")["sketch"])


def test_simhash_then_pairs_dedup_and_evaluate(call: Call, corpus: Path) -> None:
    done = call("sketch", corpus, "--sketch", "simhash", "--shingle", "word:1", "-o", "c.parquet")
    assert done.out.splitlines() == [
        "c.parquet: 5 codes (simhash, 64 bits, by count)",
        "  1  empty, so without a code",
        "  empty: f",
        "next: twinset pairs c.parquet --codes code --distance 3",
    ]
    table = pq.read_table("c.parquet")
    assert table["id"].to_pylist() == list("abcdef")
    assert table["code"].null_count == 1
    near = [line.split(",") for line in call("pairs", "c.parquet", "--codes", "code", "--quiet").out.splitlines()]
    assert near[0] == ['"left"', '"right"', '"distance"']
    assert ['"a"', '"c"', "0"] in near
    top = call("pairs", "c.parquet", "--codes", "code", "--distance", "64", "--top", "1", "--quiet").out.splitlines()
    assert len(top) == 6
    cleaned = call("dedup", "c.parquet", "--codes", "code", "-o", "out", "--json", "--quiet").json
    assert (cleaned["documents"], cleaned["empty"]) == (6, 1)
    assert cleaned["removed"] == 6 - pq.read_table("out/kept/c.parquet").num_rows > 0
    Path("truth.csv").write_text("left,right\na,c\n")
    scored = call("evaluate", "c.parquet", "--codes", "code", "--distance", "0", "--truth", "truth.csv", "--json").json
    assert scored["measures"][0]["recall"] == 1.0


def test_simhash_in_other_words(call: Call, corpus: Path) -> None:
    words = ("--sketch", "simhash", "--bits", "128", "--weights", "tf-idf")
    done = call("sketch", corpus, *words, "-o", "c.parquet")
    assert done.out.startswith("c.parquet: 5 codes (simhash, 128 bits, by tf-idf)\n")
    assert "counting: 6 documents" in done.err
    assert (
        "(simhash, 64 bits, unweighted)"
        in call("sketch", corpus, "--sketch", "simhash", "--weights", "none", "-o", "d.parquet").out
    )
    said = call("sketch", corpus, *words, "-o", "c.parquet", "--force", "--json").json
    assert said["named"]["empty"] == ["f"]
    assert (said["options"]["bits"], said["options"]["weights"]) == (128, "tf-idf")


def test_one_file_of_sketches_against_another(call: Call, corpus: Path) -> None:
    assert call("sketch", corpus, "-o", "s.parquet", "--quiet").code == 0
    shown = call("pairs", "s.parquet", "--against", "s.parquet", "--quiet")
    assert shown.err == ""
    found = shown.out.splitlines()
    assert [line.split(",")[:2] for line in found[1:]][:2] == [['"a"', '"a"'], ['"a"', '"c"']]
    said = call("pairs", "s.parquet", "--against", "s.parquet", "--dry-run").out
    assert "s.parquet" in said
    assert "--against is not" in call("pairs", "s.parquet", "--against", corpus).refusal


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sketch", "corpus.jsonl"), "Missing option '-o'"),
        (("sketch", "corpus.jsonl", "-o", "s.csv"), "allowed: a name that ends in .parquet"),
        (("sketch", "corpus.jsonl", "-o", "s.parquet", "--sketch", "x"), "allowed: fss, kperm, bottom-k or simhash"),
        (("sketch", "corpus.jsonl", "-o", "s.parquet", "--hashes", "0"), "allowed: a whole number from 1 to 65536"),
        (("sketch", "nothing.jsonl", "-o", "s.parquet"), "there is no such file or folder"),
        (("sketch", "corpus.jsonl", "-o", "s.parquet", "--bits", "64"), "--bits cannot be used with --sketch fss"),
        (("sketch", "corpus.jsonl", "-o", "s.parquet", "--sketch", "simhash", "--bits", "x"), "allowed: 64 or 128"),
        (("pairs", "made.parquet", "--exact"), "--exact does not apply to a file of sketches"),
        (("pairs", "made.parquet", "corpus.jsonl"), "SOURCE 1 is a file of sketches and SOURCE 2 is not"),
        (("dedup", "made.parquet", "-o", "out"), "it contains sketches, not documents"),
    ],
)
def test_what_is_refused(call: Call, corpus: Path, words: tuple[str, ...], said: str) -> None:
    assert call("sketch", corpus, "-o", "made.parquet", "--quiet").code == 0
    assert said in call(*words).refusal
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["corpus.jsonl", "made.parquet"]
