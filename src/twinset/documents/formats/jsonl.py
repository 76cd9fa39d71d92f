"""JSON lines: split by us, parsed by orjson, kept lines written as they came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from twinset.documents.compressed import open_reader
from twinset.documents.encodings import check_splittable, decode, is_utf8, refuse_utf16
from twinset.documents.formats.byte_rows import LineScanner, Records, RecordWriter, ending_of, skip_mark, split_records
from twinset.documents.items.pack import json_type, json_value, packed
from twinset.documents.items.vectors import need_column
from twinset.documents.parts import MAX_ROW_BYTES, Block, Chunk, KeptWriter, Mask, Part, Unreadable
from twinset.errors import ColumnError, OptionError
from twinset.options import ReadOptions

_PEEKED_ROWS = 1000
_PEEKED_BYTES = 2**20
_MISSING = object()


class JsonLinesPart(Part):
    """A file of JSON objects, one a line."""

    format = "jsonl"

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, codec: str | None = None) -> None:
        super().__init__(name, source, options, path)
        self.codec = codec
        self.encoding = None if is_utf8(options.encoding) else options.encoding
        check_splittable(options.encoding, name)
        self._keys: list[str] = []
        self._kinds: dict[str, str] = {}
        self.mark = b""
        self.id_key = options.id
        first = self._peek()
        if self.id_key is None and first is not None and "id" in first:
            self.id_key = "id"
        if first is not None:
            self._check_keys()

    def _peek(self) -> dict[str, Any] | None:
        """Learn the keys of the first rows; gives the first object."""
        first = None
        keys: dict[str, None] = {}
        with open_reader(self.path or "", self.codec, self.name) as stream:
            self.mark, rest = skip_mark(stream)
            records = next(split_records(rest, LineScanner(), _PEEKED_BYTES), None)
        if self.encoding is None and records is not None:
            refuse_utf16(records.data, self.name)
        for line in islice(records.lines() if records else (), _PEEKED_ROWS):
            row = self.parsed(line)
            if isinstance(row, dict):
                first = row if first is None else first
                keys.update(dict.fromkeys(row))
                for key, value in row.items():
                    if value is not None:
                        self._kinds.setdefault(key, _kind(value))
        self._keys = list(keys)
        return first

    def parsed(self, line: memoryview) -> Any:
        """The value on a line, or the exception that says why there is none."""
        if self.encoding is None:
            return _parsed(line)
        text, odd = decode(bytes(line), self.encoding)
        row = _parsed(text.encode())
        return _Replaced(row) if odd and isinstance(row, dict) else row

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

    def check_column(self, name: str, option: str) -> None:
        """Raise when none of the first rows has such a key; a file without rows has nothing to miss."""
        if self._keys and name not in self._keys:
            raise self.no_column(name, option)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Split into lines."""
        with open_reader(self.path or "", self.codec, self.name) as stream:
            _, rest = skip_mark(stream)
            for records in split_records(rest, LineScanner(), batch_bytes):
                yield JsonLinesChunk(self, records)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the file of kept lines."""
        return RecordWriter(out / "kept" / self.kept_name, self.codec, self.mark, self._flagged if flag else None)

    def _flagged(self, line: bytes, values: tuple[Any, ...]) -> bytes:
        return _flagged(line, self.flag_names, values, plain=self.encoding is not None)

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """Ids and texts: objects need not have the same keys."""
        return self.id_and_text(block, chosen)

    def kept_column(self, name: str, values: list[Any]) -> Any:
        """The values of a column that a keep policy needs, numbers or strings."""
        kinds = {_kind(value) for value in values if value is not None}
        expected = self._kinds.get(name) or next(iter(kinds), "null")
        if kinds - {expected} or expected not in ("number", "string", "null"):
            odd = next(iter(sorted(kinds - {expected})), expected)
            raise ColumnError(
                f"the column {name!r} holds a {odd}"
                + (f" beside a {expected}" if odd != expected else "")
                + "; it must hold numbers only or strings only",
                where=self.name,
            )
        if expected == "number":
            try:
                return pa.array(values, pa.int64() if all(type(v) is not float for v in values) else pa.float64())
            except (pa.ArrowInvalid, OverflowError):
                return pa.array([None if v is None else float(v) for v in values], pa.float64())
        return pa.array(values, pa.string() if expected == "string" else pa.null())


class JsonLinesChunk(Chunk):
    """Some lines, parsed when read."""

    def __init__(self, part: JsonLinesPart, records: Records) -> None:
        self._part = part
        self._records = records
        self.rows = len(records.starts)
        self.first_row = records.first_row

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Parse the lines."""
        part, options = self._part, self._part.options
        bad: Unreadable = []
        items: list[Any] = []
        ids: list[str | None] = []
        groups: list[str | None] = []
        wanted: dict[str, list[Any]] = {name: [] for name in sorted(part.wanted)}
        replaced: list[int] = []
        for row, line in enumerate(self._records.lines()):
            item: Any = None
            id_ = group = None
            values: dict[str, Any] = {}
            try:
                values = self._object(line)
                item = _item(values, options)
                if part.id_key is not None:
                    id_ = _id(values, part.id_key)
                if options.by is not None:
                    group = _group(values, options.by)
                if isinstance(values, _Replaced) and _holds_replaced(item):
                    replaced.append(row)
            except _Malformed as error:
                part.bad_row(bad, row, self._records.line_of(row), str(error))
                item = None
            items.append(item)
            ids.append(id_)
            groups.append(group)
            for name, column in wanted.items():
                column.append(_clean(values, values.get(name)))
        texts, odd = _item_array(items, options)
        known = {row for row, _ in bad}
        for row, reason in odd:
            if row in known:
                continue
            part.bad_row(bad, row, self._records.line_of(row), reason)
        for row in replaced if options.on_error == "stop" else ():
            part.bad_row(bad, row, self._records.line_of(row), f"bytes that are not {part.encoding}")
        block = Block(self.rows, self.first_row, texts, unreadable=bad, replaced=replaced)
        if not texts_only:
            block.ids = None if part.id_key is None else pa.array(ids, pa.string())
            block.by = None if options.by is None else pa.array(groups, pa.string())
            block.columns = {name: part.kept_column(name, column) for name, column in wanted.items()}
        block.payload = self._records if whole else None
        return block

    def _object(self, line: memoryview) -> dict[str, Any]:
        if self._records.too_long:
            raise _Malformed(f"the line is longer than {MAX_ROW_BYTES // 2**20} MiB, the most that is read")
        row = self._part.parsed(line)
        if isinstance(row, _Malformed):
            raise row
        if not isinstance(row, dict):
            raise _Malformed(f"a JSON object is expected on each line, this is a {_kind(row)}")
        if self._part.flagged:
            for name in self._part.flag_names:
                if name in row:
                    raise OptionError(
                        f"{self._part.name}: --flag adds {name!r}, but a row has a key of that name; "
                        "rename it, or go without --flag"
                    )
        return row


