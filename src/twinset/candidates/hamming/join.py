"""Exact join of bit codes: all pairs within a Hamming distance.

Why nothing is missed. Split the bits of a code into m blocks with radii that, plus one each, add up to d + 1. Two codes
that differ in at most d bits differ in at least one block in no more bits than its radius: otherwise they would differ
in d + 1 or more. So only pairs whose keys (the bits of a block) differ in at most its radius are compared. For
1,000,000 random codes of 64 bits and d = 3 these are four blocks of 16 bits with radius 0, and a code is compared with
15 others per block.

Why each pair comes once. A pair belongs to the first block in which it collides.

Crowded buckets. Where two buckets would take too many comparisons, they are joined recursively: other blocks are chosen
from the remaining bits by their statistics among these codes, until comparing all pairs, eight codes at once, is
cheaper. Where so few bits remain that all pairs are within the distance, the work is proportional to the output.

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

_ROOM = 1 << 16  # pairs per batch
_CROWD = 1 << 22  # comparisons of two buckets that are done directly; more are joined recursively
_TILE = 2048  # codes that stay in the first-level cache while all others pass


@dataclass(frozen=True)
class CodePairs:
    """Pairs of codes: their numbers, uint32 (n, 2), and their distances in bits, uint16 (n)."""

    numbers: Numbers
    distances: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.distances)


def as_codes(codes: npt.NDArray[np.uint64]) -> Codes:
    """Return codes as rows of words, uint64 (n, words); (n,) are codes of 64 bits.

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


@dataclass(frozen=True)
class Join:
    """A join of two sides, or of one with itself, within a distance.

    `tables` gives the work table by table, `spans` splits a table for several threads, and `pairs` joins a span. The
    pairs do not depend on the split. `earlier` and `allowed` are blocks and radii whose pairs are known already.

    Examples
    --------
    >>> codes = np.array([0b0000, 0b0111, 0b1111], np.uint64)
    >>> for portion in Join.within(codes, 3).pairs():
    ...     print(portion.numbers.tolist(), portion.distances.tolist())
    [[0, 1], [1, 2]] [3, 1]
    """

    left: Side
    right: Side
    same: bool
    distance: int
    earlier: Hashes
    allowed: Places

    @classmethod
    def within(cls, codes: Codes, distance: int) -> "Join":
        """Join some codes with themselves.

        Equal codes are pairs too: where there are many, collapse them first, as `twinset.find_pairs` does.
        """
        side = _sides(as_codes(codes))[0]
        return cls(side, side, True, checked_distance(distance, len(side.codes)), *_nothing(side))

    @classmethod
    def across(cls, left: Codes, right: Codes, distance: int) -> "Join":
        """Join the left codes with the right codes, each side numbered from 0."""
        ours, theirs = as_codes(left), as_codes(right)
        if ours.shape[1] != theirs.shape[1]:
            raise OptionError(
                f"codes on the left have {64 * ours.shape[1]} bits, on the right {64 * theirs.shape[1]};"
                " pad the shorter codes with zeros"
            )
        one, other = _sides(ours, theirs)
        return cls(one, other, False, checked_distance(distance, len(one.codes)), *_nothing(one))

    def tables(self) -> Iterator["Table | Whole"]:
        """Yield the work: a table for each block, or all pairs where blocks do not pay."""
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

    def pairs(self) -> Iterator[CodePairs]:
        """Yield all pairs by position, in batches, unordered; in a join of codes with themselves the smaller first."""
        for table in self.tables():
            for span in table.spans(1):
                yield from table.pairs(span)

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
                for portion in inner.pairs():
                    yield self._ordered(portion) if same and not twin else portion

    def _packed(self, lefts: Numbers, rights: Numbers, distances: npt.NDArray[np.uint16]) -> CodePairs:
        return self._ordered(CodePairs(np.stack([lefts, rights], axis=1), distances.copy()))

    def _ordered(self, pairs: CodePairs) -> CodePairs:
        return CodePairs(lesser_first(pairs.numbers), pairs.distances) if self.same else pairs


