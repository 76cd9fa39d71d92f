"""Bit codes to all pairs within a number of bits, exactly, whatever the codes are like.

Why nothing is missed. Cut the bits of a code into m blocks and give each a radius, so that the radii plus one each add
up to d + 1. Two codes that differ in at most d bits differ, in one of the blocks at least, in no more bits than its
radius: otherwise they would differ in d + 1 or more. So it is enough to look, block by block, at the pairs whose keys
(the bits of the block) differ in at most its radius. For 1,000,000 random codes of 64 bits and d = 3 these are four
blocks of 16 bits with radius 0: codes are grouped by each in turn, and a code is compared with 15 others a block.

Why each pair comes once. A pair is left to the first block in which it meets.

Crowded buckets. Where two buckets would take too many comparisons, their codes are a smaller problem of the same kind:
the bits of the block are settled, so other blocks are chosen from the remaining bits, by what these tell among these
codes, and so on, until comparing all is cheaper. That is done to eight codes at once. Codes in which so few bits are
free that all are within the distance are the answer, and as long as the answer is.

Norouzi, Punjani, Fleet: Fast Search in Hamming Space with Multi-Index Hashing, CVPR 2012. Manku, Jain, Das Sarma:
Detecting Near-Duplicates for Web Crawling, WWW 2007.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from twinset.candidates.hamming import join_kernels as kernels
from twinset.candidates.hamming.blocks import BitBlock, Side, choose
from twinset.errors import OptionError
from twinset.schema import Codes, Hashes, Numbers, Places

_ROOM = 1 << 16  # pairs handed over at a time
_CROWD = 1 << 22  # comparisons of two buckets that are simply made; more are worth a closer look
_TILE = 2048  # codes that stay in the processor's first cache while all others go by


@dataclass(frozen=True)
class CodePairs:
    """Pairs of codes: their numbers, uint32 (n, 2), and in how many bits they differ, uint16 (n)."""

    numbers: Numbers
    distances: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.distances)


def as_codes(codes: npt.NDArray[np.uint64]) -> Codes:
    """Give codes as rows of words: uint64 (n, words), of (n,) for codes of 64 bits.

    Examples
    --------
    >>> as_codes(np.array([1, 2, 3], np.uint64)).shape
    (3, 1)
    """
    if codes.dtype != np.uint64 or codes.ndim not in (1, 2) or (codes.ndim == 2 and codes.shape[1] == 0):
        raise OptionError(
            f"codes are {codes.dtype} of shape {codes.shape}; allowed: uint64 of shape (n,) or (n, words);"
            " pad shorter codes with zeros"
        )
    return codes if codes.ndim == 2 else codes[:, None]


def within(codes: Codes, distance: int) -> Iterator[CodePairs]:
    """All pairs of codes that differ in at most `distance` bits, a portion at a time, in no order.

    Codes that are equal are pairs too: collapse them first where there are many, as `twinset.find_pairs` does.

    Parameters
    ----------
    codes
        uint64 (n,) or (n, words).
    distance
        The most bits in which a pair differs; 0 or more.

    Yields
    ------
    CodePairs
        By place in `codes`, the lesser first.

    Examples
    --------
    >>> codes = np.array([0b0000, 0b0111, 0b1111], np.uint64)
    >>> for portion in within(codes, 3):
    ...     print(portion.numbers.tolist(), portion.distances.tolist())
    [[0, 1], [1, 2]] [3, 1]
    """
    for table in Join.within(codes, distance).tables():
        for span in table.spans(1):
            yield from table.pairs(span)


def across(left: Codes, right: Codes, distance: int) -> Iterator[CodePairs]:
    """All pairs of a code on the left and one on the right that differ in at most `distance` bits.

    Examples
    --------
    >>> [portion] = across(np.array([0, 255], np.uint64), np.array([7, 8], np.uint64), 1)
    >>> portion.numbers.tolist(), portion.distances.tolist()
    ([[0, 1]], [1])
    """
    for table in Join.across(left, right, distance).tables():
        for span in table.spans(1):
            yield from table.pairs(span)


@dataclass(frozen=True)
class Join:
    """Two sides, or one and the same, of which all pairs within a distance are wanted.

    `tables` gives the work table by table, `spans` of a table cut it for several threads, and `pairs` does a span. Any
    way of cutting gives the same pairs. `earlier` and `allowed` are blocks, and their radii, whose pairs are known.
    """

    left: Side
    right: Side
    same: bool
    distance: int
    earlier: Hashes
    allowed: Places

    @classmethod
    def within(cls, codes: Codes, distance: int) -> "Join":
        """All pairs of some codes."""
        side = _sides(as_codes(codes))[0]
        return cls(side, side, True, _checked(distance, side), *_nothing(side))

    @classmethod
    def across(cls, left: Codes, right: Codes, distance: int) -> "Join":
        """Pairs of a code on the left and a code on the right, each numbered by itself."""
        ours, theirs = as_codes(left), as_codes(right)
        if ours.shape[1] != theirs.shape[1]:
            raise OptionError(
                f"codes on the left have {64 * ours.shape[1]} bits, on the right {64 * theirs.shape[1]};"
                " pad the shorter codes with zeros"
            )
        one, other = _sides(ours, theirs)
        return cls(one, other, False, _checked(distance, one), *_nothing(one))

    def tables(self) -> Iterator["Table | Whole"]:
        """The work: a table for each block, or all pairs where there is nothing to gain."""
        if not len(self.left) or not len(self.right):
            return
        choice = choose(self.left, self.right, self.same, self.distance)
        if choice.possible and not choice.blocks:
            yield Whole(self)
        earlier, allowed = self.earlier, self.allowed
        for block in choice.blocks:
            yield Table.of(self, block, earlier, allowed)
            earlier = np.concatenate([earlier, block.masks[None]])
            allowed = np.append(allowed, block.radius)

    def _run(
        self, left: Side, right: Side, starts: tuple[Numbers, Numbers], same: bool, table: "Table | None",
        span: tuple[int, int],
    ) -> Iterator[CodePairs]:  # fmt: skip
        """Join buckets of two sides; with a table, crowded ones by blocks of their own."""
        earlier, allowed = (table.earlier, table.allowed) if table else (self.earlier, self.allowed)
        width, radius = (table.block.width, table.block.radius) if table else (0, 0)
        crowd = _CROWD if table else np.iinfo(np.int64).max
        state = np.array([span[0], span[1], 0, -1, -1, 0])
        lefts, rights = np.empty(_ROOM, np.uint32), np.empty(_ROOM, np.uint32)
        distances = np.empty(_ROOM, np.uint16)
        crowded = np.empty((256, 4), np.int64)
        while state[0] < state[1]:
            count = kernels.join(
                starts[0], left.codes, left.numbers, starts[1], right.codes, right.numbers, same, width, radius,
                self.distance, earlier, allowed, crowd, state, lefts, rights, distances, crowded,
            )  # fmt: skip
            if count:
                yield self._packed(lefts[:count], rights[:count], distances[:count])
            for start, end, first, last in crowded[: state[5]].tolist():
                twin = same and start == first
                ours = left.part(start, end)
                theirs = ours if twin else right.part(first, last)
                inner = Join(ours, theirs, twin, self.distance, earlier, allowed)
                for smaller in inner.tables():
                    for whole in smaller.spans(1):
                        for portion in smaller.pairs(whole):
                            yield self._ordered(portion) if same and not twin else portion

    def _packed(self, lefts: Numbers, rights: Numbers, distances: npt.NDArray[np.uint16]) -> CodePairs:
        return self._ordered(CodePairs(np.stack([lefts, rights], axis=1), distances.copy()))

    def _ordered(self, pairs: CodePairs) -> CodePairs:
        return CodePairs(lesser_first(pairs.numbers), pairs.distances) if self.same else pairs


@dataclass(frozen=True)
class Table:
    """Both sides of a join, grouped by the key of a block.

    Key k is at the places starts[k]:starts[k + 1].
    """

    join: Join
    block: BitBlock
    left: Side
    left_starts: Numbers
    right: Side
    right_starts: Numbers
    earlier: Hashes
    allowed: Places

    @classmethod
    def of(cls, join: Join, block: BitBlock, earlier: Hashes, allowed: Places) -> "Table":
        """Group the codes."""
        left, left_starts = grouped(join.left, block)
        right, right_starts = (left, left_starts) if join.same else grouped(join.right, block)
        return cls(join, block, left, left_starts, right, right_starts, earlier, allowed)

    def spans(self, parts: int) -> list[tuple[int, int]]:
        """Cut the keys into about so many ranges of about equal work."""
        ours, theirs = np.diff(self.left_starts).astype(np.float64), np.diff(self.right_starts)
        return _cut(np.cumsum(ours * (1.0 + theirs)), parts)

    def pairs(self, span: tuple[int, int]) -> Iterator[CodePairs]:
        """The pairs of a range of keys (those of the left side)."""
        starts = (self.left_starts, self.right_starts)
        yield from self.join._run(self.left, self.right, starts, self.join.same, self, span)


@dataclass(frozen=True)
class Whole:
    """All pairs of a join, compared one by one, a tile of the right side at a time."""

    join: Join

    def spans(self, parts: int) -> list[tuple[int, int]]:
        """Cut the tiles into about so many ranges of about equal work."""
        tiles = -(-len(self.join.right) // _TILE)
        before = np.arange(1, tiles + 1, dtype=np.float64) if self.join.same else np.ones(tiles)
        return _cut(np.cumsum(before), parts)

    def pairs(self, span: tuple[int, int]) -> Iterator[CodePairs]:
        """The pairs of a range of tiles."""
        join, total = self.join, len(self.join.right)
        for tile in range(*span):
            first, last = tile * _TILE, min(total, (tile + 1) * _TILE)
            here = np.array([first, last], np.uint32)
            before = np.array([0, first if join.same else len(join.left)], np.uint32)
            yield from join._run(join.left, join.right, (before, here), False, None, (0, 1))
            if join.same:
                yield from join._run(join.left, join.right, (here, here), True, None, (0, 1))


def lesser_first(numbers: Numbers) -> Numbers:
    """Pairs of numbers (n, 2) with the lesser first."""
    return np.stack([numbers.min(axis=1), numbers.max(axis=1)], axis=1)


def grouped(side: Side, block: BitBlock) -> tuple[Side, Numbers]:
    """The codes in order of their keys in a block, equal keys in the order given, and where each key starts."""
    steps = np.empty((len(block.masks), 6), np.uint64)
    kernels.squeeze_steps(block.masks, steps)
    keys, starts = np.empty(len(side), np.uint32), np.empty((1 << block.width) + 1, np.uint32)
    kernels.keys(side.codes, block.masks, steps, keys)
    there = Side(np.empty_like(side.codes), np.empty_like(side.numbers))
    there.codes[:, len(side) :] = 0
    kernels.group(keys, side.codes, side.numbers, starts, there.codes, there.numbers)
    return there, starts


def _cut(reach: npt.NDArray[np.float64], parts: int) -> list[tuple[int, int]]:
    """Ranges of about equal work, of what comes with each number summed up."""
    wanted = np.linspace(0, reach[-1], parts + 1)[1:-1]
    cuts = np.unique([0, *(np.searchsorted(reach, wanted) + 1).tolist(), len(reach)])
    return [(begin, end) for begin, end in pairwise(cuts.tolist()) if begin < end <= len(reach)]


def _sides(*codes: Codes) -> list[Side]:
    """Codes laid out for the kernels.

    Of more than two words the two that tell most come first: by these alone most pairs are ruled out.
    """
    words = codes[0].shape[1]
    order = np.arange(words)
    if words > 2:
        telling = [sum(len(np.unique(side[:1000, word])) for side in codes) for word in range(words)]
        order = np.argsort(telling, kind="stable")[::-1]
    return [Side.of(side[:, order], np.arange(len(side), dtype=np.uint32)) for side in codes]


def _checked(distance: int, side: Side) -> int:
    if distance < 0:
        raise OptionError(f"distance is {distance}; allowed: a number of bits, 0 or more")
    return min(distance, 64 * len(side.codes))


def _nothing(side: Side) -> tuple[Hashes, Places]:
    return np.empty((0, len(side.codes)), np.uint64), np.empty(0, np.int64)
