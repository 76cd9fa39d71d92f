"""Fold the near-duplicates of a ranking in a file, and write what is shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from twinset.documents.formats.object_tables import join_objects, object_columns
from twinset.documents.formats.objects import ObjectsPart
from twinset.documents.parts import Part
from twinset.documents.sources import open_sources
from twinset.engines.local.steps.open import refuse_to_replace, tell_unexpected, total_rows
from twinset.engines.local.write.result import join_tables
from twinset.engines.local.write.table_file import TableFile
from twinset.engines.progress import Progress
from twinset.errors import ColumnError
from twinset.jobs.collapse import ADDED, Collapsed, fold_texts
from twinset.options.checks import new_file
from twinset.options.formats import FORMATS, check_output_name
from twinset.options.jobs import CollapseFileOptions, PairsOptions
from twinset.system.atomic_files import replace_atomically
from twinset.system.memory import temporary_folder
from twinset.system.scratch import cannot_write

LINES = (".jsonl", ".ndjson")

_BATCH = 2**22


class CollapsedFile:
    """A collapsed ranking of a file.

    `shown` has the groups; its items are JSON objects as text, which are written as they came, or a table. `skipped`
    counts results that could not be read; `ending` is that of a file in the format of the input.
    """

    def __init__(self, shown: Collapsed, results: int, skipped: int, ending: str) -> None:
        self.shown, self.results, self.skipped, self.ending = shown, results, skipped, ending

    def summary(self) -> dict[str, int]:
        """Return the numbers of results: all, shown, folded, and skipped because they could not be read."""
        shown = len(self.shown)
        return {"results": self.results, "shown": shown, "folded": self.results - shown, "skipped": self.skipped}

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the shown results to a file, in the format of its ending; in CSV, lists and objects are JSON."""
        target = Path(path)
        check_output_name(str(target))
        new_file(target, force)
        with replace_atomically(target) as draft:
            shown = self.shown.results
            if not isinstance(shown, pa.Table):
                try:
                    draft.write_text("".join(f"{line}\n" for line in self.lines()), "utf-8", newline="\n")
                except OSError as error:
                    raise cannot_write(target, error) from error
                return
            known = FORMATS.get(target.suffix.removeprefix("."))
            if known is not None and known.delimiter is not None:
                shown = _flat(shown)
            with TableFile(draft, shown.schema) as file:
                file.write(shown)

    def lines(self) -> Iterator[str]:
        """Yield the shown results as lines of JSON: the object as it came, and two more members."""
        for group in self.shown.groups:
            folded = [{"place": one.place, "similarity": one.similarity} for one in group.folded]
            added = orjson.dumps({"count": group.count, "folded": folded}).decode()
            # The object has a text, so it has a member to put a comma after.
            yield f"{group.first.removesuffix('}').rstrip()},{added[1:]}"

    def rows(self) -> list[dict[str, Any]]:
        """Return the shown results as dictionaries."""
        shown = self.shown.results
        rows = shown.to_pylist() if isinstance(shown, pa.Table) else [orjson.loads(line) for line in self.lines()]
        return list(rows)


def collapse_files(
    sources: Sequence[object], options: CollapseFileOptions, output: str | None, progress: Progress
) -> CollapsedFile:
    """Read a ranking, best first, from one source or from several in order, and fold it.

    JSON objects are kept as text if they are written as JSON lines, so that numbers and nested values stay as they are.

    Examples
    --------
    >>> from twinset.engines.progress import Silent
    >>> rows = [{"text": "a b c", "n": 1}, {"text": "d", "n": 2}, {"text": "A, b, c.", "n": 3}]
    >>> collapse_files([rows], CollapseFileOptions.of(), None, Silent()).rows()[0]
    {'text': 'a b c', 'n': 1, 'count': 2, 'folded': [{'place': 2, 'similarity': 1.0}]}
    """
    names = {name for name, _ in PairsOptions.specs()} & {name for name, _ in CollapseFileOptions.specs()}
    reading = PairsOptions.of(no_id=True, **{name: getattr(options, name) for name in names})
    with temporary_folder(None) as scratch:
        found = open_sources(sources, reading, scratch=Path(scratch))
        refuse_to_replace(Path(output) if output else None, found.parts)
        tell_unexpected(found.skipped, found.parts, progress)
        progress.stage("reading", total_rows(found.parts), "results")
        as_lines = output is None or output.endswith(LINES)
        ranking = _Ranking(as_lines and all(isinstance(part, ObjectsPart) for part in found.parts))
        for part in found.parts:
            ranking.read(part, progress)
            part.check_unchanged()
    leader, similarity = fold_texts(pa.concat_arrays(ranking.texts), options)
    known = FORMATS.get(found.parts[0].format)
    ending = ".csv" if known is not None and known.delimiter is not None else LINES[0]
    return CollapsedFile(Collapsed(ranking.items(), leader, similarity), len(leader), ranking.skipped, ending)


