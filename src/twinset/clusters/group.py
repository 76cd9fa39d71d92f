"""Cluster documents by their pairs: `leader` (the default), `complete` and `components`.

A cluster is a kept document and the documents removed because of it. Leader clusters never chain: every removed
document has a verified pair with the kept one. Connected components, which other tools use, may join documents that
are not similar.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from twinset.clusters import group_kernels
from twinset.schema import Flags, Numbers, Places
from twinset.system.arrays import offsets_of, pair_words

Edges = npt.NDArray[np.uint32]
"""(n, 3): ranks of two documents, the later first, and their shared shingles; sorted by the two ranks."""
Words = npt.NDArray[np.uint64]
"""Pairs of numbers as one word each."""


class Grouping:
    """Builds clusters from sorted edges, in any number of portions; documents are numbered by rank.

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[1, 0, 9], [2, 1, 9], [3, 2, 9]], np.uint32)
    >>> [Grouping(4, method).add([chain]).leader.tolist() for method in ("leader", "complete", "components")]
    [[0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 0, 0]]
    """

    def __init__(self, documents: int, method: str) -> None:
        self.method = method
        self.leader: Numbers = np.arange(documents, dtype=np.uint32)
        self.shared: Numbers = np.zeros(documents, np.uint32)
        self._sizes: Numbers = np.ones(documents if method == "complete" else 0, np.uint32)
        self._tally: Numbers = np.zeros(documents if method == "complete" else 0, np.uint32)

    def add(self, portions: Iterable[Edges], forced: Words | None = None) -> "Grouping":
        """Add edges, sorted by (later rank, earlier rank) over all portions.

        All edges of a document are in one portion. `forced` are edges, sorted words (later rank, earlier rank), by
        which a document joins even a complete cluster with members that it has no edge with.
        """
        for edges in portions:
            later, earlier, shared = (np.ascontiguousarray(column) for column in edges.T)
            if self.method == "components":
                group_kernels.unite(later, earlier, self.leader)
            elif self.method == "complete":
                musts = np.zeros(0, np.bool_) if forced is None else is_among(pair_words(later, earlier), forced)
                settings = (self.leader, self.shared, self._sizes, self._tally)
                group_kernels.complete(later, earlier, shared, musts, *settings)
            else:
                group_kernels.leaders(later, earlier, shared, self.leader, self.shared)
        if self.method == "components":
            group_kernels.flatten(self.leader)
        return self


def part_components(leader: Numbers, portions: Callable[[], Iterable[Edges]], parted: Edges) -> None:
    """Cut components that hold pairs which must not be together; the others are left as they are.

    In a component with a parted pair, the best-ranked document leads those that edges link with it without passing
    through a document parted from it; then the next document that is left leads, and so on. So no document is led by
    one that it is parted from, and of two documents with an edge at most one leads.

    Parameters
    ----------
    leader
        The components of all documents, as `Grouping` makes them; changed in place.
    portions
        Returns the edges again, in any order.
    parted
        Pairs (n, 2) that have no edge.

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[1, 0, 9], [2, 1, 9], [3, 2, 9]], np.uint32)
    >>> leader = Grouping(4, "components").add([chain]).leader
    >>> part_components(leader, lambda: [chain], np.array([[0, 2]], np.uint32))
    >>> leader.tolist()
    [0, 0, 2, 2]
    """
    parted = parted[leader[parted[:, 0]] == leader[parted[:, 1]]]
    if not len(parted):
        return
    doubtful = np.zeros(len(leader), np.bool_)
    doubtful[leader[parted[:, 0]]] = True
    members = np.flatnonzero(doubtful[leader]).astype(np.uint32)
    edges = [np.zeros((0, 2), np.uint32), *(some[doubtful[leader[some[:, 0]]], :2] for some in portions())]
    starts, neighbours = _both_ways(np.searchsorted(members, np.concatenate(edges)), len(members))
    part_starts, strangers = _both_ways(np.searchsorted(members, parted), len(members))
    found, barred = (np.full(len(members), len(members), np.uint32) for _ in range(2))
    stack = np.empty(len(members), np.uint32)
    group_kernels.peel(starts, neighbours, part_starts, strangers, found, barred, stack)
    leader[members] = members[found]


def _both_ways(pairs: Places, count: int) -> tuple[Places, Numbers]:
    """Return the partners of each of `count` documents in some pairs, and where those of each begin."""
    ones, others = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.argsort(ones, kind="stable")
    return offsets_of(np.bincount(ones, minlength=count)), others[order].astype(np.uint32)


def is_among(words: Words, chosen: Words) -> Flags:
    """Mark the words that are among some sorted ones."""
    if not len(chosen):
        return np.zeros(len(words), np.bool_)
    places = np.minimum(np.searchsorted(chosen, words), len(chosen) - 1)
    found: Flags = chosen[places] == words
    return found


def components(documents: int, portions: Iterable[Edges]) -> Numbers:
    """Label each document with the first document of its connected component; edges are the first two columns."""
    parents: Numbers = np.arange(documents, dtype=np.uint32)
    for edges in portions:
        group_kernels.unite(np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]), parents)
    group_kernels.flatten(parents)
    return parents
