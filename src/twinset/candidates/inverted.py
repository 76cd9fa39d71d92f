"""Join bottom-k sketches by an inverted list of their hashes, without missing a pair at the threshold.

If two sketches have a fraction t of the k smallest hashes of their union in common, they have one of their smallest
hashes in common: in a sketch of n hashes, one of the n - ⌈t n⌉ + 1 smallest, as in a prefix filter ordered by hash.
These hashes of all sketches are sorted; sketches with an equal hash are candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from twinset.candidates import inverted_kernels as kernels
from twinset.schema import Hashes, Numbers, Places

MetPairs = npt.NDArray[np.uint32]
"""(n, 4): two sketches, the smaller number first; hashes both have of the k smallest of their union; size of that."""

_LEAST_ROOM = 1 << 16


@dataclass(frozen=True)
class InvertedSketches:
    """The smallest hashes of some sketches, sorted, and the sketches themselves.

    hashes uint64 and owners uint32, ascending; ranks uint32: number of smaller hashes in the sketch. Sketch i is
    values[starts[i]:starts[i+1]].
    """

    k: int
    threshold: float
    starts: Places
    values: Hashes
    hashes: Hashes
    owners: Numbers
    ranks: Numbers

    @classmethod
    def of(cls, k: int, threshold: float, starts: Places, values: Hashes) -> InvertedSketches:
        """Invert sketches of at most `k` hashes each, ascending.

        Examples
        --------
        >>> import numpy as np
        >>> values = np.array([1, 2, 3, 4, 2, 3, 4, 5], np.uint64)
        >>> InvertedSketches.of(4, 0.5, np.array([0, 4, 8]), values).hashes.tolist()
        [1, 2, 2, 3, 3, 4]
        """
        lengths = np.diff(starts)
        prefix = np.where(lengths > 0, lengths - np.maximum(1, np.ceil(threshold * lengths * (1 - 1e-12))) + 1, 0)
        prefix = prefix.astype(np.int64)
        before = np.cumsum(prefix) - prefix
        ranks = np.arange(int(prefix.sum())) - np.repeat(before, prefix)
        hashes = values[np.repeat(starts[:-1], prefix) + ranks]
        order = np.argsort(hashes, kind="stable")
        owners = np.repeat(np.arange(len(lengths), dtype=np.uint32), prefix)
        return cls(k, threshold, starts, values, hashes[order], owners[order], ranks[order].astype(np.uint32))

    def slices(self, count: int) -> list[slice]:
        """Split the list into about `count` slices with equal hashes together; each can be joined by itself."""
        edges = np.unique(np.linspace(0, len(self.hashes), count + 1).astype(np.int64))
        cuts = [int(np.searchsorted(self.hashes, self.hashes[edge])) for edge in edges[1:-1]]
        every = sorted({0, *cuts, len(self.hashes)})
        return [slice(a, b) for a, b in pairwise(every)]


def met(inverted: InvertedSketches, part: slice, border: int | None = None) -> Iterator[MetPairs]:
    """Yield the pairs that collide in a slice of the list; a pair is in one slice only.

    With `border`, only pairs of sketches across that position.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([1, 2, 3, 4, 2, 3, 4, 5], np.uint64)
    >>> inverted = InvertedSketches.of(4, 0.5, np.array([0, 4, 8]), values)
    >>> [found.tolist() for found in met(inverted, slice(0, 6))]
    [[[0, 1, 3, 4]]]
    """
    hashes, owners, ranks = inverted.hashes[part], inverted.owners[part], inverted.ranks[part]
    state = np.zeros(2, np.int64)
    edges = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
    room = max(_LEAST_ROOM, int(np.diff(np.concatenate([[0], edges, [len(hashes)]])).max()))
    columns = [np.empty(room, np.uint32) for _ in range(4)]
    limit = -1 if border is None else border
    while state[0] >= 0 and len(hashes):
        count = kernels.join(
            hashes, owners, ranks, state, inverted.values, inverted.starts, inverted.k, inverted.threshold, limit,
            *columns,
        )  # fmt: skip
        if count:
            yield np.stack([column[:count] for column in columns], axis=1)
