"""The truth by document number: true pairs, their number, and true clusters.

There are three kinds. Listed pairs have their connected components as clusters. Listed clusters make every two of their
members a true pair. Scored pairs, of the exact join, are true from a threshold on and are clustered as in a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from twinset.clusters.group import Grouping, components
from twinset.evaluation.metrics import pairs_within
from twinset.schema import Flags, Hashes, Numbers, Places
from twinset.system.arrays import pair_words

MOST_SAMPLED = 500_000  # maximum number of true pairs whose similarity is computed


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of documents with their exact similarity: left before right, sorted by right, then by left."""

    left: Numbers
    right: Numbers
    similarity: npt.NDArray[np.float64]

    @classmethod
    def of(cls, left: Numbers, right: Numbers, similarity: npt.NDArray[np.float64]) -> ScoredPairs:
        """Sort pairs in any order."""
        order = np.argsort(pair_words(right, left), kind="stable")
        return cls(left[order], right[order], similarity[order])

    def clusters(self, documents: int, threshold: float, method: str) -> Numbers:
        """Return the cluster of each document, as `dedup` makes them with the first document kept."""
        enough = self.similarity >= threshold
        edges = np.stack([self.right[enough], self.left[enough], np.ones(enough.sum(), np.uint32)], axis=1)
        return Grouping(documents, method).add([edges]).leader

    def count(self, threshold: float) -> int:
        """Count the pairs at or above a threshold."""
        return int(np.count_nonzero(self.similarity >= threshold))


class TruePairs(Protocol):
    """The truth of any kind."""

    def count(self, threshold: float) -> int:
        """Count the true pairs."""

    def holds(self, left: Numbers, right: Numbers) -> Flags:
        """Return whether each pair is true."""

    def clusters(self, threshold: float) -> Numbers:
        """Return the true cluster of each document."""

    def sample(self) -> tuple[Numbers, Numbers]:
        """Return true pairs: all, or `MOST_SAMPLED` at even steps through the list."""


@dataclass(frozen=True)
class ListedPairs:
    """Listed pairs, as sorted unique keys."""

    documents: int
    keys: Hashes

    def count(self, threshold: float) -> int:
        """Count the true pairs."""
        return len(self.keys)

    def holds(self, left: Numbers, right: Numbers) -> Flags:
        """Return whether each pair is true."""
        return among(pair_words(left, right), self.keys)

    def clusters(self, threshold: float) -> Numbers:
        """Return the connected components of the true pairs."""
        return self._components

    @cached_property
    def _components(self) -> Numbers:
        return components(self.documents, [np.stack(unpaired(self.keys), axis=1)])

    def sample(self) -> tuple[Numbers, Numbers]:
        """Return true pairs."""
        return unpaired(self.keys[_even_steps(len(self.keys))])


@dataclass(frozen=True)
class ListedClusters:
    """Listed clusters: label[i] is that of document i; a document without a cluster has its own label."""

    label: Numbers

    def count(self, threshold: float) -> int:
        """Count the true pairs."""
        return pairs_within(self._sizes)

    def holds(self, left: Numbers, right: Numbers) -> Flags:
        """Return whether each pair is true."""
        return np.asarray(self.label[left] == self.label[right])

    def clusters(self, threshold: float) -> Numbers:
        """Return the true cluster of each document."""
        return self.label

    @cached_property
    def _sizes(self) -> Places:
        return np.bincount(self.label).astype(np.int64)

    def sample(self) -> tuple[Numbers, Numbers]:
        """Return true pairs by their positions in the list of all pairs, without building it."""
        members = np.argsort(self.label, kind="stable").astype(np.uint32)
        starts = np.cumsum(self._sizes) - self._sizes
        reach = np.cumsum(self._sizes * (self._sizes - 1) // 2)
        chosen = _even_steps(int(reach[-1]) if len(reach) else 0)
        cluster = np.searchsorted(reach, chosen, side="right")
        within = chosen - (reach[cluster] - self._sizes[cluster] * (self._sizes[cluster] - 1) // 2)
        # The pairs of a cluster are ordered (1,0), (2,0), (2,1), (3,0) …: pair k has the later member `later`.
        later = ((1 + np.sqrt(1 + 8 * within.astype(np.float64))) / 2).astype(np.int64)
        later -= later * (later - 1) // 2 > within
        later += later * (later + 1) // 2 <= within
        earlier = within - later * (later - 1) // 2
        return members[starts[cluster] + earlier], members[starts[cluster] + later]


@dataclass(frozen=True)
class ExactPairs:
    """The pairs of the exact join, down to the lowest threshold."""

    documents: int
    pairs: ScoredPairs
    method: str

    def count(self, threshold: float) -> int:
        """Count the pairs at or above a threshold."""
        return self.pairs.count(threshold)

    def holds(self, left: Numbers, right: Numbers) -> Flags:
        """Return whether each pair is true, regardless of its similarity."""
        return among(pair_words(left, right), np.sort(pair_words(self.pairs.left, self.pairs.right)))

    def clusters(self, threshold: float) -> Numbers:
        """Return the clusters of a run without missed pairs."""
        return self.pairs.clusters(self.documents, threshold, self.method)

    def sample(self) -> tuple[Numbers, Numbers]:
        """Return true pairs."""
        chosen = _even_steps(len(self.pairs.left))
        return self.pairs.left[chosen], self.pairs.right[chosen]


def each_once(left: Numbers, right: Numbers) -> Hashes:
    """Return the keys of pairs, smaller number first, sorted and unique, without pairs of a document with itself.

    Examples
    --------
    >>> import numpy as np
    >>> two, one = np.array([2, 1, 7], np.uint32), np.array([1, 2, 7], np.uint32)
    >>> unpaired(each_once(two, one))[0].tolist()
    [1]
    """
    apart = left != right
    keys = np.sort(pair_words(np.minimum(left, right)[apart], np.maximum(left, right)[apart]))
    # NumPy's unique hashes in newer versions, which takes ten times as long where most values are unique.
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys


def unpaired(keys: Hashes) -> tuple[Numbers, Numbers]:
    """Decode keys into left and right."""
    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)


def among(keys: Hashes, ordered: Hashes) -> Flags:
    """Return whether each key is in a sorted list.

    Examples
    --------
    >>> import numpy as np
    >>> among(np.array([3, 5], np.uint64), np.array([1, 5], np.uint64)).tolist()
    [False, True]
    """
    if len(ordered) == 0:
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return np.asarray(ordered[places] == keys)


def _even_steps(total: int) -> Places:
    count = min(total, MOST_SAMPLED)
    return (np.arange(count) * (total / max(1, count))).astype(np.int64)
