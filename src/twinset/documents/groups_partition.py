"""Rows of any number brought together by group: in memory while they fit, else by parts of all groups at a time.

Groups are told apart by their names, never by hashes of them: a hash only says with which other groups one is worked
on. What comes out is the same however the rows came and however much memory there was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import ColumnError
from ..schema import Hashes, Places
from . import groups_kernels as kernels
from .groups_laid import Laid
from .groups_rows import Codes, LongRows
from .normalize import hash_values
from .parts import LEAST_ROW, MAX_ROW_BYTES

Spread = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Gives function(item) for each item, in order, by whichever threads there are."""

_LAID_BYTES = 2**19  # groups that are written, and read, together
_PARTITION_SEED = 0x6A09
_MOST_PARTITIONS, _LEAST_PARTITIONS = 256, 8
_SORTED_AT_ONCE = 2**20  # rows
_NO_WEIGHTS = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Portion:
    """Rows of some groups: row i is of group codes[i]. Groups are in the order of their first rows.

    names large_string (k), firsts int64 (k): their first rows among all, sources uint32 (k), by: a value each, if
    groups are compared by one.
    """

    codes: Codes
    elements: Hashes
    weights: npt.NDArray[np.float64] | None
    names: Any
    firsts: Places
    sources: npt.NDArray[np.uint32]
    by: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the rows and groups."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return int(self.codes.nbytes + self.elements.nbytes + weights + self.names.nbytes + 12 * len(self.names))


def portion_of(rows: LongRows, by: Any, first_row: int, source: int, column: str | None) -> Portion:
    """The rows of a block that are not left out; `by` has a value for each row."""
    values = None
    if by is not None:
        values = by.take(pa.array(rows.firsts))
        own = by.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        chosen = rows.codes >= 0
        odd = chosen & (own != own[rows.firsts][rows.codes] if len(rows.firsts) else False)
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            at = int(rows.codes[row])
            raise _two_values(column, rows.names[at].as_py(), values[at].as_py(), by[row].as_py())
    there = rows.there()
    sources = np.full(len(rows.names), source, np.uint32)
    return Portion(there.codes, there.elements, there.weights, rows.names, rows.firsts + first_row, sources, values)


def _two_values(column: str | None, name: str, one: str | None, other: str | None) -> ColumnError:
    return ColumnError(
        f"--by {column}: the group {name!r} has {one!r} in one row and {other!r} in another; all rows of a group must "
        "have the same value there"
    )


def together(portions: Sequence[Portion], column: str | None = None) -> Portion:
    """Several portions, in the order of their rows, as one."""
    names = pa.concat_arrays([one.names for one in portions])
    places = names.dictionary_encode()
    codes = np.array(places.indices, np.int32)
    new, firsts = np.full(len(places.dictionary), -1, np.int32), np.empty(len(places.dictionary), np.int64)
    kernels.first_seen(codes, new, firsts)
    rows, at = [], 0
    for one in portions:
        rows.append(codes[at : at + len(one.names)][one.codes])
        at += len(one.names)
    by = None
    if portions[0].by is not None:
        every = pa.concat_arrays([one.by for one in portions])
        by = every.take(pa.array(firsts))
        own = every.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(own != own[firsts][codes])
        if len(odd):
            at = int(codes[odd[0]])
            raise _two_values(column, names[int(firsts[at])].as_py(), by[at].as_py(), every[int(odd[0])].as_py())
    weights = [one.weights for one in portions if one.weights is not None]
    return Portion(
        np.concatenate(rows),
        np.concatenate([one.elements for one in portions]),
        np.concatenate(weights) if weights else None,
        places.dictionary,
        np.concatenate([one.firsts for one in portions])[firsts],
        np.concatenate([one.sources for one in portions])[firsts],
        by,
    )


