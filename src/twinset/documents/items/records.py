"""Pack records, the texts of several columns each after its length, and write them as JSON objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.normalize import buffers_of
from twinset.schema import Bytes, Places


def packed_records(columns: Sequence[Any]) -> Any:
    """Pack the texts of several columns, each after its length."""
    nothing = pa.scalar(b"", pa.large_binary())
    pieces: list[Any] = []
    for column in columns:
        texts = pc.fill_null(column.cast(pa.large_binary()), nothing)
        _, offsets = buffers_of(texts)
        sizes = np.diff(offsets).astype("<u4")
        places = pa.py_buffer(np.arange(len(sizes) + 1, dtype=np.int64) * 4)
        pieces += [pa.Array.from_buffers(pa.large_binary(), len(sizes), [None, places, pa.py_buffer(sizes)]), texts]
    return pc.binary_join_element_wise(*pieces, nothing)


def record_columns(rows: Any, count: int) -> list[Any]:
    """Unpack records to the texts of each column."""
    data, offsets = buffers_of(rows)
    at = offsets[:-1].copy()
    none = np.asarray(rows.is_null()) if rows.null_count else np.zeros(len(rows), np.bool_)
    columns = []
    for _ in range(count):
        sizes = np.where(none, 0, _lengths_at(data, at, none))
        places = np.concatenate([[0], np.cumsum(sizes)])
        text = data[np.repeat(at + 4 - places[:-1], sizes) + np.arange(places[-1])]
        buffers = [None, pa.py_buffer(places), pa.py_buffer(np.ascontiguousarray(text))]
        columns.append(pa.Array.from_buffers(pa.large_binary(), len(rows), buffers))
        at += 4 + sizes
    return columns


def _lengths_at(data: Bytes, at: Places, none: npt.NDArray[np.bool_]) -> Places:
    """The four bytes at each position, as a number."""
    places = np.where(none, 0, at)
    if len(data) < 4:
        return np.zeros(len(at), np.int64)
    return sum((data[places + byte].astype(np.int64) << (8 * byte) for byte in range(4)), np.zeros(len(at), np.int64))


def written_records(rows: Any, names: Sequence[str]) -> list[bytes]:
    """Write packed records as JSON objects from column to text; bytes that are not UTF-8 become U+FFFD.

    Examples
    --------
    >>> rows = packed_records([pa.array(["Anna", None]), pa.array(["Mill Street", "Lane"])])
    >>> written_records(rows, ["name", "street"])
    [b'{"name":"Anna","street":"Mill Street"}', b'{"name":"","street":"Lane"}']
    """
    columns = [
        [text.decode("utf-8", "replace") for text in one.to_pylist()] for one in record_columns(rows, len(names))
    ]
    return [orjson.dumps(dict(zip(names, texts, strict=True))) for texts in zip(*columns, strict=True)]


def read_records(objects: Sequence[bytes], names: Sequence[str]) -> Any:
    """Pack records that `written_records` wrote; raise `ValueError` if one is not such an object.

    Examples
    --------
    >>> rows = read_records([b'{"name":"Anna","street":"Mill Street"}'], ["name", "street"])
    >>> [column.to_pylist() for column in record_columns(rows, 2)]
    [[b'Anna'], [b'Mill Street']]
    """
    columns: list[list[bytes]] = [[] for _ in names]
    for one in objects:
        record = orjson.loads(one)
        if not isinstance(record, dict) or record.keys() != set(names):
            raise ValueError(f"a record is not an object with the columns {', '.join(names)}")
        for column, name in zip(columns, names, strict=True):
            if not isinstance(record[name], str):
                raise ValueError(f"the column {name!r} of a record is not a text")
            column.append(record[name].encode())
    return packed_records([pa.array(column, pa.large_binary()) for column in columns])
