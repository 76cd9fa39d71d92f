"""Collect rows by group: in memory while they fit, otherwise in partitions on disk.

Groups are identified by their names, never by hashes of the names: a hash only chooses the partition. The result does
not depend on the order of batches or on the memory limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.long_tables.rows import Codes, GroupRows, join_groups
from twinset.documents.long_tables.sort import STORED_BYTES, Sorted, Spread, cuts, merged
from twinset.documents.normalize import hash_values
from twinset.schema import Places
from twinset.system.scratch import BatchFile

_PARTITION_SEED = 0x6A09
_MOST_PARTITIONS, _LEAST_PARTITIONS, _DEEPEST = 256, 8, 3
_NONE = np.zeros(0, np.int64)


@dataclass
class GroupBuilder:
    """Collects rows in order and writes their groups to a scratch file.

    folder: for the scratch files.
    room: maximum bytes of rows in memory; beyond, they go to scratch files.
    rows: approximate number of rows.
    bag: whether repeated elements of a group count.
    column: the column of ``--by``, for messages.
    refuse: called with the name of a group that is too large, and the reason; it raises, or the group is skipped.
    depth: number of times the rows were partitioned already.
    """

    folder: Path
    room: int
    rows: int
    bag: bool
    column: str | None
    refuse: Callable[[str, str], None]
    depth: int = 0
    _buffered: list[GroupRows] = field(default_factory=list)
    _buffered_bytes: int = 0
    _spilled: list[BatchFile] = field(default_factory=list)

    def add(self, portion: GroupRows) -> None:
        """Add the next rows."""
        if not len(portion.codes):
            return
        self._buffered.append(portion)
        self._buffered_bytes += portion.nbytes
        if self._buffered_bytes > self.room:
            self._spill()

    def finish(self, spread: Spread) -> BatchFile:
        """Store the groups in the order of their first rows: id, item, source and by."""
        out = BatchFile(self.folder / "groups")
        self._store(out, STORED_BYTES, spread)
        return out

    def _store(self, out: BatchFile, piece: int, spread: Spread) -> tuple[Places, Places]:
        """Store the groups, about `piece` bytes together; return the size and the first row of each."""
        if self._spilled:
            self._spill()
            return self._store_spilled(out, piece, spread)
        if not self._buffered:
            return _NONE, _NONE
        whole = join_groups(self._buffered, self.column)
        self._buffered = []
        groups = Sorted(whole, self.bag, spread)
        out.append(groups.batches(cuts(groups.sizes, piece), self.refuse))
        return groups.sizes, whole.firsts

    def _store_spilled(self, out: BatchFile, piece: int, spread: Spread) -> tuple[Places, Places]:
        runs, sizes, firsts = [], [_NONE], [_NONE]
        small = max(2**14, piece // len(self._spilled))
        for number, partition in enumerate(self._spilled):
            size = sum(partition.sizes)
            # A partition that is still too large is partitioned again; a single group cannot be.
            deeper = size > 2 * self.room and self.depth < _DEEPEST
            inside = self.folder / f"part-{number}"
            room = self.room if deeper else size + 1
            part = GroupBuilder(inside, room, size // 16, self.bag, self.column, self.refuse, self.depth + 1)
            for portion in _read_portions(partition):
                part.add(portion)
            partition.remove()
            run = BatchFile(self.folder / f"groups-{number}")
            run_sizes, run_firsts = part._store(run, small, spread)
            if run.rows:
                runs.append(run)
                sizes.append(run_sizes)
                firsts.append(run_firsts)
        every = np.concatenate(firsts)
        order = np.argsort(every, kind="stable")
        ordered = np.concatenate(sizes)[order]
        out.append(merged(runs, ordered, order, [len(one) for one in firsts[1:]], piece))
        for run in runs:
            run.remove()
        return ordered, every[order]

    def _spill(self) -> None:
        """Write the rows in memory to the scratch files, by the hash of the group's name."""
        if not self._buffered:
            return
        whole = join_groups(self._buffered, self.column)
        self._buffered, self._buffered_bytes = [], 0
        if not self._spilled:
            wanted = 2 * self.rows * 32 // max(1, self.room)
            count = 1 << min(_MOST_PARTITIONS, max(_LEAST_PARTITIONS, wanted)).bit_length() - 1
            self._spilled = [BatchFile(self.folder / f"rows-{number}") for number in range(count)]
        bits = len(self._spilled).bit_length() - 1
        of_group = (hash_values(whole.names, _PARTITION_SEED + self.depth) >> np.uint64(64 - bits)).astype(np.uint16)
        of_row = of_group[whole.codes]
        rows, groups = np.argsort(of_row, kind="stable"), np.argsort(of_group, kind="stable")
        row_ends = np.cumsum(np.bincount(of_row, minlength=len(self._spilled)))
        group_ends = np.cumsum(np.bincount(of_group, minlength=len(self._spilled)))
        new = np.empty(len(whole.names), np.int32)
        row_at = group_at = 0
        for number, partition in enumerate(self._spilled):
            mine, named = rows[row_at : row_ends[number]], groups[group_at : group_ends[number]]
            row_at, group_at = int(row_ends[number]), int(group_ends[number])
            if len(named):
                new[named] = np.arange(len(named), dtype=np.int32)
                partition.append(_batches_of(whole, mine, named, new))


def _batches_of(whole: GroupRows, rows: Places, groups: Places, new: Codes) -> list[Any]:
    """Some groups of a portion and their rows, as two batches."""
    weights = {} if whole.weights is None else {"weight": whole.weights[rows]}
    wanted = pa.array(groups)
    by = {} if whole.by is None else {"by": whole.by.take(wanted)}
    return [
        pa.record_batch({"code": new[whole.codes[rows]], "element": whole.elements[rows], **weights}),
        pa.record_batch(
            {"name": whole.names.take(wanted), "first": whole.firsts[groups], "source": whole.sources[groups], **by}
        ),
    ]


def _read_portions(partition: BatchFile) -> Iterator[GroupRows]:
    for number in range(0, len(partition.rows), 2):
        rows, groups = partition.read(number), partition.read(number + 1)
        names = rows.schema.names
        yield GroupRows(
            rows["code"].to_numpy(),
            rows["element"].to_numpy(),
            rows["weight"].to_numpy() if "weight" in names else None,
            groups["name"],
            groups["first"].to_numpy(),
            groups["source"].to_numpy(),
            groups["by"] if "by" in groups.schema.names else None,
        )
