"""Equal codes: collapsed before any pairing, and the pairs given back to all of them afterwards.

Ten thousand pages without text, or black pictures, have one code. Among themselves they are fifty million pairs, and
each has the neighbours of all the others; so one of them stands for all until the pairs are found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.candidates import hamming_kernels as kernels
from twinset.candidates.hamming import CodePairs, across, as_codes, lesser_first, within
from twinset.candidates.hamming_choice import Side
from twinset.schema import Codes, Numbers, Places

_AT_ONCE = 1 << 20  # pairs handed over at a time, more or less


@dataclass(frozen=True)
class Copies:
    """Codes by value.

    first uint32 (n): the first place with an equal code; distinct uint32 (m): these places, in order. Equal to the code
    at place f are those at members[starts[f]:starts[f] + counts[f]], f the first of them.
    """

    first: Numbers
    distinct: Numbers
    members: Numbers
    starts: Places
    counts: Places

    @classmethod
    def of(cls, codes: Codes) -> "Copies":
        """Find equal codes.

        Examples
        --------
        >>> Copies.of(np.array([7, 9, 7], np.uint64)).first.tolist()
        [0, 1, 0]
        """
        rows = as_codes(codes)
        total = len(rows)
        first = np.empty(total, np.uint32)
        side = Side.of(rows, np.empty(0, np.uint32))
        width = max(1, total.bit_length() - 4)
        kernels.first_of_equals(
            side.codes, width, np.empty(total, np.uint32), np.empty((1 << width) + 1, np.uint32),
            np.empty_like(side.codes), np.empty(total, np.uint32), first,
        )  # fmt: skip
        places = np.arange(total, dtype=np.uint32)
        distinct = np.flatnonzero(first == places).astype(np.uint32)
        if len(distinct) == total:
            return cls(first, distinct, places, places.astype(np.int64), np.ones(total, np.int64))
        members = np.argsort(first, kind="stable").astype(np.uint32)
        counts = np.bincount(first, minlength=total)
        return cls(first, distinct, members, np.cumsum(counts) - counts, counts)

    def shown(self, most: int | None) -> Places:
        """How many members of each place's group are listed in pairs: all of them, or the first alone."""
        return self.counts if most is None else np.where(self.counts > most, 1, self.counts)


def near_pairs(codes: Codes, distance: int, most: int | None = None) -> Iterator[CodePairs]:
    """All pairs of codes that differ in at most `distance` bits, equal ones collapsed on the way.

    Parameters
    ----------
    codes
        uint64 (n,) or (n, words).
    distance
        The most bits in which a pair differs.
    most
        Where more than so many codes are equal, each is linked to the first of them, and that alone is listed with
        others: what holds for the first holds for them all. All pairs are listed unless given.

    Yields
    ------
    CodePairs
        By place in `codes`, the lesser first, in no order.

    Examples
    --------
    >>> codes = np.array([5, 5, 5, 4], np.uint64)
    >>> sorted(tuple(pair) for portion in near_pairs(codes, 1) for pair in portion.numbers.tolist())
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> sorted(tuple(pair) for portion in near_pairs(codes, 1, most=2) for pair in portion.numbers.tolist())
    [(0, 1), (0, 2), (0, 3)]
    """
    rows, copies = as_codes(codes), Copies.of(codes)
    if len(copies.distinct) < len(rows):
        yield from identical(copies, most)
        rows = rows[copies.distinct]
    yield from expanded(within(rows, distance), copies, copies, most, ordered=True)


def near_pairs_across(left: Codes, right: Codes, distance: int, most: int | None = None) -> Iterator[CodePairs]:
    """As `near_pairs` for pairs of a code on the left and one on the right, each numbered by itself.

    Examples
    --------
    >>> [portion] = near_pairs_across(np.array([5, 5], np.uint64), np.array([5, 4], np.uint64), 0)
    >>> portion.numbers.tolist()
    [[0, 0], [1, 0]]
    """
    ours, theirs = Copies.of(left), Copies.of(right)
    found = across(as_codes(left)[ours.distinct], as_codes(right)[theirs.distinct], distance)
    yield from expanded(found, ours, theirs, most, ordered=False)


def identical(copies: Copies, most: int | None = None) -> Iterator[CodePairs]:
    """The pairs of equal codes; in groups of more than `most`, each with the first."""
    counts = copies.counts[copies.first[copies.members]]
    if most is not None:
        linked = copies.members[(counts > most) & (copies.first[copies.members] != copies.members)]
        if len(linked):
            numbers = np.stack([copies.first[linked], linked], axis=1)
            yield CodePairs(numbers, np.zeros(len(linked), np.uint16))
    full = np.flatnonzero((counts > 1) if most is None else (counts > 1) & (counts <= most))
    ends = copies.starts[copies.first[copies.members[full]]] + counts[full]
    zeros = np.zeros(len(full), np.uint16)
    yield from _exploded(copies.members[full], full + 1, ends - full - 1, copies.members, zeros, ordered=True)


def expanded(
    pairs: Iterable[CodePairs], left: Copies, right: Copies, most: int | None, ordered: bool
) -> Iterator[CodePairs]:
    """Pairs of distinct codes, by their places among the distinct, as pairs of all codes of these values."""
    ours, theirs = left.shown(most), right.shown(most)
    for portion in pairs:
        lefts, rights = left.distinct[portion.numbers[:, 0]], right.distinct[portion.numbers[:, 1]]
        if left.counts is right.counts and len(left.distinct) == len(left.first):
            yield portion
            continue
        for begin, end in _portions(ours[lefts]):
            few = lefts[begin:end]
            counts = ours[few]
            members = left.members[_ranges(left.starts[few], counts)]
            others = np.repeat(rights[begin:end], counts)
            distances = np.repeat(portion.distances[begin:end], counts)
            yield from _exploded(members, right.starts[others], theirs[others], right.members, distances, ordered)


def _exploded(
    lefts: Numbers, starts: Places, counts: Places, members: Numbers, distances: npt.NDArray[np.uint16], ordered: bool
) -> Iterator[CodePairs]:
    """Each left with the members from its start on, so many as its count says."""
    for begin, end in _portions(counts):
        rights = members[_ranges(starts[begin:end], counts[begin:end])]
        numbers = np.stack([np.repeat(lefts[begin:end], counts[begin:end]), rights], axis=1)
        if len(numbers):
            numbers = lesser_first(numbers) if ordered else numbers
            yield CodePairs(numbers, np.repeat(distances[begin:end], counts[begin:end]))


def _portions(counts: Places) -> Iterator[tuple[int, int]]:
    """Ranges of what comes in these numbers, about as many at a time as are handed over."""
    reach = np.cumsum(counts)
    at = 0
    while at < len(counts):
        done = int(reach[at - 1]) if at else 0
        end = max(at + 1, int(np.searchsorted(reach, done + _AT_ONCE, side="right")))
        yield at, end
        at = end


def _ranges(starts: Places, counts: Places) -> Places:
    """The numbers starts[i], starts[i] + 1, … (counts[i] of them), one range after another."""
    before = np.cumsum(counts) - counts
    found: Places = np.arange(int(counts.sum())) - np.repeat(before - starts, counts)
    return found
