"""Tables of bit codes for exact queries by Hamming distance.

There is a table per block, with the codes sorted by key. Tables are plain arrays, so they can be written to a file and
memory-mapped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from twinset.candidates.hamming import join_kernels, query_kernels
from twinset.candidates.hamming.blocks import Side, choose_for_queries
from twinset.candidates.hamming.join import CodePairs, as_codes, checked_distance, grouped
from twinset.errors import OptionError
from twinset.schema import Codes, Hashes, Numbers, Places

NOBODY = 0xFFFFFFFF
"""Fills results where there are fewer codes than requested."""

_ROOM = 1 << 16
_ANSWERS = 1 << 24  # maximum result rows in memory at once
_VISIT = 100  # codes that could be compared in the time of one bucket lookup


@dataclass(frozen=True)
class CodeTables:
    """Codes grouped by the keys of several blocks.

    masks uint64 (blocks, words): the bits of each block; starts uint32: where its keys begin, block after block;
    codes uint64 (blocks, words, n + 8) and members uint32 (blocks, n): codes in order of their keys, and their places.

    Examples
    --------
    >>> tables = CodeTables.of(np.array([0b0000, 0b0111, 0b1111], np.uint64), 1)
    >>> for found in tables.within(np.array([0b0110], np.uint64), 2):
    ...     print(found.numbers.tolist(), found.distances.tolist())
    [[0, 1], [0, 0], [0, 2]] [1, 2, 2]
    >>> numbers, distances = tables.nearest(np.array([0b0110], np.uint64), 2)
    >>> numbers.tolist(), distances.tolist()
    ([[1, 0]], [[1, 2]])
    """

    masks: Hashes
    starts: Numbers
    codes: Hashes
    members: Numbers

    @classmethod
    def of(cls, codes: Codes, distance: int) -> "CodeTables":
        """Build tables. They answer queries for any distance, fastest for the one given."""
        rows = as_codes(codes)
        side = Side.of(rows, np.arange(len(rows), dtype=np.uint32))
        blocks = choose_for_queries(side, checked_distance(distance, rows.shape[1]))
        words = np.empty((len(blocks), *side.codes.shape), np.uint64)
        members, starts = np.empty((len(blocks), len(side)), np.uint32), []
        for number, block in enumerate(blocks):
            sorted_side, begins = grouped(side, block)
            words[number], members[number] = sorted_side.codes, sorted_side.numbers
            starts.append(begins)
        return cls(np.stack([block.masks for block in blocks]), np.concatenate(starts), words, members)

    def __len__(self) -> int:
        return int(self.members.shape[1])

    def within(self, queries: Codes, distance: int) -> Iterator[CodePairs]:
        """Yield the codes within `distance` bits of each query, (query, code), in batches of queries.

        The nearest codes of a query come first, ties by position.
        """
        query_side = self._as_side(queries)
        distance = checked_distance(distance, self.masks.shape[1])
        at_once = max(1, min(1024, _ANSWERS // max(1, len(self))))
        for begin in range(0, len(query_side), at_once):
            answers = list(self._answers(query_side, distance, begin, min(len(query_side), begin + at_once)))
            if answers:
                numbers = np.concatenate([portion.numbers for portion in answers])
                distances = np.concatenate([portion.distances for portion in answers])
                order = np.lexsort((numbers[:, 1], distances, numbers[:, 0]))
                yield CodePairs(numbers[order], distances[order])

    def nearest(self, queries: Codes, k: int) -> tuple[Numbers, npt.NDArray[np.uint16]]:
        """Return the positions and distances of the k codes nearest to each query: (queries, k).

        Sorted by distance, ties by position. Where there are fewer than k, the rest is `NOBODY` at distance 65535.
        """
        if k < 1:
            raise OptionError(f"k is {k}; allowed: 1 or more")
        query_side = self._as_side(queries)
        numbers = np.full((len(query_side), k), NOBODY, np.uint32)
        distances = np.full((len(query_side), k), 0xFFFF, np.uint16)
        widths = self._widths()
        query_kernels.ask_nearest(
            query_side.codes, self.masks, self._steps(), widths, _offsets(widths), self.starts, self.codes,
            self.members, len(self) / _VISIT, 0, len(query_side), numbers, distances,
        )  # fmt: skip
        return numbers, distances

    def _answers(self, query_side: Side, distance: int, begin: int, end: int) -> Iterator[CodePairs]:
        """Yield the codes near some queries, unordered."""
        widths = self._widths()
        radii = radii_of(distance, len(widths))
        visits = sum(_subsets(w, r) for w, r in zip(widths.tolist(), radii.tolist(), strict=True))
        lefts, rights = np.empty(_ROOM, np.uint32), np.empty(_ROOM, np.uint32)
        distances = np.empty(_ROOM, np.uint16)
        compare = visits * _VISIT > len(self)
        state = np.array([0, 1, 0, -1, -1, 0]) if compare else np.array([begin, end, 0, 0, -1])
        while state[0] < state[1]:
            if compare:
                count = self._compared(query_side, distance, begin, end, state, lefts, rights, distances)
            else:
                count = query_kernels.ask_within(
                    query_side.codes, self.masks, self._steps(), widths, _offsets(widths), self.starts, self.codes,
                    self.members, radii, distance, state, lefts, rights, distances,
                )  # fmt: skip
            if count:
                yield CodePairs(np.stack([lefts[:count], rights[:count]], axis=1), distances[:count].copy())

    def _compared(
        self, side: Side, distance: int, begin: int, end: int, state: Places, lefts: Numbers, rights: Numbers,
        distances: npt.NDArray[np.uint16],
    ) -> int:  # fmt: skip
        """Compare queries with all codes, where that is less work than looking up all keys."""
        none = np.empty((0, self.masks.shape[1]), np.uint64)
        count = join_kernels.join(
            np.array([begin, end], np.uint32), side.codes, side.numbers, np.array([0, len(self)], np.uint32),
            self.codes[0], self.members[0], False, 0, 0, distance, none, np.empty(0, np.int64),
            np.iinfo(np.int64).max, state, lefts, rights, distances, np.empty((1, 4), np.int64),
        )  # fmt: skip
        return int(count)

    def _as_side(self, queries: Codes) -> Side:
        rows = as_codes(queries)
        if rows.shape[1] != self.masks.shape[1]:
            raise OptionError(
                f"queries have {64 * rows.shape[1]} bits; the codes in the tables have {64 * self.masks.shape[1]}"
            )
        return Side.of(rows, np.arange(len(rows), dtype=np.uint32))

    def _widths(self) -> Places:
        return np.array([sum(int(mask).bit_count() for mask in masks) for masks in self.masks])

    def _steps(self) -> Hashes:
        steps = np.empty((*self.masks.shape, 6), np.uint64)
        for masks, step in zip(self.masks, steps, strict=True):
            join_kernels.squeeze_steps(masks, step)
        return steps


def radii_of(distance: int, blocks: int) -> Places:
    """Radius of each block, so that two codes within the distance collide in one.

    Plus one each, they sum to distance + 1.

    Examples
    --------
    >>> radii_of(3, 4).tolist(), radii_of(8, 4).tolist(), radii_of(0, 2).tolist()
    ([0, 0, 0, 0], [2, 1, 1, 1], [0, -1])
    """
    whole, rest = divmod(distance + 1, blocks)
    return np.array([whole - 1 + (block < rest) for block in range(blocks)])


def _offsets(widths: Places) -> Places:
    """Start of the keys of each block in `starts`."""
    lengths = (1 << widths) + 1
    offsets: Places = np.cumsum(lengths) - lengths
    return offsets


def _subsets(width: int, radius: int) -> int:
    return sum(comb(width, size) for size in range(min(width, radius) + 1))
