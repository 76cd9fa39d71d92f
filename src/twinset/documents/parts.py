"""The interface of a source: parts (a file, a folder, a table) of chunks, read as blocks of rows."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.encodings import replacing
from twinset.documents.fields import replace_texts
from twinset.errors import ColumnError, OptionError, RowError, SourceError
from twinset.options import ReadOptions
from twinset.options.checks import shown_names, shown_value
from twinset.options.keep_rules import COLUMN_FLAG
from twinset.schema import Places, flags_schema
from twinset.system.digests import file_digest
from twinset.wording import at_line, at_row

MAX_ROW_BYTES = 128 * 2**20
"""Maximum size of a row, line or document, independent of the memory limit, as results are."""

LEAST_ROW = 256
"""Minimum size counted per row when chunks are planned: bookkeeping takes about as much."""

Mask = npt.NDArray[np.bool_]
Unreadable = list[tuple[int, str]]


@dataclass(slots=True)
class Block:
    """Some consecutive rows of a part, in memory.

    `texts` are strings or bytes (maybe invalid UTF-8); null for an unreadable row and for a null text. `ids` is None
    where rows have no ids, `sources` where all rows are of the part's own source. `unreadable` and `replaced` are rows,
    counted from the block's first: those that are not documents, and those with replaced bytes. `lengths` is None where
    the texts give them. `payload` is what a writer needs of the rows.
    """

    rows: int
    first_row: int
    texts: Any
    ids: Any = None
    by: Any = None
    columns: dict[str, Any] = field(default_factory=dict)
    unreadable: Unreadable = field(default_factory=list)
    replaced: Sequence[int] = ()
    sources: npt.NDArray[np.int64] | None = None
    lengths: npt.NDArray[np.uint64] | None = None
    payload: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the block; buffers that texts and payload share count once."""
        arrays = [self.texts, self.ids, self.by, *self.columns.values()]
        if isinstance(self.payload, pa.Table):
            arrays += [chunk for column in self.payload.columns for chunk in column.chunks]
        buffers = {
            buffer.address: buffer.size
            for array in arrays
            if array is not None
            for buffer in array.buffers()
            if buffer is not None
        }
        packed = 0 if isinstance(self.payload, pa.Table) else getattr(self.payload, "nbytes", 0)
        return int(sum(buffers.values()) + packed)


PictureSketch = Callable[[npt.NDArray[np.float32]], npt.NDArray[Any]]
"""Sketch function of pictures: from grids of colours, float32 (n, 32, 32, 3), to an array of n rows."""


@dataclass(slots=True)
class DocumentFile:
    """A file that is one document: its path, its id, and the path of its copy below ``kept/``."""

    path: str
    id: str
    kept: PurePosixPath
    source: int
    codec: str | None
    size: int
    mtime_ns: int


class Chunk(ABC):
    """Consecutive rows that are read together; `read` may be called from any thread."""

    rows: int
    first_row: int

    @abstractmethod
    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read the rows: with what a writer needs (`whole`), or only the texts (`texts_only`)."""


class KeptWriter(ABC):
    """Writes the kept rows of one part in the part's own format."""

    @abstractmethod
    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write the rows of a whole-read block that the mask `chosen` selects; `flags` has a row for each row."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""

    @abstractmethod
    def abort(self) -> None:
        """Remove what was written."""


class RowCollector:
    """Collects the kept rows of a part as tables."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._tables: list[Any] = []

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Add the rows of a whole-read block that the mask `chosen` selects; `flags` are further columns."""
        self.add(self._part.take_rows(block, chosen), chosen, flags)

    def add(self, table: Any, chosen: Mask, flags: Any) -> None:
        """Add a table of rows, with the columns of the partition and of `flags`."""
        for name, value in self._part.partition.items():
            if name not in table.column_names:
                table = table.append_column(name, constant(value, table.num_rows))
        self._tables.append(add_columns(table, chosen, flags))

    def tables(self) -> list[Any]:
        """The kept rows."""
        return self._tables


def add_columns(table: Any, chosen: Mask, flags: Any) -> Any:
    """Add the chosen rows of some columns to a table of these rows."""
    if flags is None:
        return table
    added = flags.filter(pa.array(chosen))
    return pa.table([*table.columns, *added.columns], schema=pa.schema([*table.schema, *added.schema]))


