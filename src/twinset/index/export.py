"""An index as a Parquet file, and back: for moving to another home, and for reading by anything else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.parquet.read_back import check_written
from twinset.engines.progress import Progress
from twinset.errors import DamagedError, OutputError, StateError, UnknownIdError
from twinset.index.backend import Document, Home, Kept
from twinset.index.kinds.base import Kind, kind_of
from twinset.index.kinds.pack_text import unpack_text
from twinset.index.kinds.text_entries import Entries, Sketched
from twinset.index.open_backend import create_home, open_home
from twinset.index.read_batches import checked_ids
from twinset.index.sealing import Seal
from twinset.index.settings import UNFINISHED, Settings
from twinset.index.verify import pages
from twinset.system import batch_sizes
from twinset.system.atomic_files import replace_atomically
from twinset.wording import reason

if TYPE_CHECKING:
    from twinset.index.write import Writing

_META, _SEAL = b"twinset.index", b"twinset.seal"
"""Documents that are read, and committed, together."""


def texts_of(home: Home, ids: Sequence[str]) -> list[str]:
    """The texts of some documents, in the order asked for."""
    numbers = home.numbers(list(ids))
    missing = [id for id in ids if id not in numbers]
    if missing:
        raise UnknownIdError(f"{home.name}: the index holds no document with the id {missing[0]!r}")
    wanted = np.array(sorted(set(numbers.values())), np.int64)
    found = {one.id: unpack_text(one.content) for one in home.documents(wanted, contents=True)}
    return [found[id] for id in ids]


def export(home: Home, kind: Kind, path: Path, force: bool, progress: Progress) -> int:
    """Write all documents to a file, in the order of adding; the file is there whole or not at all."""
    if path.suffix != ".parquet":
        raise OutputError(f"{path}: an index is exported to a file that ends in .parquet")
    if path.exists() and not force:
        raise OutputError(f"{path} is there already; choose another name, or replace it with --force")
    schema = _schema(kind)
    count = groups = 0
    progress.stage("exporting", home.count(), "documents")
    try:
        with replace_atomically(path) as made:
            with pq.ParquetWriter(made, schema, compression="zstd") as writer:
                seal = Seal(schema.metadata[_META])
                for documents, kept in pages(home, kind, contents=True):
                    table = _table(documents, kept, kind, schema)
                    seal.add(table)
                    writer.write_table(table, row_group_size=len(table))
                    count, groups = count + len(documents), groups + 1
                    progress.advance(len(documents))
                writer.add_key_value_metadata({_SEAL: seal.value})
            check_written(made, schema, count, groups)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    return count


def _schema(kind: Kind) -> pa.Schema:
    fields = [
        pa.field("id", pa.string(), nullable=False),
        *([kind.content] if kind.content is not None else []),
        pa.field("shingles", pa.uint32(), nullable=False),
        # Where nothing is known of codes or vectors yet, all are empty; but Parquet has no values of no width.
        pa.field("slots", pa.binary(4 * max(1, kind.slots)), nullable=False),
    ]
    return pa.schema(fields, metadata={_META: orjson.dumps(kind.settings.to_rows())})


def _table(documents: list[Document], kept: Kept, kind: Kind, schema: pa.Schema) -> pa.Table:
    if len(kept.numbers) != len(documents) or kept.slots.shape[1] != kind.slots:
        raise DamagedError("the index is damaged: something of a document is missing; run twinset index verify")
    width = 4 * max(1, kind.slots)
    whole = kept.slots.tobytes() if kind.slots else bytes(width * len(documents))
    columns: dict[str, Any] = {
        "id": [one.id for one in documents],
        "shingles": kept.shingles,
        "slots": [whole[at : at + width] for at in range(0, len(whole), width)],
    }
    if kind.content is not None:
        columns[kind.content.name] = kind.exported(documents)
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def settings_of(path: Path) -> Settings:
    """The settings of an exported index; whatever format it was exported from, it is imported into the newest."""
    try:
        with pq.ParquetFile(path) as file:
            found = file.schema_arrow
            rows = (found.metadata or {}).get(_META)
    except FileNotFoundError:
        raise DamagedError(f"{path}: there is no such file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {reason(error)}") from error
    if rows is None:
        raise DamagedError(f"{path} is not an exported index; add documents of your own with twinset index add")
    try:
        settings = Settings.from_rows(dict(orjson.loads(rows)), str(path))
    except (ValueError, TypeError) as error:
        raise DamagedError(f"{path}: the settings of the exported index are damaged ({error})") from error
    if not found.equals(_schema(kind_of(settings))):
        raise DamagedError(f"{path} is not an exported index: its columns, or their types, are others")
    return settings.newest


def home_for(where: str | os.PathLike[str], settings: Settings) -> Home:
    """A new home, marked as not whole yet; or one that is there, if it was made by this import and is not whole."""
    rows = {**settings.to_rows(), "format": str(UNFINISHED)}
    try:
        return create_home(where, rows)
    except OutputError:
        try:
            home = open_home(where, read_only=False)
        except StateError:
            home = None
        if home is not None and rows.items() <= home.settings().items():
            return home
        if home is not None:
            home.close()
        raise


def prove(path: Path, progress: Progress) -> None:
    """Read an exported file to its end, and raise `DamagedError` if it does not say what was exported.

    Before any of it is imported: what came from a damaged file could not be told from the rest later.
    """
    try:
        with pq.ParquetFile(path) as file:
            progress.stage("checking", file.metadata.num_rows, "documents")
            seal = Seal(file.schema_arrow.metadata[_META])
            for batch in file.iter_batches(batch_size=batch_sizes.INDEX_EXPORTED):
                seal.add(batch)
                progress.advance(batch.num_rows)
            _compare(file, seal, path)
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {reason(error)}") from error


def _compare(file: pq.ParquetFile, seal: Seal, path: Path) -> None:
    if file.metadata.metadata.get(_SEAL) != seal.value:
        raise DamagedError(f"{path} is damaged: it does not say what was exported; export again")


def import_all(path: Path, writing: Writing, progress: Progress) -> None:
    """Add all documents of an exported file; sketches are taken as they are."""
    try:
        with pq.ParquetFile(path) as file:
            progress.stage("importing", file.metadata.num_rows, "documents")
            seal = Seal(file.schema_arrow.metadata[_META])
            coming = file.iter_batches(batch_size=batch_sizes.INDEX_EXPORTED)
            for first in coming:
                rows = 0
                with writing.transaction():
                    for batch in chain([first], coming):
                        seal.add(batch)
                        writing.put(_entries(batch, writing.kind, path), replace=False)
                        progress.advance(batch.num_rows)
                        rows += batch.num_rows
                        if rows >= 16 * batch_sizes.INDEX_EXPORTED:
                            break
            _compare(file, seal, path)
        with writing.transaction():
            writing.home.change_settings({"format": str(writing.settings.format)})
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {reason(error)}") from error


def _entries(batch: pa.RecordBatch, kind: Kind, path: Path) -> Entries:
    joined = bytearray().join(batch.column("slots").to_pylist())
    slots = np.frombuffer(joined, np.uint32).reshape(batch.num_rows, -1)[:, : kind.slots]
    shingles = np.asarray(batch.column("shingles")).astype(np.uint32)
    slots = np.ascontiguousarray(slots)
    done = Sketched(shingles, slots, kind.keys(slots), None, np.zeros(0, np.int64))
    return Entries(checked_ids(batch.column("id")), done, kind.imported(batch, path), kind.are_texts)
