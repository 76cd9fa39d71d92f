"""``twinset verdicts``, and ``--verdicts`` of dedup and recut, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.cli.conftest import Call
from twinset.verdicts import Content, VerdictStore

ROSE = "a rose is a rose is a rose in any garden of the old town by the river where nobody goes"


@pytest.fixture
def contents(tmp_path: Path, call: Call) -> dict[str, Content]:
    """A result OUT of five texts, of which three are near each other; the contents by id."""
    texts = {"a": ROSE, "b": f"{ROSE} now", "c": f"{ROSE} today", "d": "quite another thing of which nobody speaks"}
    rows = [{"id": id, "text": text} for id, text in {**texts, "e": "and one more thing that is like no other"}.items()]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("dedup", "in.jsonl", "-o", "OUT", "--threshold", ".7", "--quiet").code == 0
    recorded = twinset.open_result("OUT").recorded
    return {
        id: Content(digest.tobytes(), id) for id, digest in zip(recorded.ids.to_pylist(), recorded.digests, strict=True)
    }


def judge(contents: dict[str, Content], *verdicts: tuple[str, str, str], who: str = "Ann", file: str = "OUT") -> None:
    with VerdictStore(f"{file}.verdicts", basis="text word:5 seed=1") as store:
        for kind, left, right in verdicts:
            store.judge(kind, contents[left], contents[right], who=who)


def removed(folder: str) -> dict[str, Any]:
    rows = twinset.open_result(folder).removed.to_pylist()
    return {row["id"]: row["because_of"] for row in rows}


def test_recut_and_dedup_obey_and_say_so(call: Call, contents: dict[str, Content]) -> None:
    judge(contents, ("different", "a", "b"), ("duplicate", "a", "d"), ("unsure", "d", "e"))
    done = call("recut", "OUT", "--verdicts", "-o", "OUT2")
    assert done.code == 0
    for line in (
        "  2  removed as near-duplicates",
        "  1  of these because of a verdict",
        "verdicts of OUT.verdicts obeyed: 1 duplicate, 1 different, 0 principal",
        "verdicts not used: 1 unsure",
    ):
        assert line in done.out
    assert removed("OUT2") == {"c": "a", "d": "a"}
    words = ("in.jsonl", "--threshold", ".7", "--verdicts", "OUT.verdicts")
    assert call("dedup", *words, "-o", "OUT3", "--quiet").code == 0
    assert removed("OUT3") == removed("OUT2")
    assert call("recut", "OUT", "--verdicts", "OUT.verdicts", "-o", "OUT4", "--json").json["verdicts"]["removed"] == 1
    assert (
        "d was removed: people judged the two to be duplicates; it is 0.0000 similar to a"
        in call("explain", "OUT2", "d").out
    )
    assert "people judged" not in call("explain", "OUT2", "c").out


def test_recut_of_a_file_of_rows_finds_the_verdicts_beside_it(call: Call, contents: dict[str, Content]) -> None:
    assert call("dedup", "in.jsonl", "--threshold", ".7", "-o", "clean.jsonl", "--quiet").code == 0
    judge(contents, ("different", "a", "b"), file="clean.jsonl")
    assert call("recut", "clean.jsonl", "--verdicts", "-o", "new.jsonl", "--quiet").code == 0
    assert removed("new.jsonl") == {"c": "a"}


def test_what_is_not_used_is_said(call: Call, contents: dict[str, Content]) -> None:
    judge(contents, ("different", "a", "b"), ("duplicate", "a", "d"))
    words = ("dedup", "in.jsonl", "--verdicts", "OUT.verdicts", "--force", "-o", "OUT5")
    out = call(*words, "--shingle", "char:9").out
    assert "verdicts not used: 2 on contents that were compared in another way (other items, shingles or seed)" in out
    Path("one.jsonl").write_text(Path("in.jsonl").read_text().split("\n")[0])
    out = call(*words, "one.jsonl", "--no-id").out
    assert "obeyed: 1 duplicate, 1 different" in out
    out = call("dedup", "one.jsonl", "--verdicts", "OUT.verdicts", "-o", "OUT6").out
    assert "verdicts not used: 2 on contents that are not here" in out


def test_conflicts_are_listed(call: Call, contents: dict[str, Content]) -> None:
    judge(contents, ("duplicate", "a", "b"))
    assert call("verdicts", "conflicts", "OUT.verdicts").out == "no conflicts\n"
    judge(contents, ("duplicate", "b", "d"), ("different", "a", "d"), who="Bob")
    done = call("verdicts", "conflicts", "OUT.verdicts")
    first, chain = done.out.splitlines()
    assert first == "1 conflict"
    assert chain.strip() in ("a = b = d, but a ≠ d (Ann, Bob)", "d = b = a, but d ≠ a (Ann, Bob)")
    (found,) = call("verdicts", "conflicts", "OUT.verdicts", "--json").json["conflicts"]
    assert found["kind"] == "different"
    assert [one["verdict"] for one in found["verdicts"]] == ["duplicate", "duplicate", "different"]
    out = call("recut", "OUT", "--verdicts", "-o", "OUT2").out
    assert "1 conflict among the verdicts, such as" in out
    assert "twinset verdicts conflicts OUT.verdicts lists them" in out
    with VerdictStore("OUT.verdicts", basis="text word:5 seed=1") as store:
        store.name_principal(contents["a"], who="Cem")
        store.name_principal(contents["b"], who="Cem")
    out = call("verdicts", "conflicts", "OUT.verdicts").out
    assert out.startswith("2 conflicts\n")
    assert "but a and b are principal (Ann, Cem)" in out or "but b and a are principal (Ann, Cem)" in out
    out = call("recut", "OUT", "--verdicts", "--force", "-o", "OUT2").out
    assert "obeyed: 2 duplicate, 1 different, 2 principal" in out


def test_export_and_import(call: Call, contents: dict[str, Content]) -> None:
    judge(contents, ("duplicate", "a", "b"), ("unsure", "a", "c"))
    assert call("verdicts", "export", "OUT.verdicts", "x.csv").out == "2 events of OUT.verdicts in x.csv\n"
    assert call("verdicts", "export", "OUT.verdicts", "x.csv").refusal.endswith("or replace it with --force")
    assert call("verdicts", "export", "OUT.verdicts", "x.csv", "--force").code == 0
    judge(contents, ("different", "a", "b"), ("different", "a", "c"), who="Bob", file="bob")
    call("verdicts", "export", "bob.verdicts", "bob.jsonl")
    out = call("verdicts", "import", "OUT.verdicts", "bob.jsonl").out.splitlines()
    assert out[:3] == ["2 events added to OUT.verdicts", "2 verdicts changed: later ones stand",
                       "judged differently by several people: 2 pairs"]  # fmt: skip
    assert "  a and b: Ann duplicate, Bob different; different stands" in out
    again = call("verdicts", "import", "OUT.verdicts", "bob.jsonl")
    assert again.out.startswith("0 events added to OUT.verdicts, 2 were there already\n")
    report = call("verdicts", "import", "new.verdicts", "x.csv", "--json").json
    assert report == {"verdicts": "new.verdicts", "added": 2, "known": 0, "changed": 0, "disputed": []}
    assert "x.txt has no known ending" in call("verdicts", "export", "OUT.verdicts", "x.txt").refusal
    assert "there is no such file of verdicts" in call("verdicts", "export", "no.verdicts", "y.csv").refusal
    assert "in.jsonl, line 1: not an object" in call("verdicts", "import", "OUT.verdicts", "in.jsonl").refusal


def test_sample_and_precision(call: Call, contents: dict[str, Content]) -> None:
    refusal = call("verdicts", "precision", "OUT.verdicts").refusal
    assert "there is no such file of verdicts" in refusal
    out = call("verdicts", "sample", "OUT", "--pairs", "2", "--strata", "2", "--name", "Ann").out
    assert out.splitlines()[0] == "2 pairs of 3 drawn, in OUT.verdicts"
    drawn = call("verdicts", "sample", "OUT", "--pairs", "2", "--strata", "2", "--json").json
    assert drawn["population"] == sum(one["weight"] for one in drawn["pairs"]) == 3
    assert [(one["from"], one["pairs"], one["drawn"]) for one in drawn["strata"]] == [(0.85, 3, 2)]
    out = call("verdicts", "precision", "OUT.verdicts", "--precision", ".5").out
    assert out.startswith("2 pairs sampled of 3: 0 duplicate, 0 different, 0 unsure, 2 to label\n")
    assert out.endswith("no threshold has a precision of at least 0.5 for sure; label more pairs\n")
    judge(contents, *(("duplicate", one["left"], one["right"]) for one in drawn["pairs"]))
    found = call("verdicts", "precision", "OUT.verdicts", "--precision", ".1", "--json").json
    assert (found["duplicate"], found["to_label"]) == (2, 0)
    assert [row["precision"] for row in found["rows"]] == [1.0] * len(found["rows"])
    assert found["least"] == {"asked": 0.1, "threshold": found["rows"][0]["threshold"]}
    assert (
        "lowest threshold with a precision of at least 0.1: "
        in call("verdicts", "precision", "OUT.verdicts", "--precision", ".1").out
    )
    assert (
        "sample is 3, but OUT.verdicts has 1 sample"
        in call("verdicts", "precision", "OUT.verdicts", "--sample", "3").refusal
    )


def test_distances_are_distances(call: Call, tmp_path: Path) -> None:
    rows = [{"id": f"c{number}", "code": 2**number - 1} for number in range(9)]
    (tmp_path / "codes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("dedup", "codes.jsonl", "--codes", "code", "--distance", "3", "-o", "CODES", "--quiet")
    out = call("verdicts", "sample", "CODES", "--pairs", "9").out
    assert "distance up to  pairs  drawn" in out
    found = call("verdicts", "precision", "CODES.verdicts", "--json").json
    assert [row["distance"] for row in found["rows"]] == [3, 2, 1]


def test_passages_have_no_sample_and_are_not_obeyed(call: Call, contents: dict[str, Content]) -> None:
    call("passages", "in.jsonl", "--least", "8", "-o", "PASSAGES", "--quiet")
    assert (
        "is a result of passages, without clusters; name one of dedup" in call("verdicts", "sample", "PASSAGES").refusal
    )
    recorded = twinset.open_result("PASSAGES").recorded
    assert recorded.basis == "passages of text"
    digests = [row.tobytes() for row in recorded.digests]
    assert len(set(digests)) == 5
    with VerdictStore("OUT.verdicts", basis=recorded.basis) as store:
        store.judge("different", Content(digests[0], "a"), Content(digests[1], "b"), who="Ann")
    out = call("recut", "OUT", "--verdicts", "-o", "OUT2").out
    assert "verdicts not used: 1 on contents that were compared in another way" in out
    assert removed("OUT2") == {"b": "a", "c": "a"}
