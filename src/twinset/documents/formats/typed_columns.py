"""Common base of sources with typed columns: Parquet, Arrow, tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.compressed import writing
from twinset.documents.encodings import replacing
from twinset.documents.fields import column_at, paths_of, place_of, replace_at, type_at, without_views
from twinset.documents.formats.byte_rows import null_where
from twinset.documents.formats.object_values import OTHER_IDS
from twinset.documents.items.chat import chat_texts, holds_chats, no_chats
from twinset.documents.items.pack import check_type, is_text, packed, value_type
from twinset.documents.items.vectors import of_one_column
from twinset.documents.pages.extract import compared_texts
from twinset.documents.parts import MAX_ROW_BYTES, Block, KeptWriter, Mask, Part, Unreadable
from twinset.errors import ColumnError
from twinset.options import ReadOptions
from twinset.options.checks import shown_value
from twinset.options.sketch import METADATA
from twinset.schema import Places

GROUP_BYTES = 32 * 2**20
"""Size of a written group of rows; fixed, so that the bytes depend only on the rows."""

_LEAST_ROW = GROUP_BYTES // 2**20  # minimum size of a row, so that no group has more than 2**20 rows
_MOST_OFFSET = 2**31 - 1


class ColumnsPart(Part):
    """A part with a schema."""

    def __init__(self, name: str, source: int, options: ReadOptions, schema: Any, path: Path | None = None) -> None:
        options = of_one_column(options, schema, name)
        super().__init__(name, source, options, path)
        self.schema = schema
        for column in options.item_columns:
            self.check_column(column, f"{options.flag_of(column)} NAME")
            check_type(options, column, self.type_of(column), name)
        self.id_name = self._find_id()
        if options.by is not None:
            self.check_column(options.by, "--by NAME")
            if pa.types.is_nested(value_type(self.type_of(options.by))):
                raise ColumnError(f"--by needs strings or numbers, but {options.by!r} is nested", where=name)

    def no_column(self, name: str, option: str) -> ColumnError:
        """Make the error for a missing column."""
        if METADATA in self.schema_metadata:
            return ColumnError(
                "it contains sketches, not documents; twinset pairs can compare sketches, other commands need the "
                "documents",
                where=self.name,
            )
        return super().no_column(name, option)

    def _find_id(self) -> str | None:
        name = self.options.id or "id"
        if self.options.no_id or (self.options.id is None and name not in self.column_names):
            return None
        self.check_column(name, "--id NAME")
        kind = value_type(self.type_of(name))
        if is_text(kind) or pa.types.is_integer(kind):
            return name
        if self.options.id is None:
            return None
        raise ColumnError(
            f"ids must be strings or whole numbers, but {shown_value(name)} holds {self.type_of(name)}; "
            f"{OTHER_IDS}",
            where=self.name,
        )

    @property
    def column_names(self) -> list[str]:
        """The names in the schema."""
        names: list[str] = self.schema.names
        return names

    @property
    def schema_metadata(self) -> dict[bytes, bytes]:
        """The metadata of the schema."""
        return dict(self.schema.metadata or {})

    def check_column(self, name: str, option: str) -> None:
        """Raise when there is no such column or field, or more than one."""
        place = place_of(self.schema, name)
        if place is None:
            raise self.no_column(name, option)
        column = self.column_names[place[0]]
        if self.column_names.count(column) > 1:
            raise ColumnError(f"there is more than one column {column!r}; rename one", where=self.name)

    @property
    def nested_names(self) -> list[str]:
        """The paths into structs."""
        return list(paths_of(self.schema))

    def type_of(self, name: str) -> Any:
        """The type of a column or field that exists."""
        return type_at(self.schema, place_of(self.schema, name) or [])

    def whole_columns(self, names: list[str]) -> list[str]:
        """The columns that have these names, or fields of these names."""
        places = [place_of(self.schema, name) or [] for name in names]
        return list(dict.fromkeys(self.column_names[place[0]] for place in places))

    def needed(self, texts_only: bool) -> list[str]:
        """The columns and fields to read when not all are."""
        more = () if texts_only else (self.id_name, self.options.by, *sorted(self.wanted))
        return list(dict.fromkeys([*self.options.item_columns, *(name for name in more if name is not None)]))

    def block(self, table: Any, first_row: int, whole: bool, texts_only: bool) -> Block:
        """Make a block of a table of at least the needed columns."""
        bad: Unreadable = []
        rows = table.num_rows
        texts, replaced = compared_texts(self, self._items(table, first_row, bad), first_row, bad, decoded=False)
        if texts.nbytes > MAX_ROW_BYTES and self.options.group is None:
            lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(lengths > MAX_ROW_BYTES).tolist():
                reason = f"the text is longer than {MAX_ROW_BYTES // 2**20} MiB, the maximum"
                self.bad_row(bad, row, first_row + row, reason, lines=False)
        block = Block(rows, first_row, texts, unreadable=bad, replaced=replaced)
        if not texts_only:
            if self.id_name is not None:
                block.ids = self._ids(column_at(table, self.id_name), first_row, bad)
            if self.options.by is not None:
                block.by = _replaced(column_at(table, self.options.by))
            for name in sorted(self.wanted):
                column = one_array(column_at(table, name))
                block.columns[name] = _replaced(column) if is_text(value_type(column.type)) else column
        block.texts = null_where(texts, [row for row, _ in bad])
        block.payload = table if whole else None
        return block if texts_only else self.add_partition(block)

    def _items(self, table: Any, first_row: int, bad: Unreadable) -> Any:
        """The texts or packed items."""
        columns = [column_at(table, name) for name in self.options.item_columns]
        if self.options.item_kind == "text":
            return text_array(columns[0])
        if self.options.group is not None:
            # Codes of a dictionary are cheaper than its values.
            arrays = [one_array(column) for column in columns]
        elif self.options.item_kind == "records":
            arrays = [text_array(column) for column in columns]
        else:
            arrays = [one_array(_plain(column)) for column in columns]
        texts, refused = packed(self.options, arrays)
        for row, reason in refused:
            self.bad_row(bad, row, first_row + row, reason, lines=False)
        return texts

    def _ids(self, column: Any, first_row: int, bad: Unreadable) -> Any:
        try:
            ids = string_array(column)
        except pa.ArrowInvalid:
            ids = pa.array([_id_of(value) for value in _bytes_of(one_array(_plain(column)))], pa.string())
        if ids.null_count:
            known = {row for row, _ in bad}
            for row in np.flatnonzero(ids.is_null().to_numpy(zero_copy_only=False)).tolist():
                if row not in known:
                    name = shown_value(self.id_name)
                    reason = f"the id {name} is null or not UTF-8; every row needs an id: {OTHER_IDS}"
                    self.bad_row(bad, row, first_row + row, reason, lines=False)
        return ids

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The kept rows with all their columns."""
        return without_views(block.payload).filter(pa.array(chosen))

    def check_texts_replaceable(self, inserted: str = "") -> None:
        """Refuse a column of chats, whose messages are several texts."""
        super().check_texts_replaceable(inserted)
        name = self.options.item_columns[0]
        if holds_chats(value_type(self.type_of(name))):
            raise ColumnError(no_chats(name), where=self.name)

    def payload_with(self, block: Block, rows: Places, texts: Sequence[str]) -> Any:
        """Replace values of the column or field of texts."""
        with replacing(self.name, self.options.encoding):
            return replace_at(block.payload, self.options.item_columns[0], rows, texts)


