"""Write the kept rows of all sources to one file, in the format given by its name.

Sources that have this format and the same columns keep their rows as they are: bytes of JSON lines and CSV, types of
Parquet and Arrow. Other rows are converted: JSON lines row by row, the other formats by way of staged files, because
their columns must be known before the first row is written.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv

from twinset.documents.compressed import ByteWriter, writing
from twinset.documents.formats.arrow import ArrowWriter
from twinset.documents.formats.byte_rows import RecordWriter
from twinset.documents.formats.object_values import EscapedRow
from twinset.documents.formats.objects import ObjectsPart
from twinset.documents.long_tables.write import GroupsWriter
from twinset.documents.parquet.write import ParquetWriter
from twinset.documents.parts import Block, KeptWriter, Mask, Part
from twinset.engines.local.write import column_types as types
from twinset.errors import OptionError
from twinset.options.formats import Format, row_file_format

_STAGED_BYTES = 2**22


class KeptFile:
    """The file of kept rows; drafts are written below `folder`. Write the parts in order, then call `finish`."""

    def __init__(self, parts: Sequence[Part], name: str, folder: Path, flag: bool) -> None:
        found = row_file_format(name)
        if found is None:
            raise OptionError(f"the output {name!r} does not have the ending of a file of rows")
        self._format, codec = found
        self.path, self._folder, self._flag, self._codec = folder / "kept" / name, folder, flag, codec
        inner = [one for part in parts for one in part.inner]
        self._shared: _SharedWriter | None = None
        self._lines: ByteWriter | None = None
        self._stages: list[_ObjectStage | _TableStage] = []
        if _is_native(inner, self._format.name):
            like = copy.copy(inner[0])
            like.kept_name = PurePosixPath(name)
            if codec is not None or hasattr(like, "codec"):
                like.codec = codec  # type: ignore[attr-defined]
            self._shared = _SharedWriter(like.open_writer(folder, flag=flag))
        elif self._format.name == "jsonl":
            self._lines = ByteWriter(self.path, codec)
        else:
            _refuse_repeated_names(inner, name)

    def open_writer(self, part: Part) -> KeptWriter:
        """Open the writer of the kept rows of a part."""
        if part.inner == [part]:
            return self._writer_of(part)
        writer = part.open_writer(self._folder, flag=self._flag)
        if isinstance(writer, GroupsWriter):
            writer.open_table = self._writer_of
        return writer

    def _writer_of(self, part: Part) -> KeptWriter:
        if self._shared is not None:
            return self._shared
        if self._lines is not None:
            return _LinesWriter(part, self._lines)
        path = self._folder / f"staged-{len(self._stages)}"
        self._stages.append(_ObjectStage(part, path) if isinstance(part, ObjectsPart) else _TableStage(part, path))
        return self._stages[-1]

    def finish(self) -> Path:
        """Finish the file; return its path."""
        if self._shared is not None:
            self._shared.finish()
        elif self._lines is not None:
            self._lines.close()
        else:
            self._convert()
        return self.path

    def _convert(self) -> None:
        """Write the staged rows with the columns of all parts; missing values are null."""
        fields: dict[str, types.Type] = {}
        for stage in self._stages:
            fields = types.merge_fields(fields, stage.fields)
        fields = {name: types.storable(kind) for name, kind in fields.items()} or {"id": pa.string()}
        schema = pa.schema([(name, kind or pa.string()) for name, kind in fields.items()])
        sink = _open_sink(self._format, self.path, self._codec, schema)
        try:
            for stage in self._stages:
                for table in stage.tables(fields):
                    if table.num_rows:
                        sink.write(Block(table.num_rows, 0, None, payload=table), np.ones(table.num_rows, np.bool_))
                stage.path.unlink()
            sink.close()
        except BaseException:
            sink.abort()
            raise


def _open_sink(format: Format, path: Path, codec: str | None, schema: pa.Schema) -> KeptWriter:
    """Open the writer of converted rows; JSON lines are not staged, so they need none."""
    if format.delimiter is not None:
        return _SeparatedWriter(path, codec, schema, format.delimiter)
    return _OPEN_SINK[format.name](path, schema)


_OPEN_SINK: dict[str, Callable[[Path, pa.Schema], KeptWriter]] = {
    "arrow": lambda path, schema: ArrowWriter(path, schema, None, False, None),
    "parquet": lambda path, schema: ParquetWriter(path, schema, None, {}),
}
"""The writers of formats with `rows` that are neither separated nor JSON lines."""


def _is_native(parts: Sequence[Part], format: str) -> bool:
    """Whether rows of all parts can follow each other in one file of this format as they are."""
    if not parts or any(("parquet" if one.format == "table" else one.format) != format for one in parts):
        return False
    first = parts[0]
    headers = {(getattr(one, "header", b"").strip(), getattr(one, "delimiter", "")) for one in parts}
    schemas = [getattr(one, "schema", None) for one in parts]
    return len(headers) == 1 and all(one == schemas[0] for one in schemas) and first.format != "images"


def _refuse_repeated_names(parts: Sequence[Part], output: str) -> None:
    for part in parts:
        repeated = [name for name in part.column_names if part.column_names.count(name) > 1]
        if repeated:
            raise OptionError(
                f"{part.name} has more than one column {repeated[0]!r}, which {output} cannot have; rename it, or "
                "choose a folder as the output"
            )


class _SharedWriter(KeptWriter):
    """The writer of the first part, used for all of them."""

    def __init__(self, writer: KeptWriter) -> None:
        self._writer = writer

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write the kept rows."""
        self._writer.write(block, chosen, flags)

    def close(self) -> None:
        """End the last line of a part: a file need not end with a line feed."""
        if isinstance(self._writer, RecordWriter):
            self._writer.end_line()

    def finish(self) -> None:
        """Finish the file."""
        self._writer.close()

    def abort(self) -> None:
        """Remove the file."""
        self._writer.abort()


