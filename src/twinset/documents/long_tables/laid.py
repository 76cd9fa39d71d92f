"""Arrow batches in a scratch file, each with a checksum, to be read again one by one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.documents.compressed import writing
from twinset.errors import StateError


class Laid:
    """Batches of one schema, written one after another and read by their number, in any order and from any thread.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     laid = Laid(Path(folder) / "laid")
    ...     laid.append([pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})])
    ...     laid.read(1)["a"].to_pylist(), laid.rows
    ([3], [2, 1])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[int] = []
        """Rows of each batch."""
        self.sizes: list[int] = []
        """Bytes of each batch."""
        self._starts = [0]
        self._sums: list[int] = []

    def append(self, batches: Iterable[Any]) -> None:
        """Write some batches behind those that are there."""
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab" if self.rows else "wb", buffering=0) as file:
                for batch in batches:
                    data = _packed(batch)
                    done = 0
                    while done < len(data):
                        done += file.write(memoryview(data)[done:])
                    self.rows.append(batch.num_rows)
                    self.sizes.append(len(data))
                    self._sums.append(zlib.crc32(data))
                    self._starts.append(self._starts[-1] + len(data))

    def read(self, number: int) -> Any:
        """One batch."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self._starts[number])
                data = file.read(self.sizes[number])
        except OSError as error:
            raise StateError(f"{self.path} cannot be read ({error.strerror}); start the run again") from error
        if len(data) < self.sizes[number] or zlib.crc32(data) != self._sums[number]:
            raise StateError(f"{self.path} is damaged; start the run again")
        return pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)
        self.__init__(self.path)  # type: ignore[misc]


def _packed(batch: Any) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()
