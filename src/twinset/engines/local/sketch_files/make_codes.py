"""Documents to SimHash codes: read in batches and coded in threads; for tf-idf, counted in a pass before.

The table of frequencies has as many places whatever memory there is, so that codes do not depend on it. There is one
for each thread while there is room, else threads take turns; counts add up to the same in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.normalize import buffers_of
from twinset.documents.parts import Block, Chunk, Part
from twinset.engines.local.budget import Budget
from twinset.engines.local.sketch_files.code_files import CodeBatch
from twinset.engines.local.sketch_files.make import Portion
from twinset.engines.local.steps.shingle import Shingled, shingled
from twinset.engines.local.steps.sketch import block_ids, refuse_replaced
from twinset.engines.local.threads import Threads
from twinset.options import PairsOptions, ReadOptions
from twinset.options.sketch import SketchOptions
from twinset.schema import Codes, Numbers, Shares, Shingles, WeightedSets
from twinset.shingles.elements import element_sets
from twinset.sketches.simhash import DocumentFrequencies, simhash, unrepeated, weighted_simhash
from twinset.system.arrays import ranges

Work = Iterable[tuple[Part, Chunk]]


def reading_options(options: SketchOptions, found: ReadOptions) -> ReadOptions:
    """The options to read with: where repeats count, groups of a long table are read with theirs."""
    if options.item_kind != "groups" or options.code_weights == "none":
        return found
    return PairsOptions.of(bag=True, **{name: getattr(found, name) for name, _ in ReadOptions.words()})


def rarities(
    work: Work, options: SketchOptions, threads: Threads, budget: Budget, told: Callable[[int], None]
) -> Numbers:
    """The weight of every place of the table of frequencies, once all documents were counted."""
    first = DocumentFrequencies()
    few = max(1, min(threads.count, budget.free // 4 // first.counts.nbytes))
    idle: SimpleQueue[DocumentFrequencies] = SimpleQueue()
    for number in range(few):
        idle.put(first if number == 0 else DocumentFrequencies())

    def one(task: tuple[Part, Chunk]) -> int:
        block = task[1].read()
        for portion, _ in _portions(block, options)[1]:
            table = idle.get()
            try:
                table.add(portion)
            finally:
                idle.put(table)
        return block.rows

    for rows in threads.map(one, work):
        told(rows)
    for other in (idle.get() for _ in range(few)):
        if other is not first:
            first.merge(other)
    return first.into_weights()


def coded(part: Part, chunk: Chunk, options: SketchOptions, weights: Numbers | None) -> Portion:
    """Read a chunk of documents and make their codes; `weights` are those of tf-idf."""
    block = chunk.read()
    done, portions = _portions(block, options)
    refuse_replaced(done.replaced, block, part, options)
    counts = np.zeros(block.rows, np.uint32)
    codes: Codes = np.zeros((block.rows, options.code_bits // 64), np.uint64)
    for portion, heavy in portions:
        counts[portion.rows] = np.diff(portion.offsets)
        codes[portion.rows] = _codes(portion, heavy, options, weights)
    batch = CodeBatch(block_ids(block, part), codes, pa.array(counts, pa.uint32()))
    return Portion.of(block, part, batch, len(done.replaced))


def _codes(portion: Shingles, heavy: Shares | None, options: SketchOptions, weights: Numbers | None) -> Codes:
    bits, seed = options.code_bits, options.seed
    if options.code_weights == "none":
        return simhash(unrepeated(portion), bits, seed)
    if heavy is None:
        return simhash(portion, bits, seed, weights)
    return weighted_simhash(WeightedSets(portion.offsets, portion.hashes, heavy), bits, seed, weights)


def _portions(block: Block, options: SketchOptions) -> tuple[Shingled, Iterator[tuple[Shingles, Shares | None]]]:
    """The shingles of a block, each portion with the weights that its elements have of their own, if they have."""
    if options.item_kind == "weighted":
        return Shingled(iter(()), np.zeros(0, np.int64), 0), _weighted(block.texts, options.seed)
    done = shingled(block.texts, options, options.seed)
    return done, ((portion, None) for portion in done.portions)


def _weighted(rows: Any, seed: int) -> Iterator[tuple[Shingles, Shares]]:
    """Weighted sets; the hash of an element is that which it has in a set without weights."""
    data, offsets = buffers_of(rows)
    numbers = np.flatnonzero(np.asarray(rows.is_valid()))
    pairs = data[offsets[0] : offsets[-1]].copy().view("<u8").reshape(-1, 2)
    hashes = np.ascontiguousarray(pairs[:, 0])
    weights = np.ascontiguousarray(pairs[:, 1]).view(np.float64)
    starts, ends = ((offsets[numbers + more] - offsets[0]) // 16 for more in (0, 1))
    done = 0
    for portion in element_sets(hashes.view(np.uint8), starts * 8, ends * 8, numbers, bag=False, seed=seed):
        few = len(portion.rows)
        some = slice(done, done + few)
        there = ranges(starts[some], ends[some] - starts[some])
        yield portion, weights[there]
        done += few