def with_readable_names(schema: Any) -> Any:
    """Return the schema after decoding every name; one that is not UTF-8 raises `UnicodeDecodeError`."""
    fields = list(schema)
    while fields:
        one = fields.pop()
        _ = one.name
        fields += [one.type.field(at) for at in range(one.type.num_fields)]
    return schema


def _id_of(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def one_array(column: Any) -> Any:
    """A column as a single array."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # too long for 32-bit offsets
            wide = pa.large_string() if pa.types.is_string(column.type) else pa.large_binary()
            column = column.cast(wide).combine_chunks()
    return column


def _plain(column: Any) -> Any:
    """A column without extension, dictionary or view."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(_storage(column.type))
    if pa.types.is_dictionary(column.type):
        column = _without_views(column)
        size = column.nbytes + _decoded_bytes(column)
        wide = pa.types.is_string(column.type.value_type) and size > _MOST_OFFSET
        column = column.cast(pa.large_string() if wide else column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    elif pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    return column


def _without_views(column: Any) -> Any:
    """A dictionary of views (Polars' categories) as one of plain values, which Arrow can decode."""
    values = column.type.value_type
    if not (pa.types.is_string_view(values) or pa.types.is_binary_view(values)):
        return column
    wide = pa.large_string() if pa.types.is_string_view(values) else pa.large_binary()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(wide)) for chunk in chunks]
    return pa.chunked_array(arrays, pa.dictionary(column.type.index_type, wide))


