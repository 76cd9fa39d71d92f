"""Files whose rows are objects: keys and values that may differ from row to row.

A format defines how rows are split, parsed and flagged, and how messages name a row; `jsonl.py` is one.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.documents.fields import paths_in, value_at
from twinset.documents.formats.byte_rows import Records, RecordWriter, rewrite_rows
from twinset.documents.formats.object_tables import ObjectCollector
from twinset.documents.formats.object_values import (
    MalformedRow,
    clean_value,
    holds_replaced,
    id_value,
    item_array,
    item_value,
    kind_of_value,
    partition_value,
    was_replaced,
)
from twinset.documents.items.chat import is_chat, no_chats
from twinset.documents.items.vectors import need_column
from twinset.documents.pages.extract import compared_texts
from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, KeptWriter, Mask, Part, RowCollector, Unreadable
from twinset.errors import ColumnError, OptionError
from twinset.options import ReadOptions
from twinset.schema import Places

_PEEKED_ROWS = 1000
_PEEKED_BYTES = 2**20


class ObjectsPart(Part):
    """A file of objects.

    `row_noun` is the noun for a row in messages: a ``line`` is counted from 1, a ``row`` from 0. `head` is the bytes
    before the first row; the file of kept rows starts with them too. `encoding` is that of the rows' text, None for
    UTF-8.
    """

    row_noun = "row"
    head = b""
    encoding: str | None = None

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None) -> None:
        super().__init__(name, source, options, path)
        self.codec = codec
        self._keys: list[str] = []
        self._paths: dict[str, None] = {}
        self.id_name = options.id
        first = self._peek()
        if self.id_name is None and not options.no_id and first is not None and "id" in first:
            self.id_name = "id"
        if first is not None:
            self._check_keys()

    @abstractmethod
    def split(self, batch_bytes: int) -> Generator[Records, None, None]:
        """Split the file into rows of bytes, about `batch_bytes` at a time."""

    @abstractmethod
    def parse(self, row: memoryview) -> Any:
        """Return the object of a row, another value if it holds one, or the `MalformedRow` with the reason.

        Invalid bytes are marked: see `object_values.py`.
        """

    @abstractmethod
    def add_flags(self, row: bytes, values: tuple[Any, ...]) -> bytes:
        """Return the bytes of a row with the values of `flag_names` added to its object."""

    @abstractmethod
    def rewrite_text(self, row: bytes, text: str) -> bytes:
        """Return the bytes of a row with another text; a `ValueError` says why it cannot have it."""

    def check_head(self, data: bytes) -> None:
        """Refuse a file whose first rows, as bytes, do not fit the format."""

    def _peek(self) -> dict[str, Any] | None:
        """Read the keys of the first rows; return the first object."""
        first = None
        keys: dict[str, None] = {}
        for values in self._first_objects():
            first = values if first is None else first
            keys.update(dict.fromkeys(values))
            self._paths.update(dict.fromkeys(name for name, _ in paths_in(values)))
        self._keys = list(keys)
        return first

    def _first_objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of the first rows."""
        with closing(self.split(_PEEKED_BYTES)) as batches:
            records = next(batches, None)
        if records is not None:
            self.check_head(records.data)
        for row in itertools.islice(records.rows() if records else (), _PEEKED_ROWS):
            values = self.parse(row)
            if isinstance(values, dict):
                yield values

    def _check_keys(self) -> None:
        need_column(self.options, self.name)
        if self.options.on_error != "skip":
            for column in self.options.item_columns:
                self.check_column(column, f"{self.options.flag_of(column)} NAME")
            if self.options.id is not None:
                self.check_column(self.options.id, "--id NAME")
        if self.options.by is not None:
            self.check_column(self.options.by, "--by NAME")

    @property
    def column_names(self) -> list[str]:
        """Keys of the first rows."""
        return self._keys

    @property
    def nested_names(self) -> list[str]:
        """Paths into the objects of the first rows."""
        return list(self._paths)

    def check_column(self, name: str, option: str) -> None:
        """Raise when none of the first rows has such a key or path; a file without rows passes."""
        if self._keys and name not in self._keys and name not in self._paths:
            raise self.no_column(name, option)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Runs of rows."""
        for records in self.split(batch_bytes):
            yield ObjectsChunk(self, records)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept rows, with unchanged bytes."""
        return RecordWriter(out / "kept" / self.kept_name, self.codec, self.head, self.add_flags if flag else None)

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The chosen objects, with a column for each key."""
        collector = self.collector()
        collector.write(block, chosen)
        return collector.tables()[0]

    def collector(self) -> RowCollector:
        """Make the collector of kept objects."""
        return ObjectCollector(self)

    def check_texts_replaceable(self, inserted: str = "") -> None:
        """Refuse objects whose text is a chat, as far as the first rows show; `rewrite_text` refuses others."""
        super().check_texts_replaceable(inserted)
        name = self.options.item_columns[0]
        if any(is_chat(value_at(values, name)) for values in self._first_objects()):
            raise ColumnError(no_chats(name), where=self.name)

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> Records:
        """Replace the text in the bytes of rows."""
        return rewrite_rows(self, block, rows, texts, self.rewrite_text)

    def refuse_row(self, bad: Unreadable, records: Records, row: int, reason: str) -> None:
        """Refuse a malformed row by its line or row number."""
        by_line = self.row_noun == "line"
        place = records.line_of(row) if by_line else records.first_row + row
        self.bad_row(bad, row, place, reason, lines=by_line)

    def ordered_column(self, name: str, values: list[Any]) -> Any:
        """The values of a column that a keep policy orders: numbers, or strings if one of them is a string."""
        kinds = {kind_of_value(value) for value in values if value is not None}
        other = next(iter(sorted(kinds - {"number", "string"})), None)
        if other is not None:
            raise ColumnError(f"the column {name!r} holds a {other}; it must hold numbers or strings", where=self.name)
        if "string" in kinds:
            return pa.array([value if value is None else str(value) for value in values], pa.string())
        if "number" in kinds:
            try:
                return pa.array(values, pa.int64() if all(type(v) is not float for v in values) else pa.float64())
            except (pa.ArrowInvalid, OverflowError):
                return pa.array([None if v is None else float(v) for v in values], pa.float64())
        return pa.nulls(len(values))


class ObjectsChunk(Chunk):
    """Some rows, parsed when read."""

    def __init__(self, part: ObjectsPart, records: Records) -> None:
        self._part = part
        self._records = records
        self.rows = len(records.starts)
        self.first_row = records.first_row

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Parse the rows."""
        part, options = self._part, self._part.options
        bad: Unreadable = []
        items: list[Any] = []
        ids: list[str | None] = []
        partitions: list[str | None] = []
        columns: dict[str, list[Any]] = {name: [] for name in sorted(part.wanted)}
        replaced: list[int] = []
        for row, data in enumerate(self._records.rows()):
            item: Any = None
            id_ = partition = None
            values: dict[str, Any] = {}
            try:
                values = self._object(data)
                item = item_value(values, options)
                if part.id_name is not None:
                    id_ = id_value(values, part.id_name)
                if options.by is not None:
                    partition = partition_value(values, options.by)
                if was_replaced(values) and holds_replaced(item):
                    replaced.append(row)
            except MalformedRow as error:
                part.refuse_row(bad, self._records, row, str(error))
                item = None
            items.append(item)
            ids.append(id_)
            partitions.append(partition)
            for name, column in columns.items():
                column.append(clean_value(values, name))
        texts, undecoded = compared_texts(part, self._texts(items, replaced, bad), self.first_row, bad)
        replaced = sorted({*replaced, *undecoded})
        block = Block(self.rows, self.first_row, texts, unreadable=bad, replaced=replaced)
        if not texts_only:
            block.ids = None if part.id_name is None else pa.array(ids, pa.string())
            block.by = None if options.by is None else pa.array(partitions, pa.string())
            block.columns = {name: part.ordered_column(name, column) for name, column in columns.items()}
        block.payload = self._records if whole else None
        return block if texts_only else part.add_partition(block)

    def _texts(self, items: list[Any], replaced: list[int], bad: Unreadable) -> Any:
        """The items as an array; invalid ones are noted in `bad`."""
        part = self._part
        texts, refused = item_array(items, part.options)
        known = {row for row, _ in bad}
        for row, reason in refused:
            if row not in known:
                part.refuse_row(bad, self._records, row, reason)
        for row in replaced if part.options.on_error == "stop" else ():
            part.refuse_row(bad, self._records, row, f"the row has bytes that are not {part.encoding}")
        return texts

    def _object(self, data: memoryview) -> dict[str, Any]:
        part = self._part
        if self._records.too_long:
            most = f"{MAX_ROW_BYTES // 2**20} MiB, the maximum"
            raise MalformedRow(f"the {part.row_noun} is longer than {most}")
        row = part.parse(data)
        if isinstance(row, MalformedRow):
            raise row
        if not isinstance(row, dict):
            raise MalformedRow(f"each {part.row_noun} must hold an object, not a {kind_of_value(row)}")
        if part.flagged:
            for name in part.flag_names:
                if name in row:
                    raise OptionError(
                        f"{part.name}: --flag adds {name!r}, but a row has a key of that name; "
                        "rename it, or leave out --flag"
                    )
        return row
