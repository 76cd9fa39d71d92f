"""Files of sparse matrices (.npz), as ``scipy.sparse.save_npz`` writes them: one vector per row.

They are read without SciPy. Nothing in such a file is executed: only plain numbers are read, and Python objects are
refused. What a file says of its sizes is checked before memory is taken for it.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from twinset.documents.items.sparse_vectors import CsrRows
from twinset.documents.sparse.matrices import SparsePart, checked_rows, checked_shape
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.options.checks import shown_names, shown_size
from twinset.options.items import VECTORS
from twinset.system.arrays import offsets_of
from twinset.system.memory import default_memory

_SMALL = 1 << 12  # bytes of a member that has the shape or the format
_HEAD = 1 << 14  # bytes that the header of a member may take
_ARRAYS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
}
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, OSError, ValueError, SyntaxError, TypeError, LookupError, EOFError, RecursionError,
    TokenError, NotImplementedError, RuntimeError, MemoryError, OverflowError,
)  # fmt: skip


class NpzPart(SparsePart):
    """A file with a sparse matrix."""

    format = "npz"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path) -> None:
        super().__init__(name, source, options, path)
        if options.item_kind not in VECTORS:
            raise SourceError(
                "a .npz file holds sparse vectors; read them with --vectors, or name another source", where=name
            )
        with self._opened() as file:
            self._names = {one.filename.removesuffix(".npy"): one for one in file.infolist()}
            self.layout = self._find_layout(file)
            shape = self._member(file, "shape", _SMALL)
            if shape.dtype.kind not in "iu" or shape.ndim != 1:
                raise SourceError("its shape is not a list of whole numbers", where=name)
            self.shape = checked_shape(tuple(shape.tolist()), name)
            self._is_array = "_is_array" in self._names

    @property
    def as_array(self) -> bool:
        """Whether SciPy loads the kept vectors as a sparse array, as it loads this file."""
        return self._is_array

    def _load(self) -> CsrRows:
        arrays = _ARRAYS[self.layout]
        needed = sum(self._names[one].file_size for one in arrays)
        free = 2 * default_memory()
        if needed > free:
            raise SourceError(
                f"its numbers take {shown_size(needed)} of memory, and {shown_size(free)} are free", where=self.name
            )
        with self._opened() as file:
            first, second, values = (self._member(file, one) for one in arrays)
        if self.layout == "csr":
            return checked_rows(first, second, values, self.shape, self.name)
        if self.layout == "csc":
            by_column = checked_rows(first, second, values, (self.shape[1], self.shape[0]), self.name)
            columns = np.repeat(np.arange(self.shape[1]), np.diff(by_column.starts)).astype(second.dtype)
            return self._by_row(by_column.columns, columns, by_column.values)
        return self._by_row(first, second, values)

    def _by_row(self, rows: Any, columns: Any, values: Any) -> CsrRows:
        """Sort numbers by their row; those of a row keep their order."""
        if not len(rows) == len(columns) == len(values) or rows.dtype.kind not in "iu" or rows.ndim != 1:
            raise SourceError("the matrix is damaged: its rows, columns and numbers differ in length", where=self.name)
        if len(rows) and not (rows.min() >= 0 and rows.max() < self.shape[0]):
            raise SourceError(f"the matrix is damaged: a number is beyond its {self.shape[0]:,} rows", where=self.name)
        order = np.argsort(rows, kind="stable")
        starts = offsets_of(np.bincount(rows.astype(np.int64), minlength=self.shape[0]))
        return checked_rows(starts, columns[order], values[order], self.shape, self.name)

    def _find_layout(self, file: zipfile.ZipFile) -> str:
        missing = next((one for one in ("format", "shape", "data") if one not in self._names), None)
        if missing is not None:
            raise SourceError(
                f"this is no sparse matrix of scipy.sparse.save_npz: it has no array {missing!r} but "
                f"{shown_names(list(self._names))}; save a dense array as .npy",
                where=self.name,
            )
        word = self._member(file, "format", _SMALL)
        layout = word.item() if word.ndim == 0 and word.dtype.kind in "SU" else None
        layout = layout.decode("latin-1") if isinstance(layout, bytes) else layout
        if layout not in _ARRAYS:
            raise SourceError(
                f"the layout of the matrix is {layout!r}; allowed: {', '.join(_ARRAYS)}: save matrix.tocsr()",
                where=self.name,
            )
        absent = next((one for one in _ARRAYS[layout] if one not in self._names), None)
        if absent is not None:
            raise SourceError(f"the matrix is damaged: it has no array {absent!r}", where=self.name)
        return str(layout)

    def _member(self, file: zipfile.ZipFile, name: str, most: int | None = None) -> Any:
        """Read an array of the file, of at most so many bytes."""
        about = self._names[name]
        if most is not None and about.file_size > most:
            raise SourceError(f"the matrix is damaged: its array {name!r} is too large", where=self.name)
        with file.open(about) as stream:
            version = np.lib.format.read_magic(stream)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, _, dtype = read(stream, max_header_size=_HEAD)
            if dtype.hasobject or dtype.kind not in "fiubcSU" or dtype.subdtype is not None:
                what = "Python objects, which are never read" if dtype.hasobject else f"the type {dtype}"
                raise SourceError(f"its array {name!r} holds {what}", where=self.name)
            size = prod(shape) * dtype.itemsize
            if stream.tell() + size != about.file_size:
                raise SourceError(f"the matrix is damaged: its array {name!r} has another size", where=self.name)
            return np.frombuffer(stream.read(size), dtype).reshape(shape)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        """Open the file, and report damage."""
        try:
            with zipfile.ZipFile(self.path or "") as file:
                yield file
        except _DAMAGED as error:
            shown = "it is damaged" if isinstance(error, (KeyError, MemoryError)) else error or "it is damaged"
            raise SourceError(f"cannot be read as a .npz file: {shown}", where=self.name) from error
