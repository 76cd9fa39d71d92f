"""One type for a column of values that need not agree."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from twinset.engines.local.write.column_types import (
    array_of_values,
    cast_column,
    decode_text,
    merge_types,
    plain_columns,
    storable,
    type_of_values,
)

COLUMNS: list[list[Any]] = [
    [1, None, 2],
    [1, 2.5, 2**60],
    [True, False],
    ["a", None],
    ["a", 1, {"k": [1]}],
    [2**63, 1],
    [-(2**63), 2**63 - 1],
    [True, 1],
    [[], [1], [2.5]],
    [[1], ["a"]],
    [{"a": 1}, {"b": "x"}, {"a": 2.5}],
    [{"a": 1}, {"a": "x"}],
    [{}, {}],
    [{}, {"a": None}],
    [None, None],
    [[None], [{"a": [1]}]],
]


@pytest.mark.parametrize("values", COLUMNS, ids=str)
def test_the_type_does_not_depend_on_how_rows_are_batched(values: list[Any]) -> None:
    whole = type_of_values(values)
    for cut in range(1, len(values)):
        assert merge_types(type_of_values(values[:cut]), type_of_values(values[cut:])) == whole
    kind = storable(whole)
    pieces = [array_of_values(values[at : at + 1], kind) for at in range(len(values))]
    assert pa.concat_arrays(pieces).equals(array_of_values(values, kind))


def test_values_come_back_as_they_were() -> None:
    for values in ([1, None, 2], [1, 2.5], ["a", None], [[], [1]], [{"a": 1}], [-(2**63), 2**63 - 1]):
        assert array_of_values(values, storable(type_of_values(values))).to_pylist() == values


def test_without_a_common_type_values_become_json() -> None:
    values = ["a", 1, None, {"k": [True]}, 2**63]
    assert array_of_values(values, type_of_values(values)).to_pylist() == ["a", "1", None, '{"k":[true]}', str(2**63)]
    assert array_of_values([{}, None], storable(type_of_values([{}, None]))).to_pylist() == ["{}", None]


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int64(), pa.uint64(), None),
        (pa.string(), pa.binary(), None),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.bool_(), pa.int8(), None),
        (pa.date32(), pa.timestamp("us"), None),
        (pa.null(), pa.date32(), pa.date32()),
    ],
)
def test_types_of_two_sources(left: pa.DataType, right: pa.DataType, both: pa.DataType | None) -> None:
    assert merge_types(left, right) == merge_types(right, left) == both


def test_columns_of_tables_are_cast() -> None:
    numbers = pa.chunked_array([[1, None]])
    assert cast_column(numbers, pa.float64()).to_pylist() == [1.0, None]
    assert cast_column(numbers, None).to_pylist() == ["1", None]
    assert cast_column(pa.chunked_array([[date(2024, 2, 29)]]), None).to_pylist() == ["2024-02-29"]
    objects = pa.chunked_array([[{"a": 1}]])
    wider = pa.struct([("a", pa.int64()), ("b", pa.string())])
    assert cast_column(objects, wider).to_pylist() == [{"a": 1, "b": None}]
    table = plain_columns(pa.table({"list": [[1, 2]], "bytes": [b"\xff\x00"], "n": [1]}))
    assert table.to_pylist() == [{"list": "[1,2]", "bytes": "/wA=", "n": 1}]
    odd = pa.table({"half": pa.array([1.5], pa.float16()), "long": pa.array([1], pa.duration("s"))})
    assert pa.csv.write_csv(plain_columns(odd), pa.BufferOutputStream()) is None
    assert decode_text(pa.chunked_array([[b"caf\xe9", b"ok", None]])).to_pylist() == ["caf\ufffd", "ok", None]
