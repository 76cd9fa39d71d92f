"""True passages, read from files and tables, and the documents they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.evaluation.test_read_truth import written
from twinset.errors import ColumnError, RowError, SourceError
from twinset.evaluation.find_cases import find_cases, oriented
from twinset.evaluation.passage_measures import AlignedSpans
from twinset.evaluation.read_passages import TruePassages, read_passages
from twinset.evaluation.true_pairs import unpaired
from twinset.options.formats import TRUTH_ENDINGS

LEFT = ("left", "left_start", "left_end", "right", "right_start", "right_end")
PAN = ("suspicious", "suspicious_start", "suspicious_end", "source", "source_start", "source_end")
ROWS = [("a", 0, 10, "b", 5, 15), ("007", 3, 4, "with, comma", 1, 2)]
Row = tuple[str, int, int, str, int, int]


def truth(*rows: Row) -> TruePassages:
    columns = list(zip(*rows, strict=True)) or [()] * 6
    kinds = [pa.string(), pa.int64(), pa.int64()] * 2
    return read_passages(pa.table([pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)], LEFT))


def listed(spans: AlignedSpans) -> list[tuple[int, ...]]:
    """Each passage: left document and span, right document and span."""
    left, right = (side.tolist() for side in unpaired(spans.pair))
    columns = (left, spans.left_start, spans.left_end, right, spans.right_start, spans.right_end)
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


@pytest.mark.parametrize("kind", [ending[1:] for ending in TRUTH_ENDINGS])
@pytest.mark.parametrize("names", [LEFT, PAN, tuple(name.title() for name in PAN)])
def test_every_format_and_name_in_any_order(tmp_path: Path, kind: str, names: tuple[str, ...]) -> None:
    columns: dict[str, Any] = dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))
    mixed = {name: columns[name] for name in sorted(columns, key=lambda name: name[::-1])} | {"words": [7, 8]}
    read = read_passages(written(tmp_path, kind, mixed))
    ids, spans = (read.left.to_pylist(), read.right.to_pylist()), [one.tolist() for one in read.spans]
    assert list(zip(ids[0], *spans[:2], ids[1], *spans[2:], strict=True)) == ROWS


HEAD = ",".join(LEFT)


@pytest.mark.parametrize(
    ("name", "content", "error", "said"),
    [
        ("t.csv", "x,y\na,b\n", ColumnError, "must have the columns left, left_start, .* it has 'x', 'y'"),
        ("t.csv", "left,left_start,left_end,right,right_start\n", ColumnError, "it lacks right_end$"),
        ("t.csv", "suspicious,source\n", ColumnError, "it lacks suspicious_start, suspicious_end, source_start, sourc"),
        ("t.csv", f"{HEAD},{','.join(PAN)}\n", ColumnError, "both left and right, and suspicious and source"),
        ("t.csv", f"{HEAD},LEFT\n", ColumnError, "more than one column 'left'"),
        ("t.csv", f"{HEAD}\na,0,1,b,0,1\na,0,,b,0,1\n", RowError, r"t\.csv, row 1, counted from 0: left_end is empty"),
        ("t.csv", f"{HEAD}\na,0,1,b,0,1.5\n", RowError, r"row 0, counted from 0: right_end is '1\.5'; allowed: whole"),
        ("t.csv", f"{HEAD}\na,-1,1,b,0,1\n", RowError, "left_start is '-1'; allowed: whole numbers, 0 or more"),
        ("t.csv", f"{HEAD}\na,0,9999999999999,b,0,1\n", RowError, "left_end is '9999999999999'; allowed"),
        ("t.csv", f"{HEAD}\na,0,1,b,0,1\na,0,1,b,5,5\n", RowError, "row 1, .* right_end is 5, and the .* begins at 5"),
        ("t.jsonl", '{"left": "a"}\n', ColumnError, "it lacks left_start, left_end, right, right_start, right_end"),
        ("t.jsonl", '{"left": "a",\n', RowError, r"t\.jsonl, line 1: not JSON"),
        ("t.txt", "a b", SourceError, "unknown format of the truth; allowed: .csv"),
        ("t.parquet", "left", SourceError, "cannot be read as Parquet"),
    ],
)
def test_a_wrong_truth_is_named_and_explained(
    tmp_path: Path, name: str, content: str, error: type[Exception], said: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(error, match=said) as raised:
        read_passages(path)
    assert str(path) in str(raised.value)


def test_what_is_no_truth(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"there is no such file; passages= names a file of true passages"):
        read_passages(tmp_path / "none.csv")
    with pytest.raises(SourceError, match="a list is not a truth of passages: give a path, or a table with"):
        read_passages([("a", "b")])
    doubles = pa.table({name: [1.0] for name in LEFT})
    with pytest.raises(ColumnError, match="'left' holds double"):
        read_passages(doubles)


IDS = pa.array(["x/a.txt", "x/b.txt", "y/b.txt", "c", "a"])


def test_documents_are_found_by_id_then_file_name_then_without_ending() -> None:
    rows: list[Row] = [("a", 0, 9, "c", 0, 9), ("a.txt", 0, 9, "c", 0, 9), ("y/b.txt", 0, 9, "c", 0, 9)]
    cases, facts = find_cases(truth(*rows), IDS)
    # The left document is the one that was read first.
    assert [(row[0], row[3]) for row in listed(cases)] == [(3, 4), (0, 3), (2, 3)]
    assert (facts["rows"], facts["unknown_ids"], facts["repeated"]) == (3, 0, 0)


@pytest.mark.parametrize("name", ["b", "b.txt"])
def test_a_file_name_of_several_documents_is_refused(name: str) -> None:
    with pytest.raises(SourceError, match=rf"row 1, .*: '{name}' is the file name of .*'x/b.txt' and 'y/b.txt'; name"):
        find_cases(truth(("a", 0, 9, "c", 0, 9), ("c", 0, 9, name, 0, 9)), IDS)


def test_a_file_name_is_unique_on_its_side() -> None:
    cases, _ = find_cases(truth(("b", 0, 5, "b", 7, 9)), IDS, border=2)
    assert listed(cases) == [(1, 0, 5, 2, 7, 9)]
    with pytest.raises(SourceError, match="'b' is the file name of several documents"):
        find_cases(truth(("a", 0, 5, "b", 7, 9)), IDS, border=1)


def test_unknown_ids_are_counted_and_named_with_a_guess() -> None:
    rows: list[Row] = [("a", 0, 9, "c", 0, 9), ("x/a.tx", 0, 9, "c", 0, 9), ("c", 0, 9, "nobody", 0, 9)]
    cases, facts = find_cases(truth(*rows), IDS)
    assert (len(cases), facts["rows_left_out"], facts["unknown_ids"]) == (1, 2, 2)
    assert facts["unknown"] == ["x/a.tx", "nobody"]
    assert facts["similar"] == {"x/a.tx": "x/a.txt"}


def test_a_truth_about_other_documents_is_refused() -> None:
    with pytest.raises(SourceError, match=r"none of its ids .* it has 'x/a\.tex'; did you mean 'x/a\.txt'\?"):
        find_cases(truth(("x/a.tex", 0, 9, "zz", 0, 9)), IDS)
    with pytest.raises(SourceError, match=r"it has 'qqq'; the documents have ids such as 'x/a\.txt'"):
        find_cases(truth(("qqq", 0, 9, "zz", 0, 9)), IDS)
    with pytest.raises(SourceError, match="the documents have ids such as none"):
        find_cases(truth(("qqq", 0, 9, "zz", 0, 9)), pa.array([], pa.string()))


def test_an_empty_truth_has_no_cases() -> None:
    cases, facts = find_cases(truth(), IDS)
    assert (len(cases), facts["rows"], facts["unknown_ids"]) == (0, 0, 0)


def test_two_sides_in_either_order() -> None:
    ids = pa.array(["a", "b", "a", "c"])
    rows: list[Row] = [
        ("b", 1, 2, "c", 3, 4), ("c", 5, 6, "b", 7, 8), ("a", 1, 2, "a", 3, 4), ("b", 0, 1, "b", 0, 1),
        ("c", 3, 4, "b", 1, 2),
    ]  # fmt: skip
    cases, facts = find_cases(truth(*rows), ids, border=2)
    assert listed(cases) == [(1, 1, 2, 3, 3, 4), (1, 7, 8, 3, 5, 6), (0, 1, 2, 2, 3, 4)]
    assert (facts["within_one_side"], facts["repeated"]) == (1, 1)


def test_cases_within_one_document_need_within() -> None:
    rows: list[Row] = [("a", 50, 60, "a", 10, 20), ("a", 0, 9, "c", 0, 9)]
    without, facts = find_cases(truth(*rows), IDS)
    assert (len(without), facts["with_itself"]) == (1, 1)
    cases, facts = find_cases(truth(*rows), IDS, within=True)
    assert (listed(cases)[0], facts["with_itself"]) == ((4, 10, 20, 4, 50, 60), 0)


def test_passages_found_have_the_same_order_as_cases() -> None:
    columns = [
        np.array(one) for one in zip((3, 0, 9, 0, 5, 14), (4, 50, 60, 4, 10, 20), (0, 1, 2, 1, 3, 4), strict=True)
    ]
    found = oriented(columns[0], columns[3], (*columns[1:3], *columns[4:]))
    assert listed(found) == [(0, 5, 14, 3, 0, 9), (4, 10, 20, 4, 50, 60), (0, 1, 2, 1, 3, 4)]
    nothing = np.empty(0, np.int64)
    assert listed(oriented(nothing, nothing, (nothing,) * 4)) == []