def _objects(part: ObjectsPart, block: Block, chosen: Mask, flags: Any) -> list[dict[str, Any]]:
    """Return the kept rows of a file of objects."""
    rows = [_readable(part.parse(row)) for row in itertools.compress(block.payload.rows(), chosen.tolist())]
    if flags is not None:
        for row, more in zip(rows, flags.filter(pa.array(chosen)).to_pylist(), strict=True):
            row.update(more)
    return rows


def _as_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(types.dump_json(row, orjson.OPT_APPEND_NEWLINE) for row in rows)


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """Replace invalid bytes by U+FFFD, in keys and nested values too."""
    if not isinstance(row, EscapedRow):
        return dict(row)
    text = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return dict(orjson.loads(text))


def _rows(part: Part, block: Block, chosen: Mask, flags: Any) -> pa.Table:
    """Return the kept rows of a part with columns, or ids and texts of one without."""
    table = types.decoded(part.take_rows(block, chosen))
    if part.format in ("text", "lines"):
        table = table.set_column(1, "text", types.decode_text(table["text"]))
    if flags is not None:
        for name, column in zip(flags.column_names, flags.filter(pa.array(chosen)).columns, strict=True):
            table = table.append_column(name, column)
    return table


class _LinesWriter(KeptWriter):
    """Adds the kept rows of a part to a file of JSON lines."""

    def __init__(self, part: Part, file: ByteWriter) -> None:
        self._part, self._file = part, file

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write the kept rows as objects."""
        part = self._part
        kept = _objects(part, block, chosen, flags) if isinstance(part, ObjectsPart) else (
            _rows(part, block, chosen, flags).to_pylist()
        )  # fmt: skip
        self._file.write(_as_lines(kept))

    def close(self) -> None:
        """Do nothing: other parts follow."""

    def abort(self) -> None:
        """Remove the file."""
        self._file.abort()


class _ObjectStage(KeptWriter):
    """Stages objects as JSON lines, and infers the types of their keys."""

    def __init__(self, part: ObjectsPart, path: Path) -> None:
        self.path, self._part = path, part
        self.fields: dict[str, types.Type] = {}
        self._file = ByteWriter(path, None)

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Stage the kept rows."""
        rows = _objects(self._part, block, chosen, flags)
        self.fields = types.merge_fields(self.fields, types.types_of_rows(rows))
        self._file.write(_as_lines(rows))

    def close(self) -> None:
        """Finish the stage."""
        self._file.close()

    def abort(self) -> None:
        """Remove the staged rows."""
        self._file.abort()

    def tables(self, fields: dict[str, types.Type]) -> Iterator[pa.Table]:
        """Yield the rows with these columns."""
        with open(self.path, "rb") as file:
            while lines := file.readlines(_STAGED_BYTES):
                rows = [orjson.loads(line) for line in lines]
                columns = [
                    types.array_of_values([row.get(name) for row in rows], kind) for name, kind in fields.items()
                ]
                yield pa.Table.from_arrays(columns, names=list(fields))


class _TableStage(KeptWriter):
    """Stages rows with columns as an Arrow stream."""

    def __init__(self, part: Part, path: Path) -> None:
        self.path, self._part = path, part
        self.fields: dict[str, types.Type] = {}
        self._file: Any = None
        with writing(path):
            path.touch()

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Stage the kept rows."""
        table = _rows(self._part, block, chosen, flags)
        with writing(self.path):
            if self._file is None:
                self.fields = dict(zip(table.schema.names, table.schema.types, strict=True))
                self._sink = pa.OSFile(str(self.path), "wb")
                self._file = pa.ipc.new_stream(self._sink, table.schema)
            self._file.write_table(table.cast(self._file_schema(table)))

    def _file_schema(self, table: pa.Table) -> pa.Schema:
        return pa.schema(list(self.fields.items())) if table.schema.names == list(self.fields) else table.schema

    def close(self) -> None:
        """Finish the stage."""
        with writing(self.path):
            if self._file is not None:
                self._file.close()
                self._sink.close()

    def abort(self) -> None:
        """Remove the staged rows."""
        self.path.unlink(missing_ok=True)

    def tables(self, fields: dict[str, types.Type]) -> Iterator[pa.Table]:
        """Yield the rows with these columns; missing ones are null."""
        if self._file is None:
            return
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                table = pa.Table.from_batches([batch])
                columns = [
                    types.cast_column(table[name], kind)
                    if name in table.column_names
                    else pa.nulls(table.num_rows, kind or pa.string())
                    for name, kind in fields.items()
                ]
                yield pa.Table.from_arrays(columns, names=list(fields))


class _SeparatedWriter(KeptWriter):
    """Writes rows as separated values."""

    def __init__(self, path: Path, codec: str | None, schema: pa.Schema, delimiter: str) -> None:
        self._file, self._delimiter = ByteWriter(path, codec), delimiter
        self._write(schema.empty_table(), header=True)

    def _write(self, table: pa.Table, header: bool = False) -> None:
        sink = pa.BufferOutputStream()
        options = pa.csv.WriteOptions(include_header=header, delimiter=self._delimiter)
        pa.csv.write_csv(types.plain_columns(table), sink, options)
        self._file.write(memoryview(sink.getvalue()))

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Write all rows of a block."""
        self._write(block.payload)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def abort(self) -> None:
        """Remove the file."""
        self._file.abort()
