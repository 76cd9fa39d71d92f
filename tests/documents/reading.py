"""What the tests of this folder do again and again: open, read everything, write everything."""

from __future__ import annotations

import bz2
import gzip
import lzma
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents import Block, Part, Sources, open_sources
from twinset.options import ReadOptions

ENDINGS = ["", ".gz", ".zst", ".bz2", ".xz"]


@dataclass
class Rows:
    """Everything that was read from some parts."""

    texts: list[Any] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    by: list[Any] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    replaced: int = 0


def opened(*sources: object, scratch: Path | None = None, **words: Any) -> Sources:
    given = [str(one) if isinstance(one, Path) else one for one in sources]
    return open_sources(given, ReadOptions.of(**words), scratch=scratch or Path("unused-scratch"))


def read_all(parts: Sources | list[Part], batch_bytes: int = 2**20, **how: bool) -> Rows:
    rows = Rows()
    for part in parts.parts if isinstance(parts, Sources) else parts:
        at = 0
        for chunk in part.chunks(batch_bytes):
            block = chunk.read(**how)
            assert chunk.first_row == block.first_row == at
            assert chunk.rows == block.rows == len(block.texts)
            assert block.nbytes >= 0
            rows.texts += block.texts.cast(pa.large_binary()).to_pylist()
            rows.ids += part.row_ids(block).to_pylist()
            rows.by += block.by.to_pylist() if block.by is not None else []
            for name, column in block.columns.items():
                rows.columns.setdefault(name, []).extend(column.to_pylist())
            rows.unreadable += [(at + row, reason) for row, reason in block.unreadable]
            rows.replaced += len(block.replaced)
            at += block.rows
    return rows


def write_all(
    sources: Sources,
    out: Path,
    keep: Any = None,
    batch_bytes: int = 2**20,
    flags: Any = None,
    texts: dict[int, str] | None = None,
    **how: bool,
) -> None:
    """Write all rows for which `keep(part, row)` is true; `texts` are the new texts of some rows of each part."""
    for part in sources.parts:
        writer = part.open_writer(out, **how)
        for chunk in part.chunks(batch_bytes):
            block = replaced(part, chunk.read(whole=True), texts or {})
            rows = range(chunk.first_row, chunk.first_row + chunk.rows)
            mask = np.array([keep is None or keep(part, row) for row in rows], bool)
            table = flags.slice(chunk.first_row, chunk.rows) if flags is not None else None
            writer.write(block, mask, table)
        writer.close()


def replaced(part: Part, block: Block, texts: dict[int, str]) -> Block:
    """The block with the new texts of those of its rows that have one, by the rows of the part."""
    rows = [row for row in range(block.rows) if block.first_row + row in texts]
    return part.replace_texts(block, np.array(rows, np.int64), [texts[block.first_row + row] for row in rows])


def packed(data: bytes, ending: str) -> bytes:
    if ending == ".zst":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(data)
        return sink.getvalue().to_pybytes()
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[ending]
    return pack(data)


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".zst":
        return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
    return unpack(data)
