"""The second stage of an exact run: join shingle sets by their prefixes within the memory budget.

The first of two readings counts how many distinct contents have each shingle. The second writes the prefix of each
content to a file. Prefixes are joined block by block; blocks have documents of similar size, so that sizes rule out
most pairs of blocks. The candidates do not depend on threads, batches or blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from twinset.candidates import prefix
from twinset.candidates.prefix import Frequencies, Lists, Prefixes, Probing
from twinset.documents.parts import Block
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.state import RunState
from twinset.engines.local.steps.candidates import STAGE, write_candidates
from twinset.engines.local.steps.read_sets import SetReader
from twinset.engines.local.steps.sketch import WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.schema import CandidatePairs, Flags, Hashes, Numbers, Places
from twinset.system.arrays import offsets_of
from twinset.system.scratch import Spool

_KEY_BYTES = 96  # memory per key while its block is joined: in a table, a list, and the probing block
_DOCUMENT_BYTES = 100  # and per document
_OPEN_FILES = 200  # at a time; many systems allow a thousand


@dataclass(frozen=True)
class Listed:
    """Documents with prefixes to be joined, in the order of reading; their keys and bitmaps are in files.

    `counts` are their numbers of keys, `work` the cost of probing their lists.
    """

    numbers: Numbers
    sizes: Numbers
    alone: Numbers
    counts: Numbers
    salts: Hashes
    work: Hashes

    def select(self, chosen: Flags, *, salted: bool) -> "Listed":
        """Return the chosen documents; the salts are dropped unless `salted`."""
        columns = {name: getattr(self, name)[chosen] for name in Listed.__dataclass_fields__}
        return Listed(**columns if salted else {**columns, "salts": np.empty(0, np.uint64)})


class PrefixJoin(SetReader):
    """Joins the distinct contents of a corpus."""

    @property
    def threshold(self) -> float:
        """The minimum similarity of a pair."""
        return self.options.threshold

    def candidates(self) -> Iterator[CandidatePairs]:
        """Yield every pair of distinct contents that may reach the threshold once."""
        frequencies = Frequencies.for_tokens(self.n_tokens)
        self.count_shingles(frequencies)
        files = [Spool(self.state.scratch / name, "<u8") for name in ("prefixes", "bitmaps")]
        listed = self._write_prefixes(frequencies, *files)
        del frequencies
        yield from _Blocks(self, listed, *files).joined()
        for file in files:
            file.remove()

    def _write_prefixes(self, frequencies: Frequencies, keys: Spool, bits: Spool) -> Listed:
        """Write prefixes in the second reading, one record per span; documents with nothing to join are skipped."""
        found: list[Listed] = []
        take = partial(self._take_prefixes, frequencies)
        for listed, *arrays in self.read("taking prefixes", take):
            found.append(listed)
            for file, array in zip((keys, bits), arrays, strict=True):
                file.append(array, self.budget.sketches // 16)
        keys.close()
        bits.close()
        return _concatenate(found)

    def _take_prefixes(self, frequencies: Frequencies, span: Span, block: Block) -> tuple[Listed, Hashes, Hashes]:
        """Return what is joined of a block: documents, the keys of their prefixes, their bitmaps."""
        pieces: list[Listed] = []
        keys, bits = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
        for numbers, sets, salts in self.sets(span, block):
            starts, sizes = sets.starts[:-1], sets.sizes
            words_read = prefix.prefixes(frequencies, sets.hashes, starts, sizes, salts, self.threshold)
            alone, counts, work, prefix_keys = words_read
            has_keys = counts > 0
            piece = Listed(numbers, sizes, alone, counts, salts, work)
            pieces.append(piece.select(has_keys, salted=self.options.by is not None))
            keys.append(prefix_keys)
            bits.append(prefix.bitmaps(sets.hashes, starts[has_keys], sizes[has_keys], self.threshold))
        return _concatenate(pieces), np.concatenate(keys), np.concatenate(bits)


class _Blocks:
    """Documents in blocks of similar set size, two of which fit in memory."""

    def __init__(self, joining: PrefixJoin, listed: Listed, keys: Spool, bits: Spool) -> None:
        self.corpus, self.threshold, self.scratch = joining.corpus, joining.threshold, joining.state.scratch
        self.threads, self.progress = joining.threads, joining.progress
        self.listed = listed
        self.words = prefix.bitmap_words(listed.sizes, self.threshold)
        self._other = listed.numbers >= joining.corpus.own
        self.crowded = self._crowded()
        self.block_of = np.zeros(len(listed.numbers), np.int64)
        limit = max(1, joining.budget.sketches // 2)
        own = self._cut(~self._other, 0, limit)
        other = self._cut(self._other, own, limit)
        self.own, self.other = range(own), range(own, own + other)
        self.keys = self._split(keys, listed.counts, own + other)
        self.bits = self._split(bits, self.words, own + other)

    def _crowded(self) -> Flags:
        sizes, within = self.listed.sizes, self.corpus.border is None
        prefix_keys = np.sort(sizes if within else sizes[self._other])
        return prefix.crowded(sizes, prefix_keys, self.listed.work, self.threshold)

    def _cut(self, chosen: Flags, first: int, limit: int) -> int:
        """Number the blocks of one side from `first` on, each about `limit` bytes; return their count."""
        side = np.flatnonzero(chosen)
        side = side[np.lexsort((self.listed.numbers[side], self.listed.sizes[side]))]
        sizes_in_bytes = self.listed.counts[side].astype(np.int64) * _KEY_BYTES + self.words[side].astype(np.int64) * 16
        sizes_in_bytes += _DOCUMENT_BYTES + 8 * self.threads.count
        block_ids, place = np.unique(np.cumsum(sizes_in_bytes) // limit, return_inverse=True)
        self.block_of[side] = first + place
        return len(block_ids)

    def _split(self, file: Spool, lengths: Numbers, blocks: int) -> list[Spool]:
        """Split a file into one per block; documents stay in the order of reading."""
        if blocks == 1:
            return [file]
        files = [Spool(file.path.with_name(f"{file.path.name}-{number}"), file.dtype) for number in range(blocks)]
        reach = np.cumsum(lengths, dtype=np.int64)
        at, words_read = 0, 0
        for record in file.chunks():
            words_read += len(record)
            end = int(np.searchsorted(reach, words_read, side="right"))
            block_numbers = np.repeat(self.block_of[at:end], lengths[at:end])
            for number in np.unique(block_numbers).tolist():
                files[number].forget()
                files[number].append(record[block_numbers == number])
                if 2 * blocks > _OPEN_FILES:
                    files[number].close()
            at = end
        for one in files:
            one.close()
        return files

    def _load(self, number: int) -> Prefixes:
        rows = np.flatnonzero(self.block_of == number)
        listed = self.listed
        order = np.lexsort((listed.numbers[rows], listed.sizes[rows]))
        offsets, keys = _reorder(self.keys[number].all(), listed.counts[rows], order)
        bit_offsets, bits = _reorder(self.bits[number].all(), self.words[rows], order)
        rows = rows[order]
        return Prefixes(
            numbers=listed.numbers[rows],
            sizes=listed.sizes[rows],
            alone=listed.alone[rows],
            salts=listed.salts[rows] if len(listed.salts) else listed.salts,
            crowded=self.crowded[rows],
            offsets=offsets,
            keys=keys,
            bit_offsets=bit_offsets,
            bits=bits,
        )

    def joined(self) -> Iterator[CandidatePairs]:
        """Join every pair of blocks that sizes allow."""
        within = self.corpus.border is None
        ranges = [(int(sizes.min()), int(sizes.max())) for sizes in self._sizes()]
        for left in self.own if within else self.other:
            partners = [
                right
                for right in (range(left, len(self.own)) if within else self.own)
                if prefix.fitting(ranges[left], ranges[right], self.threshold)
            ]
            if not partners:
                continue
            block = self._load(left)
            lists = prefix.lists_of(block, self.threshold, asked_by_larger=within)
            for right in partners:
                yield from self._probe(lists, block if right == left else self._load(right), within)

    def _sizes(self) -> list[Numbers]:
        """Return the set sizes of each block."""
        order = np.argsort(self.block_of, kind="stable")
        cuts = np.cumsum(np.bincount(self.block_of))[:-1]
        return np.split(self.listed.sizes[order], cuts) if len(order) else []

    def _probe(self, lists: Lists, block: Prefixes, within: bool) -> Iterator[CandidatePairs]:
        probing = Probing.of(lists, block, self.threshold, before=within)
        self.progress.stage("finding candidates", len(block.numbers), "documents")
        for task, found in zip(probing.tasks, self.threads.map(probing.candidates, probing.tasks), strict=True):
            self.progress.advance(task[1] - task[0])
            yield found


def _concatenate(pieces: list[Listed]) -> Listed:
    """Concatenate lists."""
    uint64_fields = ("salts", "work")
    joined = {
        name: np.concatenate([*(getattr(piece, name) for piece in pieces), np.empty(0, dtype)])
        for name in Listed.__dataclass_fields__
        for dtype in [np.uint64 if name in uint64_fields else np.uint32]
    }
    return Listed(**joined)


def _reorder(words: Hashes, lengths: Numbers, order: Places) -> tuple[Places, Hashes]:
    """Reorder runs of words, one per document; return their offsets and the words."""
    starts = offsets_of(lengths)[:-1][order]
    offsets = offsets_of(lengths[order])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths[order])
    return offsets, words[places]


def candidates(
    corpus: Corpus, first: Numbers, options: WorkOptions, budget: Budget, state: RunState, threads: Threads,
    progress: Progress,
) -> Spool:  # fmt: skip
    """Find pairs of first appearances, the lesser left, including every pair that reaches the threshold."""
    earlier = state.recall(STAGE)
    if earlier is not None:
        return earlier[1]["candidates"]
    pairs = PrefixJoin(corpus, first, options, budget, state, threads, progress).candidates()
    return write_candidates(pairs, budget, state)
