"""Store sources that cannot be opened again: stdin, streams, and objects of a Python program."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from twinset.documents.compressed import codec_of
from twinset.documents.data_sets.part import DataSetPart
from twinset.documents.formats.memory_tables import SpooledPart, TablePart
from twinset.documents.open_parts import SourceFile, file_part
from twinset.documents.parts import Part
from twinset.documents.sparse.matrices import MatrixPart
from twinset.errors import SourceError, StateError
from twinset.options import ReadOptions
from twinset.system.digests import file_digest
from twinset.system.disk import flush
from twinset.system.scratch import cannot_write

FOLDER = "sources"
"""The folder of stored sources in a result folder."""

# Lists and mappings have columns of their own.
_COLUMNS = ("id", "no_id", "encoding", "text", "vectors", "codes")
_BATCH_ROWS = 2**16


@dataclass(frozen=True)
class StoredSource:
    """A file with the rows of a source.

    `name`, `format` and `kept_name` are those of its part; `columns` are options that name its columns.
    """

    path: Path
    name: str
    format: str
    kept_name: str
    columns: dict[str, str]
    sha256: str

    @classmethod
    def of(cls, folder: Path, recorded: dict[str, Any]) -> StoredSource:
        """Make it from a record of `to_dict`, in the folder of the result."""
        facts = {name: value for name, value in recorded.items() if name != "file"}
        return cls(folder / recorded["file"], **facts)

    def to_dict(self) -> dict[str, Any]:
        """Describe it in plain values; its path is relative to the result folder."""
        return {
            "file": f"{FOLDER}/{self.path.name}",
            "name": self.name,
            "format": self.format,
            "kept_name": self.kept_name,
            "columns": self.columns,
            "sha256": self.sha256,
        }

    def open(self, source: int, options: ReadOptions) -> Part:
        """Open it as the part that it was; `source` is the number of the source."""
        if not self.path.is_file():
            raise StateError(f"{self.path}: there is no such file; run dedup again")
        if file_digest(self.path, str(self.path)) != self.sha256:
            raise StateError(f"{self.path} is damaged: it was changed after it was written; run dedup again")
        if self.columns:
            given = {name: getattr(options, name) for name, _ in options.specs()}
            options = type(options).of(**{**given, **self.columns})
        if self.format == TablePart.format:
            return SpooledPart(self.name, source, options, self.path)
        with open(self.path, "rb") as start:
            packed = self.format == MatrixPart.format  # a ZIP file itself
            codec = None if packed else codec_of(start.read(8))
        file = SourceFile(self.path, self.name, source, (self.path.name,), 1, self.format, codec)
        return file_part(file, PurePosixPath(self.kept_name), options)


def _file_name(part: Part) -> str:
    """Return the name of a stored part, with the ending of its format."""
    if part.path is None:
        return part.kept_name.name if isinstance(part, MatrixPart) else f"{part.name}.arrows"
    return part.path.name if part.path.suffix else part.kept_name.name


def store_source(part: Part, options: ReadOptions, folder: Path, *, link: bool = False) -> StoredSource:
    """Store a part in a folder, which must not have a file of its name; `options` are those of the run.

    With `link`, a file is linked where the file system allows it: that of a scratch folder, which nobody writes to.
    """
    path = folder / _file_name(part)
    try:
        folder.mkdir(exist_ok=True)
        if isinstance(part, TablePart):
            _write_batches(part.table.schema, part.table.to_batches(max_chunksize=_BATCH_ROWS), path)
        elif isinstance(part, DataSetPart):
            _write_batches(part.schema, part.batches(), path)
        elif isinstance(part, MatrixPart):
            part.store(path)
        elif part.path is not None:
            _copy(part.path, path, link)
        else:
            raise SourceError("its rows cannot be stored", where=part.name)
    except OSError as error:
        raise cannot_write(path, error) from error
    columns = {
        name: getattr(part.options, name)
        for name in _COLUMNS
        if getattr(part.options, name) != getattr(options, name)
    }
    return StoredSource(path, part.name, part.format, str(part.kept_name), columns, file_digest(path, part.name))


def store_sources(
    names: Sequence[str | None], parts: Sequence[Part], options: ReadOptions, folder: Path, *, link: bool = False,
    spooled_only: bool = False,
) -> list[StoredSource | None]:  # fmt: skip
    """Store the sources without a name of their own, one part each; return None for the others.

    `parts` are those of the sources that `names` describe. `spooled_only` leaves out tables in memory.
    """
    stored: list[StoredSource | None] = [None] * len(names)
    for part in itertools.chain.from_iterable(part.inner for part in parts):
        if names[part.source] is None and not (spooled_only and part.path is None):
            stored[part.source] = store_source(part, options, folder, link=link)
    return stored


def store_all(
    parts: Sequence[Part], own_parts: int, given: dict[str, Any], options: ReadOptions, folder: Path, *,
    link: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Store the sources of a run that cannot be opened again, and describe them for the summary.

    `given` names the sources and those compared against, which have the parts from `own_parts` on.
    """
    roles = ((given["sources"], parts[:own_parts]), (given["against"], parts[own_parts:]))
    stored = [one for names, some in roles for one in store_sources(names, some, options, folder, link=link)]
    return {"stored": [one and one.to_dict() for one in stored]} if any(stored) else {}


def _write_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch], path: Path) -> None:
    with open(path, "xb") as file:
        with pa.ipc.new_stream(file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            for batch in batches:
                stream.write_batch(batch)
        file.flush()
        flush(file.fileno())


def _copy(source: Path, path: Path, link: bool) -> None:
    if not (link and _linked(source, path)):
        shutil.copyfile(source, path)
    with open(path, "rb") as file:
        flush(file.fileno())


def _linked(source: Path, path: Path) -> bool:
    try:
        os.link(source, path)
    except OSError:  # another file system, or one without links
        return False
    return True
