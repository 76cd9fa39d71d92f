"""Make SimHash codes from documents, in threads; for tf-idf, after a pass that counts frequencies.

The size of the frequency table does not depend on memory, so that codes do not either. Each thread has its own table if
there is room, otherwise threads take turns; the sums do not depend on the order.
"""

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


def reading_options(options: SketchOptions, reading: ReadOptions) -> ReadOptions:
    """Return the options to read with: groups of a long table keep repeats if these count."""
    if options.item_kind != "groups" or options.code_weights == "none":
        return reading
    return PairsOptions.of(bag=True, **{name: getattr(reading, name) for name, _ in ReadOptions.specs()})


def count_rarities(
    work: Work, options: SketchOptions, threads: Threads, budget: Budget, advance: Callable[[int], None]
) -> Numbers:
    """Count all documents and return the weight of every entry of the frequency table."""
    first = DocumentFrequencies()
    n_tables = max(1, min(threads.count, budget.free // 4 // first.counts.nbytes))
    idle: SimpleQueue[DocumentFrequencies] = SimpleQueue()
    for number in range(n_tables):
        idle.put(first if number == 0 else DocumentFrequencies())

    def count_chunk(task: tuple[Part, Chunk]) -> int:
        block = task[1].read()
        for portion, _ in _shingle_block(block, options)[1]:
            table = idle.get()
            try:
                table.add(portion)
            finally:
                idle.put(table)
        return block.rows

    for rows in threads.map(count_chunk, work):
        advance(rows)
    for other in (idle.get() for _ in range(n_tables)):
        if other is not first:
            first.merge(other)
    return first.into_weights()


def make_codes(part: Part, chunk: Chunk, options: SketchOptions, weights: Numbers | None) -> Portion:
    """Read a chunk of documents and make their codes; `weights` are the tf-idf weights."""
    block = chunk.read()
    done, portions = _shingle_block(block, options)
    refuse_replaced(done.replaced, block, part, options)
    counts = np.zeros(block.rows, np.uint32)
    codes: Codes = np.zeros((block.rows, options.code_bits // 64), np.uint64)
    for portion, element_weights in portions:
        counts[portion.rows] = np.diff(portion.offsets)
        codes[portion.rows] = _make_codes(portion, element_weights, options, weights)
    batch = CodeBatch(block_ids(block, part), codes, pa.array(counts, pa.uint32()))
    return Portion.of(block, part, batch, len(done.replaced))


def _make_codes(
    portion: Shingles, element_weights: Shares | None, options: SketchOptions, weights: Numbers | None
) -> Codes:
    bits, seed = options.code_bits, options.seed
    if options.code_weights == "none":
        return simhash(unrepeated(portion), bits, seed)
    if element_weights is None:
        return simhash(portion, bits, seed, weights)
    return weighted_simhash(WeightedSets(portion.offsets, portion.hashes, element_weights), bits, seed, weights)


def _shingle_block(block: Block, options: SketchOptions) -> tuple[Shingled, Iterator[tuple[Shingles, Shares | None]]]:
    """Shingle a block; each portion comes with the weights of its elements, if they have any."""
    if options.item_kind == "weighted":
        return Shingled(iter(()), np.zeros(0, np.int64), 0), _shingle_weighted(block.texts, options.seed)
    done = shingled(block.texts, options, options.seed)
    return done, ((portion, None) for portion in done.portions)


def _shingle_weighted(rows: Any, seed: int) -> Iterator[tuple[Shingles, Shares]]:
    """Yield weighted sets; an element has the same hash as in a set without weights."""
    data, offsets = buffers_of(rows)
    numbers = np.flatnonzero(np.asarray(rows.is_valid()))
    pairs = data[offsets[0] : offsets[-1]].copy().view("<u8").reshape(-1, 2)
    hashes = np.ascontiguousarray(pairs[:, 0])
    weights = np.ascontiguousarray(pairs[:, 1]).view(np.float64)
    starts, ends = ((offsets[numbers + more] - offsets[0]) // 16 for more in (0, 1))
    done = 0
    for portion in element_sets(hashes.view(np.uint8), starts * 8, ends * 8, numbers, bag=False, seed=seed):
        rows = slice(done, done + len(portion.rows))
        yield portion, weights[ranges(starts[rows], ends[rows] - starts[rows])]
        done = rows.stop
