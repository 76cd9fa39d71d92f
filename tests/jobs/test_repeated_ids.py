"""Ids that repeat in the data: rows are named by their position, or the message says how to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from twinset.engines.local.steps.cluster import cluster

FIRST = "the quick brown fox jumps over the lazy dog near the river bank"
SECOND = "a different story about something else entirely in the old town"


class Notes:
    """Collects the notes of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def stage(self, name: str, total: int | None, unit: str) -> None: ...

    def advance(self, n: int) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)

    def close(self) -> None: ...


def shards(folder: Path, ending: str = "jsonl") -> list[Path]:
    """Two shards that both count their rows from 1; the second text of one is a copy in the other."""
    rows = [
        [{"id": 1, "text": FIRST, "n": 1}, {"id": 2, "text": SECOND, "n": 2}],
        [{"id": 1, "text": SECOND, "n": 3}, {"id": 3, "text": "short and unlike the others", "n": 4}],
    ]
    paths = [folder / f"part-{number}.{ending}" for number in range(2)]
    for path, these in zip(paths, rows, strict=True):
        if ending == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in these))
        elif ending == "csv":
            path.write_text("id,text,n\n" + "".join(f"{row['id']},{row['text']},{row['n']}\n" for row in these))
        else:
            pq.write_table(pa.Table.from_pylist(these), path)
    return paths


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_rows_of_shards_with_repeated_ids_are_named_by_file_and_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    shards(tmp_path, ending)
    monkeypatch.chdir(tmp_path)
    names = [f"part-0.{ending}", f"part-1.{ending}"]
    progress = Notes()
    done = twinset.dedup(*names, output="out", progress=progress)
    ids = pq.read_table("out/documents.parquet")["id"].to_pylist()
    assert ids == [f"{name}:{row}" for name in names for row in (0, 1)]
    assert done.removed.select(["id", "because_of"]).to_pylist() == [
        {"id": f"part-1.{ending}:0", "because_of": f"part-0.{ending}:1"}
    ]
    assert (done.summary["repeated_ids"], done.summary["input"]["own_ids"]) == (1, False)
    assert [note for note in progress.notes if "repeat" in note] == [
        "the column id repeats (1 row, such as '1'): rows are named file:row instead"
    ]
    same = twinset.dedup(*names, no_id=True)
    assert same.clusters.equals(done.clusters)
    assert "repeated_ids" not in same.summary


def test_unique_ids_stay_and_are_not_reported() -> None:
    done = twinset.dedup(pa.table({"id": ["a", "b"], "text": [FIRST, FIRST]}))
    assert done.removed["id"].to_pylist() == ["b"]
    assert "repeated_ids" not in done.summary


@pytest.mark.parametrize("ids", ["aba", "aab", "baa", "xyzx"])
def test_repeats_are_found_wherever_they_stand_and_named_with_id_given(ids: str) -> None:
    table = pa.table({"id": list(ids), "text": [f"number {row} is a text of its own" for row in range(len(ids))]})
    found = twinset.find_pairs(table, threshold=0.8)
    assert found.summary["repeated_ids"] == 1
    with pytest.raises(twinset.DuplicateIdError, match=r"appears twice: table, row .*; .*id=, or .*no_id=True"):
        twinset.find_pairs(table, id="id")


def test_repeated_ids_are_counted_and_pairs_use_the_names_of_rows() -> None:
    table = pa.table({"id": ["x", "x", "x", "y"], "text": [FIRST, FIRST, SECOND, SECOND]})
    found = twinset.find_pairs(table)
    assert found.pairs.select(["left", "right"]).to_pylist() == [
        {"left": "table:0", "right": "table:1"},
        {"left": "table:2", "right": "table:3"},
    ]
    assert found.summary["repeated_ids"] == 2


def test_ids_of_one_side_repeat_in_a_comparison_against_another() -> None:
    table = pa.table({"id": ["x", "x"], "text": [FIRST, SECOND]})
    found = twinset.find_pairs(table, against=[pa.table({"id": ["x"], "text": [FIRST]})])
    assert found.pairs.select(["left", "right"]).to_pylist() == [{"left": "table:0", "right": "against-table:0"}]
    assert found.summary["repeated_ids"] == 1


