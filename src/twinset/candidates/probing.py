"""Candidates by multi-probe LSH: vectors with an equal key, or with one of a few further keys.

Each vector is in the bucket of its own key and probes a few more: the keys that a similar vector most likely has
(multi-probe: Lv, Josephson, Wang, Charikar, Li, VLDB 2007; for cross-polytopes Andoni, Indyk, Laarhoven, Razenshteyn,
Schmidt, NIPS 2015). Two vectors are candidates of a table if either finds the other.

Vectors are joined block by block, a block with itself or with another, table by table. The pairs do not depend on the
blocks. A pair may come from several tables, and twice from one: once from each side.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinset.candidates import probing_kernels as kernels
from twinset.compiled import vector_kernels
from twinset.schema import CandidatePairs, Codes, Hashes, Moves, Numbers

_LEAST_ROOM = 1 << 16


@dataclass(frozen=True)
class Buckets:
    """Buckets of one table: bucket b has the entries starts[b] to starts[b+1] of keys and members (positions)."""

    starts: Numbers
    keys: Hashes
    members: Numbers
    shift: np.uint64


@dataclass(frozen=True)
class Probed:
    """Some vectors in one table, in ascending order of their numbers.

    numbers uint32 (m); tried uint64 (m, 1 + probes): the vector's key, then those it probes; signatures uint64 (m,
    words), to compare candidates; buckets by key; first_words uint64 (m): the first word of the signatures in bucket
    order, which saves cache misses.
    """

    numbers: Numbers
    tried: Hashes
    signatures: Codes
    buckets: Buckets
    first_words: Hashes


Limits = tuple[int, int]
"""Maximum number of differing signature bits of candidates: of the first 64, and of all."""

_NO_LIMITS = (64, 1 << 30)


def next_keys(moves: Moves, probes: int) -> Hashes:
    """Return the key of each vector and the `probes` keys to try next, the likeliest first.

    moves: keys, and the costs of the moves to neighbouring keys.
    probes: number of keys to try besides the vector's own.
    Returns uint64 (n, 1 + probes). Where there are fewer keys, the vector's own is repeated.

    Examples
    --------
    >>> import numpy as np
    >>> costs = np.array([[0.3, 0.1, 0.5]], np.float32)
    >>> moves = Moves(np.zeros(1, np.uint64), costs, np.array([[1, 2, 4]], np.uint64), np.arange(3, dtype=np.uint8))
    >>> [f"{key:03b}" for key in next_keys(moves, probes=5)[0]]
    ['000', '010', '001', '011', '100', '110']
    """
    tried = np.empty((len(moves.keys), probes + 1), np.uint64)
    vector_kernels.next_keys(moves.keys, moves.costs, moves.turns, moves.groups, tried)
    return tried


def buckets(keys: Hashes) -> Buckets:
    """Build buckets of vectors, by position, from their keys.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(buckets(np.array([7, 9, 7], np.uint64)).members.tolist())
    [0, 1, 2]
    """
    bits = max(1, (len(keys) - 1).bit_length())
    starts = np.empty((1 << bits) + 1, np.uint32)
    filed, members = np.empty(len(keys), np.uint64), np.empty(len(keys), np.uint32)
    kernels.file_keys(keys, np.uint64(64 - bits), starts, filed, members)
    return Buckets(starts, filed, members, np.uint64(64 - bits))


def probed(numbers: Numbers, tried: Hashes, signatures: Codes | None = None) -> Probed:
    """Make a block of one table, with the vectors in the buckets of their first key.

    numbers: the vectors' numbers, ascending.
    tried: the result of `next_keys`, (m, 1 + probes).
    signatures: uint64 (m, words); without them candidates are not compared.

    Examples
    --------
    >>> import numpy as np
    >>> block = probed(np.arange(2, dtype=np.uint32), np.array([[5, 4], [4, 6]], np.uint64))
    >>> [pairs.tolist() for pairs in within(block)]
    [[[0, 1]]]
    """
    if signatures is None:
        signatures = np.empty((len(numbers), 0), np.uint64)
    filed = buckets(np.ascontiguousarray(tried[:, 0]))
    first = signatures[filed.members, 0] if signatures.shape[1] else np.zeros(len(numbers), np.uint64)
    return Probed(numbers, tried, signatures, filed, first)


def within(block: Probed, most: Limits = _NO_LIMITS, rows: tuple[int, int] | None = None) -> Iterator[CandidatePairs]:
    """Yield the candidates of one table within a block, in batches.

    most: maximum number of differing signature bits of candidates: of the first 64, and of all.
    rows: range of the positions that probe, to share the work; all by default.
    Yields uint32 (n, 2), numbers, the smaller first.

    Examples
    --------
    >>> import numpy as np
    >>> block = probed(np.array([3, 8, 9], np.uint32), np.array([[7], [1], [7]], np.uint64))
    >>> [pairs.tolist() for pairs in within(block)]
    [[[3, 9]]]
    """
    for lefts, rights in _looked_up(block, block, most, 0, same=True, rows=rows):
        yield np.stack([block.numbers[lefts], block.numbers[rights]], axis=1)


def across(left: Probed, right: Probed, most: Limits = _NO_LIMITS) -> Iterator[CandidatePairs]:
    """Yield the candidates of one table between two blocks: what either side finds in the other.

    Examples
    --------
    >>> import numpy as np
    >>> one = probed(np.array([0, 1], np.uint32), np.array([[7, 6], [1, 2]], np.uint64))
    >>> other = probed(np.array([2, 3], np.uint32), np.array([[6, 5], [3, 1]], np.uint64))
    >>> [pairs.tolist() for pairs in across(one, other)]
    [[[0, 2]], [[1, 3]]]
    """
    for lefts, rights in _looked_up(left, right, most, 0, same=False):
        yield np.stack([left.numbers[lefts], right.numbers[rights]], axis=1)
    for rights, lefts in _looked_up(right, left, most, 1, same=False):  # equal keys have been found already
        yield np.stack([left.numbers[lefts], right.numbers[rights]], axis=1)


def find_candidates(
    tried: Hashes, signatures: Codes, block: Probed, most: Limits = _NO_LIMITS, rows: tuple[int, int] | None = None
) -> Iterator[CandidatePairs]:
    """Yield what queries find in one table of a block. Only the queries probe, so they find less than `across`.

    tried, signatures: the queries' keys, from `next_keys`, and their signatures.
    most: maximum number of differing signature bits of candidates: of the first 64, and of all.
    rows: range of the queries' positions.
    Yields uint32 (n, 2): the position of a query, ascending, and the number of a vector.

    Examples
    --------
    >>> import numpy as np
    >>> block = probed(np.array([3, 8], np.uint32), np.array([[7], [1]], np.uint64))
    >>> none = np.empty((2, 0), np.uint64)
    >>> [pairs.tolist() for pairs in find_candidates(np.array([[7, 1], [2, 7]], np.uint64), none, block)]
    [[[0, 3], [0, 8], [1, 3]]]
    """
    probing = Probed(np.arange(len(tried), dtype=np.uint32), tried, signatures, block.buckets, block.first_words)
    for queries, positions in _looked_up(probing, block, most, 0, same=False, rows=rows):
        yield np.stack([queries, block.numbers[positions]], axis=1)


def _looked_up(
    probing: Probed, stored: Probed, most: Limits, probe: int, same: bool, rows: tuple[int, int] | None = None
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield positions on both sides where a probing vector finds a stored one."""
    first, last = rows or (0, len(probing.numbers))
    if first >= last or not len(stored.numbers):
        return
    state = np.zeros(3, np.int64)
    lefts, rights = np.empty(_LEAST_ROOM, np.uint32), np.empty(_LEAST_ROOM, np.uint32)
    table = stored.buckets
    while state[0] >= 0:
        count = kernels.look_up(
            probing.tried, first, last, probe, same, table.shift, table.starts, table.keys, table.members,
            stored.first_words, probing.signatures, stored.signatures, *most, state, lefts, rights,
        )  # fmt: skip
        if count:
            yield lefts[:count], rights[:count]
