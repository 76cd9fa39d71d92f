"""Sources of a Python program: lists, mappings, arrays, tables, iterators and data sets.

Those that are read once, in order, are copied to the scratch folder as they are read, so that they need not fit in
memory. Rows become JSON lines, since their keys and types may differ; texts and tables become an Arrow stream.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from datetime import date, time
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.compressed import writing
from twinset.documents.data_sets.part import DataSetPart
from twinset.documents.data_sets.splits import Split, has_splits, is_data_set
from twinset.documents.formats.jsonl import JsonLinesPart
from twinset.documents.formats.memory_tables import SpooledPart, stream_of, table_part
from twinset.documents.formats.python_objects import check_array, items_part, plain_text
from twinset.documents.parts import Part
from twinset.documents.sparse.matrices import MatrixPart, is_sparse
from twinset.errors import SourceError
from twinset.options import ReadOptions
from twinset.options.checks import shown_names
from twinset.options.formats import formats_for
from twinset.options.items import KIND_OPTIONS, VECTORS
from twinset.wording import at_row, reason, with_article

_ROWS = 2**16
_BYTES = 2**22
_DATASET_ROWS = 1000
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE
_TEXT_SCHEMA = pa.schema([("id", pa.string()), ("text", pa.large_string())])
_NOTHING = object()
_OF_ITS_OWN = ("records", "weighted")  # kinds of which a mapping is one item, not a row


def is_table(value: object) -> bool:
    """Whether an object has one of Arrow's interfaces."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def is_row(value: object) -> bool:
    """Whether an object has keys and values, like a dict."""
    return isinstance(value, Mapping) or (hasattr(value, "keys") and hasattr(value, "__getitem__"))


def is_lazy(value: object) -> bool:
    """Whether an object is a table that is not computed yet: a Polars LazyFrame, or a Hugging Face data set."""
    return hasattr(value, "sink_ipc") or (hasattr(value, "with_format") and hasattr(value, "iter"))


def holds_rows(items: Iterable[Any], options: ReadOptions) -> bool:
    """Whether a list holds rows or tables, not items; its first value decides.

    Examples
    --------
    >>> holds_rows([None, {"text": "one"}], ReadOptions()), holds_rows(["one"], ReadOptions())
    (True, False)
    """
    first = next((one for one in items if one is not None), None)
    return is_table(first) or (is_row(first) and options.item_kind not in _OF_ITS_OWN)


def with_kind(sources: Iterable[object], options: dict[str, Any]) -> dict[str, Any]:
    """Add `vectors` to the options of a job over sparse matrices, which hold nothing else.

    Examples
    --------
    >>> with_kind([["a text"]], {"threshold": 0.9})
    {'threshold': 0.9}
    """
    if any(name in options for name in KIND_OPTIONS) or not any(map(is_sparse, sources)):
        return options
    return {**options, "vectors": True}


def refuse_uniterable(given: object) -> None:
    """Refuse an object that holds no texts, rows or tables in order."""
    kind = with_article(type(given).__name__)
    if isinstance(given, io.IOBase):
        raise SourceError("an open file cannot be read: give its path, or its lines in a list")
    if isinstance(given, Set):
        raise SourceError(f"{kind} has no order, so its texts have no ids: give a list, or a mapping from id to text")
    own = type(given).__module__.partition(".")[0] == "twinset"
    if own or isinstance(given, (bytes, bytearray, memoryview)) or not hasattr(given, "__iter__"):
        raise SourceError(
            f"{kind} cannot be read: give a path, texts or rows (dicts) in a list or an iterator, a mapping from id "
            "to text, or a table with Arrow's stream (pandas, Polars, DuckDB, pyarrow)"
        )


class RowsPart(JsonLinesPart):
    """Rows of a Python program; if they are the only ones, they are named by their position alone."""

    def __init__(self, name: str, source: int, options: ReadOptions, path: Path, alone: bool) -> None:
        self._alone = alone
        super().__init__(name, source, options, path)
        self.kept_name = PurePosixPath(f"{name}.jsonl")

    @property
    def row_prefix(self) -> str:
        """The name of the list or iterator, unless it is the only one."""
        return "" if self._alone else super().row_prefix