@dataclass(frozen=True)
class Table:
    """Both sides of a join, grouped by the key of a block: key k has the codes starts[k]:starts[k + 1]."""

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
        """Split the keys into about `parts` ranges of similar work."""
        ours, theirs = np.diff(self.left_starts).astype(np.float64), np.diff(self.right_starts)
        return _cut(np.cumsum(ours * (1.0 + theirs)), parts)

    def pairs(self, span: tuple[int, int]) -> Iterator[CodePairs]:
        """Yield the pairs of a range of (left) keys."""
        starts = (self.left_starts, self.right_starts)
        yield from self.join._run(self.left, self.right, starts, self.join.same, self, span)


@dataclass(frozen=True)
class Whole:
    """All pairs of a join, by tiles of the right side."""

    join: Join

    def spans(self, parts: int) -> list[tuple[int, int]]:
        """Split the tiles into about `parts` ranges of similar work."""
        tiles = -(-len(self.join.right) // _TILE)
        before = np.arange(1, tiles + 1, dtype=np.float64) if self.join.same else np.ones(tiles)
        return _cut(np.cumsum(before), parts)

    def pairs(self, span: tuple[int, int]) -> Iterator[CodePairs]:
        """Yield the pairs of a range of tiles."""
        join, total = self.join, len(self.join.right)
        for tile in range(*span):
            first, last = tile * _TILE, min(total, (tile + 1) * _TILE)
            tile_range = np.array([first, last], np.uint32)
            before = np.array([0, first if join.same else len(join.left)], np.uint32)
            yield from join._run(join.left, join.right, (before, tile_range), False, None, (0, 1))
            if join.same:
                yield from join._run(join.left, join.right, (tile_range, tile_range), True, None, (0, 1))


def lesser_first(numbers: Numbers) -> Numbers:
    """Pairs of numbers (n, 2), the smaller first."""
    return np.stack([numbers.min(axis=1), numbers.max(axis=1)], axis=1)


def grouped(side: Side, block: BitBlock) -> tuple[Side, Numbers]:
    """Sort the codes stably by their keys in a block; return them and the start of each key."""
    steps = np.empty((len(block.masks), 6), np.uint64)
    kernels.squeeze_steps(block.masks, steps)
    keys, starts = np.empty(len(side), np.uint32), np.empty((1 << block.width) + 1, np.uint32)
    kernels.keys(side.codes, block.masks, steps, keys)
    sorted_side = Side(np.empty_like(side.codes), np.empty_like(side.numbers))
    sorted_side.codes[:, len(side) :] = 0
    kernels.group(keys, side.codes, side.numbers, starts, sorted_side.codes, sorted_side.numbers)
    return sorted_side, starts


def _cut(reach: npt.NDArray[np.float64], parts: int) -> list[tuple[int, int]]:
    """Ranges of similar work, from its cumulative sum."""
    wanted = np.linspace(0, reach[-1], parts + 1)[1:-1]
    cuts = np.unique([0, *(np.searchsorted(reach, wanted) + 1).tolist(), len(reach)])
    return [(begin, end) for begin, end in pairwise(cuts.tolist()) if begin < end <= len(reach)]


def _sides(*codes: Codes) -> list[Side]:
    """Convert codes for the kernels.

    Of more than two words the two most informative come first: they rule out most pairs.
    """
    words = codes[0].shape[1]
    order = np.arange(words)
    if words > 2:
        telling = [sum(len(np.unique(side[:1000, word])) for side in codes) for word in range(words)]
        order = np.argsort(telling, kind="stable")[::-1]
    return [Side.of(side[:, order], np.arange(len(side), dtype=np.uint32)) for side in codes]


def checked_distance(distance: int, words: int) -> int:
    """Return the distance, at most all bits of a code; refuse a negative one."""
    if distance < 0:
        raise OptionError(f"distance is {distance}; allowed: a number of bits, 0 or more")
    return min(distance, 64 * words)


def _nothing(side: Side) -> tuple[Hashes, Places]:
    return np.empty((0, len(side.codes)), np.uint64), np.empty(0, np.int64)