class _Malformed(Exception):
    """Why a line cannot be used."""


class _Escaped(dict[str, Any]):
    """A row of a line that is not UTF-8: its strings hold the odd bytes as escapes (`surrogateescape`)."""


class _Replaced(dict[str, Any]):
    """A row of a line with bytes that its encoding does not have: U+FFFD stands for them."""


def _holds_replaced(item: Any) -> bool:
    """Whether what is compared of such a row holds replaced bytes, and not only what else stands on the line."""
    return item is not None and "\ufffd" in (item if isinstance(item, str) else repr(item))


def _undecoded(values: dict[str, Any], value: str) -> bool:
    """Whether a string of a row holds bytes that do not decode."""
    if isinstance(values, _Escaped):
        return not _encodes(value)
    return isinstance(values, _Replaced) and "\ufffd" in value


def _parsed(line: memoryview | bytes) -> Any:
    """The value on a line, or the `_Malformed` that says why there is none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        reason = _Malformed(f"not JSON: {error.msg} at column {error.colno}")
    data = bytes(line)
    try:
        data.decode()
    except UnicodeDecodeError:
        # Bytes that are not UTF-8 are no reason to refuse a row: they are carried through, to be replaced.
        try:
            row = json.loads(data.decode("utf-8", "surrogateescape"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return reason
        return _Escaped(row) if isinstance(row, dict) else row
    return reason


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _item(values: dict[str, Any], options: ReadOptions) -> Any:
    """The text of a row; of other kinds of items the value of each of their columns."""
    if isinstance(options.text, str) and options.item_kind == "text":
        return _text(values, options.text)
    found = []
    for name in options.item_columns:
        if name not in values:
            there = ", ".join(map(repr, list(values)[:20])) or "none"
            raise _Malformed(f"there is no key {name!r}, which {options.flag_of(name)} names; the keys are {there}")
        try:
            found.append(json_value(options, name, values[name]))
        except ValueError as error:
            found_one = "" if _is_of_kind(options, name, values[name]) else f", this is a {_kind(values[name])}"
            raise _Malformed(f"{error}{found_one}") from error
    return found


def _is_of_kind(options: ReadOptions, name: str, value: Any) -> bool:
    """Whether a value that cannot be used is at least a list, a string or a number, as it must be."""
    if options.group is not None:
        return isinstance(value, (int, float) if name == options.weight else str)
    lists = options.items is not None or options.item_kind == "vectors"
    return isinstance(value, list if lists else (str, int))


def _item_array(items: list[Any], options: ReadOptions) -> tuple[Any, list[tuple[int, str]]]:
    if options.item_kind == "text":
        return _text_array(items), []
    columns = [
        pa.array([None if item is None else item[at] for item in items], json_type(options, name))
        for at, name in enumerate(options.item_columns)
    ]
    return packed(options, columns)


def _text(values: dict[str, Any], key: str) -> str | bytes | None:
    text = values.get(key, _MISSING)
    if text is None or isinstance(text, str):
        return _bytes(text) if text is not None and isinstance(values, _Escaped) else text
    if text is _MISSING:
        there = ", ".join(map(repr, list(values)[:20])) or "none"
        raise _Malformed(f"there is no key {key!r}; the keys are {there}: name the text's with --text NAME")
    raise _Malformed(f"the text {key!r} must be a string, this is a {_kind(text)}")


def _clean(values: dict[str, Any], value: Any) -> Any:
    if isinstance(values, _Escaped) and isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def _named(values: dict[str, Any]) -> str:
    return "UTF-8" if isinstance(values, _Escaped) else "in the encoding that --encoding names"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _Malformed("not JSON: half of a surrogate pair") from None


def _id(values: dict[str, Any], key: str) -> str:
    value = values.get(key, _MISSING)
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        if _undecoded(values, value):
            raise _Malformed(f"the id {key!r} is not {_named(values)}")
        return value
    came = "there is none" if value is _MISSING else f"this is a {_kind(value)}"
    raise _Malformed(f"the id {key!r} must be a string or a whole number, {came}; --id NAME names another column")


def _group(values: dict[str, Any], key: str) -> str | None:
    value = values.get(key, _MISSING)
    if value is _MISSING:
        raise _Malformed(f"there is no key {key!r}, which --by names")
    if value is None:
        return None
    if isinstance(value, str):
        if _undecoded(values, value):
            raise _Malformed(f"the value of {key!r}, which --by names, is not {_named(values)}")
        return value
    if isinstance(value, (bool, int, float)):
        return str(pa.scalar(value).cast(pa.string()).as_py()) if type(value) is not int else str(value)
    raise _Malformed(f"--by needs a string or a number in {key!r}, this is a {_kind(value)}")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "null" if value is None else "list" if isinstance(value, list) else "JSON object"


def _text_array(texts: list[Any]) -> Any:
    if any(isinstance(text, bytes) for text in texts):
        return pa.array([text.encode() if isinstance(text, str) else text for text in texts], pa.binary())
    return pa.array(texts, pa.string())


def _flagged(line: bytes, names: tuple[str, ...], values: tuple[Any, ...], plain: bool) -> bytes:
    """Insert the flags before the closing brace of a line; `plain`, in ASCII alone, which every encoding has."""
    flags = dict(zip(names, values, strict=True))
    written = json.dumps(flags, separators=(",", ":")).encode() if plain else orjson.dumps(flags)
    body = line.rstrip()
    comma = b"" if body[:-1].rstrip() == b"{" else b","
    return body[:-1].rstrip() + comma + written[1:] + ending_of(line)