@dataclasses.dataclass(frozen=True)
class PythonSources:
    """Opens the objects of a run.

    `name_of` chooses an unused name for a kind of object; `alone` says that at most one list or iterator is given.
    """

    options: ReadOptions
    scratch: Path
    alone: bool
    name_of: Callable[[str], str]

    def open(self, given: Any, source: int) -> Part:
        """Open an object as a part; `source` is its number among the sources."""
        if is_sparse(given):
            return self._matrix(given, source)
        if isinstance(given, Mapping):
            return self._mapping(given, source)
        if isinstance(given, Split):
            part = self._lazy(given.rows, self.name_of(given.name), source)
            part.data_split = given.name
            return part
        if is_lazy(given):
            return self._lazy(given, self.name_of("table"), source)
        if is_table(given):
            name = self.name_of("table")
            return table_part(given, name, source, self.options, self.scratch / f"{name}.arrows")
        if isinstance(given, np.ndarray):
            return self._array(given, source)
        if isinstance(given, (list, tuple)):
            name = self.name_of("list")
            if holds_rows(given, self.options):
                return self._iterable(given, name, source)
            if self.options.group is not None:
                raise no_long_table(type(given).__name__)
            return self._items(given, name, source)
        refuse_uniterable(given)
        return self._iterable(given, self.name_of("iterator"), source)

    def _mapping(self, given: Mapping[Any, Any], source: int) -> Part:
        if has_splits(given):
            raise SourceError(
                f"{with_article(type(given).__name__)} has splits ({shown_names(list(given))}), and one of "
                f"them is read here: choose it, such as data[{next(iter(given), 'train')!r}]"
            )
        if any(is_table(one) or is_lazy(one) for one in itertools.islice(given.values(), 1)):
            raise SourceError(
                f"{with_article(type(given).__name__)} of tables is several sources: give one of them, such as "
                f"[{next(iter(given))!r}], or all with *data.values()"
            )
        if self.options.group is not None:
            raise no_long_table(type(given).__name__)
        ids = [_mapped_id(key) for key in given]
        return items_part(list(given.values()), ids, self.name_of("mapping"), source, self.options)

    def _matrix(self, given: Any, source: int) -> Part:
        name = self.name_of("matrix")
        if self.options.item_kind not in VECTORS:
            raise SourceError(
                f"a sparse matrix holds vectors, not {self.options.item_noun}: compare its rows with vectors=True",
                where=name,
            )
        return MatrixPart(name, source, self.options, given, self.alone)

    def _array(self, given: Any, source: int) -> Part:
        name = self.name_of("array")
        if self.options.item_kind == "text" and given.ndim == 1 and given.dtype.kind in "OSTU":
            return self._items(given.tolist(), name, source)
        check_array(given, name, self.options)
        return self._items(given, name, source)

    def _items(self, items: Any, name: str, source: int) -> Part:
        """Keep items in memory; their ids are positions."""
        ids = [str(row) for row in range(len(items))] if self.alone else None
        return items_part(items, ids, name, source, self.options)

    def _iterable(self, given: Any, name: str, source: int) -> Part:
        """Copy texts, rows or tables to the scratch folder; other items are kept in memory."""
        values = iter(given)
        first = next(values, _NOTHING)
        every = values if first is _NOTHING else itertools.chain([first], values)
        if is_table(first):
            return self._tables(every, name, source)
        if is_row(first) and self.options.item_kind != "weighted":
            return self._rows(every, name, source)
        if self.options.group is not None:
            raise no_long_table(type(given).__name__)
        if self.options.item_kind == "text":
            return self._texts(every, name, source)
        return self._items(list(every), name, source)

    def _lazy(self, given: Any, name: str, source: int) -> Part:
        """Compute a LazyFrame, or read a Hugging Face data set."""
        if is_data_set(given):
            return DataSetPart(name, source, self.options, given)
        if hasattr(given, "sink_ipc"):
            path = self._path(f"{name}.arrow")
            given.sink_ipc(path)
            return SpooledPart(name, source, self.options, path)
        features = getattr(given, "features", None)
        if features is None:  # a stream whose columns are not known before it is read
            return self._rows(iter(given), name, source)
        tables = given.with_format("arrow").iter(batch_size=_DATASET_ROWS)
        return self._tables(tables, name, source, features.arrow_schema)

    def _rows(self, rows: Iterable[Any], name: str, source: int) -> Part:
        """Copy rows as JSON lines."""
        path = self._path(f"{name}.jsonl")
        with open(path, "wb") as file:
            for number, row in enumerate(rows):
                line = _json_line(row, name, number)
                with writing(path):
                    file.write(line)
        return RowsPart(name, source, dataclasses.replace(self.options, encoding="utf-8"), path, self.alone)

    def _tables(self, tables: Iterable[Any], name: str, source: int, schema: Any = None) -> Part:
        """Copy tables of one schema, that of the first unless it is known."""
        readers = (self._reader(one, name, number) for number, one in enumerate(tables))
        first = next(readers, None)
        schema = first.schema if schema is None and first is not None else schema
        if schema is None:
            raise SourceError("there are no tables, so no columns to read", where=name)
        every = readers if first is None else itertools.chain([first], readers)
        batches = (batch for number, one in enumerate(every) for batch in _batches_like(schema, one, name, number))
        return self._spool(batches, schema, name, source)

    def _reader(self, table: Any, name: str, number: int) -> Any:
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not is_table(table):
            kind = with_article(type(table).__name__)
            raise SourceError(f"the first value is a table, and this is {kind}", where=_at_table(name, number))
        return stream_of(table, self.options, _at_table(name, number))

    def _texts(self, texts: Iterator[Any], name: str, source: int) -> Part:
        def batches() -> Iterator[Any]:
            row = 0
            while some := _take_texts(texts, name, row):
                numbers = pa.array(np.arange(row, row + len(some))).cast(pa.string())
                ids = numbers if self.alone else pc.binary_join_element_wise(f"{name}:", numbers, "")
                yield pa.record_batch([ids, _text_array(some)], schema=_TEXT_SCHEMA)
                row += len(some)

        options = dataclasses.replace(self.options, id="id", text="text", no_id=False)
        return self._spool(batches(), _TEXT_SCHEMA, name, source, options)

    def _spool(
        self, batches: Iterable[Any], schema: Any, name: str, source: int, options: ReadOptions | None = None
    ) -> Part:
        path = self._path(f"{name}.arrows")
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as file:
            for batch in batches:
                with writing(path):
                    file.write_batch(batch)
        return SpooledPart(name, source, options or self.options, path)

    def _path(self, name: str) -> Path:
        with writing(self.scratch):
            self.scratch.mkdir(parents=True, exist_ok=True)
        return self.scratch / name


