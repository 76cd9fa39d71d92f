"""A few documents against all others, exactly: nothing rests on sketches here, so it can say what they missed."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.pairs import audit_kernels as kernels
from twinset.pairs.verify import Sets
from twinset.schema import Bytes, Hashes, Numbers, Places, Shingles

_LEAST_ROOM = 1 << 14
_RANGES = 10  # bits of a hash by which entries are dealt out before they are sorted
_MOST_SHARE = 0.75  # where more of a text than this would have to be looked at, all of it is, at once

Matches = npt.NDArray[np.uint32]
"""(n, 3): a set, the document of the table that it meets, and how many shingles they share."""


def allowed(counts: npt.NDArray[np.integer], threshold: float) -> Places:
    """How many shingles of a set of at most `counts` another may lack with which it reaches the threshold.

    An overlap is at least `threshold` of either set. A little too many is harmless, too few is not: hence the margin.

    Examples
    --------
    >>> allowed(np.array([5, 9, 100]), 0.8).tolist()
    [1, 1, 20]
    """
    found: Places = np.floor((1.0 - threshold) * counts.astype(np.float64) + 1e-6).astype(np.int64)
    return found


class _Scratch(threading.local):
    seen: Hashes = np.empty(0, np.uint64)
    entries: Places = np.empty(0, np.int64)
    counts: Numbers = np.empty(0, np.uint32)
    met: Numbers = np.empty(0, np.uint32)
    out: Matches = np.empty((0, 3), np.uint32)
    tally: Places = np.empty(0, np.int64)

    def fit_row(self, longest: int) -> Hashes:
        size = 1 << (longest // 4).bit_length()
        if len(self.seen) < size or len(self.seen) > 1024 * size:
            self.seen = np.empty(size, np.uint64)
        return self.seen

    def fit(self, largest: int, owners: int) -> None:
        if len(self.entries) <= largest or len(self.entries) > 1024 * (largest + 64):
            self.entries = np.empty(largest + 1, np.int64)
        if len(self.counts) != owners:
            self.counts = np.zeros(owners, np.uint32)
            self.met = np.empty(owners, np.uint32)
            self.tally = np.empty(256, np.int64)
            self.out = np.empty((owners + _LEAST_ROOM, 3), np.uint32)


_scratch = _Scratch()


@dataclass(frozen=True)
class Inverted:
    """The shingles of a few documents, each with the documents that have it. Document i has sizes[i] of them."""

    keys: Hashes
    owners: Numbers
    runs: Numbers
    buckets: Numbers
    bits: Hashes
    shift: np.uint64
    sizes: Numbers

    @classmethod
    def of(cls, sets: Sets) -> "Inverted":
        """The table of some sets.

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
        made = cls(
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
            sets.hashes, sets.starts, sets.sizes, made.keys, made.owners, made.runs, *room, made.buckets, made.bits,
            made.shift, ranges,
        )  # fmt: skip
        return made

    def screen(self, shingles: Shingles, limits: Places) -> Bytes:
        """0 for rows that have more than `limits` shingles which no document of the table has, 1 for the others.

        By chance also for some rows that have as many.
        """
        alive = np.empty(len(limits), np.uint8)
        seen = _scratch.fit_row(int(np.diff(shingles.offsets).max(initial=0)))
        kernels.screen(shingles.hashes, shingles.offsets, limits, self.bits, self.shift, seen, alive)
        return alive

    def matches(self, sets: Sets, threshold: float) -> Iterator[tuple[Matches, int]]:
        """Every set and document of the table whose similarity reaches the threshold; how many entries it took."""
        _scratch.fit(int(sets.sizes.max(initial=0)), len(self.sizes))
        limits = allowed(sets.sizes, threshold)
        state = np.zeros(2, np.int64)
        while state[0] >= 0:
            state[1] = 0
            count = kernels.match(
                sets.hashes, sets.starts, sets.sizes, limits, self.keys, self.owners, self.runs, self.buckets,
                self.bits, self.shift, self.sizes, threshold, _scratch.entries, _scratch.counts, _scratch.met,
                _scratch.tally, _scratch.out, state,
            )  # fmt: skip
            yield _scratch.out[:count].copy(), int(state[1])

    def matches_within(self, threshold: float) -> Iterator[Matches]:
        """Every two documents of the table whose similarity reaches the threshold, both ways round."""
        starts = np.zeros(len(self.sizes) + 1, np.int64)
        kernels.shared_keys(self.keys, self.owners, self.runs, starts, np.empty(0, np.int64))
        np.cumsum(starts, out=starts)
        listed = np.empty(starts[-1], np.int64)
        if len(listed):
            kernels.shared_keys(self.keys, self.owners, self.runs, starts[:-1].copy(), listed)
        _scratch.fit(0, len(self.sizes))
        limits = allowed(self.sizes, threshold)
        state = np.zeros(2, np.int64)
        while state[0] >= 0 and len(listed):
            count = kernels.match_within(
                listed, starts, limits, self.keys, self.owners, self.runs, self.sizes, threshold, _scratch.counts,
                _scratch.met, _scratch.tally, _scratch.out, state,
            )  # fmt: skip
            yield _scratch.out[:count].copy()


def share_to_read(threshold: float) -> float:
    """How much of a text suffices, as a rule, to see that it has more of its own than `allowed`; 1 if nearly all.

    A margin is for texts whose words are not spread evenly and for shingles that a table has without a pair.
    """
    share = 1.0 - threshold + 0.07
    return share if share <= _MOST_SHARE else 1.0


def first_parts(data: Bytes, starts: Places, ends: Places, share: float) -> tuple[Bytes, Places]:
    """The first part of each text, cut where a word cannot be cut; the bytes, and the offsets of the texts in them.

    Examples
    --------
    >>> data = np.frombuffer(b"one two three four", np.uint8)
    >>> first, offsets = first_parts(data, np.array([0]), np.array([18]), 0.3)
    >>> bytes(first), offsets.tolist()
    (b'one two', [0, 7])
    """
    cut = np.empty(len(starts), np.int64)
    kernels.cuts(data, starts, ends, share, cut)
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(cut - starts, out=offsets[1:])
    out = np.empty(offsets[-1], np.uint8)
    kernels.gather(data, starts, cut, out)
    return out, offsets
