"""The third stage: compare candidates exactly on the full shingle sets of both documents.

If the sets of all candidates fit in memory, one reading loads them. Otherwise related documents are put into the same
portion, their texts are written to one scratch file per portion, and portions are verified one by one. Pairs across two
portions, which occur only in very large families, are verified with both loaded.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.clusters.group import components
from twinset.documents.normalize import buffers_of
from twinset.documents.parts import Block
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.pairs.sets import Bags, Sets, compared, gathered, held, overlaps
from twinset.schema import Bytes, Flags, Numbers, Places, Shingles
from twinset.system import batch_sizes
from twinset.system.arrays import Room, pair_words
from twinset.system.scratch import Spool, packed, unpacked

Pairs = npt.NDArray[np.uint32]
_MANY = 16  # candidates per document
_OPEN_FILES = 200  # at a time; many systems allow a thousand
_TEXTS = pa.schema([("number", pa.uint32()), ("text", pa.large_binary())])


class SetVerifier:
    """Verifies candidates of a corpus, and records the exact set size of every compared document."""

    def __init__(
        self, corpus: Corpus, options: WorkOptions, budget: Budget, scratch: Path, threads: Threads, progress: Progress
    ) -> None:
        self.corpus, self.options, self.budget = corpus, options, budget
        self.scratch, self.threads, self.progress = scratch, threads, progress
        self.sizes: Numbers = np.zeros(corpus.documents, np.uint32)
        self._room = Room()

    def verify(self, candidates: Spool, threshold: float, out: Spool) -> None:
        """Append (left, right, shared shingles) of every candidate at or above the threshold to `out`."""
        needed = np.zeros(self.corpus.documents, np.bool_)
        for chunk in candidates.chunks():
            needed[chunk] = True
        numbers = np.flatnonzero(needed)
        self.progress.stage("verifying", len(candidates), "candidates")
        if len(numbers) == 0:
            return
        room = int(self.corpus.counts[numbers].sum(dtype=np.int64)) * 8
        # With many candidates per document, verifying a few at a time would make the same sets repeatedly.
        many = len(candidates) > _MANY * len(numbers) and room <= self.budget.sets
        if self.corpus.cached_blocks and candidates.nbytes <= self.budget.pairs and not many:
            self._verify_cached(candidates, threshold, out)
        elif room <= self.budget.sets:
            sets = self._sets_by_reading(numbers)
            for chunk in candidates.chunks():
                out.append(self._verify_sets(chunk, numbers, sets, threshold))
        else:
            self._verify_portions(candidates, threshold, out, numbers)

    def _verify_cached(self, candidates: Spool, threshold: float, out: Spool) -> None:
        """Verify with all texts in memory: each thread takes a few related candidates at a time."""
        pairs = candidates.all()
        family = components(self.corpus.documents, [pairs])[pairs[:, 0]]
        pairs = pairs[np.argsort(pair_words(family, pairs[:, 0]))]
        load = np.cumsum(self.corpus.counts[pairs].sum(axis=1, dtype=np.int64))
        cuts = np.flatnonzero(np.diff(load // batch_sizes.VERIFIED_SHINGLES)) + 1
        portions = np.split(pairs, cuts)
        work = partial(self._verify_few, threshold)
        for few, verified in zip(portions, self.threads.map(work, portions), strict=True):
            out.append(verified)
            self.progress.advance(len(few))

    def _verify_few(self, threshold: float, pairs: Pairs) -> Pairs:
        numbers = np.unique(pairs).astype(np.int64)
        lefts, rights = (np.searchsorted(numbers, pairs[:, side]).astype(np.uint32) for side in (0, 1))
        shared, self.sizes[numbers] = self._compare_few(numbers, lefts, rights, threshold)
        return _select_passed(pairs, shared, threshold)

    def _compare_few(
        self, numbers: Places, lefts: Numbers, rights: Numbers, threshold: float
    ) -> tuple[Numbers, Numbers]:
        """Return the overlaps of a few pairs, and the set sizes of the documents."""
        counts = self.corpus.counts[numbers]
        if 2 * int(counts.max()) > batch_sizes.COMPARED_SHINGLES:
            return self._compare_sets(numbers, lefts, rights, threshold)
        bags = Bags.with_room(counts, self._room)
        for portion in self._cached_shingles(numbers):
            bags.fill(portion, portion.rows)
        return compared(bags, lefts, rights, threshold)

    def _compare_sets(
        self, numbers: Places, lefts: Numbers, rights: Numbers, threshold: float
    ) -> tuple[Numbers, Numbers]:
        sets = Sets.with_room(self.corpus.counts[numbers], self._room)
        for portion in self._cached_shingles(numbers):
            sets.fill(portion, np.arange(len(portion.rows)), portion.rows)
        return self._overlaps(sets, lefts, rights, threshold), sets.sizes

    def _overlaps(self, sets: Sets, lefts: Numbers, rights: Numbers, threshold: float) -> Numbers:
        """Return the shared shingles of each pair, 0 below the threshold."""
        return overlaps(sets, lefts, rights, threshold)

    def _cached_shingles(self, numbers: Places) -> Iterator[Shingles]:
        """Yield shingles of documents (ascending) whose texts are in memory; rows are positions in `numbers`."""
        edges = np.searchsorted(numbers, [span.first for span in self.corpus.spans])
        parts = [
            (self.corpus.cached_blocks[index].texts, first, numbers[first:last] - self.corpus.spans[index].first)
            for index, (first, last) in enumerate(pairwise([*edges.tolist(), len(numbers)]))
            if last > first
        ]
        if all(_is_contiguous(texts) for texts, _, _ in parts):
            data, offsets = gathered([_slice_bounds(texts, rows) for texts, _, rows in parts], self._room)
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            whole = pa.Array.from_buffers(pa.large_binary(), len(numbers), buffers)
            parts = [(whole, 0, np.arange(len(numbers)))]
        for texts, first, rows in parts:
            few = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
            for portion in shingled(few, self.options, self.options.seed).portions:
                yield replace(portion, rows=portion.rows + first)

    def _sets_by_reading(self, numbers: Places) -> Sets:
        sets = Sets.with_room(self.corpus.counts[numbers])
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[numbers] = True

        def fill(span: Span, block: Block) -> None:
            rows = np.arange(span.first, span.first + span.rows)
            self._fill(sets, numbers, block.texts, rows, wanted[span.documents])

        for _ in self.corpus.read(self.threads, fill, wanted=wanted):
            pass
        self.sizes[numbers] = sets.sizes
        return sets

    def _fill(
        self, sets: Sets, numbers: Places, texts: pa.Array, documents: Places,
        wanted: Flags | None = None,
    ) -> None:  # fmt: skip
        """Shingle the texts of some documents (ascending), or of the wanted ones, into their sets."""
        positions = np.searchsorted(numbers, documents)
        for portion in shingled(texts, self.options, self.options.seed, wanted).portions:
            sets.fill(portion, np.arange(len(portion.rows)), positions[portion.rows])

    def _verify_sets(self, pairs: Pairs, numbers: Places, sets: Sets, threshold: float) -> Pairs:
        """Return the pairs that reach the threshold, with their overlaps, sorted."""
        words = np.sort(pair_words(pairs[:, 0], pairs[:, 1]))
        pairs = np.stack([(words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32)], axis=1)
        lefts = np.searchsorted(numbers, pairs[:, 0]).astype(np.uint32)
        rights = np.searchsorted(numbers, pairs[:, 1]).astype(np.uint32)
        many = batch_sizes.VERIFIED_PAIRS

        def work(start: int) -> Numbers:
            part = slice(start, start + many)
            return self._overlaps(sets, lefts[part], rights[part], threshold)

        shared = np.zeros(len(pairs), np.uint32)
        starts = range(0, len(pairs), many)
        for start, verified in zip(starts, self.threads.map(work, starts), strict=True):
            shared[start : start + len(verified)] = verified
            self.progress.advance(len(verified))
        return _select_passed(pairs, shared, threshold)

    def _verify_portions(self, candidates: Spool, threshold: float, out: Spool, numbers: Places) -> None:
        portion_of, count = self._assign_portions(candidates, numbers)
        files = self._write_texts(portion_of, count)
        for this, others in _list_partners(candidates, portion_of, count):
            mine = self._load(files[this])
            for other in others:
                pairs = _pairs_between(candidates, portion_of, this, other)
                documents, sets = mine if other == this else _merge_sets(mine, self._load(files[other]))
                out.append(self._verify_sets(pairs, documents, sets, threshold))
        for file in files:
            file.remove()

    def _assign_portions(self, candidates: Spool, numbers: Places) -> tuple[npt.NDArray[np.int32], int]:
        """Assign each needed document to a portion that fits in memory, related documents together if possible."""
        family = components(self.corpus.documents, candidates.chunks())
        order = numbers[np.argsort(family[numbers], kind="stable")]
        # two portions may be in memory at once, with the texts of one of them
        limit = max(1, self.budget.sets // 2)
        reach = np.cumsum(self.corpus.counts[order].astype(np.int64) * 8)
        portion_of = np.full(self.corpus.documents, -1, np.int32)
        portion_ids, portion_of[order] = np.unique((reach - 1) // limit, return_inverse=True)
        return portion_of, len(portion_ids)

    def _write_texts(self, portion_of: npt.NDArray[np.int32], count: int) -> list[Spool]:
        spools = [Spool(self.scratch / f"texts-{number}", "u1") for number in range(count)]
        for spool in spools:
            spool.forget()

        def split(span: Span, block: Block) -> list[tuple[int, npt.NDArray[np.uint8]]]:
            portions = portion_of[span.documents]
            pieces = []
            for portion in np.unique(portions[portions >= 0]):
                rows = np.flatnonzero(portions == portion)
                texts = block.texts.take(pa.array(rows)).cast(pa.large_binary())
                batch = pa.record_batch([pa.array((rows + span.first).astype(np.uint32)), texts], schema=_TEXTS)
                pieces.append((int(portion), packed(batch)))
            return pieces

        for _, pieces in self.corpus.read(self.threads, split, wanted=portion_of >= 0):
            for portion, record in pieces:
                spools[portion].append(record)
                if count > _OPEN_FILES:
                    spools[portion].close()
        for spool in spools:
            spool.close()
        return spools

    def _load(self, texts: Spool) -> tuple[Places, Sets]:
        """Load the sets of the documents whose texts are in a scratch file."""
        numbers = np.concatenate([np.asarray(unpacked(record).column(0)) for record in texts.chunks()]).astype(np.int64)
        sets = Sets.with_room(self.corpus.counts[numbers])

        def fill(record: int) -> None:
            batch = unpacked(texts.read(record))
            self._fill(sets, numbers, batch.column(1), np.asarray(batch.column(0)).astype(np.int64))

        self.threads.run(fill, range(len(texts.records)))
        self.sizes[numbers] = sets.sizes
        return numbers, sets


class ContainmentVerifier(SetVerifier):
    """Verifies that one set of a candidate holds the other: the threshold is the share of the smaller one."""

    def _compare_few(
        self, numbers: Places, lefts: Numbers, rights: Numbers, threshold: float
    ) -> tuple[Numbers, Numbers]:
        return self._compare_sets(numbers, lefts, rights, threshold)

    def _overlaps(self, sets: Sets, lefts: Numbers, rights: Numbers, threshold: float) -> Numbers:
        return held(sets, lefts, rights, threshold)


def _is_contiguous(texts: pa.Array) -> bool:
    """Whether the texts are slices of one buffer, and none is null."""
    return texts.type in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()) and not texts.null_count


def _slice_bounds(texts: pa.Array, rows: Places) -> tuple[Bytes, Places, Places]:
    """Return the bytes of texts, and the starts and ends of some rows."""
    data, offsets = buffers_of(texts)
    return data, offsets[rows], offsets[rows + 1]


def _select_passed(pairs: Pairs, shared: Numbers, threshold: float) -> Pairs:
    """Return the pairs that reach the threshold, with their overlaps; with threshold 0, all."""
    passed = shared > 0 if threshold > 0 else np.ones(len(pairs), np.bool_)
    return np.concatenate([pairs[passed], shared[passed, None]], axis=1)


def _list_partners(candidates: Spool, portion_of: npt.NDArray[np.int32], count: int) -> list[tuple[int, list[int]]]:
    """List each portion with the portions from itself on with which it shares candidates."""
    has_pairs = np.zeros((count, count), np.bool_)
    for chunk in candidates.chunks():
        portions = np.sort(portion_of[chunk], axis=1)
        has_pairs[portions[:, 0], portions[:, 1]] = True
    return [(this, np.flatnonzero(has_pairs[this]).tolist()) for this in range(count) if has_pairs[this].any()]


def _pairs_between(candidates: Spool, portion_of: npt.NDArray[np.int32], this: int, other: int) -> Pairs:
    """Return the candidates with one document in each of two portions."""
    pairs = [np.empty((0, 2), np.uint32)]
    for chunk in candidates.chunks():
        portions = np.sort(portion_of[chunk], axis=1)
        pairs.append(chunk[(portions[:, 0] == this) & (portions[:, 1] == other)])
    return np.concatenate(pairs)


def _merge_sets(one: tuple[Places, Sets], other: tuple[Places, Sets]) -> tuple[Places, Sets]:
    """Merge the sets of two portions, by ascending document number."""
    numbers = np.concatenate([one[0], other[0]])
    order = np.argsort(numbers)
    hashes = np.concatenate([one[1].hashes, other[1].hashes])
    starts = np.concatenate([one[1].starts[:-1], other[1].starts[:-1] + len(one[1].hashes)])
    sizes = np.concatenate([one[1].sizes, other[1].sizes])
    return numbers[order], Sets(hashes, starts[order], sizes[order])
