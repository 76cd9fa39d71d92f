"""Shingle sets to candidates without loss: the exact set-similarity join by prefixes.

Why nothing is missed. Let J(A, B) = |A∩B| / |A∪B| >= t and |A∩B| = o.

- Length. o <= |B| and |A∪B| >= |A|, so t|A| <= |B|, and in the same way t|B| <= |A|.
- Prefix. o >= t|A∪B| >= t|A|. Put the tokens of all sets in one order, whatever it is, and call the first
  |A| - ⌈t|A|⌉ + 1 tokens of A its prefix. In A at most |A| - o tokens, none of them common, come before the first
  common token, so that one is in the prefix of A; and, for the same reason, in that of B.
- Shorter prefixes. J >= t also means o >= t/(1+t) (|A|+|B|). Where |B| <= |A| that is at least 2t/(1+t) |B|, so that in
  the lists, which are only asked by sets at least as large, |B| - ⌈2t/(1+t) |B|⌉ + 1 tokens of B will do.
- Position. If a common token is the i-th of A and the j-th of B (from 0) and m common tokens came before it, then
  o <= m + min(|A| - i, |B| - j). Where that is less than t/(1+t) (|A|+|B|) the pair cannot be.
- Equal keys. Two tokens may have the same key. Then A and B are, for the join, bags of keys: each as large as its set,
  with at least as much in common; the bounds hold for bags as for sets if occurrences are numbered. Keys are matched
  without numbers, so a pair may be met more often than that, which only raises m: none is lost.
- Bitmaps. A set's bitmap has a bit turned over for each of its tokens. Two bitmaps differ in at most as many bits as
  there are tokens that only one set has, and that is |A| + |B| - 2o: the more they differ, the less is shared.

The order is by frequency, rarest first, so that prefixes hold what few others have. Tokens that no other set has come
first of all and are never entered in a list; a set with a prefix of nothing else has no partner. Frequencies are
counted in a table whose places may be shared; what is shared is counted too high, never too low, and the same for all
sets, so the order is one for all. Where the tokens of a prefix are so common that their lists are longer than there are
sets of a fitting size, all those sets are taken instead of the lists, and bitmaps alone rule out what cannot be. All
bounds are taken a little too wide, by a share of 1e-12, for rounding.

After: Chaudhuri, Ganti, Kaushik, ICDE 2006 (prefixes); Bayardo, Ma, Srikant, WWW 2007 (lists, order); Xiao, Wang, Lin,
Yu, WWW 2008 (positions); Sandes, Teodoro, Melo, Information Systems 2020 (bitmaps).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from twinset.candidates import prefix_kernels as kernels
from twinset.schema import Bytes, Hashes, Numbers, Places

CandidatePairs = npt.NDArray[np.uint32]
"""(n, 2): document numbers, the lesser first."""

_MOST_PLACES = 1 << 25
_HIGH_PLACES = 1 << 20
_WORK = 1 << 20  # list members that one task looks at, more or less


@dataclass(frozen=True)
class Frequencies:
    """How often each token is met, more or less: counts up to 255 in `low`, what is beyond in `high`."""

    low: Bytes
    high: Numbers

    @classmethod
    def for_tokens(cls, tokens: int) -> "Frequencies":
        """Tables for so many tokens. Their size depends on nothing else, so that the order does not."""
        places = 1 << min(_MOST_PLACES.bit_length() - 1, max(10, (2 * tokens).bit_length()))
        return cls(np.zeros(places, np.uint8), np.zeros(min(places, _HIGH_PLACES), np.uint32))

    def add(self, hashes: Hashes, starts: Places, sizes: Numbers, salts: Hashes) -> None:
        """Count the tokens of some sets. One thread at a time; in whichever order, the counts are the same."""
        kernels.count_tokens(hashes, starts, sizes, salts, self.low, self.high)


@dataclass(frozen=True)
class Prefixes:
    """Prefixes of some documents, in ascending order of their set sizes.

    numbers, sizes, alone uint32 (m): document, size of its set, tokens at the front of its prefix that no other has;
    salts uint64 (m), or empty where all are equal; crowded bool (m): whether its lists are too long to be asked;
    offsets int64 (m + 1) and keys uint64: the rest of the prefix; bit_offsets int64 (m + 1) and bits uint64: bitmaps.
    """

    numbers: Numbers
    sizes: Numbers
    alone: Numbers
    salts: Hashes
    crowded: npt.NDArray[np.bool_]
    offsets: Places
    keys: Hashes
    bit_offsets: Places
    bits: Hashes


@dataclass(frozen=True)
class Lists:
    """For each key those documents of a block, by place, that have it in their prefix, and at which position."""

    block: Prefixes
    table: Hashes
    starts: Places
    members: Numbers
    positions: Numbers


def prefixes(
    frequencies: Frequencies, hashes: Hashes, starts: Places, sizes: Numbers, salts: Hashes, threshold: float
) -> tuple[Numbers, Numbers, Hashes, Hashes]:
    """The prefixes of some sets.

    For each set how many tokens it has alone, how many keys follow, and the sum of their frequencies; then all keys.
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

    The lower the threshold, the more bits must be able to differ before a pair is ruled out.
    """
    bits = sizes.astype(np.float64) * (2 if threshold >= 0.6 else 4)
    words: Numbers = (1 << np.ceil(np.log2(np.maximum(1.0, bits / 64))).astype(np.int64)).astype(np.uint32)
    return words


def bitmaps(hashes: Hashes, starts: Places, sizes: Numbers, threshold: float) -> Hashes:
    """The bitmaps of some sets, one after another."""
    offsets = offsets_of(bitmap_words(sizes, threshold))
    bits = np.zeros(int(offsets[-1]), np.uint64)
    kernels.bitmaps(hashes, starts, sizes, offsets, bits)
    return bits


def offsets_of(counts: npt.NDArray[np.integer]) -> Places:
    """Where each of several runs of these lengths begins, and where the last ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def crowded(sizes: Numbers, theirs: Numbers, work: Hashes, threshold: float) -> npt.NDArray[np.bool_]:
    """Whether it costs a document less to look at the bitmaps of all sets of a fitting size than at its lists.

    sizes and work of the documents that ask, in any order; theirs: the sizes of all that may be asked for, ascending.
    Both are of the whole corpus, so that the answer does not depend on how it is cut into blocks.
    """
    least, most = sizes * (threshold * kernels.SLACK), sizes / (threshold * kernels.SLACK)
    partners = np.searchsorted(theirs, most, side="right") - np.searchsorted(theirs, least, side="left")
    cost = partners * (1.0 + bitmap_words(sizes, threshold) / 16)
    found: npt.NDArray[np.bool_] = work.astype(np.float64) > cost
    return found


