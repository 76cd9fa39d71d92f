"""Long tables: rows with the same value in one column are one item, the set of their values in another.

One part covers all files, since a group may be spread over them. Its rows are the groups, by first appearance, followed
by the unreadable rows, so that none is lost.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.compressed import writing
from twinset.documents.items.weighted import added_weights
from twinset.documents.long_tables.element_names import ElementNames, Spelling, spelling_of
from twinset.documents.long_tables.partition import GroupBuilder
from twinset.documents.long_tables.rows import GroupRows, group_rows
from twinset.documents.long_tables.sort import Spread
from twinset.documents.long_tables.write import GroupNumbers, GroupsCollector, GroupsWriter, long_rows
from twinset.documents.parts import LEAST_ROW, Block, Chunk, KeptWriter, Mask, Part, RowCollector
from twinset.errors import OptionError, RowError, SourceError
from twinset.options import ReadOptions
from twinset.options.keep_rules import rules_for
from twinset.schema import Places
from twinset.system.scratch import BatchFile
from twinset.wording import either

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_READ_BYTES = 2**26
_BAD_AT_ONCE = 10_000
_MEMORY = 2**30
_TIGHT = 2**27
_PROGRAM = 2**28  # approximate memory of Python, Arrow, the compiled kernels and a few batches
_WIDE = 24  # minimum bytes of a row of a text file, to estimate the number of rows


class GroupsPart(Part):
    """The groups of one or more long tables."""

    format = "groups"

    def __init__(self, parts: Sequence[Part], options: ReadOptions, scratch: Path) -> None:
        first, last = parts[0], parts[-1]
        name = first.name if len(parts) == 1 else f"{first.name} … {last.name}"
        self.inside = list(parts)
        super().__init__(name, first.source, options)
        if options.id is not None or options.no_id:
            flag = "--no-id" if options.no_id else "--id"
            raise OptionError(
                f"{flag} cannot be used with --group: the id of a group is its value of {options.group!r}"
            )
        if options.group == options.item:
            raise OptionError(f"--group and --item both name {options.group!r}; name another column with --item")
        for part in parts:
            part.forget_ids()
        self.kept_name = first.kept_name
        self.size = sum(part.size for part in parts)
        self.mtime_ns = max(part.mtime_ns for part in parts)
        self.rows = 0
        memory = getattr(options, "memory_bytes", _MEMORY)
        self.room = max(2**23, (memory - _PROGRAM) // 8)
        """Maximum bytes of rows in memory before they go to scratch files."""
        self.batch = int(min(_READ_BYTES, max(2**18, memory // 32)))
        """Bytes of a table that are read together."""
        self._scratch = scratch
        self._stored: BatchFile | None = None
        self.words = ElementNames() if options.lists_as_text else None
        """The names of the elements, where an index stores them."""
        self._bad: list[tuple[int, int, str]] = []

    @property
    def rows_read(self) -> int:
        """All rows of the tables."""
        return self.rows

    @property
    def inner(self) -> list[Part]:
        """The tables."""
        return self.inside

    @property
    def wanted(self) -> frozenset[str]:
        """Further columns: a group has none."""
        return frozenset()

    @wanted.setter
    def wanted(self, names: frozenset[str]) -> None:
        if names:
            rules = either([rule.name for rule in rules_for("groups")])
            raise OptionError(
                f"--keep by the column {sorted(names)[0]!r} needs one value per item, but a group of rows has many; "
                f"allowed: {rules}"
            )

    @property
    def column_names(self) -> list[str]:
        """The columns of the first table."""
        return self.inside[0].column_names

    def prepare(
        self,
        spread: Spread,
        begin: Callable[[int | None], None] = lambda total: None,
        advance: Callable[[int], None] = lambda rows: None,
    ) -> None:
        """Read all rows and group them, once."""
        if self._stored is not None:
            return
        begin(self._row_count())
        with writing(self._scratch):
            self._scratch.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="groups-", dir=self._scratch))
        bag = bool(getattr(self.options, "bag", False))
        about = self._row_count() or sum(part.size for part in self.inside) * 4 // _WIDE
        grouping = GroupBuilder(folder, self.room, about, bag, self.options.by, self._refuse)
        base, before, done = 0, 0, 0
        bad: list[tuple[int, int, str]] = []
        for number, first_row, portion, unreadable, rows, spelling in spread(self._read, self._chunks()):
            if number != before:
                base, before = done, number
            grouping.add(dataclasses.replace(portion, firsts=portion.firsts + (base + first_row)))
            if self.words is not None and spelling is not None:
                self.words.add(spelling)
            bad += [(number, first_row + row, reason) for row, reason in unreadable]
            done += rows
            advance(rows)
        self.rows, self._bad = done, bad
        self._stored = grouping.finish(spread)
        # Arrow keeps freed memory; the next steps count on it.
        pa.default_memory_pool().release_unused()
        self.check_unchanged()

    def _row_count(self) -> int | None:
        known = [part.describe().get("documents") for part in self.inside]
        return None if None in known else sum(int(count) for count in known if count is not None)

    def _chunks(self) -> Iterator[tuple[int, Chunk]]:
        for number, part in enumerate(self.inside):
            for chunk in part.chunks(self.batch):
                yield number, chunk

    def _read(self, task: tuple[int, Chunk]) -> tuple[int, int, GroupRows, list[tuple[int, str]], int, Spelling | None]:
        number, chunk = task
        block = chunk.read()
        unreadable = block.unreadable
        by = None if block.by is None else block.by.cast(pa.large_string())
        spelling = None if self.words is None else spelling_of(long_rows(block))
        portion = group_rows(long_rows(block), by, 0, self.inside[number].source, self.options.by)
        if self.room < _TIGHT:
            del block, by
            pa.default_memory_pool().release_unused()  # of this thread's heap
        return number, chunk.first_row, portion, unreadable, chunk.rows, spelling

    def _refuse(self, name: str, reason: str) -> None:
        if self.options.on_error != "skip":
            raise RowError(f"{reason}; use --on-error skip to skip such groups", where=f"{self.name}, group {name!r}")

    def stored(self) -> BatchFile:
        """The stored groups; reads and groups the rows first if needed."""
        self.prepare(_one_by_one)
        if self._stored is None:
            raise SourceError("the groups could not be written to the scratch folder", where=self.name)
        return self._stored

    @property
    def groups(self) -> int:
        """Number of groups."""
        return sum(self.stored().rows)

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Yield runs of groups, then the unreadable rows."""
        stored = self.stored()
        first_row = rows = total = first = 0
        for number, count in enumerate(stored.rows):
            size = max(stored.sizes[number], count * LEAST_ROW)
            if rows and total + size > batch_bytes:
                yield StoredGroupsChunk(self, range(first, number), first_row, rows)
                first_row, rows, total, first = first_row + rows, 0, 0, number
            rows, total = rows + count, total + size
        if rows:
            yield StoredGroupsChunk(self, range(first, len(stored.rows)), first_row, rows)
        for start in range(0, len(self._bad), _BAD_AT_ONCE):
            yield BadRowsChunk(self, self._bad[start : start + _BAD_AT_ONCE], self.groups + start)

    def open_writer(self, out: Path, *, flag: bool = False, copy: bool = False) -> KeptWriter:
        """Open the writer of the rows of the kept groups."""
        return GroupsWriter(self, out, flag)

    def collector(self) -> RowCollector:
        """Make the collector of the rows of kept groups."""
        return GroupsCollector(self)

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """The ids of kept groups and their numbers of elements; `collector` gives their rows."""
        counts = pc.binary_length(block.texts)
        return pa.table({"id": block.ids, "elements": counts}).filter(pa.array(chosen))

    def check_flag(self) -> None:
        """Raise when the columns of ``--flag`` cannot be added to the rows of a table."""
        for part in self.inside:
            part.check_flag()

    def check_unchanged(self) -> None:
        """Raise when a file has changed since it was opened."""
        for part in self.inside:
            part.check_unchanged()

    @property
    def lasts(self) -> bool:
        """Whether all tables are files."""
        return all(part.lasts for part in self.inside)

    def digest(self) -> str:
        """SHA-256 over the lines ``format size sha256`` of the tables, or that of the only one."""
        if len(self.inside) == 1:
            return self.inside[0].digest()
        lines = [f"{part.format} {part.size} {part.digest()}\n" for part in self.inside]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Describe what would be read; the number of groups is not known yet."""
        rows = self._row_count()
        about = {**super().describe(), "tables": [part.describe() for part in self.inside]}
        return about if rows is None else {**about, "rows": rows}

    def elements(self, rows: Places) -> list[list[str] | None]:
        """The names of the elements of some groups, by first appearance."""
        bag = bool(getattr(self.options, "bag", False))
        elements = self._again(rows)
        named = [None if one is None else [name for name, _ in one] for one in map(elements.get, rows.tolist())]
        return named if bag else [None if one is None else list(dict.fromkeys(one)) for one in named]

    def weights(self, rows: Places) -> list[dict[str, float] | None]:
        """The weights of the elements of some groups, without zeros."""
        elements = self._again(rows)
        sets: list[dict[str, float] | None] = []
        for one in map(elements.get, rows.tolist()):
            every: dict[str, list[float]] = {}
            for name, weight in one or ():
                every.setdefault(name, []).append(weight)
            sums = {name: added_weights(many) for name, many in every.items()}
            sets.append(None if one is None else {name: total for name, total in sums.items() if total > 0})
        return sets

    def _again(self, rows: Places) -> dict[int, list[tuple[str, float]]]:
        """Read the elements of some groups and their weights (or 1) again, in row order."""
        numbers, groups = self.numbered(), self.groups
        elements: dict[int, list[tuple[str, float]]] = {row: [] for row in rows.tolist() if row < groups}
        wanted = np.array(sorted(elements), np.int64)
        for _, chunk in self._chunks():
            block = long_rows(chunk.read())
            group_of_row = np.append(numbers.of(block.names), -1)[block.codes]
            for row in np.flatnonzero(np.isin(group_of_row, wanted)).tolist():
                weight = 1.0 if block.weights is None else float(block.weights[row])
                elements[int(group_of_row[row])].append((block.words[int(block.places[row])].as_py(), weight))
        return elements

    def numbered(self) -> GroupNumbers:
        """Make the table of group numbers by name."""
        return GroupNumbers(self.stored())


def _one_by_one(function: Callable[[_In], _Out], work: Iterable[_In]) -> Iterator[_Out]:
    return map(function, work)


class StoredGroupsChunk(Chunk):
    """Some groups, read from the scratch file."""

    def __init__(self, part: GroupsPart, batches: range, first_row: int, rows: int) -> None:
        self._part = part
        self._batches = batches
        self.first_row = first_row
        self.rows = rows

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read the groups back."""
        stored = self._part.stored()
        table = pa.Table.from_batches([stored.read(number) for number in self._batches]).combine_chunks()
        texts = _column(table, "item")
        words, weighted = self._part.words, self._part.options.weight is not None
        block = Block(self.rows, self.first_row, texts if words is None else words.written(texts, weighted))
        if texts.null_count:
            reason = "the group has too many elements, or the sum of its weights is too large"
            block.unreadable = [(row, reason) for row in np.flatnonzero(np.asarray(texts.is_null())).tolist()]
        block.sources = _column(table, "source").to_numpy().astype(np.int64)
        if not texts_only:
            block.ids = _column(table, "id")
            if self._part.options.by is not None:
                block.by = _column(table, "by").cast(pa.string())
        return block


def _column(table: Any, name: str) -> Any:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class BadRowsChunk(Chunk):
    """Unreadable rows: each an item of its own, so that it is counted and reported."""

    def __init__(self, part: GroupsPart, bad: list[tuple[int, int, str]], first_row: int) -> None:
        self._part = part
        self._bad = bad
        self.first_row = first_row
        self.rows = len(bad)

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Name the rows."""
        inside = self._part.inside
        block = Block(self.rows, self.first_row, pa.nulls(self.rows, pa.large_binary()))
        block.unreadable = [(row, reason) for row, (_, _, reason) in enumerate(self._bad)]
        block.sources = np.array([inside[number].source for number, _, _ in self._bad], np.int64)
        if not texts_only:
            block.ids = pa.array([f"{inside[number].name}:{row}" for number, row, _ in self._bad], pa.string())
            block.by = None if self._part.options.by is None else pa.nulls(self.rows, pa.string())
        return block