def _at_table(name: str, number: int) -> str:
    return f"{name}, table {number}, counted from 0"


def _batches_like(schema: Any, reader: Any, name: str, number: int) -> Iterator[Any]:
    """Read batches, with the types of a schema."""
    names = reader.schema.names
    if names != schema.names:
        raise SourceError(
            f"its columns are {', '.join(names)}, and those of the first table {', '.join(schema.names)}; tables need "
            "the same columns",
            where=_at_table(name, number),
        )
    for batch in reader:
        try:
            yield batch if batch.schema.equals(schema) else batch.cast(schema)
        except pa.ArrowException as error:
            raise SourceError(
                f"its columns have other types than those of the first table: {reason(error)}",
                where=_at_table(name, number),
            ) from error


def _take_texts(texts: Iterator[Any], name: str, first_row: int) -> list[str | bytes | None]:
    """Take the next texts, up to a number of rows and bytes."""
    taken: list[str | bytes | None] = []
    size = 0
    for one in texts:
        text = plain_text(one, f"{name}[{first_row + len(taken)}]")
        taken.append(text)
        size += len(text or "")
        if size >= _BYTES or len(taken) == _ROWS:
            break
    return taken


def _text_array(texts: list[str | bytes | None]) -> Any:
    """The texts as strings; halves of surrogate pairs and invalid bytes stay, to be replaced as they are read."""
    try:
        return pa.array(texts, pa.large_string())
    except (pa.ArrowException, UnicodeError):
        encoded = [one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one for one in texts]
        return pa.array(encoded, pa.large_binary()).view(pa.large_string())


def _json_line(row: Any, name: str, number: int) -> bytes:
    """Write a row as a line of JSON."""
    if not is_row(row):
        kind = with_article(type(row).__name__)
        raise SourceError(f"the first value is a row (a dict), and this is {kind}", where=at_row(name, number))
    values = row if type(row) is dict else {key: row[key] for key in row.keys()}  # noqa: SIM118 - not all are mappings
    try:
        return orjson.dumps(values, _json_value, _JSON)
    except TypeError as error:
        try:  # halves of surrogate pairs, which only escapes can hold
            return json.dumps(values, default=_json_value).encode() + b"\n"
        except (TypeError, ValueError, RecursionError):
            why = f"{error}; leave it out, or give a table"
        raise SourceError(f"the row cannot be written as JSON: {why}", where=at_row(name, number)) from error


def _json_value(value: Any) -> Any:
    """Convert values that JSON cannot represent, for its encoder."""
    if isinstance(value, (date, time)):  # also subclasses, such as pandas' timestamps
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a value is {with_article(type(value).__name__)}")


def no_long_table(what: str) -> SourceError:
    """Make the error for items without columns, where rows are grouped."""
    tables = ", ".join(one.words for one in formats_for("groups"))
    return SourceError(
        f"a {what} has no columns to group by; --group takes tables: {tables}, and in Python rows (dicts) and any "
        "object with Arrow's stream (pandas, Polars, DuckDB, pyarrow); give sets in lists and mappings with items"
    )


def is_numbered(given: object) -> bool:
    """Whether the ids of a source may be positions: it is a list or an iterator."""
    named = isinstance(given, (str, os.PathLike, Mapping, Split)) or is_table(given)
    return not named and not is_lazy(given)


def _mapped_id(key: object) -> str:
    if isinstance(key, (str, np.integer)) or type(key) is int:
        try:
            return str(key).encode().decode()
        except UnicodeEncodeError as error:
            raise SourceError(f"the id {key!r} contains an unpaired surrogate, which UTF-8 cannot encode") from error
    raise SourceError(f"ids in a mapping must be strings or whole numbers, not {type(key).__name__}: {key!r}")