def test_keep_rules_report_explain_and_recut_work_with_the_names_of_rows(tmp_path: Path) -> None:
    paths = shards(tmp_path)
    done = twinset.dedup(*paths, output=tmp_path / "out", keep="highest:n", floor=0.5)
    assert done.removed["id"].to_pylist() == [f"{paths[0]}:1"]
    again = twinset.open_result(tmp_path / "out")
    account = again.explain(f"{paths[0]}:1")
    assert account.state == "removed"
    again.report(tmp_path / "page.html")
    assert "part-0.jsonl:1" in (tmp_path / "page.html").read_text()
    cut = again.rethreshold(0.6, output=tmp_path / "cut", keep="first")
    assert cut.removed["id"].to_pylist() == [f"{paths[1]}:0"]
    assert cut.summary["repeated_ids"] == 1
    assert (tmp_path / "cut" / "kept" / "part-0.jsonl").read_bytes() == paths[0].read_bytes()


def test_a_killed_run_resumes_with_the_names_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = shards(tmp_path)
    calls: list[str] = []

    def full(*arguments: Any) -> Any:
        calls.append("cluster")
        if len(calls) == 1:
            raise OSError(28, os.strerror(28))
        return cluster(*arguments)

    monkeypatch.setattr("twinset.engines.local.steps.cluster.cluster", full)
    with pytest.raises(OSError, match="space"):
        twinset.dedup(*paths, output=tmp_path / "out")
    done = twinset.dedup(*paths, output=tmp_path / "out")
    assert "sketches" in done.summary["timings"]["resumed"]
    assert done.removed["id"].to_pylist() == [f"{paths[1]}:0"]
    assert done.summary["repeated_ids"] == 1


def test_ids_that_repeat_across_a_table_and_a_mapping_leave_the_mapping_alone() -> None:
    done = twinset.dedup({"x": FIRST}, pa.table({"id": ["x", "y"], "text": [SECOND, FIRST]}))
    assert done.clusters["id"].to_pylist() == ["x", "table:0", "table:1"]


def test_a_source_named_twice_is_refused(tmp_path: Path) -> None:
    path = shards(tmp_path)[0]
    with pytest.raises(twinset.DuplicateIdError, match=r"part-0.jsonl' is named twice"):
        twinset.find_pairs(path, path)


def test_an_index_needs_unique_ids(tmp_path: Path) -> None:
    table = pa.table({"id": ["x", "x"], "text": [FIRST, SECOND]})
    with twinset.Index.create(tmp_path / "one.twinset") as index:
        for add in (index.add, lambda source: twinset.dedup(source, index=index)):
            with pytest.raises(twinset.DuplicateIdError, match=r"'x' appears.*an index must be unique.*no_id=True"):
                add(table)
        assert index.add(table, no_id=True).added == 2
        assert list(index) == ["table:0", "table:1"]


def test_the_ids_of_a_truth_must_be_unique() -> None:
    table = pa.table({"id": ["x", "x"], "text": [FIRST, SECOND]})
    with pytest.raises(twinset.DuplicateIdError, match=r"'x' appears twice.*a truth names documents by unique ids"):
        twinset.evaluate(table, truth=[("x", "y")])
    assert twinset.evaluate(table, exact=True).summary["documents"] == 2


def test_id_and_no_id_exclude_each_other() -> None:
    table = pa.table({"id": ["x"], "text": [FIRST]})
    with pytest.raises(twinset.OptionError, match="exclude each other"):
        twinset.dedup(table, id="id", no_id=True)
    with pytest.raises(twinset.OptionError, match="no_id cannot be used with group="):
        twinset.dedup(table, group="id", item="text", no_id=True)


def test_a_list_and_a_mapping_have_their_ids_with_no_id() -> None:
    assert twinset.dedup([FIRST], no_id=True).clusters["id"].to_pylist() == ["0"]
    assert twinset.dedup({"a": FIRST}, no_id=True).clusters["id"].to_pylist() == ["a"]


def test_equal_hashes_of_different_ids_are_no_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ids have one hash: each is compared with all before it, also across portions."""
    monkeypatch.setattr("twinset.engines.local.corpus._COMPARED_IDS", 2)
    monkeypatch.setattr(
        "twinset.engines.local.steps.sketch.hash_ids", lambda ids, other: np.full(len(ids), other, np.uint64)
    )
    texts = [f"number {row} is a text of its own" for row in range(7)]
    assert "repeated_ids" not in twinset.find_pairs(pa.table({"id": list("abcdefg"), "text": texts})).summary
    with pytest.raises(twinset.DuplicateIdError, match=r"'c' appears twice: table, row 2, and table, row 6"):
        twinset.find_pairs(pa.table({"id": list("abcdefc"), "text": texts}), id="id")
