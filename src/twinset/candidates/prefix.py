"""Exact set-similarity join by prefix filtering.

Why nothing is missed. Let J(A, B) = |A∩B| / |A∪B| >= t and |A∩B| = o.

- Length. o <= |B| and |A∪B| >= |A|, so t|A| <= |B|, and in the same way t|B| <= |A|.
- Prefix. o >= t|A∪B| >= t|A|. Order the tokens of all sets in one way, and call the first |A| - ⌈t|A|⌉ + 1 tokens of A
  its prefix. At most |A| - o tokens of A, none of them common, come before the first common token, so that token is in
  the prefix of A and, likewise, of B.
- Shorter prefixes. J >= t also means o >= t/(1+t) (|A|+|B|). Where |B| <= |A| that is at least 2t/(1+t) |B|. So in
  lists that only sets at least as large look up, |B| - ⌈2t/(1+t) |B|⌉ + 1 tokens of B suffice.
- Position. If a common token is the i-th of A and the j-th of B (from 0) and m common tokens came before it, then
  o <= m + min(|A| - i, |B| - j). Where that is less than t/(1+t) (|A|+|B|) the pair is ruled out.
- Equal keys. Two tokens may have the same key. Then A and B are bags of keys for the join: each as large as its set,
  with at least as much in common; the bounds hold for bags as for sets if occurrences are numbered. Keys are matched
  without numbers, so a pair may be counted more often, which only raises m: none is lost.
- Bitmaps. Each token of a set flips one bit of its bitmap. Two bitmaps differ in at most as many bits as there are
  tokens in only one set, |A| + |B| - 2o: the more they differ, the less is shared.

The order is by frequency, rarest first, so that lists are short. Tokens of one set only come first and are not entered
in lists; a set whose prefix has nothing else has no partner. Frequencies are counted in a hash table: collisions count
too high, never too low, and equally for all sets, so the order is the same for all. Where the lists of a prefix are
longer than the number of sets of a fitting size, those sets are checked instead, by bitmaps alone. All bounds are
widened by a factor of 1e-12 for rounding.

After: Chaudhuri, Ganti, Kaushik, ICDE 2006 (prefixes); Bayardo, Ma, Srikant, WWW 2007 (lists, order); Xiao, Wang, Lin,
Yu, WWW 2008 (positions); Sandes, Teodoro, Melo, Information Systems 2020 (bitmaps).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from twinset.candidates import prefix_kernels as kernels
from twinset.compiled.set_kernels import SLACK
from twinset.schema import Bytes, CandidatePairs, Flags, Hashes, Numbers, Places
from twinset.system.arrays import offsets_of

_MOST_PLACES = 1 << 25
_HIGH_PLACES = 1 << 20
_WORK = 1 << 20  # approximate list members per task


@dataclass(frozen=True)
class Frequencies:
    """Approximate token frequencies: counts up to 255 in `low`, the rest in `high`."""

    low: Bytes
    high: Numbers

    @classmethod
    def for_tokens(cls, tokens: int, most_places: int = _MOST_PLACES) -> "Frequencies":
        """Allocate tables for `tokens` tokens. Their size, and so the order, depends on nothing else."""
        places = 1 << min(most_places.bit_length() - 1, max(10, (2 * tokens).bit_length()))
        return cls(np.zeros(places, np.uint8), np.zeros(min(places, _HIGH_PLACES), np.uint32))

    def add(self, hashes: Hashes, starts: Places, sizes: Numbers, salts: Hashes) -> None:
        """Count the tokens of some sets, by one thread at a time. The order of calls does not matter."""
        kernels.count_tokens(hashes, starts, sizes, salts, self.low, self.high)


@dataclass(frozen=True)
class Prefixes:
    """Prefixes of some documents, in ascending order of their set sizes.

    numbers, sizes, alone uint32 (m): document, size of its set, unique tokens at the front of its prefix; salts uint64
    (m), or empty where all are equal; crowded bool (m): whether its lists are too long to look up; offsets int64 (m +
    1) and keys uint64: the rest of the prefix; bit_offsets int64 (m + 1) and bits uint64: bitmaps.
    """

    numbers: Numbers
    sizes: Numbers
    alone: Numbers
    salts: Hashes
    crowded: Flags
    offsets: Places
    keys: Hashes
    bit_offsets: Places
    bits: Hashes


@dataclass(frozen=True)
class Lists:
    """For each key the documents of a block, by position, with the key in their prefix, and its position there."""

    block: Prefixes
    table: Hashes
    starts: Places
    members: Numbers
    positions: Numbers


def prefixes(
    frequencies: Frequencies, hashes: Hashes, starts: Places, sizes: Numbers, salts: Hashes, threshold: float
) -> tuple[Numbers, Numbers, Hashes, Hashes]:
    """Compute the prefixes of some sets.

    Returns for each set its unique tokens, its number of keys, and the sum of their frequencies; then all keys.
    """
    alone, counts = np.empty(len(sizes), np.uint32), np.empty(len(sizes), np.uint32)
    work = np.empty(len(sizes), np.uint64)
    scratch = np.empty(int(sizes.max(initial=0)), np.uint64)
    keys = np.empty(int(sizes.sum(dtype=np.int64)), np.uint64)
    total = kernels.prefixes(
        hashes, starts, sizes, salts, threshold, frequencies.low, frequencies.high, scratch, alone, counts, work, keys
    )
    return alone, counts, work, keys[:total].copy()


def bitmap_words(sizes: Numbers, threshold: float) -> Numbers:
    """Words of the bitmaps of sets of these sizes: a power of two, two to four bits a token, or twice that.

    A low threshold needs more bits, because more may differ before a pair is ruled out.
    """
    bits = sizes.astype(np.float64) * (2 if threshold >= 0.6 else 4)
    words: Numbers = (1 << np.ceil(np.log2(np.maximum(1.0, bits / 64))).astype(np.int64)).astype(np.uint32)
    return words


def bitmaps(hashes: Hashes, starts: Places, sizes: Numbers, threshold: float) -> Hashes:
    """Concatenated bitmaps of some sets."""
    offsets = offsets_of(bitmap_words(sizes, threshold))
    bits = np.zeros(int(offsets[-1]), np.uint64)
    kernels.bitmaps(hashes, starts, sizes, offsets, bits)
    return bits


def crowded(sizes: Numbers, theirs: Numbers, work: Hashes, threshold: float) -> Flags:
    """Whether checking the bitmaps of all sets of a fitting size costs a document less than its lists.

    sizes and work of the probing documents, in any order; theirs: sizes of all others, ascending. Both are of the whole
    corpus, so that the answer does not depend on the blocks.
    """
    least, most = sizes * (threshold * SLACK), sizes / (threshold * SLACK)
    partners = np.searchsorted(theirs, most, side="right") - np.searchsorted(theirs, least, side="left")
    cost = partners * (1.0 + bitmap_words(sizes, threshold) / 16)
    found: Flags = work.astype(np.float64) > cost
    return found


def lists_of(block: Prefixes, threshold: float, asked_by_larger: bool) -> Lists:
    """Build the lists. `asked_by_larger`: only sets that are no smaller will probe, so fewer keys are entered."""
    counts = np.diff(block.offsets).astype(np.uint32)
    if asked_by_larger:
        least = np.ceil(2.0 * threshold / (1.0 + threshold) * block.sizes * SLACK).astype(np.int64)
        enough = block.sizes.astype(np.int64) - np.maximum(1, least) + 1 - block.alone
        counts = np.clip(enough, 0, counts).astype(np.uint32)
    total = int(counts.sum(dtype=np.int64))
    places = 1 << max(4, (total + total // 2).bit_length())
    table, lengths = np.zeros(places, np.uint64), np.zeros(places, np.int64)
    kernels.count_lists(block.keys, block.offsets, counts, table, lengths)
    starts = offsets_of(lengths)
    slots = np.empty(len(block.keys), np.int64)
    kernels.look_up(block.keys, table, slots)
    ends = lengths  # reuses the memory
    ends[:] = starts[:-1]
    members, positions = np.empty(total, np.uint32), np.empty(total, np.uint32)
    kernels.fill_lists(slots, block.offsets, counts, block.alone, ends, members, positions)
    return Lists(block, table, starts, members, positions)


@dataclass(frozen=True)
class Probing:
    """Documents that probe the lists: their lists, the range of members of a fitting size, and the tasks."""

    lists: Lists
    block: Prefixes
    found: Places
    lows: Places
    highs: Places
    tasks: list[tuple[int, int, int]]
    threshold: float

    @classmethod
    def of(cls, lists: Lists, block: Prefixes, threshold: float, before: bool) -> "Probing":
        """Look up every key.

        With `before`, the lists are of earlier documents of the same order, or of the same documents, and each probes
        those before it; otherwise all of a fitting size.
        """
        slots = np.empty(len(block.keys), np.int64)
        kernels.look_up(block.keys, lists.table, slots)
        sizes = block.sizes.astype(np.float64)
        theirs = lists.block.sizes
        lows = np.searchsorted(theirs, threshold * sizes * SLACK, side="left")
        if before and lists.block is block:
            highs = np.arange(len(sizes))
        elif before:
            highs = np.full(len(sizes), len(theirs))
        else:
            highs = np.searchsorted(theirs, sizes / threshold / SLACK, side="right")
        reach = offsets_of(lists.starts[slots + 1] - lists.starts[np.maximum(slots, 0)])  # list -1 is empty
        partners = np.maximum(0, highs - lows)
        work = np.where(block.crowded, partners, np.diff(reach[block.offsets]))
        return cls(lists, block, slots, lows, highs, _cut(work, np.diff(block.offsets), partners), threshold)

    def candidates(self, task: tuple[int, int, int]) -> CandidatePairs:
        """Find the candidates of one task."""
        begin, end, room = task
        ours, theirs = self.block, self.lists.block
        sets = (
            self.threshold, ours.sizes, ours.salts, ours.bits, ours.bit_offsets,
            theirs.sizes, theirs.salts, theirs.bits, theirs.bit_offsets,
        )  # fmt: skip
        overlap, touched = np.zeros(len(theirs.sizes), np.uint32), np.empty(len(theirs.sizes), np.uint32)
        lefts, rights = np.empty(room, np.uint32), np.empty(room, np.uint32)
        count = kernels.ask_lists(
            begin, end, ours.crowded, self.found, ours.offsets, ours.alone, ours.sizes, self.lows, self.highs,
            self.lists.starts, self.lists.members, self.lists.positions, theirs.sizes, self.threshold,
            overlap, touched, lefts, rights,
        )  # fmt: skip
        count = kernels.sift(count, lefts, rights, *sets)
        count = kernels.ask_all(begin, end, count, ours.crowded, self.lows, self.highs, lefts, rights, *sets)
        one, other = ours.numbers[lefts[:count]], theirs.numbers[rights[:count]]
        return np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1)


def _cut(work: Places, keys: Places, partners: Places) -> list[tuple[int, int, int]]:
    """Ranges of documents of similar work, each with its maximum number of candidates."""
    reach = offsets_of(np.minimum(work, partners))
    load = np.cumsum(work + keys) // _WORK
    cuts = [0, *(np.flatnonzero(np.diff(load)) + 1).tolist(), len(work)] if len(work) else [0]
    return [(begin, end, int(reach[end] - reach[begin])) for begin, end in pairwise(cuts) if reach[end] > reach[begin]]


def fitting(one: tuple[int, int], other: tuple[int, int], threshold: float) -> bool:
    """Whether sets of two size ranges, minimum and maximum, can be similar."""
    least = threshold * SLACK
    return one[1] >= least * other[0] and other[1] >= least * one[0]
