"""A digest over all that an exported index says: Parquet itself does not notice every damage to a file."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Seal:
    """The digest of settings and rows, whatever portions the rows come in.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"id": ["a", "b"], "shingles": pa.array([3, 4], pa.uint32())})
    >>> whole, parts = Seal(b"settings"), Seal(b"settings")
    >>> whole.add(rows)
    >>> parts.add(rows[:1]), parts.add(rows[1:])
    (None, None)
    >>> whole.value == parts.value
    True
    """

    def __init__(self, settings: bytes) -> None:
        self._rows = 0
        self._parts = {"": hashlib.blake2b(settings)}

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Take in some rows."""
        self._rows += rows.num_rows
        for name in rows.schema.names:
            column = rows.column(name)
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            for chunk in chunks:
                self._take(name, chunk)

    def _take(self, name: str, values: pa.Array) -> None:
        first, last = values.offset, values.offset + len(values)
        kind = values.type
        if pa.types.is_uint32(kind) or pa.types.is_fixed_size_binary(kind):
            width = kind.byte_width
            self._feed(name, memoryview(values.buffers()[1])[first * width : last * width])
            return
        wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
        offsets = np.frombuffer(values.buffers()[1], np.int64 if wide else np.int32)[first : last + 1]
        data = values.buffers()[2]
        self._feed(f"{name} lengths", memoryview(np.asarray(pc.binary_length(values)).astype(np.int64).tobytes()))
        if data is not None and len(offsets):
            self._feed(name, memoryview(data)[int(offsets[0]) : int(offsets[-1])])

    def _feed(self, name: str, data: memoryview) -> None:
        self._parts.setdefault(name, hashlib.blake2b()).update(data)

    @property
    def value(self) -> bytes:
        """The digest of all that was taken in so far."""
        whole = hashlib.blake2b(str(self._rows).encode(), digest_size=32)
        for name, part in sorted(self._parts.items()):
            whole.update(name.encode() + b"\0" + part.digest())
        return whole.hexdigest().encode()
