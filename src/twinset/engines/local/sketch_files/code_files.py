"""Files of SimHash codes: Parquet for `--codes code`, with the scheme of the codes in its metadata."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.parts import Part
from twinset.engines.local.sketch_files.files import difference, naming_errors
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import OptionError, SourceError, StateError
from twinset.options import ReadOptions
from twinset.options.sketch import SketchOptions
from twinset.schema import HASH_SCHEME, Codes, Flags, Numbers, codes_schema

METADATA = b"twinset.codes"
"""The metadata key of the scheme of a file's codes."""

VERSION = 1
_ROWS_TOGETHER = 1 << 17


@dataclass(frozen=True)
class CodeScheme:
    """How codes were made; codes of equal schemes can be compared. `rarity` is a digest of the tf-idf weights."""

    bits: int
    weights: str
    seed: int
    items: dict[str, Any]
    rarity: str | None = None
    sketch: str = "simhash"
    version: int = VERSION
    hash_scheme: int = HASH_SCHEME

    @classmethod
    def of(cls, options: SketchOptions, rarities: Numbers | None = None) -> CodeScheme:
        """Make the scheme of the options; `rarities` are the tf-idf weights."""
        rarity = None if rarities is None else hashlib.blake2b(rarities.data, digest_size=8).hexdigest()
        return cls(options.code_bits, options.code_weights, options.seed, options.describe_items(), rarity)

    @property
    def schema(self) -> pa.Schema:
        """The columns of a file."""
        packed = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False).encode()
        return codes_schema(self.bits).with_metadata({METADATA: packed})


@dataclass(frozen=True)
class CodeBatch:
    """Some rows: ids, codes (n, words), and numbers of shingles; a row without shingles has no code."""

    ids: pa.Array
    codes: Codes
    shingles: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def empty(self) -> Flags:
        """The rows without a code, as a mask."""
        empty: Flags = self.shingles.to_numpy(zero_copy_only=False) == 0
        return empty

    def taken(self, rows: npt.NDArray[np.int64]) -> CodeBatch:
        """Return some of the rows, in the order given."""
        numbers = pa.array(rows)
        return CodeBatch(self.ids.take(numbers), self.codes[rows], self.shingles.take(numbers))

    def table(self, scheme: CodeScheme) -> pa.Table:
        """Make the table to write; a code of 128 bits begins with the bytes of the code of 64 bits."""
        empty = self.empty
        if scheme.bits == 64:
            column = pa.array(self.codes[:, 0], pa.uint64(), mask=empty)
        else:
            valid = pa.py_buffer(np.packbits(~empty, bitorder="little"))
            buffers = [valid, pa.py_buffer(self.codes.astype(">u8").tobytes())]
            column = pa.Array.from_buffers(pa.binary(scheme.bits // 8), len(self), buffers)
        return pa.table([self.ids, column, self.shingles], schema=scheme.schema)


class CodeSource:
    """A file of codes, to be read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.name = path, os.fspath(path)
        with naming_errors(self.name, "codes"), pq.ParquetFile(path) as file:
            schema, self.rows = file.schema_arrow, file.metadata.num_rows
        packed = (schema.metadata or {}).get(METADATA)
        if packed is None:
            raise SourceError("not a file of SimHash codes; twinset sketch --sketch simhash makes one", self.name)
        try:
            self.scheme = CodeScheme(**json.loads(packed))
            same = self.scheme.version == VERSION and self.scheme.schema.equals(schema, check_metadata=True)
        except (ValueError, TypeError, RecursionError):
            same = False
        if not same:
            raise StateError(f"{self.name} is damaged, or of another version of Twinset; sketch again")

    def table(self) -> pa.Table:
        """Read all rows."""
        with naming_errors(self.name, "codes"):
            return pq.read_table(self.path, memory_map=False, page_checksum_verification=True)


def refuse_unlike(parts: Sequence[Part], options: ReadOptions) -> None:
    """Refuse codes of different schemes, as far as their files have one: their bits are not comparable."""
    known: tuple[str, dict[str, Any]] | None = None
    for part in (inner for one in parts for inner in one.inner) if options.codes == "code" else ():
        packed = part.schema_metadata.get(METADATA)
        if packed is None:
            continue
        try:
            scheme = json.loads(packed)
            name, other = known or (part.name, scheme)
            reason = difference(other, scheme)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StateError(f"{part.name} is damaged: how its codes were made cannot be read") from error
        if reason is not None:
            raise OptionError(
                f"the codes of {name} and of {part.name} cannot be compared: {reason}; make them again with the same "
                "options (twinset sketch), and tf-idf codes in one run"
            )
        known = name, other


class CodeWriter(TableFile):
    """Writes a file of codes."""

    def __init__(self, path: Path, scheme: CodeScheme) -> None:
        super().__init__(path, scheme.schema, _ROWS_TOGETHER)
        self.scheme = scheme

    def write_batch(self, batch: CodeBatch) -> None:
        """Add rows."""
        self.write(batch.table(self.scheme))
