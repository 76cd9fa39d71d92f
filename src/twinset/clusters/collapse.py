"""Fold near-duplicates of a ranking under their first appearance.

Each result is folded under the first earlier result that is near it and not folded itself; otherwise it is shown. So
nothing is folded under a hidden result, and nothing chains: each folded result was compared exactly with the one shown.

It is the first result, not the most similar one, because readers go through the ranking in order. This is the leader
rule (`group.py`) with the ranking as keep policy, so a page of results and a deduplicated collection agree. Later
results never change how earlier ones are folded.
"""

from dataclasses import dataclass

import numpy as np

from twinset.clusters import collapse_kernels as kernels
from twinset.schema import Hashes, Numbers, Places
from twinset.system.arrays import offsets_of


@dataclass(frozen=True)
class RankedSets:
    """Shingle sets in the order of a ranking, with prefixes and bitmaps that rule out most pairs quickly.

    Set i is hashes[starts[i]:starts[i]+sizes[i]]. The prefix of its tokens, by frequency, is alone[i] unique tokens and
    then keys[offsets[i]:offsets[i+1]]. Its bitmap is bits[bit_offsets[i]:bit_offsets[i+1]]. All are for one threshold:
    see `candidates/prefix.py`.
    """

    hashes: Hashes
    starts: Places
    sizes: Numbers
    alone: Numbers
    offsets: Places
    keys: Hashes
    bit_offsets: Places
    bits: Hashes


def fold(ranked: RankedSets, threshold: float) -> tuple[Numbers, Numbers]:
    """Return for each set the position of the set it is folded under (or its own), and the number of shared tokens.

    Examples
    --------
    >>> import numpy as np
    >>> hashes = np.array([1, 2, 3, 1, 2, 3, 4, 2, 3, 4], np.uint64)
    >>> numbers = np.arange(4, dtype=np.uint32)
    >>> keys = 2 + hashes  # every token in the prefix: right for any threshold, if not short
    >>> starts, none = np.array([0, 3, 7, 10]), np.zeros(3, np.uint32)
    >>> full = np.full(3, 2**64 - 1, np.uint64)
    >>> sets = RankedSets(hashes, starts, np.array([3, 4, 3], np.uint32), none, starts, keys, np.arange(4), full)
    >>> [part.tolist() for part in fold(sets, 0.75)]
    [[0, 0, 2], [0, 3, 0]]
    """
    results, total = len(ranked.sizes), len(ranked.keys)
    places = 1 << max(4, (total + total // 2).bit_length())
    lists, lengths = np.empty(total, np.uint32), np.zeros(total + 1, np.int64)
    table, numbers = np.zeros(places, np.uint64), np.empty(places, np.uint32)
    count = kernels.number_lists(ranked.keys, table, numbers, lists, lengths)
    starts = offsets_of(lengths[:count])
    members, positions = np.empty(total, np.uint32), np.empty(total, np.uint32)
    met, touched, heads = np.zeros(results, np.uint32), np.empty(results, np.uint32), np.empty(results, np.uint32)
    room = np.empty(1 << max(3, (2 * int(ranked.sizes.max(initial=0))).bit_length()), np.uint64)
    leader, shared = np.empty(results, np.uint32), np.empty(results, np.uint32)
    kernels.fold(
        ranked.hashes, ranked.starts, ranked.sizes, threshold, ranked.alone, ranked.offsets, lists, starts,
        ranked.bit_offsets, ranked.bits, starts.copy(), members, positions, met, touched, heads, room, leader, shared,
    )  # fmt: skip
    return leader, shared
