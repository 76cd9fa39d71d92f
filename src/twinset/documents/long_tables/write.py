"""Write the rows of the kept groups of a long table, each table in its own format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.long_tables.rows import LongTableRows
from twinset.documents.normalize import hash_values
from twinset.documents.parts import Block, KeptWriter, Mask, Part, RowCollector
from twinset.errors import SourceError
from twinset.system.scratch import BatchFile

if TYPE_CHECKING:
    from twinset.documents.long_tables.part import GroupsPart

NAME_SEED = 0x6A0B


def long_rows(block: Block) -> LongTableRows:
    """The rows of a block of a long table."""
    rows = block.texts
    if not isinstance(rows, LongTableRows):
        raise TypeError("these are not rows of a long table")
    return rows


class GroupNumbers:
    """Group numbers by name: by hash, and by the name itself where hashes collide."""

    def __init__(self, stored: BatchFile) -> None:
        hashes = [hash_values(stored.read(number)["id"], NAME_SEED) for number in range(len(stored.rows))]
        every = np.concatenate(hashes) if hashes else np.zeros(0, np.uint64)
        self._order = np.argsort(every, kind="stable")
        self._hashes = every[self._order]
        twice = self._hashes[1:][self._hashes[1:] == self._hashes[:-1]]
        self._alike: dict[str, int] = {}
        self._twice = np.unique(twice)
        if len(twice):
            starts = np.cumsum([0, *stored.rows])
            for number in range(len(stored.rows)):
                names = stored.read(number)["id"]
                inside = np.flatnonzero(np.isin(hashes[number], self._twice)).tolist()
                self._alike.update({names[row].as_py(): int(starts[number]) + row for row in inside})

    def of(self, names: Any) -> npt.NDArray[np.int64]:
        """The number of each name, or -1."""
        hashes = hash_values(names, NAME_SEED)
        places = np.minimum(np.searchsorted(self._hashes, hashes), max(0, len(self._hashes) - 1))
        group_numbers = np.full(len(names), -1, np.int64)
        if len(self._hashes):
            same = self._hashes[places] == hashes
            group_numbers[same] = self._order[places[same]]
        for row in np.flatnonzero(np.isin(hashes, self._twice)).tolist():
            group_numbers[row] = self._alike.get(names[row].as_py(), -1)
        return group_numbers


class _ChosenGroups:
    """The chosen groups, collected block by block, and their rows in the tables."""

    def __init__(self, part: GroupsPart) -> None:
        self.part = part
        self._masks: list[Mask] = []
        self._flags: list[Any] = []

    def add(self, chosen: Mask, flags: Any) -> None:
        self._masks.append(chosen)
        if flags is not None:
            self._flags.append(flags)

    def rows(self) -> Iterator[tuple[Part, Iterator[tuple[Block, Mask, Any]]]]:
        """Yield each table with its blocks, the mask of their chosen rows, and the flags of all rows."""
        groups = np.concatenate(self._masks) if self._masks else np.zeros(0, np.bool_)
        flags = pa.concat_tables(self._flags).combine_chunks() if self._flags else None
        numbers = self.part.numbered()
        for part in self.part.inside:
            yield part, self._blocks(part, numbers, groups, flags)
            part.check_unchanged()

    def _blocks(self, part: Part, numbers: GroupNumbers, groups: Mask, flags: Any) -> Iterator[tuple[Block, Mask, Any]]:
        for chunk in part.chunks(self.part.batch):
            block = chunk.read(whole=True)
            rows = long_rows(block)
            known = numbers.of(rows.names)
            if (known < 0).any():
                raise SourceError("the file was changed while it was being read; run again", where=part.name)
            group_of_row = np.append(known, -1)[rows.codes]
            chosen = group_of_row >= 0
            chosen[chosen] = groups[group_of_row[chosen]]
            yield block, chosen, None if flags is None else flags.take(pa.array(np.maximum(group_of_row, 0)))


class GroupsWriter(KeptWriter):
    """Write the rows of the kept groups of every table, each in its own format, when all groups are known."""

    def __init__(self, part: GroupsPart, out: Path, flag: bool) -> None:
        self._groups = _ChosenGroups(part)
        self._out = out
        self._flag = flag
        self._writer: KeptWriter | None = None
        self.open_table: Callable[[Part], KeptWriter] = lambda part: part.open_writer(self._out, flag=self._flag)

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Record the chosen groups."""
        self._groups.add(chosen, flags)

    def close(self) -> None:
        """Write the rows."""
        for part, blocks in self._groups.rows():
            self._writer = self.open_table(part)
            for block, chosen, flags in blocks:
                self._writer.write(block, chosen, flags)
            self._writer.close()
            self._writer = None

    def abort(self) -> None:
        """Remove the unfinished file; finished ones are removed with their folder."""
        if self._writer is not None:
            self._writer.abort()


class GroupsCollector(RowCollector):
    """Collects the rows of the kept groups as tables."""

    def __init__(self, part: GroupsPart) -> None:
        super().__init__(part)
        self._groups = _ChosenGroups(part)

    def write(self, block: Block, chosen: Mask, flags: Any = None) -> None:
        """Record the chosen groups."""
        self._groups.add(chosen, flags)

    def tables(self) -> list[Any]:
        """The rows of the kept groups."""
        tables: list[Any] = []
        for part, blocks in self._groups.rows():
            collector = part.collector()
            for block, chosen, flags in blocks:
                collector.write(block, chosen, flags)
            tables += collector.tables()
        return tables

    def masks(self) -> list[Mask]:
        """Which rows of the tables belong to kept groups, block by block."""
        return [chosen for _, blocks in self._groups.rows() for _, chosen, _ in blocks]
