"""Exact join of bit codes in memory, by Hamming distance."""

from collections.abc import Iterator

import numpy as np

from twinset.candidates.hamming.blocks import choose
from twinset.candidates.hamming.join import Join
from twinset.engines.local.joins.in_memory import InMemoryJoin, Sink
from twinset.plan.codes import CodeJoinPlan
from twinset.schema import Bytes, Codes, Numbers, Places, Scores

_BYTES_A_CODE = 40  # its numbers, keys and positions while it is grouped, besides its words
_CODE_COPIES = 4  # original, reordered for the kernels, and grouped on both sides
_ONES = np.array([number.bit_count() for number in range(256)], np.uint8)
_SPANS = 8  # per thread, for balance


class CodeJoin(InMemoryJoin):
    """Codes of whole words, padded with zeros: uint64 (n, words)."""

    def _allocate(self, counts: Numbers) -> None:
        self.width = int(counts[0]) if len(counts) else 8
        # With `by`, one more word is a hash of that column: codes of different groups are then far apart.
        self.words = -(-self.width // 8)
        self.codes: Codes = np.zeros((len(counts), self.words + (self.groups is not None)), np.uint64)

    def _needed_bytes(self, counts: Numbers) -> int:
        width = int(counts[0]) if len(counts) else 8
        words = -(-width // 8) + (self.groups is not None)
        return len(counts) * (_CODE_COPIES * 8 * words + _BYTES_A_CODE)

    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        rows = np.zeros((len(places), 8 * self.words), np.uint8)
        rows[:, : self.width] = data[starts[:, None] + np.arange(self.width)]
        self.codes[places, : self.words] = rows.view("<u8")

    def _make_plan(self) -> CodeJoinPlan:
        if self.groups is not None:
            self.codes[:, -1] = self.groups
        join = self._whole()
        tables = 0
        if len(join.left) and len(join.right):
            tables = len(choose(join.left, join.right, join.same, join.distance).blocks)
        return CodeJoinPlan(8 * self.width, int(self.options.farthest), tables)

    def _whole(self) -> Join:
        distance = int(min(self.options.farthest, 64 * self.codes.shape[1]))
        if self.border is None:
            return Join.within(self.codes, distance)
        return Join.across(self.codes[: self.border], self.codes[self.border :], distance)

    def _join(self, sink: Sink) -> None:
        threads, shift = self.work.threads, np.uint32(self.border or 0)
        self.work.progress.stage("comparing", None, "pairs")
        for table in self._whole().tables():

            def work(span: tuple[int, int], table=table) -> int:  # type: ignore[no-untyped-def]
                count = 0
                for portion in table.pairs(span):
                    lefts, rights = portion.numbers[:, 0], portion.numbers[:, 1] + shift
                    sink(lefts, rights, portion.distances.astype(np.uint32))
                    count += len(portion)
                return count

            for count in threads.map(work, table.spans(_SPANS * threads.count)):
                self.compared += count
                self.work.progress.advance(count)

    def near_all(self, places: Places) -> Iterator[tuple[Places, Places, Numbers]]:
        """Compare some codes with all others."""
        for place in places.tolist():
            codes = self.codes_of(np.full(len(self.codes), place), np.arange(len(self.codes)))
            rights = np.flatnonzero(codes <= self.options.farthest)
            yield np.full(len(rights), place), rights, codes[rights]

    def affordable(self, count: int, partners: int) -> int:
        """Return 0: no pair is ever missed."""
        return 0

    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """Count the bits in which the codes of pairs differ."""
        return count_bits(self.codes[lefts, : self.words] ^ self.codes[rights, : self.words])

    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """Return the distances as a table has them."""
        return {"distance": self.codes_of(lefts, rights).astype(np.int32)}


def count_bits(words: Codes) -> Numbers:
    """Count the bits that are set in each row of words."""
    counts: Numbers = _ONES[words.view(np.uint8)].sum(axis=1, dtype=np.uint32)
    return counts
