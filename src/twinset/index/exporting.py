"""An index as a Parquet file, and back: for moving to another home, and for reading by anything else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.engines.progress import Progress
from twinset.errors import DamagedError, OutputError, UnknownIdError
from twinset.index.base import Document, Home, Kept
from twinset.index.checking import pages
from twinset.index.entries import Entries, Sketched, keys_of
from twinset.index.packing import pack, unpack
from twinset.index.settings import Settings

if TYPE_CHECKING:
    from twinset.index.writing import Writing

_META = b"twinset.index"
_CHUNK = 4096
_COLUMNS = {"id", "text", "hashes", "shingles", "slots"}


def texts_of(home: Home, ids: Sequence[str]) -> list[str]:
    """The texts of some documents, in the order asked for."""
    numbers = home.numbers(list(ids))
    missing = [id for id in ids if id not in numbers]
    if missing:
        raise UnknownIdError(f"{home.name}: the index holds no document with the id {missing[0]!r}")
    wanted = np.array(sorted(set(numbers.values())), np.int64)
    found = {one.id: unpack(one.content or b"").decode() for one in home.documents(wanted, contents=True)}
    return [found[id] for id in ids]


def export(home: Home, settings: Settings, path: Path, force: bool, progress: Progress) -> int:
    """Write all documents to a file, in the order of adding; the file is there whole or not at all."""
    if path.suffix != ".parquet":
        raise OutputError(f"{path}: an index is exported to a file that ends in .parquet")
    if path.exists() and not force:
        raise OutputError(f"{path} is there already; choose another name, or replace it with --force")
    made = path.with_name(f"{path.name}-{os.getpid()}.new")
    schema = _schema(settings)
    count = 0
    progress.stage("exporting", home.count(), "documents")
    try:
        with pq.ParquetWriter(made, schema, compression="zstd") as writer:
            for documents, kept in pages(home, contents=True):
                writer.write_table(_table(documents, kept, settings, schema))
                count += len(documents)
                progress.advance(len(documents))
        with open(made, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(made, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        made.unlink(missing_ok=True)
    return count


def _schema(settings: Settings) -> pa.Schema:
    content = {
        "text": pa.field("text", pa.large_string(), nullable=False),
        "shingles": pa.field("hashes", pa.large_binary(), nullable=False),
    }.get(settings.options.store)
    fields = [
        pa.field("id", pa.string(), nullable=False),
        *([content] if content is not None else []),
        pa.field("shingles", pa.uint32(), nullable=False),
        pa.field("slots", pa.binary(4 * settings.plan.n_hashes), nullable=False),
    ]
    return pa.schema(fields, metadata={_META: orjson.dumps(settings.to_rows())})


def _table(documents: list[Document], kept: Kept, settings: Settings, schema: pa.Schema) -> pa.Table:
    width = settings.plan.n_hashes * 4
    whole = kept.slots.tobytes()
    columns: dict[str, Any] = {
        "id": [one.id for one in documents],
        "shingles": kept.shingles,
        "slots": [whole[at : at + width] for at in range(0, len(whole), width)],
    }
    if settings.options.store == "text":
        columns["text"] = [unpack(one.content or b"").decode() for one in documents]
    elif settings.options.store == "shingles":
        columns["hashes"] = [one.content for one in documents]
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def settings_of(path: Path) -> Settings:
    """The settings of an exported index."""
    try:
        with pq.ParquetFile(path) as file:
            rows = (file.schema_arrow.metadata or {}).get(_META)
    except FileNotFoundError:
        raise DamagedError(f"{path}: there is no such file") from None
    except (OSError, pa.ArrowException) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {error}") from error
    if rows is None:
        raise DamagedError(f"{path} is not an exported index; add documents of your own with twinset index add")
    try:
        return Settings.from_rows(dict(orjson.loads(rows)), str(path))
    except (ValueError, TypeError) as error:
        raise DamagedError(f"{path}: the settings of the exported index are damaged ({error})") from error


def import_all(path: Path, writing: Writing, progress: Progress) -> None:
    """Add all documents of an exported file; sketches are taken as they are."""
    try:
        with pq.ParquetFile(path) as file:
            progress.stage("importing", file.metadata.num_rows, "documents")
            for batch in file.iter_batches(batch_size=_CHUNK * 8):
                with writing.transaction():
                    writing.put(_entries(batch, writing.settings, path), replace=False)
                progress.advance(batch.num_rows)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {error}") from error


def _entries(batch: pa.RecordBatch, settings: Settings, path: Path) -> Entries:
    store = settings.options.store
    if not set(batch.schema.names) <= _COLUMNS:
        raise DamagedError(f"{path} is not an exported index: its columns are {', '.join(batch.schema.names)}")
    joined = bytearray().join(batch.column("slots").to_pylist())
    slots = np.frombuffer(joined, np.uint32).reshape(batch.num_rows, settings.plan.n_hashes)
    shingles = np.asarray(batch.column("shingles")).astype(np.uint32)
    contents = None
    if store == "text":
        contents = [pack(text.encode()) for text in batch.column("text").to_pylist()]
    elif store == "shingles":
        contents = batch.column("hashes").to_pylist()
    done = Sketched(shingles, slots, keys_of(slots, settings), None, np.zeros(0, np.int64))
    return Entries(batch.column("id").to_pylist(), done, contents, store == "text")
