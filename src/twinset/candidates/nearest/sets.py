"""The nearest sets of each set by Jaccard similarity, at any distance, exactly.

Why nothing is missed. Let |A∩B| = o, so that J(A, B) = o / (|A| + |B| - o), and let t be a lower bound on the
similarity of the k-th nearest set of A: the least of any k similarities.

- Size. o <= |B| and o <= |A|, so J >= t means t|A| <= |B| <= |A|/t.
- What is left. The elements of A are looked up from the rarest on, and every set met is counted. If c of its elements
  were met and r elements of A are left, o <= c + r. Then J >= t means |B| <= (c + r)(1 + t)/t - |A|: larger sets are
  passed over. A set never met shares at most r, so once r < t|A| no new one can be among the nearest.
- Frequent elements. Their lists would be long, so each set has a bit for each of them instead. What two sets share is
  the count from the lists and the common bits. If the lists of a query are short, the sets met in them are compared
  first. A set not met shares no more than the frequent elements of the query; where that does not suffice, none is
  looked at. Otherwise, or if the lists are long, the query is compared with all sets of a fitting size, a block of them
  at a time, which is quicker than to look at those met one by one.

The first bound comes from the k sets that share most of the rarest elements. All bounds are widened by a factor of
1e-12 for rounding. Sets of equal similarity are ordered by `ranks`.

After: Xiao, Wang, Lin, Shang, ICDE 2009 (the k most similar pairs); Turtle, Flood, Information Processing and
Management 1995 (what the rest can add).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from twinset.candidates.nearest import nearest_kernels as kernels
from twinset.compiled import lists_kernels as making
from twinset.compiled.element_numbers import ElementNumbers
from twinset.schema import Hashes, Numbers, Places
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of

_FREQUENT = 24  # an element that more than one in so many sets has gets a bit
_MOST_WORDS = 64  # of 64 bits, for each set
_LEFT_OUT = _PADDING = 0xFFFFFFFF
_WORK = 1 << 22  # entries of lists that a thread looks up at a time, about
_BYTES_AN_ELEMENT, _BYTES_A_SET = 88, 64  # while the table of elements grows, if all are different


@dataclass(frozen=True)
class NumberedSets:
    """Sets whose elements are numbered, rare ones first: `sizes` with all elements, also those left out.

    Set i has listed[offsets[i]:offsets[i + 1]], ascending, and the frequent elements whose bits are set in bits[:, i].
    Padded to whole blocks by sets without elements, of the largest size.
    """

    sizes: Numbers
    offsets: Places
    listed: Numbers
    bits: Hashes


@dataclass(frozen=True)
class NearestSets:
    """The nearest of each query: positions uint32 (n, k), shared uint32 (n, k), of which the first found[i] are set."""

    positions: Numbers
    shared: Numbers
    found: Places
    compared: int


class _SearchScratch(threading.local):
    counts: Numbers = np.zeros(0, np.uint32)
    touched: Numbers = np.empty(0, np.uint32)

    def fit(self, sets: int) -> tuple[Numbers, Numbers]:
        if len(self.counts) != sets:
            self.counts, self.touched = np.zeros(sets, np.uint32), np.empty(sets, np.uint32)
        return self.counts, self.touched


class SetLists:
    """Inverted lists of some sets, by ascending size, and the sets that look their nearest up.

    hashes, starts, sizes: set i is hashes[starts[i]:starts[i]+sizes[i]], without repeats; the hashes are overwritten.
    ranks: uint32 (sets), the order of sets of equal similarity. border: the first of the sets that are looked up by
    those before it; None if all look up all others, 0 if all are looked up by sets that come later.

    Examples
    --------
    >>> hashes, starts = np.array([1, 2, 3, 1, 2, 3, 4, 9], np.uint64), np.array([0, 3, 7])
    >>> lists = SetLists(hashes, starts, np.array([3, 4, 1], np.uint32), np.arange(3, dtype=np.uint32))
    >>> nearest = lists.search(slice(0, 3), k=1)
    >>> lists.queries.tolist(), lists.targets[nearest.positions[:, 0]].tolist()
    ([2, 0, 1], [2, 1, 0])
    >>> nearest.shared[:, 0].tolist(), nearest.found.tolist()
    ([0, 3, 3], [0, 1, 1])
    """

    def __init__(
        self, hashes: Hashes, starts: Places, sizes: Numbers, ranks: Numbers, border: int | None = None
    ) -> None:
        order = np.argsort(sizes, kind="stable")
        self.own = border is None
        self.targets = order if border is None else order[order >= border]
        self.queries = order if border is None else order[order < border]
        self._elements = ElementNumbers()
        self._elements.number(hashes, starts, sizes)
        self._codes, self._lengths, words = self._code(hashes, starts, sizes, len(self._elements))
        sets = (hashes, starts, sizes)
        self._sets = _numbered(sets, self.targets, self._codes, len(self._lengths), words)
        self._asking = self._sets if self.own else _numbered(sets, self.queries, self._codes, len(self._lengths), words)
        self._ranks = np.zeros(len(self._sets.sizes), np.uint32)
        self._ranks[: len(self.targets)] = ranks[self.targets]
        self._starts = offsets_of(self._lengths)
        self._members = np.empty(self._starts[-1], np.uint32)
        making.fill_lists(self._sets.offsets, self._sets.listed, self._starts[:-1].copy(), self._members)

    def _code(self, hashes: Hashes, starts: Places, sizes: Numbers, elements: int) -> tuple[Numbers, Places, int]:
        """Number the elements anew, the rarest first; return the numbers, the lengths of lists, and words of bits.

        Elements that cannot be shared have no number.
        """
        frequencies = np.zeros(elements, np.uint32)
        making.count_elements(hashes, starts, sizes, self.targets, frequencies)
        shared = np.flatnonzero(frequencies > (1 if self.own else 0))
        order = shared[np.argsort(frequencies[shared], kind="stable")]
        frequent = int(np.count_nonzero(frequencies[order].astype(np.int64) * _FREQUENT > len(self.targets)))
        frequent = min(frequent, 64 * _MOST_WORDS)
        codes = np.full(elements + 1, _LEFT_OUT, np.uint32)  # the last one for elements of no set
        codes[order] = np.arange(len(order))
        lengths = frequencies[order[: len(order) - frequent]].astype(np.int64)
        return codes, lengths, -(-frequent // 64)

    @property
    def tasks(self) -> list[slice]:
        """The queries in parts of similar work."""
        asking, lengths = self._asking, self._lengths
        work = np.zeros(len(asking.listed) + 1, np.int64)
        np.cumsum(lengths[asking.listed], out=work[1:])
        at_least = len(self.targets) // 8 + 64
        reach = work[asking.offsets[1 : len(self.queries) + 1]] + np.arange(1, len(self.queries) + 1) * at_least
        cuts = np.flatnonzero(np.diff(reach // _WORK)) + 1
        edges = [0, *cuts.tolist(), len(self.queries)]
        return [slice(first, last) for first, last in pairwise(edges) if first < last]

    def search(self, rows: slice, k: int) -> NearestSets:
        """Find the k nearest of some queries, by their positions; threads may search for different ones."""
        return self._search(self._asking, rows, k)

    def search_sets(self, hashes: Hashes, starts: Places, sizes: Numbers, k: int) -> NearestSets:
        """Find the k nearest of some other sets, given as the first ones; threads may search for different ones."""
        every = (self._elements.find(hashes), starts, sizes)
        asking = _numbered(every, np.arange(len(sizes)), self._codes, len(self._lengths), len(self._sets.bits))
        return self._search(asking, slice(0, len(sizes)), k)

    def _search(self, asking: NumberedSets, rows: slice, k: int) -> NearestSets:
        sets, scratch = self._sets, _scratch.fit(len(self._sets.sizes))
        count = rows.stop - rows.start
        positions, shared = np.zeros((count, k), np.uint32), np.zeros((count, k), np.uint32)
        found = np.zeros(count, np.int64)
        compared = kernels.search(
            rows.start, rows.stop, self.own, k, batch_sizes.BOUND_ENTRIES, asking.sizes, asking.offsets, asking.listed,
            asking.bits, sets.sizes, self._ranks, sets.offsets, sets.listed, sets.bits, self._starts, self._members,
            *scratch, np.empty(k, np.float64), positions, shared, found,
        )  # fmt: skip
        return NearestSets(positions, shared, found, compared)


_scratch = _SearchScratch()


def bytes_needed(sets: int, elements: int, threads: int) -> int:
    """Return the memory that lists of so many sets and elements take, while they are built and searched."""
    return elements * _BYTES_AN_ELEMENT + sets * (_BYTES_A_SET + 8 * threads)


def _numbered(
    sets: tuple[Hashes, Places, Numbers], chosen: Places, codes: Numbers, lists: int, words: int
) -> NumberedSets:
    """Write some sets with the numbers of their elements, padded to whole blocks."""
    count, room = len(chosen), -(-len(chosen) // kernels.BLOCK) * kernels.BLOCK
    lengths = np.zeros(room, np.uint32)
    making.count_listed(*sets, chosen, codes, lists, lengths[:count])
    offsets, sizes = offsets_of(lengths), np.full(room, _PADDING, np.uint32)
    sizes[:count] = sets[2][chosen]
    listed, bits = np.empty(offsets[-1], np.uint32), np.zeros((words, room), np.uint64)
    making.encode(0, count, *sets, chosen, codes, lists, offsets, listed, bits)
    return NumberedSets(sizes, offsets, listed, bits)
