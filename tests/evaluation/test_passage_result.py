"""Passages found, compared with true ones: tables, files, and what is found where the truth says nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinset.evaluation.passage_measures import AlignedSpans
from twinset.evaluation.passage_result import WORDS, PassageEvaluation, compare_passages
from twinset.system.arrays import pair_words

IDS = pa.array(["a", "b", "c", "d"])
Row = tuple[int, int, int, int, int, int]
CASES: list[Row] = [(0, 0, 100, 2, 100, 200), (1, 0, 50, 3, 0, 50)]
FOUND: list[Row] = [(0, 0, 100, 2, 100, 200), (0, 300, 350, 2, 0, 50), (0, 0, 60, 3, 0, 60), (0, 80, 90, 3, 80, 90)]


def spans(rows: list[Row]) -> AlignedSpans:
    left, left_start, left_end, right, right_start, right_end = np.array(rows, np.int64).reshape(-1, 6).T
    pair = pair_words(left.astype(np.uint32), right.astype(np.uint32))
    return AlignedSpans(pair, left_start, left_end, right_start, right_end)


def compared(cases: list[Row], found: list[Row], complete: bool = False) -> PassageEvaluation:
    return compare_passages(spans(cases), spans(found), IDS, complete, {"documents": 4})


def test_passages_where_the_truth_says_nothing_are_counted_and_not_wrong() -> None:
    done = compared(CASES, FOUND)
    assert done.summary["elsewhere"] == {"passages": 2, "pairs": 1}
    assert (done.precision, done.recall, done.granularity, done.plagdet) == (0.5, 0.5, 1.0, 0.5)
    counts = {"cases": 2, "detected_cases": 1, "detections": 2, "false_detections": 1}
    assert {name: done.summary["measures"][name] for name in counts} == counts
    assert [(row["left"], row["right"]) for row in done.elsewhere.to_pylist()] == [("a", "d")] * 2


def test_a_complete_truth_makes_them_false() -> None:
    done = compared(CASES, FOUND, complete=True)
    assert (done.precision, done.recall, done.summary["measures"]["false_detections"]) == (0.25, 0.5, 3)
    assert (done.summary["elsewhere"], done.elsewhere.num_rows) == ({"passages": 0, "pairs": 0}, 0)


def test_each_case_and_each_detection_is_listed() -> None:
    done = compared(CASES, FOUND)
    names = ["left", "right", "left_start", "left_end", "right_start", "right_end"]
    assert done.cases.column_names == [*names, "detections", "recall"]
    assert done.detections.column_names == [*names, "cases", "precision"]
    assert done.elsewhere.column_names == names
    first, second = done.cases.to_pylist()
    assert (first["left"], first["right"], first["right_start"], first["detections"]) == ("a", "c", 100, 1)
    assert (second["left"], second["detections"], second["recall"]) == ("b", 0, 0.0)
    assert done.detections["precision"].to_pylist() == [1.0, 0.0]


def test_what_it_says_of_itself() -> None:
    assert repr(compared(CASES, FOUND)) == "<PassageEvaluation: 2 cases, plagdet 0.5000>"
    assert repr(compared([], [])) == "<PassageEvaluation: 0 cases, no passage found>"
    assert compared([], []).plagdet is None


def test_the_folder_that_is_written(tmp_path: Path) -> None:
    done = compared(CASES, FOUND)
    done.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("cases.csv", "definitions.txt", "detections.csv", "elsewhere.csv", "evaluation.json", "measures.csv")
    ]
    assert json.loads((tmp_path / "evaluation.json").read_text("utf-8")) == done.summary
    with (tmp_path / "cases.csv").open(newline="") as file:
        assert [row["detections"] for row in csv.DictReader(file)] == ["1", "0"]
    with (tmp_path / "measures.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["plagdet"] == "0.5"
    words = (tmp_path / "definitions.txt").read_text("utf-8")
    assert all(name in words for name in (*done.summary["measures"], *WORDS))


def test_measures_without_a_value_are_empty_in_the_file(tmp_path: Path) -> None:
    compared([], []).write(tmp_path)
    assert (tmp_path / "measures.csv").read_text().splitlines()[1] == ",,,,0,0,0,0"
