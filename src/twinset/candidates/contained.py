"""Containment join: pairs of sets in which the larger contains at least the share t of the smaller one's tokens.

Why a pair is found. Let |A| <= |B| and |A∩B| >= t|A|: at most m = |A| - ⌈t|A|⌉ tokens of A are not in B. Take the p
rarest tokens of A, p > m, and draw k of them at random. All k are missing in B with a probability of at most
m/p · (m-1)/(p-1) · … (k factors). A is filed under the k tokens, and B looks up all its tokens, so that the pair is
found with the complement of this probability, whatever the sizes.

- k is the least number for which the loss is within 1 - recall. With k = m + 1 nothing is missed: the exact join.
- p is a choice. Small pools have rare tokens, whose lists are short, and need many draws; large ones need few. The pool
  with the least expected work is taken, set by set. So a header that all documents have costs nothing: its tokens are
  not among the rarest.
- Tokens of one set only are missing in every other one. If A has more than m of them, no set holds it, and it is not
  filed. Otherwise the others are drawn from, with that many fewer missing.
- If |A| = |B|, both hold the same share of each other, and the earlier document is filed.

Draws are random because tokens are hashes: the k smallest keys of a pool, in an order that all sets share. Frequencies
are those of the exact join, and so is the key of a token but for its frequency. Two tokens may have the same key, which
only adds candidates.

After: Chaudhuri, Ganti, Kaushik, ICDE 2006 (prefixes of the rarest tokens); Zhu, Nargesian, Pu, Miller, VLDB 2016, ask
the same question of sketches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinset.candidates import contained_kernels as kernels
from twinset.candidates import prefix_kernels
from twinset.candidates.prefix import Frequencies
from twinset.schema import CandidatePairs, Hashes, Numbers, Places
from twinset.system.arrays import offsets_of

MOST_PLACES = 1 << 27
"""Maximum size of the table of frequencies: with fewer tokens to a place, more sets are known to have no partner."""
BYTES_A_KEY = 48
"""Memory of one filed key, in the lists and their tables."""
_BITS_A_KEY = 16
_LEAST_ROOM = 1 << 14


def choose(
    frequencies: Frequencies, hashes: Hashes, starts: Places, sizes: Numbers, salts: Hashes, threshold: float,
    loss: float,
) -> tuple[Numbers, Hashes]:  # fmt: skip
    """Return the number of keys under which each set is filed, and all keys.

    Examples
    --------
    >>> three = np.array([7, 8, 9, 7, 8, 9, 5], np.uint64)
    >>> sets = (three, np.array([0, 3]), np.array([3, 4], np.uint32), np.zeros(2, np.uint64))
    >>> frequencies = Frequencies.for_tokens(64)
    >>> frequencies.add(*sets)
    >>> choose(frequencies, *sets, threshold=1.0, loss=0.0)[0].tolist()
    [1, 0]
    """
    counts = np.empty(len(sizes), np.uint32)
    scratch = np.empty(int(sizes.max(initial=0)), np.uint64)
    keys = np.empty(int(sizes.sum(dtype=np.int64)), np.uint64)
    total = kernels.choose(
        hashes, starts, sizes, salts, threshold, loss, frequencies.low, frequencies.high, scratch, counts, keys
    )
    return counts, keys[:total].copy()


@dataclass(frozen=True)
class FiledSets:
    """Documents by the keys under which they are filed: the members of a list are positions in `numbers`."""

    numbers: Numbers
    sizes: Numbers
    bits: Hashes
    table: Hashes
    lists: Places
    members: Numbers

    @classmethod
    def of(cls, numbers: Numbers, sizes: Numbers, counts: Numbers, keys: Hashes) -> FiledSets:
        """Build the lists of some documents, the keys of one after those of the other."""
        bits = np.zeros(1 << max(0, (_BITS_A_KEY * len(keys) // 64).bit_length()), np.uint64)
        kernels.mark(keys, bits)
        places = 1 << max(4, (len(keys) + len(keys) // 2).bit_length())
        table, lengths = np.zeros(places, np.uint64), np.zeros(places, np.int64)
        offsets = offsets_of(counts)
        prefix_kernels.count_lists(keys, offsets, counts, table, lengths)
        lists = offsets_of(lengths)
        found = np.empty(len(keys), np.int64)
        prefix_kernels.look_up(keys, table, found)
        ends = lengths  # reuses the memory
        ends[:] = lists[:-1]
        members, unused = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
        prefix_kernels.fill_lists(found, offsets, counts, np.zeros(len(counts), np.uint32), ends, members, unused)
        return cls(numbers, sizes, bits, table, lists, members)

    def candidates(
        self, hashes: Hashes, starts: Places, sizes: Numbers, numbers: Numbers, salts: Hashes, border: int | None
    ) -> Iterator[CandidatePairs]:
        """Yield pairs of documents, the lesser number first: each set with the filed ones that it may hold."""
        stamps = np.zeros(len(self.numbers), np.uint32)
        slots = np.empty(int(sizes.max(initial=0)), np.int64)
        out = np.empty((_LEAST_ROOM, 2), np.uint32)
        state = np.zeros(2, np.int64)
        while state[0] >= 0 and len(self.numbers):
            count = kernels.look_up(
                hashes, starts, sizes, numbers, salts, -1 if border is None else border, self.bits, self.table,
                self.lists, self.members, self.numbers, self.sizes, slots, stamps, out, state,
            )  # fmt: skip
            if count:
                yield np.sort(out[:count], axis=1)
            if state[0] >= 0 and state[1] > len(out):
                out = np.empty((int(state[1]), 2), np.uint32)
