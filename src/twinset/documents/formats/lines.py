"""Text files with one document per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.compressed import open_reader
from twinset.documents.encodings import check_splittable, decode_array, is_utf8
from twinset.documents.formats.byte_rows import (
    LineScanner,
    Records,
    RecordWriter,
    ending_of,
    null_where,
    rewrite_rows,
    skip_mark,
    split_records,
)
from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, KeptWriter, Mask, Part, Unreadable
from twinset.errors import OptionError
from twinset.options import ReadOptions
from twinset.options.items import VECTORS
from twinset.schema import Places

_NO_BREAK = "the new text has a line break, which a line cannot hold; use a --mark without one, or leave out --lines"


class LinesPart(Part):
    """A text file, each line of it a document; an empty line is an empty document."""

    format = "lines"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None) -> None:
        super().__init__(name, source, options, path)
        self.codec = codec
        check_splittable(options.encoding, name)
        no_columns(self, options)
        with open_reader(path, codec, name) as stream:
            self.mark, _ = skip_mark(stream)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Split into lines."""
        with open_reader(self.path or "", self.codec, self.name) as stream:
            _, rest = skip_mark(stream)
            for records in split_records(rest, LineScanner(), batch_bytes, drop_blank=False):
                yield LinesChunk(self, records)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept lines."""
        if flag:
            self.check_flag()
        return RecordWriter(out / "kept" / self.kept_name, self.codec, self.mark, None)

    def check_flag(self) -> None:
        """Lines have no columns to add to."""
        raise no_flags(self.name)

    def check_column(self, name: str, option: str) -> None:
        """Lines have no columns."""
        raise self.no_column(name, option)

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """Ids and texts."""
        return self.id_and_text(block, chosen)

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> Records:
        """Replace lines, without their ends."""
        return rewrite_rows(self, block, rows, texts, self._with_text)

    def _with_text(self, line: bytes, text: str) -> bytes:
        data, ending = self.encode_text(text), ending_of(line)
        if data.endswith(b"\r") and not ending.startswith(b"\r"):
            raise ValueError(_NO_BREAK)
        # An empty last line without an end would be no line.
        return data + (ending or (b"" if data else b"\n"))

    def encode_text(self, text: str) -> bytes:
        """Encode a line, which cannot hold a line break."""
        if "\n" in text:
            raise ValueError(_NO_BREAK)
        return text.encode("utf-8" if is_utf8(self.options.encoding) else self.options.encoding)


class LinesChunk(Chunk):
    """Some lines."""

    def __init__(self, part: LinesPart, records: Records) -> None:
        self._part = part
        self._records = records
        self.rows = len(records.starts)
        self.first_row = records.first_row

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read the lines, without their ends."""
        part, records = self._part, self._records
        bad: Unreadable = []
        if records.too_long:
            most = f"the line is longer than {MAX_ROW_BYTES // 2**20} MiB, the maximum"
            part.bad_row(bad, 0, records.first_line, most)
        texts: Any = _without_ends(records)
        replaced: list[int] = []
        if not is_utf8(part.options.encoding):
            texts, replaced = decode_array(texts, part.options.encoding)
            if replaced and part.options.on_error == "stop":
                line = records.line_of(replaced[0])
                part.bad_row(bad, replaced[0], line, f"the line has bytes that are not {part.options.encoding}")
        texts = null_where(texts, [row for row, _ in bad])
        block = Block(self.rows, self.first_row, texts, unreadable=bad, replaced=replaced)
        block.payload = records if whole else None
        return block


def _without_ends(records: Records) -> Any:
    """The lines as an Arrow array of bytes without LF or CR LF."""
    data = np.frombuffer(records.data + b"\n\n", np.uint8)
    ends = records.ends.copy()
    ends -= (ends > records.starts) & (data[ends - 1] == 10)
    ends -= (ends > records.starts) & (data[ends - 1] == 13)
    view = memoryview(records.data)
    pairs = zip(records.starts.tolist(), ends.tolist(), strict=True)
    return pa.array([view[start:end].tobytes() for start, end in pairs], pa.binary())


def no_columns(part: Part, options: ReadOptions) -> None:
    """Refuse options that name columns, for a source without columns."""
    named = options.item_columns[0] if options.item_kind not in ("text", *VECTORS, "images") else None
    for column, option in ((options.id, "--id"), (options.by, "--by"), (named, options.item_flag)):
        if column is not None:
            raise OptionError(
                f"{part.name}: {option} {column} names a column, but text files have none; "
                "give a table, or leave it out"
            )
    if options.item_kind in VECTORS:
        files = ".npy and .npz files and columns of tables"
        raise OptionError(f"{part.name}: --vectors reads {files}, but this is a text file")


def no_flags(name: str, what: str = "text files") -> OptionError:
    """Make the error for ``--flag`` on text files."""
    return OptionError(f"{name}: --flag adds columns, but {what} have none; leave it out and see clusters.parquet")