def _storage(kind: Any) -> Any:
    return kind.storage_type


def _decoded_bytes(column: Any) -> int:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    total = 0
    for chunk in chunks:
        if is_text(chunk.type.value_type):
            total += pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
    return total


def text_array(column: Any) -> Any:
    """The texts as one array of strings or bytes."""
    column = _plain(column)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    array = one_array(column)
    return chat_texts(array) if holds_chats(array.type) else array


def string_array(column: Any) -> Any:
    """Values of any plain type as one array of strings; bytes that are not UTF-8 raise `ArrowInvalid`."""
    array = one_array(_plain(column))
    # Arrow does not validate strings; only the cast from bytes does.
    if pa.types.is_string(array.type):
        array = array.view(pa.binary())
    elif pa.types.is_large_string(array.type):
        array = array.view(pa.large_binary())
    return array.cast(pa.string())


def _replaced(column: Any) -> Any:
    """Values as one array of strings; invalid UTF-8 is replaced."""
    try:
        return string_array(column)
    except pa.ArrowInvalid:
        values = _bytes_of(one_array(_plain(column)))
        return pa.array([None if one is None else one.decode("utf-8", "replace") for one in values], pa.string())


def _bytes_of(array: Any) -> list[bytes | None]:
    values: list[bytes | None] = array.cast(pa.large_binary()).to_pylist()
    return values


def row_sizes(table: Any) -> npt.NDArray[np.int64]:
    """Approximate bytes of each row; a function of the rows alone."""
    total = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        at = 0
        for chunk in column.chunks:
            total[at : at + len(chunk)] += _sizes(chunk)
            at += len(chunk)
    return np.maximum(total, _LEAST_ROW)


def _sizes(array: Any) -> Any:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _sizes(array.storage)
    if is_text(kind):
        return pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return 16 * np.diff(array.offsets.to_numpy()).astype(np.int64)
    if pa.types.is_fixed_size_list(kind):
        return 8 * kind.list_size
    if pa.types.is_struct(kind):
        fields = [array.field(at) for at in range(kind.num_fields)]
        return sum((_sizes(one) for one in fields), start=np.zeros(len(array), np.int64))
    return 8


class GroupWriter(KeptWriter):
    """Write rows in groups of about `GROUP_BYTES`, split by the rows alone, not by how they arrive."""

    def __init__(self, path: Path, schema: Any, flag: Any = None) -> None:
        self.path = path
        self.schema = schema
        self._flag = flag
        self._buffered: list[Any] = []
        self._buffered_bytes = 0
        if flag:
            for one in flag:
                self.schema = self.schema.append(one)

    @abstractmethod
    def write_group(self, table: Any) -> None:
        """Write one group; the table has one chunk per column."""

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Add the kept rows of a block."""
        table = without_views(block.payload)
        if self._flag and flags is not None:
            for one in self._flag:
                table = table.append_column(one, flags.column(one.name).cast(one.type))
        if chosen.any():
            sizes = row_sizes(table)
            self._add(self.select_rows(table, chosen, sizes), sizes[chosen])

    def select_rows(self, table: Any, chosen: Mask, sizes: npt.NDArray[np.int64]) -> Any:
        """Buffered form of the kept rows until their group is written."""
        return table if chosen.all() else table.filter(pa.array(chosen))

    def _add(self, table: Any, sizes: npt.NDArray[np.int64]) -> None:
        upto = np.cumsum(sizes)
        start = before = 0
        while True:
            need = before + GROUP_BYTES - self._buffered_bytes
            stop = int(np.searchsorted(upto, need)) + 1
            if stop > table.num_rows:
                break
            self._buffered.append(table.slice(start, stop - start))
            self._write_buffered()
            start, before = stop, int(upto[stop - 1])
        if start < table.num_rows:
            self._buffered.append(table.slice(start))
            self._buffered_bytes += int(upto[-1]) - before

    def _write_buffered(self) -> None:
        if self._buffered:
            table = pa.concat_tables(self._buffered)
            if any(pa.types.is_dictionary(one.type) for one in table.schema):
                with writing(self.path):  # the indexes may be too small for the values of all blocks
                    table = table.unify_dictionaries()
            self.write_group(table.combine_chunks())
        self._buffered, self._buffered_bytes = [], 0

    def close(self) -> None:
        """Write the last group."""
        self._write_buffered()

    def abort(self) -> None:
        """Discard the buffer and remove the file."""
        self._buffered = []
        self.path.unlink(missing_ok=True)
