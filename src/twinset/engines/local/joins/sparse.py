"""Join of sparse vectors in memory, exact: by inverted lists of their rare columns."""

from collections.abc import Iterator

import numpy as np

from twinset.candidates.sparse.join import SparseJoin
from twinset.documents.items.sparse_vectors import ENTRY
from twinset.engines.local.joins.in_memory import InMemoryJoin, Sink, distance_codes
from twinset.pairs.sparse import compacted, like, similar, squares
from twinset.plan.sparse import SparsePlan
from twinset.schema import Bytes, Numbers, Places, Scores, SparseVectors
from twinset.system.arrays import offsets_of, ranges

_QUERIES = 1024  # at a time
_BYTES_A_NUMBER = 32  # as stored, with its column; ordered by frequency, before and after; listed
_BYTES_A_VECTOR = 96
_SHORT_TIME = 1e8  # nanoseconds that an audit may always take
_MULTIPLIED = 1.5  # nanoseconds for a number of one of all vectors
_MIN_AUDITED = 64


class SparseVectorJoin(InMemoryJoin):
    """Sparse vectors, and their squared lengths."""

    plan: SparsePlan

    def _allocate(self, counts: Numbers) -> None:
        offsets = offsets_of(counts)
        self.vectors = SparseVectors(offsets, np.zeros(offsets[-1], np.uint32), np.zeros(offsets[-1], np.float32))

    def _needed_bytes(self, counts: Numbers) -> int:
        return _BYTES_A_NUMBER * int(counts.sum(dtype=np.int64)) + _BYTES_A_VECTOR * len(counts)

    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        entries = data[ranges(starts, ends - starts)].view(ENTRY)
        targets = ranges(self.vectors.offsets[places], (ends - starts) // ENTRY.itemsize)
        self.vectors.columns[targets] = entries["column"]
        self.vectors.values[targets] = entries["value"]

    def _prepare(self) -> None:
        self.vectors, self.columns = compacted(self.vectors)
        self.squares = squares(self.vectors)

    def _make_plan(self) -> SparsePlan:
        return SparsePlan(self.options.least, self.columns)

    def _join(self, sink: Sink) -> None:
        count = len(self.numbers)
        self.work.progress.stage("comparing", count, "vectors")
        if not count:
            return
        join = SparseJoin(self.vectors, 1 / np.sqrt(self.squares), self.columns, self.options.least, self.border)

        def work(first: int) -> int:
            compared = 0
            for some in join.candidates(first, min(first + _QUERIES, count)):
                lefts, rights = (np.ascontiguousarray(some[:, side]) for side in (0, 1))
                kept, scores = similar(lefts, rights, self.options.least, self.vectors, self.squares)
                sink(lefts[kept], rights[kept], distance_codes(1.0 - scores))
                compared += len(some)
            return compared

        starts = range(0, count, _QUERIES)
        for first, compared in zip(starts, self.work.threads.map(work, starts), strict=True):
            self.compared += compared
            self.work.progress.advance(min(_QUERIES, count - first))

    def near_all(self, places: Places) -> Iterator[tuple[Places, Places, Numbers]]:
        """Compare some vectors with all others."""
        for place in places.tolist():
            rights, scores = like(place, self.options.least, self.vectors, self.squares, self.columns)
            yield np.full(len(rights), place), rights.astype(np.int64), distance_codes(1.0 - scores)

    def affordable(self, count: int, partners: int) -> int:
        """Allow a constant time."""
        one = max(1.0, _MULTIPLIED * len(self.vectors.columns))
        return min(count, max(_MIN_AUDITED, int(_SHORT_TIME / one)))

    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """Return 1 - cosine, rounded."""
        return distance_codes(1.0 - self.scores_of(lefts, rights)["similarity"])

    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """Return the cosine."""
        pairs = lefts.astype(np.uint32), rights.astype(np.uint32)
        return {"similarity": similar(*pairs, -2.0, self.vectors, self.squares)[1]}