class _Ranking:
    """The results of a ranking: their texts, and either their objects as lines or their rows as tables."""

    def __init__(self, as_lines: bool) -> None:
        self.as_lines, self.skipped = as_lines, 0
        self.texts = [pa.array([], pa.large_binary())]
        self._lines: list[str] = []
        self._tables: list[pa.Table] = []

    def read(self, part: Part, progress: Progress) -> None:
        """Add the results of a part."""
        collector, objects = part.collector(), list[pa.Table]()
        _refuse_names(part.column_names, part.name)
        for chunk in part.chunks(_BATCH):
            block = chunk.read(whole=True)
            readable = np.ones(block.rows, np.bool_)
            readable[[row for row, _ in block.unreadable]] = False
            if self.as_lines and isinstance(part, ObjectsPart):
                rows = list(compress(block.payload.rows(), readable.tolist()))
                for row in rows:
                    _refuse_names(part.parse(row), part.name)
                self._lines += [_line(bytes(row), part.encoding) for row in rows]
            elif isinstance(part, ObjectsPart):
                objects.append(object_columns(part, block, readable))  # the collector would add ids
            else:
                collector.write(block, readable)
            raw = block.texts.combine_chunks() if isinstance(block.texts, pa.ChunkedArray) else block.texts
            self.texts.append(raw.filter(pa.array(readable)).cast(pa.large_binary()))
            self.skipped += len(block.unreadable)
            progress.advance(block.rows)
        if self.as_lines:
            return
        if isinstance(part, ObjectsPart):
            self._tables.append(join_objects(objects, part.column_names))
        else:
            none = pa.table({name: pa.array([], pa.string()) for name in part.column_names})
            self._tables += collector.tables() or [none]

    def items(self) -> list[Any] | pa.Table:
        """The results."""
        return self._lines if self.as_lines else _readable(join_tables(self._tables))


def _readable(table: pa.Table) -> pa.Table:
    """Return a table with the texts of files, which are read as bytes, as strings."""
    for at, field in enumerate(table.schema):
        if pa.types.is_large_binary(field.type) or pa.types.is_binary(field.type):
            values = [None if one is None else one.decode("utf-8", "replace") for one in table[field.name].to_pylist()]
            table = table.set_column(at, field.name, pa.array(values, pa.large_string()))
    return table


def _flat(table: pa.Table) -> pa.Table:
    """Return a table with lists and objects as JSON, for formats that have neither."""
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            values = [None if one is None else orjson.dumps(one).decode() for one in table[field.name].to_pylist()]
            table = table.set_column(at, field.name, pa.array(values, pa.string()))
    return table


def _line(row: bytes, encoding: str | None) -> str:
    """Return a JSON object as one line of text; line breaks in it are between its values, never in a string."""
    text = row.decode(encoding or "utf-8", "replace").strip().removeprefix(",").strip()
    return text.replace("\r", " ").replace("\n", " ")


def _refuse_names(names: Iterable[str], where: str) -> None:
    for name in names:
        if name in ADDED.names:
            raise ColumnError(f"collapse adds a column {name!r}, which already exists; rename it", where=where)
