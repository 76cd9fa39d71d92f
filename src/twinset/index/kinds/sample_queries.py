"""Choose the documents that may contain a query or be contained in it, by the samples of their shingles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.index.backend import Backend, Int64s
from twinset.index.kinds import samples
from twinset.index.query import Shares
from twinset.plan.samples import drawn, held_hits, holding_hits, least_common, thinned
from twinset.schema import Hashes
from twinset.system import batch_sizes

_LEAST, _RATE = samples.LEAST, samples.RATE


@dataclass(frozen=True)
class Hits:
    """Documents that have sampled shingles of a query: how many in all, and how many with a low hash."""

    numbers: Int64s
    every: Int64s
    low: Int64s

    @classmethod
    def total(cls, parts: list[Hits]) -> Hits:
        """Add the hits of each document up."""
        columns = ([getattr(one, name) for one in parts] for name in ("numbers", "every", "low"))
        numbers, every, low = (np.concatenate([np.zeros(0, np.int64), *column]) for column in columns)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(numbers)])
        if not len(starts):
            return cls(numbers, every, low)
        return cls(numbers[starts], np.add.reduceat(every[order], starts), np.add.reduceat(low[order], starts))


@dataclass(frozen=True)
class SampledQuery:
    """The shingles of a query, as keys of the table `samples`.

    `keys` are ascending and distinct; `every` and `low` count the shingles of each, all and those with a low hash. The
    query has `size` shingles. A document that holds it has at least `needed` of those with a low hash.
    """

    keys: Int64s
    every: Int64s
    low: Int64s
    size: int
    containment: float
    recall: float
    needed: int

    @classmethod
    def of(cls, hashes: Hashes, containment: float, recall: float) -> SampledQuery | None:
        """Sample a query; return None if samples cannot keep the recall, so that all documents must be compared."""
        if (1.0 - containment) ** _LEAST > 1.0 - recall:  # documents with that few samples could be missed
            return None
        found, is_low = samples.keys_of(hashes)
        needed = holding_hits(len(hashes), int(is_low.sum()), containment, recall)
        if needed < 1:
            return None
        keys, places, counts = np.unique(found.astype(np.int64), return_inverse=True, return_counts=True)
        low = np.bincount(places[is_low], minlength=len(keys)).astype(np.int64)
        return cls(keys, counts.astype(np.int64), low, len(hashes), containment, recall, needed)

    @property
    def _samples(self) -> int:
        return int(self.low.sum())

    def hits(self, backend: Backend) -> Hits:
        """Count the hits of all documents. Memory is bounded by the documents, not by the rows of crowded keys."""
        parts: list[Hits] = []
        for keys, numbers in backend.posting_portions(self.keys, "samples"):
            places = np.searchsorted(self.keys, keys)
            parts.append(Hits(numbers, self.every[places], self.low[places]))
            if sum(len(one.numbers) for one in parts) >= batch_sizes.INDEX_MEETINGS:
                parts = [Hits.total(parts)]
        return Hits.total(parts)

    def may_answer(self, hits: Hits, sizes: Int64s) -> npt.NDArray[np.bool_]:
        """Whether documents of these sizes have enough hits to hold the query, or to be held by it."""
        stay: npt.NDArray[np.bool_] = (hits.low >= self.needed) & (sizes >= self.size)
        smaller = np.flatnonzero((sizes <= self.size) & ~stay)
        stay[smaller] = self._may_be_held(sizes[smaller], hits.every[smaller])
        return stay

    def _may_be_held(self, sizes: Int64s, hits: Int64s) -> npt.NDArray[np.bool_]:
        """Whether documents of these sizes have enough hits to be held by the query.

        Of the two bounds for a large document each keeps the recall, and so does the larger one. The second is
        computed for documents that reach the first, which are few.
        """
        distinct, places = np.unique(sizes, return_inverse=True)
        stay: npt.NDArray[np.bool_] = hits >= held_hits(distinct, _LEAST, self.containment, self.recall)[places]
        for row in np.flatnonzero(stay & (sizes > _LEAST)).tolist():
            stay[row] = hits[row] >= self._thinned_hits(int(sizes[row]))
        return stay

    def _thinned_hits(self, size: int) -> int:
        """Return how many shingles with a low hash a document of this size must share if it is held."""
        return thinned(int(least_common(size, self.containment)), _RATE).needed(self.recall)

    def chances(self, shared: Int64s, sizes: Int64s) -> Shares:
        """Return the minimum probability that documents of these sizes, with this many shared shingles, are found."""
        pairs, places = np.unique(np.stack([shared, sizes], axis=1), axis=0, return_inverse=True)
        return np.array([self._chance(*pair) for pair in pairs.tolist()], np.float64)[places.reshape(-1)]

    def _chance(self, shared: int, size: int) -> float:
        return max(self._chance_of(shared, size), default=0.0)

    def _chance_of(self, shared: int, size: int) -> Iterator[float]:
        if size >= self.size:
            yield drawn(self.size, shared, self._samples).at_least(self.needed)
        if size <= self.size:
            needed = int(held_hits(np.array([size]), _LEAST, self.containment, self.recall)[0])
            if size <= _LEAST:
                yield float(shared >= needed)
                return
            needed = max(needed, self._thinned_hits(size))
            yield drawn(size, shared, _LEAST).at_least(needed)
            yield thinned(shared, _RATE).at_least(needed)
