"""Agreement of pairs and clusters with the truth: counts, and metrics derived from them.

All cluster metrics come from one contingency table: the number of documents in found cluster i and true cluster j. It
has at most as many cells as there are documents. Pair counts are Python integers, so they do not overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[Any]
"""The cluster of each document, as arbitrary integers."""

Counts = npt.NDArray[np.int64]

DEFINITIONS = {
    "precision": "Share of the pairs found that are true. Null where no pair was found.",
    "recall": "Share of the true pairs that were found. Null where there is no true pair.",
    "f1": "2 × true pairs found / (pairs found + true pairs): the harmonic mean of precision and recall. Null where "
    "there is neither a pair found nor a true one.",
    "reduction_ratio": "Share of all document pairs that need no further comparison: 1 − pairs found / all pairs. The "
    "recall of pairs beside it is their pair completeness. Null where there are not two documents.",
    "exact_set_accuracy": "Share of documents whose cluster has exactly the members of their true one, singletons too.",
    "adjusted_rand": "The adjusted Rand index of Hubert and Arabie: agreement of the clusterings over all pairs of "
    "documents; 1 for equal clusterings, 0 for the agreement expected by chance, negative for less.",
    "b_cubed_precision": "Share of a document's cluster that is in its true one, itself included; mean of all.",
    "b_cubed_recall": "Share of a document's true cluster that is in its own, itself included; mean of all.",
    "b_cubed_f1": "The harmonic mean of B-cubed precision and B-cubed recall.",
}


@dataclass(frozen=True)
class PairCounts:
    """Numbers of found pairs, of true pairs, and of pairs that are both.

    Examples
    --------
    >>> counts = PairCounts(found=4, true=6, both=3)
    >>> counts.precision, counts.recall, counts.f1
    (0.75, 0.5, 0.6)
    """

    found: int
    true: int
    both: int

    @property
    def precision(self) -> float | None:
        """Share of found pairs that are true."""
        return self.both / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """Share of true pairs that were found."""
        return self.both / self.true if self.true else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        total = self.found + self.true
        return 2 * self.both / total if total else None


@dataclass(frozen=True)
class Overlap:
    """Contingency table of two clusterings of the same documents.

    both: documents of each non-empty cell: of one found cluster and one true cluster.
    found, true: for each cell, the size of its found cluster and of its true cluster.
    found_sizes, true_sizes: sizes of all clusters.

    Examples
    --------
    >>> import numpy as np
    >>> Overlap.of(np.array([7, 7, 8]), np.array([1, 2, 2])).both.tolist()
    [1, 1, 1]
    """

    both: Counts
    found: Counts
    true: Counts
    found_sizes: Counts
    true_sizes: Counts

    @classmethod
    def of(cls, found: Labels, true: Labels) -> Overlap:
        """Tabulate two clusterings; document i is in clusters found[i] and true[i]."""
        ours, found_sizes = _numbered(found)
        theirs, true_sizes = _numbered(true)
        cells, both = np.unique(ours * max(1, len(true_sizes)) + theirs, return_counts=True)
        rows, columns = np.divmod(cells, max(1, len(true_sizes)))
        return cls(both, found_sizes[rows], true_sizes[columns], found_sizes, true_sizes)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return int(self.both.sum())

    def pairs(self) -> PairCounts:
        """Count the pairs of documents within a cluster."""
        return PairCounts(pairs_within(self.found_sizes), pairs_within(self.true_sizes), pairs_within(self.both))

    def adjusted_rand(self) -> float:
        """Return the adjusted Rand index.

        Examples
        --------
        >>> import numpy as np
        >>> round(Overlap.of(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])).adjusted_rand(), 4)
        0.5714
        """
        counts = self.pairs()
        every = self.documents * (self.documents - 1) // 2
        both, only_found, only_true = counts.both, counts.found - counts.both, counts.true - counts.both
        neither = every - both - only_found - only_true
        if not only_found and not only_true:
            return 1.0
        above = 2 * (both * neither - only_found * only_true)
        below = counts.true * (only_true + neither) + counts.found * (only_found + neither)
        return above / below

    def b_cubed(self) -> tuple[float, float, float]:
        """Return B-cubed precision, recall and F1.

        Examples
        --------
        >>> import numpy as np
        >>> precision, recall, _ = Overlap.of(np.array([0, 0, 1]), np.array([0, 1, 1])).b_cubed()
        >>> round(precision, 4), round(recall, 4)
        (0.6667, 0.6667)
        """
        if not self.documents:
            return 1.0, 1.0, 1.0
        squares = self.both.astype(np.float64) ** 2
        precision = float((squares / self.found).sum()) / self.documents
        recall = float((squares / self.true).sum()) / self.documents
        return precision, recall, 2 * precision * recall / (precision + recall)

    def exact_set_accuracy(self) -> float:
        """Return the share of documents whose cluster is exactly their true one.

        Examples
        --------
        >>> import numpy as np
        >>> Overlap.of(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])).exact_set_accuracy()
        0.5
        """
        if not self.documents:
            return 1.0
        same = (self.both == self.found) & (self.both == self.true)
        return int(self.both[same].sum()) / self.documents


def pairs_within(sizes: Counts) -> int:
    """Count the pairs within groups of these sizes, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> pairs_within(np.array([3, 1, 2]))
    4
    """
    different, times = np.unique(sizes, return_counts=True)
    listed = zip(different.tolist(), times.tolist(), strict=True)
    return sum(size * (size - 1) // 2 * count for size, count in listed)


def _numbered(labels: Labels) -> tuple[Counts, Counts]:
    """Clusters numbered from 0, and their sizes."""
    if len(labels) and int(labels.min()) >= 0 and int(labels.max()) < 4 * len(labels):
        # Labels are document numbers, as ours are: counting is ten times faster than sorting.
        sizes = np.bincount(labels)
        return (np.cumsum(sizes > 0) - 1)[labels], sizes[sizes > 0].astype(np.int64)
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return numbers.astype(np.int64), sizes.astype(np.int64)
