"""Export an index to a Parquet file, and import it into any back end."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twinset.documents.parquet.read_back import check_written
from twinset.engines.progress import Progress
from twinset.errors import DamagedError, OutputError, StateError, UnknownIdError
from twinset.index.backend import Backend, Document, SketchRows, create_backend, open_backend
from twinset.index.kinds.base import Kind, kind_for
from twinset.index.kinds.pack_text import unpack_text
from twinset.index.kinds.text_entries import Entries, SketchedBatch
from twinset.index.read_batches import checked_ids
from twinset.index.settings import FORMAT, UNFINISHED, Settings
from twinset.index.verify import pages
from twinset.system import batch_sizes
from twinset.system.atomic_files import replace_atomically
from twinset.wording import reason

if TYPE_CHECKING:
    from twinset.index.write import IndexWriter

_META, _DIGEST = b"twinset.index", b"twinset.seal"


def texts_of(backend: Backend, ids: Sequence[str]) -> list[str]:
    """Return the texts of documents in the order of the ids."""
    numbers = backend.numbers(list(ids))
    missing = [id for id in ids if id not in numbers]
    if missing:
        raise UnknownIdError(f"{backend.name}: the index holds no document with the id {missing[0]!r}")
    wanted = np.array(sorted(set(numbers.values())), np.int64)
    texts = {one.id: unpack_text(one.content) for one in backend.documents(wanted, contents=True)}
    return [texts[id] for id in ids]


def export(backend: Backend, kind: Kind, path: Path, force: bool, progress: Progress) -> int:
    """Write all documents to a file in the order of adding; the file appears only when it is complete."""
    if path.suffix != ".parquet":
        raise OutputError(f"{path}: the name of an exported file must end in .parquet")
    if path.exists() and not force:
        raise OutputError(f"{path} exists already; choose another name, or replace it with --force")
    schema = _schema(kind)
    count = groups = 0
    progress.stage("exporting", backend.count(), "documents")
    try:
        with replace_atomically(path) as draft:
            with pq.ParquetWriter(draft, schema, compression="zstd") as writer:
                digest = ContentDigest(schema.metadata[_META])
                for documents, sketches in pages(backend, kind, contents=True):
                    table = _table(documents, sketches, kind, schema)
                    digest.add(table)
                    writer.write_table(table, row_group_size=len(table))
                    count, groups = count + len(documents), groups + 1
                    progress.advance(len(documents))
                writer.add_key_value_metadata({_DIGEST: digest.value})
            check_written(draft, schema, count, groups)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    return count


def _schema(kind: Kind) -> pa.Schema:
    fields = [
        pa.field("id", pa.string(), nullable=False),
        *([kind.content] if kind.content is not None else []),
        pa.field("shingles", pa.uint32(), nullable=False),
        # Without a plan all documents are empty, but a Parquet column needs a width.
        pa.field("slots", pa.binary(4 * max(1, kind.slots)), nullable=False),
    ]
    return pa.schema(fields, metadata={_META: orjson.dumps(kind.settings.to_rows())})


def _table(documents: list[Document], sketches: SketchRows, kind: Kind, schema: pa.Schema) -> pa.Table:
    if len(sketches.numbers) != len(documents) or sketches.slots.shape[1] != kind.slots:
        raise DamagedError("the index is damaged: the sketch of a document is missing; run twinset index verify")
    width = 4 * max(1, kind.slots)
    data = sketches.slots.tobytes() if kind.slots else bytes(width * len(documents))
    columns: dict[str, Any] = {
        "id": [one.id for one in documents],
        "shingles": sketches.shingles,
        "slots": [data[at : at + width] for at in range(0, len(data), width)],
    }
    if kind.content is not None:
        columns[kind.content.name] = kind.export_contents(documents)
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def read_settings(path: Path) -> Settings:
    """Read the settings of an exported index, converted to the newest format."""
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            rows = (schema.metadata or {}).get(_META)
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
    if not schema.equals(_schema(kind_for(settings))):
        raise DamagedError(f"{path} is not an exported index: its columns or their types are wrong")
    return settings.in_newest_format


def backend_for(where: str | os.PathLike[str], settings: Settings) -> Backend:
    """Make a back end that is marked as unfinished, or open the one that an interrupted import of this file left."""
    rows = {**settings.to_rows(), "format": str(UNFINISHED)}
    try:
        return create_backend(where, rows)
    except OutputError:
        try:
            backend = open_backend(where, read_only=False)
        except StateError:
            backend = None
        if backend is not None and backend.format == FORMAT and rows.items() <= backend.settings().items():
            return backend
        if backend is not None:
            backend.close()
        raise


def check_digest(path: Path, progress: Progress) -> None:
    """Read an exported file to its end, and raise `DamagedError` if its content is not what was exported.

    This happens before the import: documents of a damaged file could not be distinguished from others later.
    """
    try:
        with pq.ParquetFile(path) as file:
            progress.stage("checking", file.metadata.num_rows, "documents")
            digest = ContentDigest(file.schema_arrow.metadata[_META])
            for batch in file.iter_batches(batch_size=batch_sizes.INDEX_EXPORTED):
                digest.add(batch)
                progress.advance(batch.num_rows)
            _compare(file, digest, path)
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {reason(error)}") from error


def _compare(file: pq.ParquetFile, digest: ContentDigest, path: Path) -> None:
    if file.metadata.metadata.get(_DIGEST) != digest.value:
        raise DamagedError(f"{path} is damaged: its content is not what was exported; export again")


def import_all(path: Path, writer: IndexWriter, progress: Progress) -> None:
    """Add all documents of an exported file, with the sketches of the file."""
    try:
        with pq.ParquetFile(path) as file:
            progress.stage("importing", file.metadata.num_rows, "documents")
            digest = ContentDigest(file.schema_arrow.metadata[_META])
            batches = file.iter_batches(batch_size=batch_sizes.INDEX_EXPORTED)
            for first in batches:
                rows = 0
                with writer.transaction():
                    for batch in chain([first], batches):
                        digest.add(batch)
                        writer.put(_entries(batch, writer.kind, path), replace=False)
                        progress.advance(batch.num_rows)
                        rows += batch.num_rows
                        if rows >= 16 * batch_sizes.INDEX_EXPORTED:
                            break
            _compare(file, digest, path)
        with writer.transaction():
            writer.backend.change_settings({"format": str(writer.settings.format)})
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is damaged, or not an exported index: {reason(error)}") from error


def _entries(batch: pa.RecordBatch, kind: Kind, path: Path) -> Entries:
    joined = bytearray().join(batch.column("slots").to_pylist())
    slots = np.frombuffer(joined, np.uint32).reshape(batch.num_rows, -1)[:, : kind.slots]
    shingles = np.asarray(batch.column("shingles")).astype(np.uint32)
    slots = np.ascontiguousarray(slots)
    done = SketchedBatch(shingles, slots, kind.keys(slots), None, np.zeros(0, np.int64))
    contents = kind.import_contents(batch, path)
    keys = kind.content_keys(contents or ())
    return Entries(checked_ids(batch.column("id")), done, contents, kind.are_texts, keys)


class ContentDigest:
    """A digest of the settings and rows of an exported file, independent of the batches.

    Parquet itself does not notice every damage to a file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"id": ["a", "b"], "shingles": pa.array([3, 4], pa.uint32())})
    >>> whole, parts = ContentDigest(b"settings"), ContentDigest(b"settings")
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
        """Add rows to the digest."""
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
        """The digest of everything added so far."""
        whole = hashlib.blake2b(str(self._rows).encode(), digest_size=32)
        for name, part in sorted(self._parts.items()):
            whole.update(name.encode() + b"\0" + part.digest())
        return whole.hexdigest().encode()
