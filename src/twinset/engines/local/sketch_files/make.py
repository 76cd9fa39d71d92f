"""Make files of sketches from documents, or one file from several.

Documents are read in batches, sketched in threads and written in order. With `merge`, sketches of the same id become
one; sketches that do not fit in memory are merged in several passes over a scratch file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twinset.documents.normalize import hash_values
from twinset.documents.parts import Block, Chunk, Part
from twinset.engines.local.budget import Budget
from twinset.engines.local.sketch_files.code_files import CodeBatch, CodeScheme, CodeWriter
from twinset.engines.local.sketch_files.files import Scheme, SketchBatch, SketchSource, SketchWriter
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import block_ids, refuse_replaced
from twinset.errors import DuplicateIdError
from twinset.options.sketch import SketchOptions
from twinset.schema import Hashes, Places
from twinset.sketches import minhash
from twinset.sketches.bottom_k import BottomK, bottom_k, merged
from twinset.sketches.minhash_kernels import EMPTY
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of
from twinset.system.scratch import Spool, packed, unpacked

_ID_SEEDS = (0x1D, 0x2D)


@dataclass
class SketchReport:
    """Counts of rows by outcome."""

    documents: int = 0
    empty: int = 0
    replaced: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    sketches: int = 0
    named_empty: list[str] = field(default_factory=list)

    def note_empty(self, batch: SketchBatch | CodeBatch) -> None:
        """Count the empty rows, and name the first."""
        rows = np.flatnonzero(is_empty(batch))
        self.empty += len(rows)
        self.named_empty += batch.ids.take(pa.array(rows[: batch_sizes.NAMED - len(self.named_empty)])).to_pylist()


@dataclass
class Portion:
    """Sketched rows of one source, without unreadable ones."""

    where: str
    rows: Places
    batch: Any
    replaced: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, block: Block, part: Part, batch: Any, replaced: int) -> Portion:
        """Make a portion of a block; `replaced` counts texts in which shingling replaced bytes."""
        unreadable = [row for row, _ in block.unreadable]
        read = np.delete(np.arange(block.rows), unreadable)
        return cls(
            part.name,
            read + block.first_row,
            batch.taken(read) if unreadable else batch,
            replaced + len(block.replaced),
            [(batch.ids[row].as_py(), reason) for row, reason in block.unreadable],
        )


def scheme_of(options: SketchOptions) -> Scheme:
    """Make the scheme of the options."""
    return Scheme(options.sketch, options.n_hashes, options.seed, options.describe_items())


def sketched(part: Part, chunk: Chunk, options: SketchOptions) -> Portion:
    """Read a chunk of documents and sketch them."""
    block = chunk.read()
    done = shingled(block.texts, options, options.seed)
    refuse_replaced(done.replaced, block, part, options)
    counts = np.zeros(block.rows, np.uint32)
    slots = np.full((0 if options.sketch == "bottom-k" else block.rows, options.n_hashes), EMPTY, np.uint32)
    bottoms: list[tuple[Places, BottomK]] = []
    for portion in done.portions:
        counts[portion.rows] = np.diff(portion.offsets)
        if options.sketch == "bottom-k":
            bottoms.append((portion.rows, bottom_k(portion, options.n_hashes)))
        else:
            slots[portion.rows] = minhash.sketch(portion, options.sketch, options.n_hashes, options.seed)
    sketches = _combine(bottoms, block.rows, options.n_hashes) if options.sketch == "bottom-k" else slots
    batch = SketchBatch(block_ids(block, part), sketches, pa.array(counts, pa.uint32()))
    return Portion.of(block, part, batch, len(done.replaced))


def _combine(portions: list[tuple[Places, BottomK]], rows: int, k: int) -> BottomK:
    """Combine portions into the sketches of all rows, in order; rows without shingles get empty ones."""
    lengths = np.zeros(rows, np.int64)
    for numbers, sketches in portions:
        lengths[numbers] = np.diff(sketches.starts)
    starts = offsets_of(lengths)
    values = np.empty(int(starts[-1]), np.uint64)
    for numbers, sketches in portions:
        moved = np.repeat(starts[numbers] - sketches.starts[:-1], np.diff(sketches.starts))
        values[moved + np.arange(len(sketches.values))] = sketches.values
    return BottomK(k, starts, values)


def read_sketches(sources: Iterable[SketchSource]) -> Iterator[Portion]:
    """Read existing sketches."""
    for source in sources:
        row = 0
        for batch in source.batches():
            yield Portion(source.name, np.arange(row, row + len(batch)), batch)
            row += len(batch)


class SketchMaker:
    """Writes portions to one file; equal ids are merged with `merge`, otherwise refused."""

    def __init__(self, scheme: Any, merge: bool, scratch: Path, budget: Budget) -> None:
        self.scheme, self.merge, self.scratch, self.budget = scheme, merge, scratch, budget
        self.report = SketchReport()
        self._digests: list[Hashes] = []
        self._rows: list[tuple[str, Places]] = []

    def write(self, portions: Iterable[Portion], path: Path, advance: Callable[[int], None]) -> SketchReport:
        """Write all portions, in order."""
        if self.merge:
            self._write_merged(portions, path, advance)
        else:
            kind: Any = CodeWriter if isinstance(self.scheme, CodeScheme) else SketchWriter
            with kind(path, self.scheme) as writer:
                for portion in portions:
                    self._count(portion, advance)
                    self.report.note_empty(portion.batch)
                    writer.write_batch(portion.batch)
            self._refuse_equal_ids(path)
        return self.report

    def _count(self, portion: Portion, advance: Callable[[int], None]) -> None:
        report, batch = self.report, portion.batch
        report.documents += len(batch) + len(portion.unreadable)
        report.sketches += len(batch)
        report.replaced += portion.replaced
        report.unreadable += portion.unreadable
        self._digests.append(np.stack([hash_values(batch.ids, seed) for seed in _ID_SEEDS], axis=1))
        self._rows.append((portion.where, portion.rows))
        advance(len(batch) + len(portion.unreadable))

    def _refuse_equal_ids(self, path: Path) -> None:
        first, groups = self._group_ids()
        if len(first) == len(groups):
            return
        later = int(np.flatnonzero(first[groups] != np.arange(len(groups)))[0])
        (one, row), (other, again) = self._locate(int(first[groups[later]])), self._locate(later)
        name = pq.read_table(path, columns=["id"])["id"][later].as_py()
        raise DuplicateIdError(
            f"the id {name!r} appears twice: {one}, row {row}, and {other}, row {again} (counted from 0); name a "
            "column of unique ids with --id, name rows file:row with --no-id, or merge sketches of the same id with "
            "--merge"
        )

    def _locate(self, number: int) -> tuple[str, int]:
        for where, rows in self._rows:
            if number < len(rows):
                return where, int(rows[number])
            number -= len(rows)
        raise LookupError(number)

    def _group_ids(self) -> tuple[Places, Places]:
        """Return the first row of each group of equal ids, in order, and the group of each row."""
        digests = np.concatenate([np.empty((0, 2), np.uint64), *self._digests])
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        new = np.ones(len(order), np.bool_)
        new[1:] = (digests[order[1:]] != digests[order[:-1]]).any(axis=1)
        first = order[new]  # lexsort is stable
        ranked = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        groups = np.empty(len(order), np.int64)
        groups[order] = ranked[np.cumsum(new) - 1]
        return np.sort(first), groups

    def _write_merged(self, portions: Iterable[Portion], path: Path, advance: Callable[[int], None]) -> None:
        spool = Spool(self.scratch / "unmerged", "u1")
        for portion in portions:
            self._count(portion, advance)
            for record in portion.batch.table(self.scheme).to_batches():
                spool.append(packed(record), self.budget.sketches // 2)
        spool.close()
        first, groups = self._group_ids()
        self.report.sketches = len(first)
        sketch_bytes = int(self.scheme.n_hashes) * (8 if self.scheme.bottom else 4)  # at most
        step = max(64, self.budget.sketches // 8 // sketch_bytes)
        with SketchWriter(path, self.scheme) as writer:
            for start in range(0, len(first), step):
                batch = self._merge_pass(spool, groups, first[start : start + step], start)
                self.report.note_empty(batch)
                writer.write_batch(batch)
        spool.remove()

    def _merge_pass(self, spool: Spool, groups: Places, first: Places, start: int) -> SketchBatch:
        """Merge the groups from `start` on with these first rows, in one pass over all rows."""
        counts = np.bincount(groups, minlength=start + len(first))[start : start + len(first)]
        ids: list[Any] = [None] * len(first)
        shingles: list[int | None] = [None] * len(first)
        waiting: list[tuple[Any, Places]] = []
        row = waiting_rows = 0
        source = SketchSource(self.scheme.schema.empty_table())
        for record in range(len(spool.records)):
            batch = source.batch(unpacked(spool.read(record)))
            numbers = groups[row : row + len(batch)] - start
            chosen = np.flatnonzero((numbers >= 0) & (numbers < len(first)))
            members = batch.taken(chosen)
            for position, group in enumerate(numbers[chosen].tolist()):
                if int(first[group]) == row + int(chosen[position]):
                    ids[group] = members.ids[position].as_py()
                if counts[group] == 1:
                    shingles[group] = members.shingles[position].as_py()
            waiting.append((members.sketches, numbers[chosen]))
            waiting_rows += len(chosen)
            if waiting_rows > 2 * len(first):  # merge now to limit the number of sketches in memory
                waiting, waiting_rows = [(self._merge_groups(waiting, len(first)), np.arange(len(first)))], len(first)
            row += len(batch)
        whole = self._merge_groups(waiting, len(first))
        return SketchBatch(pa.array(ids, pa.string()), whole, pa.array(shingles, pa.uint32()))

    def _merge_groups(self, waiting: list[tuple[Any, Places]], n_groups: int) -> Any:
        """Merge sketches with group numbers into one per group."""
        groups = np.concatenate([numbers for _, numbers in waiting])
        if not self.scheme.bottom:
            return minhash.merged(np.concatenate([sketches for sketches, _ in waiting]), groups, n_groups)
        lengths = np.concatenate([np.diff(sketches.starts) for sketches, _ in waiting])
        values = np.concatenate([sketches.values for sketches, _ in waiting])
        return merged(BottomK(self.scheme.n_hashes, offsets_of(lengths), values), groups, n_groups)


def is_empty(batch: SketchBatch | CodeBatch) -> Any:
    """Mark the sets without elements."""
    if isinstance(batch, CodeBatch):
        return batch.empty
    if isinstance(batch.sketches, BottomK):
        return np.diff(batch.sketches.starts) == 0
    return (batch.sketches == EMPTY).all(axis=1) if batch.sketches.shape[1] else np.ones(len(batch), np.bool_)
