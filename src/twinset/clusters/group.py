"""Cluster documents by their pairs: `leader` (the default), `complete` and `components`.

A cluster is a kept document and the documents removed because of it. Leader clusters never chain: every removed
document has a verified pair with the kept one. Connected components, which other tools use, may join documents that
are not similar.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from twinset.clusters import group_kernels
from twinset.schema import Numbers

Edges = npt.NDArray[np.uint32]
"""(n, 3): ranks of two documents, the later first, and their shared shingles; sorted by the two ranks."""


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

    def add(self, portions: Iterable[Edges]) -> "Grouping":
        """Add edges, sorted by (later rank, earlier rank) over all portions.

        All edges of a document are in one portion.
        """
        for edges in portions:
            later, earlier, shared = (np.ascontiguousarray(column) for column in edges.T)
            if self.method == "components":
                group_kernels.unite(later, earlier, self.leader)
            elif self.method == "complete":
                group_kernels.complete(later, earlier, shared, self.leader, self.shared, self._sizes, self._tally)
            else:
                group_kernels.leaders(later, earlier, shared, self.leader, self.shared)
        if self.method == "components":
            group_kernels.flatten(self.leader)
        return self


def components(documents: int, portions: Iterable[Edges]) -> Numbers:
    """Label each document with the first document of its connected component; edges are the first two columns."""
    parents: Numbers = np.arange(documents, dtype=np.uint32)
    for edges in portions:
        group_kernels.unite(np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]), parents)
    group_kernels.flatten(parents)
    return parents
