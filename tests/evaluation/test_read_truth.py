"""What is true, read from files and objects; what is wrong with it is said with the file's name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset.errors import ColumnError, RowError, SourceError
from twinset.evaluation import true_pairs as knowledge
from twinset.evaluation.read_truth import read_truth, resolved
from twinset.evaluation.true_pairs import ListedClusters, ListedPairs, unpaired
from twinset.options.formats import DELIMITERS, TRUTH_ENDINGS

PAIRS = [("a", "b"), ("007", "1e5"), ("with, comma", 'and "quotes"\nand lines')]


def written(folder: Path, kind: str, columns: dict[str, list[Any]]) -> Path:
    path = folder / f"truth.{kind}"
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    elif kind in ("jsonl", "ndjson"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        mark = DELIMITERS[kind]
        quoted = [['"' + str(value).replace('"', '""') + '"' for value in row.values()] for row in rows]
        path.write_text("\n".join(mark.join(row) for row in [list(columns), *quoted]) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("kind", [ending[1:] for ending in TRUTH_ENDINGS])
@pytest.mark.parametrize("names", [("left", "right"), ("id1", "id2"), ("Left_ID", "Right_ID"), ("id_1", "id_2")])
def test_pairs_of_every_format_and_name(tmp_path: Path, kind: str, names: tuple[str, str]) -> None:
    columns = {names[0]: [left for left, _ in PAIRS], "similarity": [0.5] * 3, names[1]: [right for _, right in PAIRS]}
    truth = read_truth(written(tmp_path, kind, columns))
    assert truth.kind == "pairs"
    assert list(zip(truth.first.to_pylist(), truth.second.to_pylist(), strict=True)) == PAIRS


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("name", ["cluster", "group", "cluster_id", "family"])
def test_clusters_of_every_format_and_name(tmp_path: Path, kind: str, name: str) -> None:
    truth = read_truth(written(tmp_path, kind, {"kept": ["x", "y"], "id": [1, 2], name: [7, 7]}))
    assert (truth.kind, truth.first.to_pylist(), truth.second.to_pylist()) == ("clusters", ["1", "2"], ["7", "7"])


def test_objects_will_do() -> None:
    assert read_truth([(1, "b")]).first.to_pylist() == ["1"]
    assert read_truth({"a": 3, "b": None}).second.to_pylist() == ["3", None]
    assert read_truth(pa.table({"left": ["a"], "right": ["b"]})).kind == "pairs"
    with pytest.raises(SourceError, match="a float is not a truth: give a path, a list of pairs"):
        read_truth(1.5)
    with pytest.raises(RowError, match=r"the truth, row 1, counted from 0: not a pair: .*'c'.*allowed: two ids"):
        read_truth([("a", "b"), ("c",)])


@pytest.mark.parametrize(
    ("name", "content", "error", "said"),
    [
        ("t.csv", "x,y\na,b\n", ColumnError, "must have the columns left and right.*it has 'x', 'y'"),
        ("t.csv", "left,right,id1,id2\na,b,c,d\n", ColumnError, "once; it has 'left', 'right' and 'id1', 'id2'"),
        ("t.csv", "left,right,id,cluster\na,b,c,d\n", ColumnError, "'left', 'right' and 'id', 'cluster'"),
        ("t.csv", "left,Left,right\na,b,c\n", ColumnError, "more than one column 'left'"),
        ("t.csv", "left,right,label\na,b,0\n", ColumnError, "the column 'label', so some of its rows may not be pairs"),
        ("t.csv", "left,right\na,b\nc,\n", RowError, r"t\.csv, row 1, counted from 0: right is empty; every row needs"),
        ("t.csv", "left,right\na,b\nc\n", SourceError, "cannot be read as CSV: .*Expected 2 columns, got 1"),
        ("t.csv", "", SourceError, "cannot be read as CSV: Empty CSV file"),
        ("t.csv", b"left,right\n\xff\xfe,b\n", SourceError, "cannot be read as CSV: .*UTF8"),
        ("t.parquet", "left,right\n", SourceError, "cannot be read as Parquet"),
        ("t.jsonl", '{"left": "a"\n', RowError, r"t\.jsonl, line 1: not JSON"),
        ("t.jsonl", '["a", "b"]\n', RowError, r"t\.jsonl, line 1: a line must be an object"),
        ("t.jsonl", '{"left": "a", "right": 0.5}\n', RowError, r"t\.jsonl, row 0, counted from 0: right is '0\.5', a"),
        ("t.jsonl", '{"left": "a", "right": true}\n', RowError, "right is 'True', a bool"),
        ("t.jsonl", "", ColumnError, "it has none"),
        ("t.csv", "id,cluster\na,1\nb,1\na,2\n", SourceError, "the id 'a' is in two clusters, '1' and '2'"),
        ("t.csv", "id,cluster\n,1\n", RowError, "id is empty"),
        ("t.txt", "a b", SourceError, "unknown format of the truth; allowed: .csv"),
    ],
)
def test_a_wrong_truth_is_named_and_explained(
    tmp_path: Path, name: str, content: str | bytes, error: type[Exception], said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error, match=said) as raised:
        read_truth(path)
    assert str(path) in str(raised.value)


def test_a_truth_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.csv: there is no such file"):
        read_truth(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(SourceError, match=r"folder\.csv: the truth cannot be read"):
        read_truth(tmp_path / "folder.csv")


def test_columns_of_other_types(tmp_path: Path) -> None:
    path = written(tmp_path, "parquet", {"left": [1.5], "right": [2.5]})
    with pytest.raises(ColumnError, match="'left' holds double; allowed: strings and whole numbers"):
        read_truth(path)
    coded = pa.table(
        {"id": pa.array(["a", "b", "c"]).dictionary_encode(), "cluster": pa.array([1, 1, None], pa.uint8())}
    )
    assert read_truth(coded).second.to_pylist() == ["1", "1", None]


IDS = pa.array(["a", "b", "c", "d"])
ALL = np.ones(4, np.bool_)


def test_ids_of_no_document_are_counted_and_named() -> None:
    pairs, facts = resolved(read_truth([("a", "b"), ("x", "a"), ("y", "x"), ("b", "a"), ("c", "c")]), IDS, ALL)
    assert isinstance(pairs, ListedPairs)
    assert [column.tolist() for column in unpaired(pairs.keys)] == [[0], [1]]
    assert (facts["unknown_ids"], facts["unknown"], facts["rows_left_out"]) == (2, ["x", "y"], 2)
    assert (facts["with_itself"], facts["repeated"], facts["rows"]) == (1, 1, 5)


def test_a_truth_about_other_documents_is_refused() -> None:
    with pytest.raises(SourceError, match=r"none of its ids is the id of a document: it has 'x', and .* such as 'a'"):
        resolved(read_truth([("x", "y")]), IDS, ALL)
    with pytest.raises(SourceError, match="none of its ids"):
        resolved(read_truth({"x": 1, "y": 1}), IDS, ALL)


def test_documents_without_a_cluster_are_alone() -> None:
    clusters, facts = resolved(read_truth({"d": "p", "b": "p", "a": None, "z": "p"}), IDS, ALL)
    assert isinstance(clusters, ListedClusters)
    assert clusters.label.tolist() == [0, 1, 2, 1]
    assert (facts["unnamed_documents"], facts["unknown"], clusters.count(0.5)) == (1, ["z"], 1)


def test_an_empty_truth_has_no_pairs(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("left,right\n")
    pairs, facts = resolved(read_truth(path), IDS, ALL)
    assert (pairs.count(0.5), facts["rows"], pairs.clusters(0.5).tolist()) == (0, 0, [0, 1, 2, 3])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_pairs_of_clusters_are_all_pairs_of_their_members(clusters: list[int]) -> None:
    label = np.array([clusters.index(cluster) for cluster in clusters], np.uint32)
    known = ListedClusters(label)
    left, right = known.sample()
    expected = {(i, j) for j in range(len(label)) for i in range(j) if label[i] == label[j]}
    assert set(zip(left.tolist(), right.tolist(), strict=True)) == expected
    assert len(left) == len(expected) == known.count(0.5)


def test_of_very_many_pairs_some_are_looked_at_at_even_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "MOST_SAMPLED", 1000)
    known = ListedClusters(np.repeat(np.array([0, 3000], np.uint32), 3000))
    left, right = known.sample()
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == 1000
    assert (left < right).all()
    assert ((left < 3000) == (right < 3000)).all()
    assert np.count_nonzero(left < 3000) == 500
