"""Bit codes kept in tables of blocks, to be asked for what is near a code: exactly, by looking at few of them.

The tables are the sorted block tables of `hamming`: one for each block, with the codes in the order of their keys. They
are arrays and nothing else, so they can be written to a file and mapped from there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from twinset.candidates.hamming import join_kernels, query_kernels
from twinset.candidates.hamming.blocks import Side, choose_for_queries
from twinset.candidates.hamming.join import CodePairs, as_codes, grouped
from twinset.errors import OptionError
from twinset.schema import Codes, Hashes, Numbers, Places

NOBODY = 0xFFFFFFFF
"""Stands where there are fewer codes than were asked for."""

_ROOM = 1 << 16
_ANSWERS = 1 << 24  # rows of an answer that may have to be in memory at once
_VISIT = 100  # codes that could be compared while one bucket is looked up


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
        """Build tables. They answer for any distance, and are cheapest to ask for the one given."""
        rows = as_codes(codes)
        side = Side.of(rows, np.arange(len(rows), dtype=np.uint32))
        blocks = choose_for_queries(side, _distance(distance, rows.shape[1]))
        words = np.empty((len(blocks), *side.codes.shape), np.uint64)
        members, starts = np.empty((len(blocks), len(side)), np.uint32), []
        for number, block in enumerate(blocks):
            there, begins = grouped(side, block)
            words[number], members[number] = there.codes, there.numbers
            starts.append(begins)
        return cls(np.stack([block.masks for block in blocks]), np.concatenate(starts), words, members)

    def __len__(self) -> int:
        return int(self.members.shape[1])

    def within(self, queries: Codes, distance: int) -> Iterator[CodePairs]:
        """Codes within `distance` bits of each query: (query, code), some queries at a time.

        Of a query the nearest come first, equally near ones in the order of their places.
        """
        asked = self._laid_out(queries)
        distance = _distance(distance, self.masks.shape[1])
        at_once = max(1, min(1024, _ANSWERS // max(1, len(self))))
        for begin in range(0, len(asked), at_once):
            found = list(self._answers(asked, distance, begin, min(len(asked), begin + at_once)))
            if found:
                numbers = np.concatenate([portion.numbers for portion in found])
                distances = np.concatenate([portion.distances for portion in found])
                order = np.lexsort((numbers[:, 1], distances, numbers[:, 0]))
                yield CodePairs(numbers[order], distances[order])

    def nearest(self, queries: Codes, k: int) -> tuple[Numbers, npt.NDArray[np.uint16]]:
        """The places and distances of the k codes nearest to each query: (queries, k).

        They are in order of distance, equally near ones of place. Where there are fewer than k, the rest is `NOBODY`,
        at distance 65535.
        """
        if k < 1:
            raise OptionError(f"k is {k}; allowed: 1 or more")
        asked = self._laid_out(queries)
        numbers = np.full((len(asked), k), NOBODY, np.uint32)
        distances = np.full((len(asked), k), 0xFFFF, np.uint16)
        widths = self._widths()
        query_kernels.ask_nearest(
            asked.codes, self.masks, self._steps(), widths, _offsets(widths), self.starts, self.codes, self.members,
            len(self) / _VISIT, 0, len(asked), numbers, distances,
        )  # fmt: skip
        return numbers, distances

    def _answers(self, asked: Side, distance: int, begin: int, end: int) -> Iterator[CodePairs]:
        """What is near some queries, in no order."""
        widths = self._widths()
        radii = radii_of(distance, len(widths))
        visits = sum(_subsets(w, r) for w, r in zip(widths.tolist(), radii.tolist(), strict=True))
        lefts, rights = np.empty(_ROOM, np.uint32), np.empty(_ROOM, np.uint32)
        distances = np.empty(_ROOM, np.uint16)
        compare = visits * _VISIT > len(self)
        state = np.array([0, 1, 0, -1, -1, 0]) if compare else np.array([begin, end, 0, 0, -1])
        while state[0] < state[1]:
            if compare:
                count = self._compared(asked, distance, begin, end, state, lefts, rights, distances)
            else:
                count = query_kernels.ask_within(
                    asked.codes, self.masks, self._steps(), widths, _offsets(widths), self.starts, self.codes,
                    self.members, radii, distance, state, lefts, rights, distances,
                )  # fmt: skip
            if count:
                yield CodePairs(np.stack([lefts[:count], rights[:count]], axis=1), distances[:count].copy())

    def _compared(
        self, asked: Side, distance: int, begin: int, end: int, state: Places, lefts: Numbers, rights: Numbers,
        distances: npt.NDArray[np.uint16],
    ) -> int:  # fmt: skip
        """Compare queries with all codes, where that is less work than looking up so many keys."""
        none = np.empty((0, self.masks.shape[1]), np.uint64)
        count = join_kernels.join(
            np.array([begin, end], np.uint32), asked.codes, asked.numbers, np.array([0, len(self)], np.uint32),
            self.codes[0], self.members[0], False, 0, 0, distance, none, np.empty(0, np.int64),
            np.iinfo(np.int64).max, state, lefts, rights, distances, np.empty((1, 4), np.int64),
        )  # fmt: skip
        return int(count)

    def _laid_out(self, queries: Codes) -> Side:
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
        for masks, found in zip(self.masks, steps, strict=True):
            join_kernels.squeeze_steps(masks, found)
        return steps


def radii_of(distance: int, blocks: int) -> Places:
    """In how many bits each of some blocks may differ, so that two codes within the distance meet in one of them.

    Plus one each, they add up to distance + 1.

    Examples
    --------
    >>> radii_of(3, 4).tolist(), radii_of(8, 4).tolist(), radii_of(0, 2).tolist()
    ([0, 0, 0, 0], [2, 1, 1, 1], [0, -1])
    """
    whole, rest = divmod(distance + 1, blocks)
    return np.array([whole - 1 + (block < rest) for block in range(blocks)])


def _offsets(widths: Places) -> Places:
    """Where the keys of each block begin in `starts`."""
    lengths = (1 << widths) + 1
    found: Places = np.cumsum(lengths) - lengths
    return found


def _subsets(width: int, radius: int) -> int:
    return sum(comb(width, size) for size in range(min(width, radius) + 1))


def _distance(distance: int, words: int) -> int:
    if distance < 0:
        raise OptionError(f"distance is {distance}; allowed: a number of bits, 0 or more")
    return min(distance, 64 * words)
