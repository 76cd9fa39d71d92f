"""Documents to files of sketches, and several files to one: read in batches, sketched in threads, written in order.

With `merge`, what has the same id becomes one. Ids are told apart by 128 bits of hash; sketches that do not fit in
memory are merged in several passes over a file of the run.
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
from twinset.system.scratch import Spool, packed, unpacked

_ID_SEEDS = (0x1D, 0x2D)


@dataclass
class Made:
    """What became of the rows."""

    documents: int = 0
    empty: int = 0
    replaced: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    sketches: int = 0
    named_empty: list[str] = field(default_factory=list)

    def note_empty(self, batch: SketchBatch | CodeBatch) -> None:
        """Count the rows without elements, and name the first."""
        places = np.flatnonzero(is_empty(batch))
        self.empty += len(places)
        self.named_empty += batch.ids.take(pa.array(places[: batch_sizes.NAMED - len(self.named_empty)])).to_pylist()


@dataclass
class Portion:
    """Rows that were sketched, of one place; those that could not be read were left out."""

    where: str
    rows: Places
    batch: Any
    replaced: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, block: Block, part: Part, batch: Any, replaced: int) -> Portion:
        """What was made of a block; `replaced` counts texts that shingling found to be of another encoding."""
        wrong = [row for row, _ in block.unreadable]
        read = np.delete(np.arange(block.rows), wrong)
        return cls(
            part.name,
            read + block.first_row,
            batch.taken(read) if wrong else batch,
            replaced + len(block.replaced),
            [(batch.ids[row].as_py(), reason) for row, reason in block.unreadable],
        )


def scheme_of(options: SketchOptions) -> Scheme:
    """What the sketches will be."""
    return Scheme(options.sketch, options.n_hashes, options.seed, options.items_meant())


def sketched(part: Part, chunk: Chunk, options: SketchOptions) -> Portion:
    """Read a chunk of documents and sketch them."""
    block = chunk.read()
    done = shingled(block.texts, options, options.seed)
    refuse_replaced(done.replaced, block, part, options)
    counts = np.zeros(block.rows, np.uint32)
    slots = np.full((0 if options.sketch == "bottom-k" else block.rows, options.n_hashes), EMPTY, np.uint32)
    least: list[tuple[Places, BottomK]] = []
    for portion in done.portions:
        counts[portion.rows] = np.diff(portion.offsets)
        if options.sketch == "bottom-k":
            least.append((portion.rows, bottom_k(portion, options.n_hashes)))
        else:
            slots[portion.rows] = minhash.sketch(portion, options.sketch, options.n_hashes, options.seed)
    found = _together(least, block.rows, options.n_hashes) if options.sketch == "bottom-k" else slots
    batch = SketchBatch(block_ids(block, part), found, pa.array(counts, pa.uint32()))
    return Portion.of(block, part, batch, len(done.replaced))


def _together(found: list[tuple[Places, BottomK]], rows: int, k: int) -> BottomK:
    """Portions of sketches as those of all rows, in order; rows without shingles have empty ones."""
    lengths = np.zeros(rows, np.int64)
    for numbers, sketches in found:
        lengths[numbers] = np.diff(sketches.starts)
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    values = np.empty(int(starts[-1]), np.uint64)
    for numbers, sketches in found:
        moved = np.repeat(starts[numbers] - sketches.starts[:-1], np.diff(sketches.starts))
        values[moved + np.arange(len(sketches.values))] = sketches.values
    return BottomK(k, starts, values)


def read_sketches(sources: Iterable[SketchSource]) -> Iterator[Portion]:
    """Sketches that were made before."""
    for source in sources:
        row = 0
        for batch in source.batches():
            yield Portion(source.name, np.arange(row, row + len(batch)), batch)
            row += len(batch)


class SketchMaker:
    """Takes portions and writes one file; `merge` says whether equal ids become one or are refused."""

    def __init__(self, scheme: Any, merge: bool, scratch: Path, budget: Budget) -> None:
        self.scheme, self.merge, self.scratch, self.budget = scheme, merge, scratch, budget
        self.made = Made()
        self._digests: list[Hashes] = []
        self._places: list[tuple[str, Places]] = []

    def write(self, portions: Iterable[Portion], path: Path, told: Callable[[int], None]) -> Made:
        """Write all portions, in order."""
        if self.merge:
            self._write_merged(portions, path, told)
        else:
            kind: Any = CodeWriter if isinstance(self.scheme, CodeScheme) else SketchWriter
            with kind(path, self.scheme) as writer:
                for portion in portions:
                    self._note(portion, told)
                    self.made.note_empty(portion.batch)
                    writer.write(portion.batch)
            self._refuse_equal_ids(path)
        return self.made

    def _note(self, portion: Portion, told: Callable[[int], None]) -> None:
        made, batch = self.made, portion.batch
        made.documents += len(batch) + len(portion.unreadable)
        made.sketches += len(batch)
        made.replaced += portion.replaced
        made.unreadable += portion.unreadable
        self._digests.append(np.stack([hash_values(batch.ids, seed) for seed in _ID_SEEDS], axis=1))
        self._places.append((portion.where, portion.rows))
        told(len(batch) + len(portion.unreadable))

    def _refuse_equal_ids(self, path: Path) -> None:
        first, groups = self._groups()
        if len(first) == len(groups):
            return
        later = int(np.flatnonzero(first[groups] != np.arange(len(groups)))[0])
        (one, row), (other, again) = self._place(int(first[groups[later]])), self._place(later)
        name = pq.read_table(path, columns=["id"])["id"][later].as_py()
        raise DuplicateIdError(
            f"the id {name!r} appears twice: {one}, row {row}, and {other}, row {again} (counted from 0); name a "
            "column of unique ids with --id, or merge sketches of the same id with --merge"
        )

    def _place(self, number: int) -> tuple[str, int]:
        for where, rows in self._places:
            if number < len(rows):
                return where, int(rows[number])
            number -= len(rows)
        raise LookupError(number)

    def _groups(self) -> tuple[Places, Places]:
        """The first row of each group of equal ids, in order, and the group of each row."""
        digests = np.concatenate([np.empty((0, 2), np.uint64), *self._digests])
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        new = np.ones(len(order), np.bool_)
        new[1:] = (digests[order[1:]] != digests[order[:-1]]).any(axis=1)
        first = order[new]  # lexsort is stable: the first of a run came first
        ranked = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        groups = np.empty(len(order), np.int64)
        groups[order] = ranked[np.cumsum(new) - 1]
        return np.sort(first), groups

    def _write_merged(self, portions: Iterable[Portion], path: Path, told: Callable[[int], None]) -> None:
        spool = Spool(self.scratch / "unmerged", "u1")
        for portion in portions:
            self._note(portion, told)
            for table in portion.batch.table(self.scheme).to_batches():
                spool.append(packed(table))
            if spool.nbytes > self.budget.sketches // 2:
                spool.forget()
        spool.close()
        first, groups = self._groups()
        self.made.sketches = len(first)
        step = max(64, self.budget.sketches // 8 // self._width)
        with SketchWriter(path, self.scheme) as writer:
            for start in range(0, len(first), step):
                batch = self._merged(spool, groups, first[start : start + step], start)
                self.made.note_empty(batch)
                writer.write(batch)
        spool.remove()

    @property
    def _width(self) -> int:
        """Bytes of a sketch, at most."""
        return int(self.scheme.n_hashes) * (8 if self.scheme.bottom else 4)

    def _merged(self, spool: Spool, groups: Places, first: Places, start: int) -> SketchBatch:
        """The groups from `start` on, as many as there are first rows of; one pass over all rows."""
        counts = np.bincount(groups, minlength=start + len(first))[start : start + len(first)]
        ids: list[Any] = [None] * len(first)
        shingles: list[int | None] = [None] * len(first)
        waiting: list[tuple[Any, Places]] = []
        row = held = 0
        source = SketchSource(self.scheme.schema.empty_table())
        for record in range(len(spool.records)):
            batch = source.batch(unpacked(spool.read(record)))
            numbers = groups[row : row + len(batch)] - start
            chosen = np.flatnonzero((numbers >= 0) & (numbers < len(first)))
            mine = batch.taken(chosen)
            for place, group in enumerate(numbers[chosen].tolist()):
                if int(first[group]) == row + int(chosen[place]):
                    ids[group] = mine.ids[place].as_py()
                if counts[group] == 1:
                    shingles[group] = mine.shingles[place].as_py()
            waiting.append((mine.sketches, numbers[chosen]))
            held += len(chosen)
            if held > 2 * len(first):  # merged now and then, so that there are never many more than groups
                waiting, held = [(self._joined(waiting, len(first)), np.arange(len(first)))], len(first)
            row += len(batch)
        whole = self._joined(waiting, len(first))
        return SketchBatch(pa.array(ids, pa.string()), whole, pa.array(shingles, pa.uint32()))

    def _joined(self, waiting: list[tuple[Any, Places]], n_groups: int) -> Any:
        """Sketches, each with its group, as one a group."""
        groups = np.concatenate([numbers for _, numbers in waiting])
        if not self.scheme.bottom:
            return minhash.merged(np.concatenate([sketches for sketches, _ in waiting]), groups, n_groups)
        lengths = np.concatenate([np.diff(sketches.starts) for sketches, _ in waiting])
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        values = np.concatenate([sketches.values for sketches, _ in waiting])
        return merged(BottomK(self.scheme.n_hashes, starts, values), groups, n_groups)


def is_empty(batch: SketchBatch | CodeBatch) -> Any:
    """Which sets have no element."""
    if isinstance(batch, CodeBatch):
        return batch.empty
    if isinstance(batch.sketches, BottomK):
        return np.diff(batch.sketches.starts) == 0
    return (batch.sketches == EMPTY).all(axis=1) if batch.sketches.shape[1] else np.ones(len(batch), np.bool_)
