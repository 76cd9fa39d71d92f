"""The second stage of an exact run: shingle sets are joined by their prefixes, within the memory budget.

Two readings of the texts. The first counts how many distinct contents have each shingle; the second takes the prefix of
each content, which goes to a file. Prefixes are joined block by block, each block as large as memory allows; blocks are
of documents of similar size, so that most pairs of blocks are ruled out by size alone. Which candidates come out does
not depend on threads, batches or blocks. They are verified like all others.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from twinset.candidates import prefix
from twinset.candidates.prefix import CandidatePairs, Frequencies, Lists, Prefixes, Probing
from twinset.documents.parts import Block
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.state import State
from twinset.engines.local.steps.candidates import STAGE, kept
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import OTHER_SIDE, READ, WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Numbers, Places
from twinset.system.arrays import Room
from twinset.system.scratch import Spool

_Out = TypeVar("_Out")
_KEY_BYTES = 96  # memory that one key takes while its block is joined: in a table, a list, and the block that asks
_DOCUMENT_BYTES = 100  # and that one document takes besides
_OPEN_FILES = 200  # at one time; a process may often have a thousand


@dataclass(frozen=True)
class Listed:
    """Documents that have a prefix to be joined, in the order in which they were read.

    How many keys each has, and what its lists would cost to ask; the keys and the bitmaps are in files.
    """

    numbers: Numbers
    sizes: Numbers
    alone: Numbers
    counts: Numbers
    salts: Hashes
    work: Hashes


class PrefixJoin:
    """Joins the distinct contents of a corpus."""

    def __init__(
        self, corpus: Corpus, first: Numbers, options: WorkOptions, budget: Budget, state: State, threads: Threads,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.corpus, self.options, self.budget = corpus, options, budget
        self.state, self.threads, self.progress = state, threads, progress
        self.threshold = options.threshold
        self._wanted = (first == np.arange(corpus.documents, dtype=np.uint32)) & (corpus.status == READ)
        self._room = Room()
        self._counting = threading.Lock()

    def candidates(self) -> Iterator[CandidatePairs]:
        """Every pair of distinct contents that may reach the threshold, each once."""
        tokens = int(self.corpus.counts[self._wanted].sum(dtype=np.int64))
        frequencies = Frequencies.for_tokens(tokens)
        self._count(frequencies)
        files = [Spool(self.state.scratch / name, "<u8") for name in ("prefixes", "bitmaps")]
        listed = self._list(frequencies, *files)
        del frequencies
        yield from _Blocks(self, listed, *files).joined()
        for file in files:
            file.remove()

    def _count(self, frequencies: Frequencies) -> None:
        """The first reading."""

        def count(span: Span, block: Block) -> None:
            for _, sets, salts in self._sets(span, block):
                with self._counting:
                    frequencies.add(sets.hashes, sets.starts, sets.sizes, salts)

        for _ in self._read("counting shingles", count):
            pass

    def _list(self, frequencies: Frequencies, keys: Spool, bits: Spool) -> Listed:
        """The second reading. Documents with nothing to join are left out; the others go to a record a span."""
        found: list[Listed] = []
        for listed, *arrays in self._read("taking prefixes", lambda span, block: self._take(frequencies, span, block)):
            found.append(listed)
            for file, array in zip((keys, bits), arrays, strict=True):
                file.append(array)
                if file.nbytes > self.budget.sketches // 16:
                    file.forget()
        keys.close()
        bits.close()
        return _listed(found)

    def _take(self, frequencies: Frequencies, span: Span, block: Block) -> tuple[Listed, Hashes, Hashes]:
        """What is to be joined of a block: documents, the keys of their prefixes, their bitmaps."""
        pieces: list[Listed] = []
        keys, bits = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
        for numbers, sets, salts in self._sets(span, block):
            starts, sizes = sets.starts[:-1], sets.sizes
            taken = prefix.prefixes(frequencies, sets.hashes, starts, sizes, salts, self.threshold)
            alone, counts, work, theirs = taken
            met = counts > 0
            own = salts[met] if self.options.by is not None else np.empty(0, np.uint64)
            pieces.append(Listed(numbers[met], sizes[met], alone[met], counts[met], own, work[met]))
            keys.append(theirs)
            bits.append(prefix.bitmaps(sets.hashes, starts[met], sizes[met], self.threshold))
        return _listed(pieces), np.concatenate(keys), np.concatenate(bits)

    def _read(self, stage: str, work: Callable[[Span, Block], _Out]) -> Iterator[_Out]:
        self.progress.stage(stage, self.corpus.documents, "documents")
        for span, made in self.corpus.read(self.threads, work, wanted=self._wanted):
            yield made
            self.progress.advance(span.rows)

    def _sets(self, span: Span, block: Block) -> Iterator[tuple[Numbers, Sets, Hashes]]:
        """The wanted documents of a block with their shingle sets and salts, a few at a time."""
        wanted = self._wanted[span.first : span.first + span.rows]
        for portion in shingled(block.texts, self.options, self.options.seed, wanted).portions:
            lengths = np.diff(portion.offsets)
            sets = Sets.with_room(lengths, self._room)
            places = np.arange(len(lengths))
            sets.fill(portion, places, places)
            numbers = (portion.rows + span.first).astype(np.uint32)
            yield numbers, sets, self._salts(numbers, portion.hashes, portion.offsets)

    def _salts(self, numbers: Numbers, hashes: Hashes, offsets: Places) -> Hashes:
        """What keeps documents of another `by` apart: their digests are the sums of their hashes, salted."""
        if self.options.by is None:
            return np.zeros(len(numbers), np.uint64)
        reach = np.zeros(len(hashes) + 1, np.uint64)
        np.cumsum(hashes, out=reach[1:])  # wraps around, as the digest does
        salts: Hashes = self.corpus.digests[numbers, 0] ^ np.diff(reach[offsets])
        return np.where(numbers >= self.corpus.own, salts ^ OTHER_SIDE, salts)


class _Blocks:
    """Documents cut into blocks of similar set size that memory can hold two of."""

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

    def _crowded(self) -> npt.NDArray[np.bool_]:
        sizes, within = self.listed.sizes, self.corpus.border is None
        theirs = np.sort(sizes if within else sizes[self._other])
        return prefix.crowded(sizes, theirs, self.listed.work, self.threshold)

    def _cut(self, chosen: npt.NDArray[np.bool_], first: int, limit: int) -> int:
        """Number the blocks of one side from `first` on, each about `limit` bytes; gives how many there are."""
        side = np.flatnonzero(chosen)
        side = side[np.lexsort((self.listed.numbers[side], self.listed.sizes[side]))]
        each = self.listed.counts[side].astype(np.int64) * _KEY_BYTES + self.words[side].astype(np.int64) * 16
        each += _DOCUMENT_BYTES + 8 * self.threads.count
        numbered, place = np.unique(np.cumsum(each) // limit, return_inverse=True)
        self.block_of[side] = first + place
        return len(numbered)

    def _split(self, file: Spool, lengths: Numbers, blocks: int) -> list[Spool]:
        """One file a block instead of one for all, documents still as they were read."""
        if blocks == 1:
            return [file]
        files = [Spool(file.path.with_name(f"{file.path.name}-{number}"), file.dtype) for number in range(blocks)]
        reach = np.cumsum(lengths, dtype=np.int64)
        at, taken = 0, 0
        for record in file.chunks():
            taken += len(record)
            end = int(np.searchsorted(reach, taken, side="right"))
            of_word = np.repeat(self.block_of[at:end], lengths[at:end])
            for number in np.unique(of_word).tolist():
                files[number].forget()
                files[number].append(record[of_word == number])
                if 2 * blocks > _OPEN_FILES:
                    files[number].close()
            at = end
        for one in files:
            one.close()
        return files

    def _load(self, number: int) -> Prefixes:
        mine = np.flatnonzero(self.block_of == number)
        listed = self.listed
        order = np.lexsort((listed.numbers[mine], listed.sizes[mine]))
        offsets, keys = _reordered(self.keys[number].all(), listed.counts[mine], order)
        bit_offsets, bits = _reordered(self.bits[number].all(), self.words[mine], order)
        mine = mine[order]
        return Prefixes(
            numbers=listed.numbers[mine],
            sizes=listed.sizes[mine],
            alone=listed.alone[mine],
            salts=listed.salts[mine] if len(listed.salts) else listed.salts,
            crowded=self.crowded[mine],
            offsets=offsets,
            keys=keys,
            bit_offsets=bit_offsets,
            bits=bits,
        )

    def joined(self) -> Iterator[CandidatePairs]:
        """Every pair of blocks that sizes allow."""
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
                yield from self._probed(lists, block if right == left else self._load(right), within)

    def _sizes(self) -> list[Numbers]:
        """The set sizes of each block."""
        order = np.argsort(self.block_of, kind="stable")
        cuts = np.cumsum(np.bincount(self.block_of))[:-1]
        return np.split(self.listed.sizes[order], cuts) if len(order) else []

    def _probed(self, lists: Lists, block: Prefixes, within: bool) -> Iterator[CandidatePairs]:
        probing = Probing.of(lists, block, self.threshold, before=within)
        self.progress.stage("finding candidates", len(block.numbers), "documents")
        for task, found in zip(probing.tasks, self.threads.map(probing.candidates, probing.tasks), strict=True):
            self.progress.advance(task[1] - task[0])
            yield found


def _listed(pieces: list[Listed]) -> Listed:
    """Several lists as one."""
    wide = ("salts", "work")
    joined = {
        name: np.concatenate([*(getattr(piece, name) for piece in pieces), np.empty(0, dtype)])
        for name in Listed.__dataclass_fields__
        for dtype in [np.uint64 if name in wide else np.uint32]
    }
    return Listed(**joined)


def _reordered(words: Hashes, lengths: Numbers, order: Places) -> tuple[Places, Hashes]:
    """Runs of words, one a document, in another order of the documents; and where each begins."""
    starts = prefix.offsets_of(lengths)[:-1][order]
    offsets = prefix.offsets_of(lengths[order])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths[order])
    return offsets, words[places]


def candidates(
    corpus: Corpus, first: Numbers, options: WorkOptions, budget: Budget, state: State, threads: Threads,
    progress: Progress,
) -> Spool:  # fmt: skip
    """Pairs of first appearances, the lesser number first, among which is every pair at or above the threshold."""
    earlier = state.recall(STAGE)
    if earlier is not None:
        return earlier[1]["candidates"]
    found = PrefixJoin(corpus, first, options, budget, state, threads, progress).candidates()
    return kept(found, budget, state)
