"""Compare a few documents with all others exactly, without sketches, to show what sketches missed."""

import dataclasses
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.pairs.audit import inverted_kernels as kernels
from twinset.pairs.sets import Sets
from twinset.schema import Bytes, Hashes, Numbers, Places, Shingles

_LEAST_ROOM = 1 << 14
_LEAST_CLASSES, _TALLIED = 16, 1 << 22  # classes of keys by number of documents; cells of the table of classes
_RANGES = 10  # leading bits of a hash that partition the entries before they are sorted
_MOST_RARE = 0.75  # share of a document's keys; with more rare keys the prefilter saves nothing

Matches = npt.NDArray[np.uint32]
"""(n, 3): a set, a matching document of the table, and the number of shingles they share."""


def allowed(counts: npt.NDArray[np.integer], threshold: float) -> Places:
    """Maximum number of shingles of a set (of at most `counts`) that a match at the threshold may lack.

    The overlap of a match is at least `threshold` of either set. The margin rounds up: too many is harmless, too few
    not.

    Examples
    --------
    >>> allowed(np.array([5, 9, 100]), 0.8).tolist()
    [1, 1, 20]
    """
    limits: Places = np.floor((1.0 - threshold) * counts.astype(np.float64) + 1e-6).astype(np.int64)
    return limits


class _InvertedScratch(threading.local):
    entries: Places = np.empty(0, np.int64)
    counts: Numbers = np.empty(0, np.uint32)
    met: Numbers = np.empty(0, np.uint32)
    out: Matches = np.empty((0, 3), np.uint32)
    tally: Places = np.empty(0, np.int64)

    def fit(self, largest: int, owners: int) -> None:
        if len(self.entries) <= largest or len(self.entries) > 1024 * (largest + 64):
            self.entries = np.empty(largest + 1, np.int64)
        if len(self.counts) != owners:
            self.counts = np.zeros(owners, np.uint32)
            self.met = np.empty(owners, np.uint32)
            self.tally = np.empty(256, np.int64)
            self.out = np.empty((owners + _LEAST_ROOM, 3), np.uint32)


_scratch = _InvertedScratch()


