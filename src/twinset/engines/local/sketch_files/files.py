"""Files of sketches: Parquet that says what its sketches are, and notices when it was damaged.

The columns are `id`, `sketch` and `shingles`. The metadata say by which version, hashes, seed and shingles they were
made, and carry a seal over everything: Parquet itself does not notice every damage. Reading one runs nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.normalize import buffers_of
from twinset.documents.parquet.read_back import check_written
from twinset.errors import OptionError, SourceError, StateError
from twinset.options.sketch import METADATA
from twinset.schema import HASH_SCHEME, Places, Sketches, sketches_schema
from twinset.sketches.bottom_k import BottomK
from twinset.system.arrays import ranges
from twinset.system.scratch import cannot_write
from twinset.wording import reason

VERSION = 1
_SEAL = b"twinset.seal"
_GROUP_BYTES = 8 * 2**20
_WORDS = {
    "version": "version of the file", "hash_scheme": "version of the hashes", "sketch": "--sketch",
    "n_hashes": "--hashes", "bits": "--bits", "weights": "--weights", "seed": "--seed",
    "kind": "the kind of item", "shingle": "--shingle", "bag": "--bag",
    "lowercase": "lower case", "nfc": "form NFC", "squeeze": "white space", "split": "scripts without spaces",
    "text": "the columns of a record", "rarity": "the digest of what tf-idf has counted",
}  # fmt: skip


def difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """Say in what two schemes differ, as plain values; None if they are the same."""
    mine, theirs = ({**found, **found["items"]} for found in (one, other))
    for key in (key for key in _WORDS if mine.get(key) != theirs.get(key)):
        return f"{_WORDS[key]} is {mine.get(key)} in the one and {theirs.get(key)} in the other"
    ours, others = mine.get("columns", []), theirs.get("columns", [])
    if any(name in others and others.index(name) != place for place, name in enumerate(ours)):
        # Columns are told apart by their places, so that those of another name can be compared.
        return f"the columns of a record are {', '.join(ours)} in the one and {', '.join(others)} in the other"
    return None


@dataclass(frozen=True)
class Scheme:
    """What sketches are: those of equal schemes can be compared and merged."""

    sketch: str
    n_hashes: int
    seed: int
    items: dict[str, Any]
    version: int = VERSION
    hash_scheme: int = HASH_SCHEME

    @property
    def bottom(self) -> bool:
        """Whether they are bottom-k sketches, which have no slots."""
        return self.sketch == "bottom-k"

    @property
    def schema(self) -> pa.Schema:
        """The columns of a file."""
        return sketches_schema(None if self.bottom else self.n_hashes).with_metadata({METADATA: self.packed})

    @property
    def packed(self) -> bytes:
        """The scheme as JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False).encode()

    @property
    def rows_together(self) -> int:
        """Rows of a row group: a few megabytes."""
        return max(64, _GROUP_BYTES // (self.n_hashes * (8 if self.bottom else 4)))

    @classmethod
    def unpacked(cls, packed: bytes, name: str) -> Scheme:
        """Read a scheme; anything but one of this version is refused."""
        try:
            found = json.loads(packed)
            version = found["version"]
            if version == VERSION:
                scheme = cls(**found)
                if scheme.packed == packed and isinstance(scheme.n_hashes, int) and 0 < scheme.n_hashes <= 65536:
                    return scheme
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise StateError(f"{name} is damaged: its description cannot be read; sketch again") from error
        if isinstance(version, int) and version > VERSION:
            raise StateError(f"{name} was written by a newer version of Twinset; use that, or sketch again")
        raise StateError(f"{name} is damaged: its description cannot be read; sketch again")

    def difference(self, other: Scheme) -> str | None:
        """Say why sketches cannot be compared; None if they can."""
        return difference(asdict(self), asdict(other))


@dataclass(frozen=True)
class SketchBatch:
    """Some rows: ids, sketches of either form, and how many shingles there were, null where that is not known."""

    ids: pa.Array
    sketches: Sketches | BottomK
    shingles: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def taken(self, rows: Places) -> SketchBatch:
        """Some of the rows, in the order given."""
        places, found = pa.array(rows), self.sketches
        if isinstance(found, BottomK):
            lengths = np.diff(found.starts)[rows]
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            kept: Sketches | BottomK = BottomK(found.k, starts, found.values[ranges(found.starts[rows], lengths)])
        else:
            kept = found[rows]
        return SketchBatch(self.ids.take(places), kept, self.shingles.take(places))

    def table(self, scheme: Scheme) -> pa.Table:
        """The rows as they are written."""
        if isinstance(self.sketches, BottomK):
            offsets = pa.array(self.sketches.starts, pa.int64())
            column = pa.LargeListArray.from_arrays(offsets, pa.array(self.sketches.values)).cast(pa.list_(pa.uint64()))
        else:
            column = pa.FixedSizeListArray.from_arrays(pa.array(self.sketches.reshape(-1)), scheme.n_hashes)
        return pa.table([self.ids, column, self.shingles], schema=scheme.schema)


class _Seal:
    """A digest over the scheme and all rows, whatever portions they come in."""

    def __init__(self, scheme: Scheme) -> None:
        self._rows = 0
        self._parts = {name: hashlib.blake2b() for name in ("ids", "id lengths", "lengths", "sketches", "shingles")}
        self._scheme = scheme.packed

    def add(self, batch: SketchBatch) -> None:
        """Take in some rows."""
        self._rows += len(batch)
        data, offsets = buffers_of(batch.ids)
        self._parts["ids"].update(data[offsets[0] : offsets[-1]].data if len(batch) else b"")
        self._parts["id lengths"].update(np.diff(offsets).astype("<i8").tobytes())
        if isinstance(batch.sketches, BottomK):
            self._parts["lengths"].update(np.diff(batch.sketches.starts).astype("<i8").tobytes())
            self._parts["sketches"].update(batch.sketches.values.astype("<u8", copy=False).data)
        else:
            self._parts["sketches"].update(np.ascontiguousarray(batch.sketches, "<u4").data)
        self._parts["shingles"].update(batch.shingles.cast(pa.int64()).fill_null(-1).to_numpy().astype("<i8").tobytes())

    @property
    def value(self) -> bytes:
        """The digest of all that was taken in."""
        whole = hashlib.blake2b(self._scheme + str(self._rows).encode(), digest_size=32)
        for part in self._parts.values():
            whole.update(part.digest())
        return whole.hexdigest().encode()


class TableWriter:
    """A Parquet file being written, the same bytes for any portions; `with` closes it, flushed and read back."""

    def __init__(self, path: Path, schema: pa.Schema, rows_together: int) -> None:
        self.path, self.schema, self.rows = path, schema, 0
        self._groups = 0
        self._together = rows_together
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        try:
            self._file = open(path, "wb")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise cannot_write(path, error) from error
        self._writer = pq.ParquetWriter(  # what it writes here stays in the file's buffer
            self._file, schema, compression="snappy", use_dictionary=False, write_page_checksum=True
        )

    def add(self, table: pa.Table) -> None:
        """Add rows."""
        self.rows += table.num_rows
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        step = self._together
        if self._waiting_rows >= step:
            joined = pa.concat_tables(self._waiting)
            whole = joined.num_rows // step * step
            for start in range(0, whole, step):
                self._put(joined.slice(start, step))
            self._waiting, self._waiting_rows = [joined.slice(whole)], joined.num_rows - whole

    def _put(self, table: pa.Table) -> None:
        self._groups += 1
        try:
            self._writer.write_table(table.combine_chunks(), table.num_rows)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    @property
    def last_words(self) -> dict[bytes, bytes]:
        """Metadata that are known when all is written."""
        return {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._leave()
            return
        try:
            if self._waiting_rows:
                self._put(pa.concat_tables(self._waiting))
            if self.last_words:
                self._writer.add_key_value_metadata(self.last_words)
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except BaseException as error:
            self._leave()
            if isinstance(error, OSError):
                raise cannot_write(self.path, error) from error
            raise
        check_written(self.path, self.schema, self.rows, self._groups)

    def _leave(self) -> None:
        """Close an unfinished file, or both would try to finish it when they are collected, and complain."""
        self._writer.is_open = False
        with contextlib.suppress(OSError):  # of a disk that is full; what went wrong first is told
            self._file.close()


class SketchWriter(TableWriter):
    """A file of sketches being written, with a seal over all of it."""

    def __init__(self, path: Path, scheme: Scheme) -> None:
        super().__init__(path, scheme.schema, scheme.rows_together)
        self.scheme = scheme
        self._seal = _Seal(scheme)

    def write(self, batch: SketchBatch) -> None:
        """Add rows."""
        self._seal.add(batch)
        self.add(batch.table(self.scheme))

    @property
    def last_words(self) -> dict[bytes, bytes]:
        """The seal."""
        return {_SEAL: self._seal.value}


class SketchSource:
    """Sketches to be read: a file, or a table in memory; `number` says which of the sources it is."""

    def __init__(self, given: Any, number: int = 0) -> None:
        self.path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
        self.name = str(self.path) if self.path is not None else f"sketches {number}"
        self._table = None if self.path is not None else pa.table(given)
        if self._table is not None:
            schema, self.rows = self._table.schema, self._table.num_rows
        else:
            with told_by_name(self.name), pq.ParquetFile(self.path) as file:
                schema, self.rows = file.schema_arrow, file.metadata.num_rows
        packed = (schema.metadata or {}).get(METADATA)
        if packed is None:
            raise SourceError("not a file of sketches; twinset sketch makes one", where=self.name)
        self.scheme = Scheme.unpacked(packed, self.name)
        if not schema.equals(self.scheme.schema):
            raise StateError(f"{self.name} is damaged: its columns differ from its description; sketch again")

    def batches(self) -> Iterator[SketchBatch]:
        """All rows; when the last was given, they have been proved to be what was written."""
        seal, rows = _Seal(self.scheme), 0
        step = self.scheme.rows_together
        if self._table is not None:
            yield from (self.batch(one) for one in self._table.to_batches(max_chunksize=step))
            return
        with (
            told_by_name(self.name),
            pq.ParquetFile(self.path, page_checksum_verification=True, pre_buffer=False) as file,
        ):
            expected = (file.metadata.metadata or {}).get(_SEAL)
            for found in file.iter_batches(batch_size=step):
                batch = self.batch(found)
                seal.add(batch)
                rows += len(batch)
                yield batch
        if seal.value != expected or rows != self.rows:
            raise StateError(f"{self.name} is damaged: its rows do not match its checksum; sketch again")

    def batch(self, found: pa.RecordBatch) -> SketchBatch:
        """Rows of such a file."""
        ids, column, shingles = found.columns
        if ids.null_count or column.null_count or column.flatten().null_count:
            raise StateError(f"{self.name} is damaged: something is missing in a row; sketch again")
        values = column.flatten().to_numpy().copy()  # kernels take no memory that is read-only, as Arrow's is
        if not self.scheme.bottom:
            return SketchBatch(ids, values.reshape(len(ids), self.scheme.n_hashes), shingles)
        starts = np.asarray(column.offsets).astype(np.int64)
        starts -= starts[0]
        self._check_bottom(starts, values)
        return SketchBatch(ids, BottomK(self.scheme.n_hashes, starts, values), shingles)

    def _check_bottom(self, starts: Any, values: Any) -> None:
        """Every sketch is ascending and not too long: on that the join rests."""
        begins = np.zeros(len(values) + 1, np.bool_)
        begins[starts] = True
        ascending = values[1:] > values[:-1]
        if (np.diff(starts) > self.scheme.n_hashes).any() or not (ascending | begins[1:-1]).all():
            raise StateError(f"{self.name} is damaged: a sketch is not in order; sketch again")


def opened(sources: tuple[Any, ...]) -> list[SketchSource]:
    """Open sketches that shall be taken together; those of different schemes are refused."""
    found = [SketchSource(one, number) for number, one in enumerate(sources)]
    for other in found[1:]:
        reason = found[0].scheme.difference(other.scheme)
        if reason is not None:
            raise OptionError(
                f"the sketches of {found[0].name} and of {other.name} cannot be compared or merged: {reason}; "
                "sketch one of the two again with the options of the other"
            )
    return found


class told_by_name:
    """Turn what Arrow raises over a damaged file into an error that names it."""

    def __init__(self, name: str, kind: str = "sketches") -> None:
        self.name, self.kind = name, kind

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(value, FileNotFoundError):
            raise SourceError("there is no such file", where=self.name) from value
        if isinstance(value, (OSError, pa.ArrowException, UnicodeDecodeError)):
            why = reason(value)
            raise StateError(f"{self.name} is damaged, or no file of {self.kind}: {why}; sketch again") from value