@dataclass
class Grouping:
    """Takes rows in order and lays down their groups.

    Parameters
    ----------
    folder
        Where scratch files go.
    room
        Bytes of rows that may be held; beyond, they go to scratch files.
    rows
        About how many rows there will be.
    bag
        Whether equal elements of a group count as often as they come.
    column
        The column of ``--by``, for messages.
    refuse
        Called with the name of a group that is too large, and the reason; it raises, or the group is left out.
    """

    folder: Path
    room: int
    rows: int
    bag: bool
    column: str | None
    refuse: Callable[[str, str], None]
    _held: list[Portion] = field(default_factory=list)
    _held_bytes: int = 0
    _spilled: list[Laid] = field(default_factory=list)

    def add(self, portion: Portion) -> None:
        """Take the next rows."""
        if not len(portion.codes):
            return
        self._held.append(portion)
        self._held_bytes += portion.nbytes
        if self._held_bytes > self.room:
            self._spill()

    def finish(self, spread: Spread) -> Laid:
        """The groups in the order of their first rows, laid down: id, item, source and by."""
        out = Laid(self.folder / "groups")
        if not self._spilled:
            if self._held:
                whole = together(self._held, self.column)
                self._held = []
                found = _Sorted(whole, self.bag, spread)
                out.append(found.batches(cuts(found.sizes, _LAID_BYTES), self.refuse))
            return out
        self._spill()
        runs, sizes, firsts = [], [], []
        piece = max(2**14, _LAID_BYTES // len(self._spilled))
        for number, laid in enumerate(self._spilled):
            run = Laid(self.folder / f"groups-{number}")
            portions = list(_read_portions(laid))
            if portions:
                whole = together(portions, self.column)
                del portions
                found = _Sorted(whole, self.bag, spread)
                run.append(found.batches(cuts(found.sizes, piece), self.refuse))
                sizes.append(found.sizes)
                firsts.append(whole.firsts)
            laid.remove()
            runs.append(run)
        out.append(_merged([run for run in runs if run.rows], np.concatenate(sizes), firsts))
        for run in runs:
            run.remove()
        return out

    def _spill(self) -> None:
        """Write what is held to the scratch files, by the hashes of the groups' names."""
        if not self._held:
            return
        whole = together(self._held, self.column)
        self._held, self._held_bytes = [], 0
        if not self._spilled:
            wanted = 2 * self.rows * 32 // max(1, self.room)
            count = 1 << min(_MOST_PARTITIONS, max(_LEAST_PARTITIONS, wanted)).bit_length() - 1
            self._spilled = [Laid(self.folder / f"rows-{number}") for number in range(count)]
        bits = len(self._spilled).bit_length() - 1
        of_group = (hash_values(whole.names, _PARTITION_SEED) >> np.uint64(64 - bits)).astype(np.uint16)
        of_row = of_group[whole.codes]
        rows, groups = np.argsort(of_row, kind="stable"), np.argsort(of_group, kind="stable")
        row_ends = np.cumsum(np.bincount(of_row, minlength=len(self._spilled)))
        group_ends = np.cumsum(np.bincount(of_group, minlength=len(self._spilled)))
        new = np.empty(len(whole.names), np.int32)
        row_at = group_at = 0
        for number, laid in enumerate(self._spilled):
            mine, named = rows[row_at : row_ends[number]], groups[group_at : group_ends[number]]
            row_at, group_at = int(row_ends[number]), int(group_ends[number])
            if len(named):
                new[named] = np.arange(len(named), dtype=np.int32)
                laid.append(_batches_of(whole, mine, named, new))


def _batches_of(whole: Portion, rows: Places, groups: Places, new: Codes) -> list[Any]:
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


def _read_portions(laid: Laid) -> Iterator[Portion]:
    for number in range(0, len(laid.rows), 2):
        rows, groups = laid.read(number), laid.read(number + 1)
        names = rows.schema.names
        yield Portion(
            rows["code"].to_numpy(),
            rows["element"].to_numpy(),
            rows["weight"].to_numpy() if "weight" in names else None,
            groups["name"],
            groups["first"].to_numpy(),
            groups["source"].to_numpy(),
            groups["by"] if "by" in groups.schema.names else None,
        )


def cuts(sizes: Places, most: int) -> Places:
    """Where to cut groups of these sizes into runs of about `most` bytes: a function of the sizes alone.

    Examples
    --------
    >>> cuts(np.array([5, 5, 5, 30, 5]), 10).tolist()
    [0, 1, 3, 4, 5]
    """
    upto = np.cumsum(sizes) // most
    edges = np.flatnonzero(np.diff(upto)) + 1
    return np.concatenate([[0], edges, [len(sizes)]]) if len(sizes) else np.zeros(1, np.int64)


class _Sorted:
    """The groups of a portion, the elements of each sorted."""

    def __init__(self, whole: Portion, bag: bool, spread: Spread) -> None:
        self.whole = whole
        counts = np.zeros(len(whole.names), np.int64)
        kernels.count_rows(whole.codes, counts)
        self.offsets = np.concatenate([[0], np.cumsum(counts)])
        self.elements = np.empty(len(whole.codes), np.uint64)
        kernels.bring_together(whole.codes, whole.elements, self.offsets[:-1].copy(), self.elements)
        self.weights = _NO_WEIGHTS
        if whole.weights is not None:
            self.weights = np.empty(len(whole.codes), np.uint64)
            kernels.bring_together(whole.codes, whole.weights.view(np.uint64), self.offsets[:-1].copy(), self.weights)
        self.counts = np.empty(len(whole.names), np.int64)
        edges = cuts(counts + 1, _SORTED_AT_ONCE)

        def sort(task: tuple[int, int]) -> None:
            if whole.weights is None:
                kernels.sort_sets(self.elements, self.offsets, bag, *task, self.counts)
            else:
                kernels.sort_weighted(self.elements, self.weights.view(np.float64), self.offsets, *task, self.counts)

        for _ in spread(sort, zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
            pass
        self.words = 1 if whole.weights is None else 2
        lengths = np.asarray(pa.compute.binary_length(whole.names)).astype(np.int64)
        self.sizes = np.maximum(LEAST_ROW, 8 * self.words * self.counts + lengths)

    def batches(self, edges: Places, refuse: Callable[[str, str], None]) -> Iterator[Any]:
        """The groups, cut at these edges."""
        whole = self.whole
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            counts = self.counts[first:last].copy()
            bad = self._too_much(first, counts, refuse)
            counts[bad] = 0
            offsets = np.concatenate([[0], np.cumsum(counts)]) * (8 * self.words)
            out = np.empty(int(offsets[-1]) // 8, np.uint64)
            kernels.pack_sets(self.elements, self.weights, self.offsets[first:last], counts, out)
            valid = pa.py_buffer(np.packbits(~bad, bitorder="little")) if bad.any() else None
            buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(out)]
            columns = {
                "id": whole.names.slice(first, last - first).cast(pa.string()),
                "item": pa.Array.from_buffers(pa.large_binary(), last - first, buffers),
                "source": pa.array(whole.sources[first:last]),
            }
            if whole.by is not None:
                columns["by"] = whole.by.slice(first, last - first)
            yield pa.record_batch(columns)

    def _too_much(self, first: int, counts: Places, refuse: Callable[[str, str], None]) -> npt.NDArray[np.bool_]:
        """Groups that cannot be: larger than any item may be, or weights that add up to no number."""
        large = counts * (8 * self.words) > MAX_ROW_BYTES
        bad = large.copy()
        if self.words == 2:
            start, end = int(self.offsets[first]), int(self.offsets[first + len(counts)])
            endless = np.flatnonzero(np.isinf(self.weights[start:end].view(np.float64))) + start
            bad[np.searchsorted(self.offsets, endless, side="right") - 1 - first] = True
        for at in np.flatnonzero(bad).tolist():
            reason = "the weights of an element of the group add up to more than a number can hold"
            if large[at]:
                most = MAX_ROW_BYTES // (8 * self.words)
                reason = f"the group has {int(counts[at]):,} elements; at most {most:,} are read"
            refuse(self.whole.names[first + at].as_py(), reason)
        return bad


def _merged(runs: list[Laid], sizes: Places, firsts: list[Places]) -> Iterator[Any]:
    """The groups of several runs, each in the order of first rows, in that order."""
    order = np.argsort(np.concatenate(firsts), kind="stable")
    run_of = np.repeat(np.arange(len(runs)), [len(one) for one in firsts])[order]
    edges = cuts(sizes[order], _LAID_BYTES)
    streams = [_Stream(run) for run in runs]
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        mine = run_of[first:last]
        counts = np.bincount(mine, minlength=len(runs))
        taken = [one for number in np.flatnonzero(counts).tolist() for one in streams[number].take(int(counts[number]))]
        back = np.empty(last - first, np.int64)
        back[np.argsort(mine, kind="stable")] = np.arange(last - first)
        table = pa.Table.from_batches(taken).combine_chunks().take(pa.array(back))
        yield table.combine_chunks().to_batches()[0]


class _Stream:
    """A run of groups, taken from the first to the last."""

    def __init__(self, laid: Laid) -> None:
        self._laid = laid
        self._next = 0
        self._left: Any = None

    def take(self, count: int) -> list[Any]:
        """The next groups."""
        found = []
        while count:
            if self._left is None or not self._left.num_rows:
                self._left = self._laid.read(self._next)
                self._next += 1
            piece = self._left.slice(0, count)
            found.append(piece)
            count -= piece.num_rows
            self._left = self._left.slice(piece.num_rows)
        return found
