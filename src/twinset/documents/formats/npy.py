"""NumPy files (.npy): one vector per row.

Nothing in such a file is executed: only plain numbers are read, and Python objects are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.compressed import writing
from twinset.documents.items.sparse_vectors import sparse_of
from twinset.documents.items.vectors import packed_rows
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter, Mask, Part, Unreadable
from twinset.errors import ColumnError, OptionError, SourceError
from twinset.options import ReadOptions
from twinset.options.items import VECTORS
from twinset.schema import MOST_DIMENSIONS

_HEAD = 128  # bytes of the header of a written file, for any number of rows


class NpyPart(Part):
    """A file with an array of two dimensions."""

    format = "npy"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path) -> None:
        super().__init__(name, source, options, path)
        if options.item_kind not in VECTORS:
            raise SourceError("a .npy file holds vectors; read them with --vectors, or name another source", where=name)
        for column, option in ((options.vectors, "--vectors"), (options.id, "--id"), (options.by, "--by")):
            if column:
                raise ColumnError(f"{option} {column} names a column, but .npy files have none; leave it out", name)
        self.shape, self.fortran, self.dtype, self.start = _header(path, name)
        needed = self.start + self.shape[0] * self.row_bytes
        if self.size < needed:
            raise SourceError(
                f"the file is truncated: {self.shape[0]:,} vectors of {self.shape[1]:,} dimensions need {needed:,} "
                f"bytes, but it has {self.size:,}",
                where=name,
            )

    @property
    def row_bytes(self) -> int:
        """Bytes of a vector in the file."""
        return int(self.shape[1] * self.dtype.itemsize)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Runs of rows."""
        step = max(1, batch_bytes // max(self.row_bytes, LEAST_ROW))
        for start in range(0, self.shape[0], step):
            yield NpyChunk(self, start, min(step, self.shape[0] - start))

    def rows(self, first: int, count: int) -> Any:
        """Some rows as stored in the file, in memory."""
        try:
            if self.fortran:
                whole = np.memmap(self.path or "", self.dtype, "r", self.start, self.shape, order="F")
                return np.array(whole[first : first + count], order="C")
            offset = self.start + first * self.row_bytes
            values = np.fromfile(self.path or "", self.dtype, count * self.shape[1], offset=offset)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot be read: {error}", where=self.name) from error
        if len(values) < count * self.shape[1]:
            raise SourceError("the file was truncated while it was being read; run again", where=self.name)
        return values.reshape(count, self.shape[1])

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept vectors, of the same type."""
        if flag:
            self.check_flag()
        return NpyWriter(out / "kept" / self.kept_name, self.dtype, self.shape[1])

    def check_flag(self) -> None:
        """Refuse ``--flag``: an array has no columns to add."""
        raise OptionError(
            f"{self.name}: --flag adds columns, but .npy files have none; leave it out and see clusters.parquet"
        )

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The kept vectors with their ids."""
        flat = pa.array(block.payload.astype(self.dtype.newbyteorder("=")).reshape(-1))
        vectors = pa.FixedSizeListArray.from_arrays(flat, self.shape[1])
        return pa.table({"id": self.row_ids(block), "vector": vectors}).filter(pa.array(chosen))

    def describe(self) -> dict[str, Any]:
        """Describe what would be read."""
        return {**super().describe(), "documents": self.shape[0], "dimensions": self.shape[1]}


def _header(path: Path, name: str) -> tuple[tuple[int, int], bool, np.dtype[Any], int]:
    """Shape, order, type, and offset of the numbers."""
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            if read is None:
                shown = f"{version[0]}.{version[1]}"
                raise SourceError(f"this is version {shown} of the format; allowed: 1.0 and 2.0", where=name)
            shape, fortran, dtype = read(file)
            start = file.tell()
    except (OSError, ValueError, SyntaxError, TypeError, LookupError, EOFError, RecursionError, TokenError) as error:
        raise SourceError(f"cannot be read as a .npy file: {error or 'its header is damaged'}", where=name) from error
    if dtype.kind not in "fiu" or dtype.itemsize > 8 or dtype.names is not None or dtype.subdtype is not None:
        what = "Python objects, which are never read" if dtype.hasobject else f"the type {dtype}"
        raise SourceError(f"the array holds {what}; allowed: whole numbers and floats of up to 64 bits", where=name)
    if len(shape) != 2 or not 1 <= shape[1] <= MOST_DIMENSIONS or shape[0] < 0:
        shown = " × ".join(map(str, shape)) or "a single value"
        raise SourceError(
            f"the array is {shown}; allowed: two dimensions, one vector per row, up to {MOST_DIMENSIONS} wide",
            where=name,
        )
    return (int(shape[0]), int(shape[1])), bool(fortran), dtype, start


class NpyChunk(Chunk):
    """Some rows."""

    def __init__(self, part: NpyPart, first_row: int, rows: int) -> None:
        self._part, self.first_row, self.rows = part, first_row, rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Take the rows."""
        part = self._part
        array = part.rows(self.first_row, self.rows)
        starts = np.arange(self.rows + 1, dtype=np.int64) * part.shape[1]
        none = np.zeros(self.rows, np.bool_)
        options = part.options
        within = options.reach if options.measure == "distance" else None
        texts, refused = packed_rows(array.reshape(-1), starts, none, options.measure == "cosine", within)
        texts = sparse_of(texts) if options.sparse else texts
        bad: Unreadable = []
        for row, reason in refused:
            part.bad_row(bad, row, self.first_row + row, reason, lines=False)
        return Block(self.rows, self.first_row, texts, unreadable=bad, payload=array if whole else None)


class NpyWriter(KeptWriter):
    """Write kept vectors as an array."""

    def __init__(self, path: Path, dtype: np.dtype[Any], dimensions: int) -> None:
        self.path, self.dtype, self.dimensions, self.count = path, dtype, dimensions, 0
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
            self._file.write(bytes(_HEAD))

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write the kept rows."""
        with writing(self.path):
            self._file.write(np.ascontiguousarray(block.payload[chosen]).tobytes())
        self.count += int(np.count_nonzero(chosen))

    def close(self) -> None:
        """Write the header, now that the number of rows is known."""
        about = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': ({self.count}, {self.dimensions}), }}"
        magic = np.lib.format.magic(1, 0)
        room = _HEAD - len(magic) - 2
        with writing(self.path):
            self._file.seek(0)
            self._file.write(magic + room.to_bytes(2, "little") + about.ljust(room - 1).encode("latin-1") + b"\n")
            self._file.close()

    def abort(self) -> None:
        """Close and remove the file."""
        with suppress(OSError):
            self._file.close()
        self.path.unlink(missing_ok=True)
