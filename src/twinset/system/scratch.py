"""Scratch files of one run: data passed between stages, and data that does not fit in memory.

Every record has a checksum, so that damage raises an error that names the file.
"""

import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.errors import OutputError, StateError
from twinset.system.arrays import Room

Array = Any
"""A NumPy array with the dtype of a spool."""


def cannot_write(path: Path, error: OSError) -> OutputError:
    """Make the error for a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputError(f"no space left to write {path}: free space, or choose another folder (--output, --scratch)")
    return OutputError(f"cannot write {path}: {error.strerror or error}")


def packed(batch: pa.RecordBatch) -> npt.NDArray[np.uint8]:
    """Serialize an Arrow batch into the bytes of one record."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), np.uint8)


def unpacked(record: Array) -> pa.RecordBatch:
    """Reverse `packed`, without a copy."""
    return pa.ipc.open_stream(pa.py_buffer(memoryview(record))).read_next_batch()


class Spool:
    """Arrays of one dtype and row width, appended as records to a file; also in memory until `forget` is called."""

    def __init__(
        self, path: Path, dtype: npt.DTypeLike, columns: int = 1, records: list[list[int]] | None = None
    ) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.columns = columns
        self.records = records or []
        self._cached: dict[int, Array] | None = {}
        self._offsets = list(np.cumsum([0, *(size for size, _ in self.records)]))
        self._file: FileIO | None = None

    def __len__(self) -> int:
        return int(self._offsets[-1]) // (self.dtype.itemsize * self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes of all records."""
        return int(self._offsets[-1])

    def append(self, array: Array, limit: int | None = None) -> None:
        """Add a record; once the spool exceeds `limit` bytes, forget the records in memory."""
        array = np.ascontiguousarray(array, self.dtype)
        try:
            if self._file is None:
                self._file = open(self.path, "ab" if self.records else "wb", buffering=0)  # noqa: SIM115 - closed by close()
            view = memoryview(array).cast("B") if array.nbytes else b""
            done = 0
            while done < array.nbytes:
                done += self._file.write(view[done:])
        except OSError as error:
            raise cannot_write(self.path, error) from error
        if self._cached is not None:
            self._cached[len(self.records)] = array
        self.records.append([array.nbytes, zlib.crc32(view)])
        self._offsets.append(self._offsets[-1] + array.nbytes)
        if limit is not None and self.nbytes > limit:
            self.forget()

    def close(self) -> None:
        """Finish writing; records can still be read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """Free the records in memory; from now on they are read from the file."""
        self._cached = None

    def read(self, record: int, room: Room | None = None) -> Array:
        """Read one record, flat if there is one column; in `room`, it is valid until the thread reuses that."""
        if self._cached is not None and record in self._cached:
            return self._cached[record]
        size, checksum = self.records[record]
        raw: Any = np.empty(size, np.uint8) if room is None else room.fit_bytes(size)[:size]
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self._offsets[record])
                done = 0
                while done < size:
                    count = file.readinto(memoryview(raw)[done:])
                    if not count:
                        break
                    done += count
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
            raise StateError(f"{self.path} {reason}; remove {self.path.parent} and start the run again") from error
        if done < size or zlib.crc32(raw) != checksum:
            raise StateError(f"{self.path} is damaged; start the run again")
        return self._shaped(raw.view(self.dtype))

    def chunks(self) -> Iterator[Array]:
        """Yield all records."""
        for record in range(len(self.records)):
            yield self._shaped(self.read(record))

    def all(self) -> Array:
        """Return all rows as one array."""
        if len(self.records) == 1:
            return self._shaped(self.read(0))
        whole = np.empty(len(self) * self.columns, self.dtype)
        at = 0
        for chunk in self.chunks():
            whole[at : at + chunk.size] = chunk.reshape(-1)
            at += chunk.size
        return self._shaped(whole)

    def _shaped(self, array: Array) -> Array:
        return array if self.columns == 1 else array.reshape(-1, self.columns)

    def remove(self) -> None:
        """Delete the file."""
        self.close()
        self._cached = None
        if os.path.exists(self.path):
            os.remove(self.path)


class BatchFile:
    """Arrow batches of one schema, appended to a file and read by number, from any thread.

    The file is open only while it is written or read, since a partition writes to hundreds.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = BatchFile(Path(folder) / "batches")
    ...     file.append([pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})])
    ...     file.read(1)["a"].to_pylist(), file.rows
    ([3], [2, 1])
    """

    def __init__(self, path: Path) -> None:
        self.rows: list[int] = []
        """Rows of each batch."""
        self._spool = Spool(path, "u1")
        self._spool.forget()

    @property
    def sizes(self) -> list[int]:
        """Bytes of each batch."""
        return [size for size, _ in self._spool.records]

    def append(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Append batches."""
        try:
            self._spool.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self._spool.path, error) from error
        try:
            for batch in batches:
                self._spool.append(packed(batch))
                self.rows.append(batch.num_rows)
        finally:
            self._spool.close()

    def read(self, number: int) -> pa.RecordBatch:
        """Read one batch."""
        return unpacked(self._spool.read(number))

    def remove(self) -> None:
        """Delete the file."""
        self._spool.remove()
