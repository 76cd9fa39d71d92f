"""Anchors of documents by winnowing: a few k-grams of words, chosen so that any two equal runs share one.

Two runs of at least `least` equal words have equal windows of `least` words. A window holds w k-grams; the least of
their hashes is kept, so both runs keep the same gram at the same distance from their beginnings.
"""

from dataclasses import dataclass

import numpy as np

from twinset.schema import Hashes, Numbers, Places
from twinset.sketches import winnowing_kernels as kernels


@dataclass(frozen=True)
class Winnow:
    """The lengths of winnowing: grams of `k` words, windows of `w` grams."""

    k: int
    w: int

    @classmethod
    def of(cls, least: int) -> "Winnow":
        """Choose the lengths for runs of at least `least` words.

        Half of a window is the gram: shorter grams meet by accident, longer ones leave more anchors. Anchors that
        follow each other are at most w ≤ k words apart, so that equal neighbours are parts of one run.

        Examples
        --------
        >>> Winnow.of(50), Winnow.of(1)
        (Winnow(k=26, w=25), Winnow(k=1, w=1))
        """
        k = least // 2 + 1
        return cls(k, least - k + 1)

    @property
    def least(self) -> int:
        """The least length of a run that is guaranteed to be found."""
        return self.k + self.w - 1

    def to_dict(self) -> dict[str, int]:
        """Return the lengths as plain values."""
        return {"gram_words": self.k, "window_grams": self.w, "least_words": self.least}


@dataclass(frozen=True)
class Anchors:
    """Kept grams: their hash, the number of their document, and their first word in it."""

    hashes: Hashes
    documents: Numbers
    places: Numbers

    @classmethod
    def none(cls) -> "Anchors":
        """No anchors."""
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))


def winnow(words: Hashes, offsets: Places, sizes: Winnow) -> Anchors:
    """Winnow some documents; document i is words[offsets[i]:offsets[i+1]].

    Examples
    --------
    >>> import numpy as np
    >>> words = np.array([7, 1, 2, 3, 4, 9, 8, 1, 2, 3, 4, 6], np.uint64)
    >>> found = winnow(words, np.array([0, 6, 12]), Winnow.of(4))
    >>> shared = [h for h in found.hashes.tolist() if found.hashes.tolist().count(h) > 1]
    >>> len(shared) >= 2
    True
    """
    room = len(words)
    hashes, rows, places = np.empty(room, np.uint64), np.empty(room, np.uint32), np.empty(room, np.uint32)
    grams = np.empty(int(np.diff(offsets).max(initial=0)), np.uint64)
    count = kernels.winnow(words, offsets, sizes.k, sizes.w, grams, hashes, rows, places)
    return Anchors(hashes[:count].copy(), rows[:count].copy(), places[:count].copy())


@dataclass(frozen=True)
class Surroundings:
    """For some anchors the windows that keep them, `first` to `last`, and a hash of all words of these windows."""

    first: Numbers
    last: Numbers
    hashes: Hashes


def surroundings(words: Hashes, offsets: Places, wanted_ends: Places, wanted: Numbers, sizes: Winnow) -> Surroundings:
    """Find the windows of wanted anchors: those of document i are wanted[wanted_ends[i-1]:wanted_ends[i]]."""
    count = len(wanted)
    first, last, hashes = np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(count, np.uint64)
    grams = np.empty(int(np.diff(offsets).max(initial=0)), np.uint64)
    done = kernels.surroundings(words, offsets, sizes.k, sizes.w, wanted_ends, wanted, grams, first, last, hashes)
    if done != count:
        raise RuntimeError(f"{count - done} anchors are not those of these words")
    return Surroundings(first, last, hashes)


def window_hashes(words: Hashes, starts: Places, first: Numbers, last: Numbers, least: int) -> Hashes:
    """Hash the windows first[i] to last[i] of the documents that begin at words[starts[i]], one after the other."""
    hashes = np.empty(int((last.astype(np.int64) - first + 1).sum()), np.uint64)
    kernels.window_hashes(words, starts, first, last, least, hashes)
    return hashes