@dataclass(frozen=True)
class Inverted:
    """Inverted table of a few documents: each shingle with the documents that have it. Document i has sizes[i]."""

    keys: Hashes
    owners: Numbers
    runs: Numbers
    buckets: Numbers
    bits: Hashes
    shift: np.uint64
    sizes: Numbers
    rare: "Inverted | None" = None
    need: Numbers | None = None

    @classmethod
    def of(cls, sets: Sets) -> "Inverted":
        """Build the table of some sets.

        Examples
        --------
        >>> two = Sets.with_room(np.array([3, 3]))
        >>> rows = Shingles(np.arange(2), np.array([0, 3, 6]), np.array([1, 2, 3, 2, 3, 4], np.uint64) << np.uint64(60))
        >>> two.fill(rows, np.arange(2), np.arange(2))
        >>> [(row.tolist(), looked) for row, looked in Inverted.of(two).matches(two, 0.5)]
        [([[0, 0, 3], [0, 1, 2], [1, 0, 2], [1, 1, 3]], 10)]
        >>> [row.tolist() for row in Inverted.of(two).matches_within(0.5)]
        [[[0, 1, 2], [1, 0, 2]]]
        """
        total = int(sets.sizes.sum(dtype=np.int64))
        power = max(6, total.bit_length())
        table = cls(
            keys=np.empty(total + 1, np.uint64),
            owners=np.empty(total + 1, np.uint32),
            runs=np.empty(total + 1, np.uint32),
            buckets=np.zeros((1 << power) + 1, np.uint32),
            bits=np.zeros(1 << (power - 3), np.uint64),
            shift=np.uint64(64 - power),
            sizes=sets.sizes.copy(),
        )
        room = np.empty(total, np.uint64), np.empty(total, np.uint32)
        ranges = np.zeros((1 << min(power, _RANGES)) + 1, np.int64)
        kernels.index(
            sets.hashes, sets.starts, sets.sizes, table.keys, table.owners, table.runs, *room, table.buckets,
            table.bits, table.shift, ranges,
        )  # fmt: skip
        return table

    def known(self, sets: Sets) -> float:
        """Estimate the share of the sets' shingles that the table has; hash collisions count as present."""
        ends = sets.starts[:-1] + sets.sizes
        pieces = [sets.hashes[start:end] for start, end in zip(sets.starts[:-1], ends, strict=True)]
        places = np.concatenate([np.empty(0, np.uint64), *pieces]) >> (self.shift - np.uint64(3))
        bits = self.bits[places >> np.uint64(6)] >> (places & np.uint64(63)) & np.uint64(1)
        return float(bits.mean()) if len(bits) else 0.0

    def with_rare(self, threshold: float) -> "Inverted":
        """Return the table with a second one of each document's rarest keys, to reject most others at once.

        A match lacks at most m (`allowed`) of any m + n keys of a document, so it has n of the m + n rarest. More keys
        take longer and fewer reject less: n is about a quarter of m.
        """
        spare = allowed(self.sizes, threshold)
        room = np.minimum(spare + spare // 4 + 1, self.sizes)
        if int(room.sum()) > _MOST_RARE * int(self.sizes.sum(dtype=np.int64)):
            return self
        sets = Sets.with_room(room)
        ends = sets.starts[:-1].copy()
        classes = min(256, max(_LEAST_CLASSES, _TALLIED // max(1, len(room))))
        tally = np.zeros((len(room), classes), np.int64)
        kernels.rare_keys(self.keys, self.owners, self.runs, tally, sets.starts, ends, sets.hashes)
        sets.sizes[:] = room
        return dataclasses.replace(self, rare=Inverted.of(sets), need=(room - spare).astype(np.uint32))

    def meets(self, shingles: Shingles) -> Bytes:
        """0 for rows that lack too many of the rarest keys of every document; all 1 without a table of rare keys."""
        alive = np.ones(len(shingles.rows), np.uint8)
        if self.rare is None or self.need is None:
            return alive
        _scratch.fit(int(np.diff(shingles.offsets).max(initial=0)), len(self.sizes))
        rare = self.rare
        kernels.meets(
            shingles.hashes, shingles.offsets, rare.keys, rare.owners, rare.runs, rare.buckets, rare.bits, rare.shift,
            self.need, _scratch.entries, _scratch.counts, _scratch.met, alive,
        )  # fmt: skip
        return alive

    def matches(self, sets: Sets, threshold: float, *, contained: bool = False) -> Iterator[tuple[Matches, int]]:
        """Yield all (set, document) matches at the threshold, with the number of table entries visited.

        With `contained` the threshold is the share of the smaller of the two that the other one holds.
        """
        _scratch.fit(int(sets.sizes.max(initial=0)), len(self.sizes))
        limits = sets.sizes.astype(np.int64) if contained else allowed(sets.sizes, threshold)
        state = np.zeros(2, np.int64)
        while state[0] >= 0:
            state[1] = 0
            count = kernels.match(
                sets.hashes, sets.starts, sets.sizes, limits, self.keys, self.owners, self.runs, self.buckets,
                self.bits, self.shift, self.sizes, threshold, contained, _scratch.entries, _scratch.counts,
                _scratch.met, _scratch.tally, _scratch.out, state,
            )  # fmt: skip
            yield _scratch.out[:count].copy(), int(state[1])

    def matches_within(self, threshold: float, *, contained: bool = False) -> Iterator[Matches]:
        """Yield all matches at the threshold between two documents of the table, in both directions."""
        starts = np.zeros(len(self.sizes) + 1, np.int64)
        kernels.shared_keys(self.keys, self.owners, self.runs, starts, np.empty(0, np.int64))
        np.cumsum(starts, out=starts)
        listed = np.empty(starts[-1], np.int64)
        if len(listed):
            kernels.shared_keys(self.keys, self.owners, self.runs, starts[:-1].copy(), listed)
        _scratch.fit(0, len(self.sizes))
        limits = self.sizes.astype(np.int64) if contained else allowed(self.sizes, threshold)
        state = np.zeros(2, np.int64)
        while state[0] >= 0 and len(listed):
            count = kernels.match_within(
                listed, starts, limits, self.keys, self.owners, self.runs, self.sizes, threshold, contained,
                _scratch.counts, _scratch.met, _scratch.tally, _scratch.out, state,
            )  # fmt: skip
            yield _scratch.out[:count].copy()
