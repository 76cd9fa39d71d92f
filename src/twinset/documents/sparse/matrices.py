"""Parts whose rows are those of a sparse matrix: SciPy's matrices in memory and, in `npz`, their files."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.compressed import writing
from twinset.documents.items.sparse_vectors import CsrRows, packed_sparse
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter, Mask, Part, Unreadable
from twinset.errors import ColumnError, OptionError, SourceError
from twinset.options import ReadOptions
from twinset.schema import MOST_COLUMNS
from twinset.system.arrays import offsets_of

_LEVEL = 1  # of compression: higher ones take many times as long


class SparsePart(Part):
    """A sparse matrix, one vector per row. `shape`: rows and columns."""

    shape: tuple[int, int]

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path | None = None) -> None:
        super().__init__(name, source, options, path)
        self._loading = threading.Lock()
        for column, option in ((options.vectors, "--vectors"), (options.id, "--id"), (options.by, "--by")):
            if column:
                raise ColumnError(f"{option} {column} names a column, but a sparse matrix has none; leave it out", name)

    @abstractmethod
    def _load(self) -> CsrRows:
        """Load all rows, as stored."""

    @cached_property
    def _rows(self) -> CsrRows:
        return self._load()

    @property
    def rows(self) -> CsrRows:
        """All rows, as stored."""
        with self._loading:
            return self._rows

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Runs of rows."""
        rows = self.shape[0]
        step = max(1, rows * batch_bytes // max(self.rows.nbytes, rows * LEAST_ROW, 1))
        for start in range(0, rows, step):
            yield SparseChunk(self, start, min(step, rows - start))

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept vectors, of the same types."""
        if flag:
            self.check_flag()
        return NpzWriter(out / "kept" / self.kept_name, self.shape[1], self.as_array)

    @property
    def as_array(self) -> bool:
        """Whether SciPy loads the kept vectors as a sparse array, not as a matrix."""
        return False

    def check_flag(self) -> None:
        """Refuse ``--flag``: a matrix has no columns to add."""
        raise OptionError(
            f"{self.name}: --flag adds columns, but a sparse matrix has none; leave it out and see clusters.parquet"
        )

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The kept vectors with their ids: the columns of each and their numbers."""
        rows = block.payload.chosen(chosen)
        lists = [
            pa.LargeListArray.from_arrays(pa.array(rows.starts), pa.array(np.ascontiguousarray(_native(values))))
            for values in (rows.columns, rows.values)
        ]
        ids = self.row_ids(block).filter(pa.array(chosen))
        return pa.table({"id": ids, "columns": lists[0], "values": lists[1]})

    def describe(self) -> dict[str, Any]:
        """Describe what would be read."""
        return {**super().describe(), "documents": self.shape[0], "dimensions": self.shape[1]}


class MatrixPart(SparsePart):
    """A sparse matrix in memory; if it is the only source without a path, rows are named by their position alone."""

    format = "npz"

    def __init__(self, name: str, source: int, options: ReadOptions, matrix: Any, alone: bool) -> None:
        super().__init__(name, source, options)
        self._alone = alone
        rows, columns = _shape(matrix, name)
        self.shape = rows, columns
        self._matrix = matrix.tocsr()
        self.kept_name = PurePosixPath(f"{name}.npz")
        self.size = self.rows.nbytes

    def _load(self) -> CsrRows:
        one = self._matrix
        starts, columns, values = (np.asarray(array) for array in (one.indptr, one.indices, one.data))
        return checked_rows(starts, columns, values, self.shape, self.name)

    @property
    def as_array(self) -> bool:
        """Whether SciPy loads the kept vectors as a sparse array, not as a matrix."""
        return not type(self._matrix).__name__.endswith("_matrix")

    @property
    def row_prefix(self) -> str:
        """The name of the matrix, unless it is the only source without a path."""
        return "" if self._alone else super().row_prefix

    def store(self, path: Path) -> None:
        """Write all rows to a file, which is read again as a part of the same rows."""
        write_npz(path, [self.rows], self.shape[1], self.as_array)

    def digest(self) -> str:
        """SHA-256 of the numbers, their columns and the starts of the rows."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for array in (self.rows.starts, self.rows.columns, self.rows.values):
            digest.update(array.dtype.str.encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


class SparseChunk(Chunk):
    """Some rows."""

    def __init__(self, part: SparsePart, first_row: int, rows: int) -> None:
        self._part, self.first_row, self.rows = part, first_row, rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Pack the rows."""
        part = self._part
        rows = part.rows.slice(self.first_row, self.rows)
        texts, refused = packed_sparse(rows)
        bad: Unreadable = []
        for row, reason in refused:
            part.bad_row(bad, row, self.first_row + row, reason, lines=False)
        return Block(self.rows, self.first_row, texts, unreadable=bad, payload=rows if whole else None)


class NpzWriter(KeptWriter):
    """Write kept vectors as a matrix of compressed rows, as ``scipy.sparse.save_npz`` does."""

    def __init__(self, path: Path, columns: int, as_array: bool) -> None:
        self.path, self.columns, self.as_array = path, columns, as_array
        self._kept: list[CsrRows] = []
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Collect the kept rows: the arrays of such a file are written one after the other."""
        self._kept.append(block.payload.chosen(chosen))

    def close(self) -> None:
        """Write the file."""
        write_npz(self.path, self._kept, self.columns, self.as_array)
        self._kept.clear()

    def abort(self) -> None:
        """Remove the file."""
        self._kept.clear()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def write_npz(path: Path, pieces: list[CsrRows], columns: int, as_array: bool) -> None:
    """Write rows as ``scipy.sparse.save_npz`` does, without the time, so that equal rows make equal bytes."""
    counts = np.concatenate([np.diff(rows.starts) for rows in pieces] or [np.zeros(0, np.int64)])
    starts = offsets_of(counts)
    kind = np.int32 if starts[-1] < 2**31 else np.int64
    arrays: dict[str, Any] = {
        "indices": _joined([rows.columns for rows in pieces], kind),
        "indptr": starts.astype(kind),
        "format": np.array(b"csr"),
        "shape": np.array([len(counts), columns], np.int64),
        "data": _joined([rows.values for rows in pieces], np.float64),
    }
    if as_array:
        arrays["_is_array"] = np.array(True)
    with writing(path), zipfile.ZipFile(path, "w", compresslevel=_LEVEL) as file:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with file.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def is_sparse(value: object) -> bool:
    """Whether an object is one of SciPy's sparse matrices or arrays, which is told by what it offers."""
    return hasattr(value, "tocsr") and hasattr(value, "shape") and hasattr(value, "dtype")


def checked_rows(starts: Any, columns: Any, values: Any, shape: tuple[int, int], name: str) -> CsrRows:
    """Refuse arrays that do not make a matrix of compressed rows."""
    if values.dtype.kind not in "fiub" or values.dtype.itemsize > 8:
        raise SourceError(
            f"the matrix holds the type {values.dtype}; allowed: whole numbers and floats of up to 64 bits", where=name
        )
    integers = starts.dtype.kind in "iu" and columns.dtype.kind in "iu"
    if not integers or not starts.ndim == columns.ndim == values.ndim == 1:
        raise SourceError("the matrix is damaged: its indices are not lists of whole numbers", where=name)
    starts = starts.astype(np.int64)
    if len(starts) != shape[0] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise SourceError(f"the matrix is damaged: the starts of its {shape[0]:,} rows are not in order", where=name)
    count = int(starts[-1])
    if count > min(len(columns), len(values)):
        raise SourceError(
            f"the matrix is damaged: its rows have {count:,} numbers, but only {min(len(columns), len(values)):,} are "
            "there",
            where=name,
        )
    columns, values = columns[:count], values[:count]
    wrong = np.flatnonzero((columns < 0) | (columns >= shape[1])) if count else np.zeros(0, np.int64)
    if len(wrong):
        row = int(np.searchsorted(starts, wrong[0], side="right")) - 1
        raise SourceError(
            f"the matrix is damaged: row {row:,}, counted from 0, has a number in column {int(columns[wrong[0]]):,}, "
            f"and there are {shape[1]:,} columns",
            where=name,
        )
    return CsrRows(starts, columns, values)


def _shape(matrix: Any, name: str) -> tuple[int, int]:
    return checked_shape(tuple(map(int, matrix.shape)), name)


def checked_shape(shape: tuple[int, ...], name: str) -> tuple[int, int]:
    """Refuse a matrix of another shape than rows and columns."""
    if len(shape) != 2 or shape[0] < 0 or not 1 <= shape[1] <= MOST_COLUMNS:
        shown = " × ".join(f"{one:,}" for one in shape) or "a single value"
        raise SourceError(
            f"the sparse matrix is {shown}; allowed: two dimensions, one vector per row, up to {MOST_COLUMNS:,} wide",
            where=name,
        )
    return shape[0], shape[1]


def _joined(arrays: list[Any], kind: Any) -> Any:
    return np.concatenate(arrays, dtype=arrays[0].dtype) if arrays else np.zeros(0, kind)


def _native(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder("="), copy=False)