class Part(ABC):
    """One file, folder of texts or table, read in order as chunks of rows.

    `name` is the path as given; `source` is the number of the SOURCE argument; `kept_name` is the path of the kept rows
    below ``kept/``. `files` are those of a part whose documents are whole files; `picture_sketch` is the sketch
    function of pictures; `data_split` is the split of a data set; `version` is that of a remote object.
    """

    format: str
    files: Sequence[DocumentFile] = ()
    picture_sketch: PictureSketch | None = None
    id_name: str | None = None
    """The column or key of ids, if rows have ids of their own."""
    partition: Mapping[str, str | None] = {}
    """Columns with the same value in all rows, from folders such as ``lang=en``."""
    partition_by: str | None = None
    """The column of `partition` that ``--by`` names, if it names one."""
    data_split: str = ""
    version: str | None = None

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path | None = None) -> None:
        self.name, self.source = name, source
        self.options, self.path = options, path
        self.kept_name = PurePosixPath("unnamed")
        self.flagged = False
        self.size, self.mtime_ns = (0, 0) if path is None else _stat(path, name)
        self._wanted: frozenset[str] = frozenset()
        self._constant: dict[str, str | None] = {}

    @property
    def wanted(self) -> frozenset[str]:
        """Further columns of blocks; an unknown name raises `ColumnError`."""
        return self._wanted - self._constant.keys()

    @wanted.setter
    def wanted(self, names: frozenset[str]) -> None:
        for name in sorted(names - self.partition.keys()):
            self.check_column(name, COLUMN_FLAG)
        self._wanted = frozenset(names)
        self._constant = {name: self.partition[name] for name in sorted(names & self.partition.keys())}

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, as far as known before reading."""
        return []

    @property
    def nested_names(self) -> list[str]:
        """Paths into nested columns, such as ``meta.body``, as far as known before reading."""
        return []

    def check_column(self, name: str, option: str) -> None:
        """Raise `ColumnError` when there is no such column."""
        if name not in self.column_names:
            raise self.no_column(name, option)

    def no_column(self, name: str, option: str) -> ColumnError:
        """Make the error for a missing column."""
        names = [*self.column_names, *self.nested_names]
        message = (
            f"there is no column {shown_value(name)}; the columns are {shown_names(names)}: name one with {option}"
        )
        record = re.fullmatch(r"(.+?),((?:word|char):\d+)(,\d+)?", name) if option.startswith("--text") else None
        if record:
            message += f" (for a single column use --text {record[1]} --shingle {record[2]})"
        return ColumnError(message, where=self.name)

    @abstractmethod
    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Split into chunks of about this many bytes: cheap, in one thread."""

    @abstractmethod
    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the writer of this part's kept rows, below the folder `out`."""

    @abstractmethod
    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """Return the chosen rows of a whole-read block as an Arrow table."""

    def check_texts_replaceable(self, inserted: str = "") -> None:
        """Refuse a part whose texts cannot be replaced, or cannot hold the text `inserted`."""
        flag, noun = self.options.item_flag, self.options.item_noun
        if self.options.html:
            raise OptionError(f"{self.name}: --html reads the text of a page, which cannot be put back into the page")
        if self.options.item_kind != "text":
            raise OptionError(f"{self.name}: {flag} cannot select {noun} here: only texts of one column can be changed")
        with replacing(self.name, self.options.encoding):
            self.encode_text(inserted)

    def replace_texts(self, block: Block, rows: Places, texts: Sequence[str]) -> Block:
        """Return a whole-read block with other texts in some rows, which are in ascending order.

        All other values stay. Bytes of these texts that could not be decoded are lost: `texts` have U+FFFD for them.
        """
        for missing in rows[np.asarray(block.texts.is_null())[rows]][:1].tolist():
            where = at_row(self.name, block.first_row + missing)
            raise SourceError("the row has no text to replace", where=where)
        payload = self.payload_with(block, rows, texts)
        return replace(block, texts=replace_texts(block.texts, rows, texts), payload=payload)

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> Any:
        """Return the payload of a block with other texts in some rows."""
        raise SourceError("its rows have no texts to replace", where=self.name)

    def encode_text(self, text: str) -> bytes:
        """Encode a new text as the part's texts are; a `ValueError` says why it cannot be."""
        return text.encode()

    @property
    def flag_schema(self) -> Any:
        """The columns of ``--flag``; the last is a similarity or a distance."""
        return flags_schema(self.options.measure)

    @property
    def flag_names(self) -> tuple[str, ...]:
        """Names of the columns of ``--flag``."""
        return tuple(self.flag_schema.names)

    def collector(self) -> RowCollector:
        """Make the collector of kept rows."""
        return RowCollector(self)

    def prepare(  # noqa: B027 - most parts have nothing to do
        self, spread: Callable[..., Any], begin: Callable[[int | None], None], advance: Callable[[int], None]
    ) -> None:
        """Do long work that must precede `chunks`; `begin` and `advance` receive progress in rows."""

    def check_whole(self) -> None:  # noqa: B027 - most parts can
        """Refuse a part whose rows cannot be written with all their columns."""

    @property
    def rows_read(self) -> int:
        """Rows of a long table that were grouped into the rows of blocks; 0 for other parts."""
        return 0

    @property
    def inner(self) -> list[Part]:
        """The parts that are read: the part itself, or the tables of a long table."""
        return [self]

    @property
    def schema_metadata(self) -> dict[bytes, bytes]:
        """The metadata of the schema, where there is one."""
        return {}

    def elements(self, rows: Places) -> list[list[str] | None] | None:
        """The names of the elements of some groups; None where items are not groups of rows."""
        return None

    def weights(self, rows: Places) -> list[dict[str, float] | None] | None:
        """The weights of the elements of some groups; None where items are not groups of rows."""
        return None

    def forget_ids(self) -> None:
        """Ignore the column of ids."""
        self.id_name = None

    def check_flag(self) -> None:
        """Raise when the columns of ``--flag`` cannot be added; from now on rows that have them are refused."""
        for name in self.flag_names:
            if name in self.column_names:
                raise OptionError(
                    f"{self.name}: --flag adds a column {name!r}, but a column of that name exists; "
                    "rename it, or leave out --flag"
                )
        self.flagged = True

    def file_bytes(self, row: int) -> bytes:
        """The bytes of a document's file, where documents are files."""
        raise SourceError(f"row {row} is not a file of its own", where=self.name)

    def check_unchanged(self) -> None:
        """Raise `SourceError` when the file has changed since it was opened."""
        if self.path is not None and _stat(self.path, self.name) != (self.size, self.mtime_ns):
            raise SourceError("the file was changed while it was being read; run again", where=self.name)

    @property
    def lasts(self) -> bool:
        """Whether it is made of files, so that a digest identifies it in a later run."""
        return self.path is not None

    def digest(self) -> str:
        """SHA-256 of the source, in hexadecimal."""
        if self.path is None:
            raise SourceError("there is no file to compute a digest of", where=self.name)
        return file_digest(self.path, self.name)

    def describe(self) -> dict[str, Any]:
        """Describe what would be read, in plain values."""
        about = {"name": self.name, "format": self.format, "bytes": self.size, "source": self.source}
        if self.column_names:
            about["columns"] = [*self.column_names, *(one for one in self.partition if one not in self.column_names)]
        return about

    def add_partition(self, block: Block) -> Block:
        """Add the columns of `partition` that are wanted to a block."""
        if self.partition_by is not None:
            block.by = constant(self.partition[self.partition_by], block.rows)
        for name, value in self._constant.items():
            block.columns[name] = constant(value, block.rows)
        return block

    def bad_row(self, bad: Unreadable, row: int, place: int, reason: str, *, lines: bool = True) -> None:
        """Refuse a malformed row: raise, or record it in `bad` under ``--on-error skip``.

        `place` is the number of a line, or without `lines` that of a row.
        """
        where = at_line(self.name, place) if lines else at_row(self.name, place)
        if self.options.on_error != "skip":
            raise RowError(f"{reason}; use --on-error skip to skip such rows", where=where)
        bad.append((row, f"{where.removeprefix(f'{self.name}, ')}: {reason}"))

    def row_ids(self, block: Block) -> Any:
        """The ids of a block, ``file:row`` where rows have none."""
        return self.row_names(block.first_row, block.rows) if block.ids is None else block.ids

    def row_names(self, first_row: int, rows: int) -> Any:
        """The names of some rows by their position, ``file:row``."""
        numbers = pa.array(np.arange(first_row, first_row + rows)).cast(pa.string())
        return pc.binary_join_element_wise(self.row_prefix, numbers, "")

    @property
    def row_prefix(self) -> str:
        """What precedes the number of a row in its name."""
        return f"{self.name}:"

    @property
    def has_default_ids(self) -> bool:
        """Whether ids come from the column ``id``, which no option names."""
        return self.id_name is not None and self.options.id is None

    def id_and_text(self, block: Block, chosen: Mask) -> Any:
        """Rows as a table of `id` and `text`, for sources without columns."""
        table = pa.table({"id": self.row_ids(block), "text": block.texts})
        return table.filter(pa.array(chosen))


def constant(value: str | None, rows: int) -> Any:
    """A column of strings with the same value in every row."""
    return pa.repeat(pa.scalar(value, pa.string()), rows)


def _stat(path: Path, name: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=name) from error
    return status.st_size, status.st_mtime_ns