def lists_of(block: Prefixes, threshold: float, asked_by_larger: bool) -> Lists:
    """Who has which key. `asked_by_larger`: only sets that are no smaller will be probed, so less is entered."""
    counts = np.diff(block.offsets).astype(np.uint32)
    if asked_by_larger:
        least = np.ceil(2.0 * threshold / (1.0 + threshold) * block.sizes * kernels.SLACK).astype(np.int64)
        enough = block.sizes.astype(np.int64) - np.maximum(1, least) + 1 - block.alone
        counts = np.clip(enough, 0, counts).astype(np.uint32)
    total = int(counts.sum(dtype=np.int64))
    places = 1 << max(4, (total + total // 2).bit_length())
    table, lengths = np.zeros(places, np.uint64), np.zeros(places, np.int64)
    kernels.count_lists(block.keys, block.offsets, counts, table, lengths)
    starts = offsets_of(lengths)
    found = np.empty(len(block.keys), np.int64)
    kernels.look_up(block.keys, table, found)
    ends = lengths  # the same memory, for another use
    ends[:] = starts[:-1]
    members, positions = np.empty(total, np.uint32), np.empty(total, np.uint32)
    kernels.fill_lists(found, block.offsets, counts, block.alone, ends, members, positions)
    return Lists(block, table, starts, members, positions)


@dataclass(frozen=True)
class Probing:
    """Documents that ask the lists: which lists each finds, which members are of a fitting size, and who does what."""

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

        With `before`, the lists are of earlier documents of the same order, or of the same documents, and each asks for
        those before it; otherwise for all of a fitting size.
        """
        found = np.empty(len(block.keys), np.int64)
        kernels.look_up(block.keys, lists.table, found)
        sizes = block.sizes.astype(np.float64)
        theirs = lists.block.sizes
        lows = np.searchsorted(theirs, threshold * sizes * kernels.SLACK, side="left")
        if before and lists.block is block:
            highs = np.arange(len(sizes))
        elif before:
            highs = np.full(len(sizes), len(theirs))
        else:
            highs = np.searchsorted(theirs, sizes / threshold / kernels.SLACK, side="right")
        reach = offsets_of(lists.starts[found + 1] - lists.starts[np.maximum(found, 0)])  # list -1 has none
        partners = np.maximum(0, highs - lows)
        work = np.where(block.crowded, partners, np.diff(reach[block.offsets]))
        return cls(lists, block, found, lows, highs, _cut(work, np.diff(block.offsets), partners), threshold)

    def candidates(self, task: tuple[int, int, int]) -> CandidatePairs:
        """The candidates of one task."""
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
    """Ranges of documents of about equal work, each with the most candidates that it can have."""
    reach = offsets_of(np.minimum(work, partners))
    load = np.cumsum(work + keys) // _WORK
    cuts = [0, *(np.flatnonzero(np.diff(load)) + 1).tolist(), len(work)] if len(work) else [0]
    return [
        (begin, end, int(reach[end] - reach[begin]))
        for begin, end in pairwise(cuts)
        if reach[end] > reach[begin]
    ]


def fitting(one: tuple[int, int], other: tuple[int, int], threshold: float) -> bool:
    """Whether sets of two ranges of sizes, least and most, can be similar at all."""
    least = threshold * kernels.SLACK
    return one[1] >= least * other[0] and other[1] >= least * one[0]
