"""Files of sketches: Parquet with the scheme of its sketches, and a seal against damage.

The columns are `id`, `sketch` and `shingles`. The metadata have the version, hashes, seed and shingles, and a digest
over everything, since Parquet itself does not detect all damage. Reading a file executes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.normalize import buffers_of
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import OptionError, SourceError, StateError
from twinset.options.sketch import METADATA
from twinset.schema import HASH_SCHEME, Places, Sketches, sketches_schema
from twinset.sketches.bottom_k import BottomK
from twinset.system.arrays import offsets_of, ranges
from twinset.wording import reason

VERSION = 1
_SEAL = b"twinset.seal"
_GROUP_BYTES = 8 * 2**20
_FIELDS = {
    "version": "version of the file", "hash_scheme": "version of the hashes", "sketch": "--sketch",
    "n_hashes": "--hashes", "bits": "--bits", "weights": "--weights", "seed": "--seed",
    "kind": "the kind of item", "shingle": "--shingle", "bag": "--bag",
    "lowercase": "lower case", "nfc": "form NFC", "squeeze": "white space", "spaces": "white space",
    "split": "scripts without spaces",
    "text": "the columns of a record", "rarity": "the digest of the tf-idf weights",
}  # fmt: skip


def difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """Say how two schemes, as plain values, differ; None if they are equal."""
    left, right = ({**scheme, **scheme["items"]} for scheme in (one, other))
    for key in (key for key in _FIELDS if left.get(key) != right.get(key)):
        return f"{_FIELDS[key]} is {left.get(key)} in one and {right.get(key)} in the other"
    lefts, rights = left.get("columns", []), right.get("columns", [])
    if any(name in rights and rights.index(name) != position for position, name in enumerate(lefts)):
        # Columns are identified by position, so that columns of other names can be compared.
        return f"the columns of a record are {', '.join(lefts)} in one and {', '.join(rights)} in the other"
    return None


@dataclass(frozen=True)
class Scheme:
    """How sketches were made; sketches of equal schemes can be compared and merged."""

    sketch: str
    n_hashes: int
    seed: int
    items: dict[str, Any]
    version: int = VERSION
    hash_scheme: int = HASH_SCHEME

    @property
    def bottom(self) -> bool:
        """Whether these are bottom-k sketches, which have no slots."""
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
        """Rows in a row group of a few megabytes."""
        return max(64, _GROUP_BYTES // (self.n_hashes * (8 if self.bottom else 4)))

    @classmethod
    def unpacked(cls, packed: bytes, name: str) -> Scheme:
        """Read a scheme of this version; refuse anything else."""
        try:
            fields = json.loads(packed)
            version = fields["version"]
            if version == VERSION:
                scheme = cls(**fields)
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
    """Some rows: ids, sketches of either form, and numbers of shingles, null if unknown."""

    ids: pa.Array
    sketches: Sketches | BottomK
    shingles: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    def taken(self, rows: Places) -> SketchBatch:
        """Return some of the rows, in the order given."""
        numbers, sketches = pa.array(rows), self.sketches
        if isinstance(sketches, BottomK):
            lengths = np.diff(sketches.starts)[rows]
            values = sketches.values[ranges(sketches.starts[rows], lengths)]
            taken: Sketches | BottomK = BottomK(sketches.k, offsets_of(lengths), values)
        else:
            taken = sketches[rows]
        return SketchBatch(self.ids.take(numbers), taken, self.shingles.take(numbers))

    def table(self, scheme: Scheme) -> pa.Table:
        """Make the table to write."""
        if isinstance(self.sketches, BottomK):
            offsets = pa.array(self.sketches.starts, pa.int64())
            column = pa.LargeListArray.from_arrays(offsets, pa.array(self.sketches.values)).cast(pa.list_(pa.uint64()))
        else:
            column = pa.FixedSizeListArray.from_arrays(pa.array(self.sketches.reshape(-1)), scheme.n_hashes)
        return pa.table([self.ids, column, self.shingles], schema=scheme.schema)


class _Seal:
    """A digest over the scheme and all rows, independent of batches."""

    def __init__(self, scheme: Scheme) -> None:
        self._rows = 0
        self._parts = {name: hashlib.blake2b() for name in ("ids", "id lengths", "lengths", "sketches", "shingles")}
        self._scheme = scheme.packed

    def add(self, batch: SketchBatch) -> None:
        """Add rows."""
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
        """The digest of all rows added."""
        whole = hashlib.blake2b(self._scheme + str(self._rows).encode(), digest_size=32)
        for part in self._parts.values():
            whole.update(part.digest())
        return whole.hexdigest().encode()


class SketchWriter(TableFile):
    """Writes a file of sketches, with a seal over all of it."""

    def __init__(self, path: Path, scheme: Scheme) -> None:
        super().__init__(path, scheme.schema, scheme.rows_together)
        self.scheme = scheme
        self._seal = _Seal(scheme)

    def write_batch(self, batch: SketchBatch) -> None:
        """Add rows."""
        self._seal.add(batch)
        self.write(batch.table(self.scheme))

    @property
    def final_metadata(self) -> dict[bytes, bytes]:
        """The seal."""
        return {_SEAL: self._seal.value}


class SketchSource:
    """Sketches to be read, from a file or a table in memory; `number` is its position among the sources."""

    def __init__(self, given: Any, number: int = 0) -> None:
        self.path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
        self.name = str(self.path) if self.path is not None else f"sketches {number}"
        self._table = None if self.path is not None else pa.table(given)
        if self._table is not None:
            schema, self.rows = self._table.schema, self._table.num_rows
        else:
            with naming_errors(self.name), pq.ParquetFile(self.path) as file:
                schema, self.rows = file.schema_arrow, file.metadata.num_rows
        packed = (schema.metadata or {}).get(METADATA)
        if packed is None:
            raise SourceError("not a file of sketches; twinset sketch makes one", where=self.name)
        self.scheme = Scheme.unpacked(packed, self.name)
        if not schema.equals(self.scheme.schema):
            raise StateError(f"{self.name} is damaged: its columns do not match its scheme; sketch again")

    def batches(self) -> Iterator[SketchBatch]:
        """Yield all rows; after the last one, check the seal."""
        seal, rows = _Seal(self.scheme), 0
        step = self.scheme.rows_together
        if self._table is not None:
            yield from (self.batch(one) for one in self._table.to_batches(max_chunksize=step))
            return
        with (
            naming_errors(self.name),
            pq.ParquetFile(self.path, page_checksum_verification=True, pre_buffer=False) as file,
        ):
            expected = (file.metadata.metadata or {}).get(_SEAL)
            for record in file.iter_batches(batch_size=step):
                batch = self.batch(record)
                seal.add(batch)
                rows += len(batch)
                yield batch
        if seal.value != expected or rows != self.rows:
            raise StateError(f"{self.name} is damaged: its rows are not those that were written; sketch again")

    def batch(self, record: pa.RecordBatch) -> SketchBatch:
        """Convert rows of the file."""
        ids, column, shingles = record.columns
        if ids.null_count or column.null_count or column.flatten().null_count:
            raise StateError(f"{self.name} is damaged: a row has missing values; sketch again")
        values = column.flatten().to_numpy().copy()  # Arrow's memory is read-only, which kernels do not accept
        if not self.scheme.bottom:
            return SketchBatch(ids, values.reshape(len(ids), self.scheme.n_hashes), shingles)
        starts = np.asarray(column.offsets).astype(np.int64)
        starts -= starts[0]
        self._check_bottom(starts, values)
        return SketchBatch(ids, BottomK(self.scheme.n_hashes, starts, values), shingles)

    def _check_bottom(self, starts: Any, values: Any) -> None:
        """Check that every sketch is ascending and not too long, which the join requires."""
        begins = np.zeros(len(values) + 1, np.bool_)
        begins[starts] = True
        ascending = values[1:] > values[:-1]
        if (np.diff(starts) > self.scheme.n_hashes).any() or not (ascending | begins[1:-1]).all():
            raise StateError(f"{self.name} is damaged: a sketch is not in order; sketch again")


def open_sketches(sources: tuple[Any, ...]) -> list[SketchSource]:
    """Open sketches to be compared or merged; refuse different schemes."""
    first, *others = opened = [SketchSource(source, number) for number, source in enumerate(sources)]
    for other in others:
        why = first.scheme.difference(other.scheme)
        if why is not None:
            raise OptionError(
                f"the sketches of {first.name} and of {other.name} cannot be compared or merged: {why}; "
                "sketch one of the two again with the options of the other"
            )
    return opened


@contextlib.contextmanager
def naming_errors(name: str, kind: str = "sketches") -> Iterator[None]:
    """Turn errors that Arrow raises for a damaged file into one that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError("there is no such file", where=name) from error
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise StateError(f"{name} is damaged, or not a file of {kind}: {reason(error)}; sketch again") from error
