"""Reject texts without a pair in the sample by their first part.

A match lacks only a limited number of a text's shingles (`allowed`). If every sampled document lacks more than that in
the first part of a text, the text has no pair. A large sample of short texts has nearly every shingle, but a group of a
few documents does not, so shingles are counted by group. A group has documents of similar size, because the limit
depends on the size.
"""

import dataclasses
import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.pairs.audit import screen_kernels as kernels
from twinset.pairs.sets import Sets
from twinset.pairs.sets_kernels import gather
from twinset.schema import Bytes, Hashes, Numbers, Places, Shares, Shingles
from twinset.system.arrays import offsets_of

LEAST_COUNT = 48
"""Minimum number of shingles of a document whose first part is screened."""

_SLOTS = 17  # bits: a table of 8-byte slots that fits the core's own cache
_SHARED = 19  # bits: a table that fits the cache shared by the cores
_TRIED = 256  # sampled documents used to estimate which share of a text must be screened
_MARGIN = 0.01  # share of a text, for hash collisions between groups
_PARTS = 1 << 20  # bytes of scratch kept between calls
_WHOLE = 1.5  # cost of comparing a whole text, relative to screening it
_NO_PAIR = 1 << 60  # size of an empty group: too large for any pair
_LEAST_SAVED = 0.05  # minimum saving that makes screening worthwhile


class _ScreenScratch(threading.local):
    seen: Hashes = np.empty(0, np.uint64)
    lacking: Hashes = np.empty(0, np.uint64)
    planes: Hashes = np.empty(0, np.uint64)
    limits: Hashes = np.empty(0, np.uint64)
    parts: Bytes = np.empty(0, np.uint8)

    def fit(self, longest: int) -> None:
        size = 1 << (longest // 4).bit_length()
        if len(self.seen) < size or len(self.seen) > 1024 * size:
            self.seen = np.empty(size, np.uint64)
            self.lacking = np.empty(4 * size + 8, np.uint64)
        if len(self.planes) == 0:
            self.planes = np.empty(kernels.PLANES, np.uint64)
            self.limits = np.empty(kernels.PLANES, np.uint64)

    def fit_parts(self, total: int) -> Bytes:
        if len(self.parts) < total or len(self.parts) > 64 * (total + _PARTS):
            self.parts = np.empty(total, np.uint8)
        return self.parts[:total]


_scratch = _ScreenScratch()


@dataclass(frozen=True)
class Screen:
    """The groups of sampled documents that have a shingle, and the share of a text to screen (0: none).

    `least` is the size of the smallest set of each group.
    """

    marks: Hashes
    shift: np.uint64
    least: Places
    threshold: float
    share: float

    @classmethod
    def of(cls, sets: Sets, counts: Numbers, threshold: float) -> "Screen":
        """Build the screen of a sample from its sets, in text order, and the upper bound of each set's size.

        Examples
        --------
        >>> two = Sets.with_room(np.array([100, 100]))
        >>> hashes = np.arange(1, 201, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        >>> rows = Shingles(np.arange(2), np.array([0, 100, 200]), hashes)
        >>> two.fill(rows, np.arange(2), np.arange(2))
        >>> screen = Screen.of(two, np.array([100, 100], np.uint32), 0.8)
        >>> 0.1 < screen.share < 0.3
        True
        >>> other = Shingles(np.arange(1), np.array([0, 30]), hashes[:30] ^ np.uint64(0x5DEECE66D5DEECE6))
        >>> screen.passes(other, np.array([100], np.uint32)).tolist()
        [0]
        """
        power = int(sets.sizes.sum(dtype=np.int64)).bit_length()
        power = max(6, min(power + 3, _SLOTS), min(power - 2, _SHARED), power - 3)
        groups = np.empty(len(sets.sizes), np.int64)
        groups[np.argsort(sets.sizes, kind="stable")] = np.arange(len(groups)) * kernels.GROUPS // max(1, len(groups))
        least = np.full(kernels.GROUPS, _NO_PAIR)
        np.minimum.at(least, groups, sets.sizes.astype(np.int64))
        screen = cls(np.zeros(1 << power, np.uint64), np.uint64(64 - power), least, threshold, 0.0)
        kernels.mark(sets.hashes, sets.starts, sets.sizes, groups, screen.shift, screen.marks)
        return dataclasses.replace(screen, share=_worthwhile(screen._needed(sets, counts, groups)))

    def _needed(self, sets: Sets, counts: Numbers, groups: Places) -> Shares:
        """Share of each sampled document that rules out the rest of the sample."""
        _scratch.fit(0)
        needed = np.empty(min(_TRIED, len(counts)), np.float64)
        kernels.shares(
            sets.hashes, sets.starts, sets.sizes, counts.astype(np.int64), groups, self.threshold, self.least,
            self.marks, self.shift, _scratch.planes, _scratch.limits, needed,
        )  # fmt: skip
        return needed[counts[: len(needed)] >= LEAST_COUNT]

    def passes(self, shingles: Shingles, counts: npt.NDArray[np.integer]) -> Bytes:
        """0 for rows that have no pair, 1 for those that may have one.

        The rows are beginnings, or any part, of texts that have at most `counts` distinct shingles.
        """
        alive = np.empty(len(counts), np.uint8)
        _scratch.fit(int(np.diff(shingles.offsets).max(initial=0)))
        kernels.screen(
            shingles.hashes, shingles.offsets, counts.astype(np.int64), self.threshold, self.least, self.marks,
            self.shift, _scratch.planes, _scratch.limits, _scratch.lacking, _scratch.seen, alive,
        )  # fmt: skip
        return alive


def _worthwhile(needed: Shares) -> float:
    """Share of each text to screen for the least work; texts that need more are compared whole."""
    if not len(needed):
        return 0.0
    shares = np.minimum(np.sort(needed) + _MARGIN, 1.0)
    left = np.count_nonzero(needed[:, None] > shares[None, :], axis=0) / len(needed)
    best = int(np.argmin(shares + _WHOLE * left))
    return float(shares[best]) if saves(shares[best], left[best]) else 0.0


def saves(share: float, left: float) -> bool:
    """Whether screening this share of each text pays if the share `left` of the texts remains."""
    return share + _WHOLE * left < _WHOLE - _LEAST_SAVED


def first_parts(data: Bytes, starts: Places, ends: Places, share: float) -> tuple[Bytes, Places]:
    """Cut the first part of each text at a word boundary; return the bytes and the offsets of the texts.

    The bytes are overwritten by the same thread's next call.

    Examples
    --------
    >>> data = np.frombuffer(b"one two three four", np.uint8)
    >>> first, offsets = first_parts(data, np.array([0]), np.array([18]), 0.3)
    >>> bytes(first), offsets.tolist()
    (b'one two', [0, 7])
    """
    cut = np.empty(len(starts), np.int64)
    kernels.cuts(data, starts, ends, share, cut)
    offsets = offsets_of(cut - starts)
    out = _scratch.fit_parts(int(offsets[-1]))
    gather(data, starts, cut, out)
    return out, offsets
