"""Exact join of pictures in any orientation, by the Hamming distance of their hashes.

A picture has eight hashes: its own, and those of the picture rotated and mirrored. The distance of two pictures is the
least between any hash of one and the own hash of the other, either way round. The hash of a turned picture is not a
turned hash, so both ways are needed: 15 comparisons.

All hashes of one side are joined with the own hashes of the other, as codes are, and both ways round if there are two
sides. So every pair is found that all 15 comparisons of all pairs would find. A pair is measured again by all of them.
"""

from collections.abc import Iterator

import numpy as np

from twinset.candidates.hamming.blocks import choose
from twinset.candidates.hamming.join import Join
from twinset.engines.local.joins.codes import CodeJoin, count_bits
from twinset.engines.local.joins.in_memory import Sink
from twinset.plan.codes import OrientationPlan
from twinset.schema import Bytes, Codes, Numbers, Places

_HASHES = 8
_BYTES_A_PICTURE = 1000  # its hashes, and what a join of codes takes for each of them
_SPANS = 8  # per thread, for balance


class OrientationJoin(CodeJoin):
    """Pictures with eight hashes each: uint64 (n, 8), the own one first. Pictures have no column to group them by."""

    def _allocate(self, counts: Numbers) -> None:
        self.hashes: Codes = np.zeros((len(counts), _HASHES), np.uint64)
        super()._allocate(counts // _HASHES)

    def _needed_bytes(self, counts: Numbers) -> int:
        return len(counts) * _BYTES_A_PICTURE

    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        rows = data[starts[:, None] + np.arange(8 * _HASHES)]
        self.hashes[places] = rows.view("<u8")
        self.codes[places, 0] = self.hashes[places, 0]

    def _make_plan(self) -> OrientationPlan:
        tables = 0
        for join, _, _ in self._joins():
            if len(join.left) and len(join.right):
                tables = len(choose(join.left, join.right, join.same, join.distance).blocks)
                break
        return OrientationPlan(64, int(self.options.farthest), tables)

    def _joins(self) -> Iterator[tuple[Join, int, int]]:
        """Yield joins of all hashes with own hashes: the first positions of both sides."""
        distance = int(min(self.options.farthest, 64))
        count, border = len(self.codes), self.border
        sides = [((0, count), (0, count))]
        if border is not None:
            sides = [((0, border), (border, count)), ((border, count), (0, border))]
        for turned, own in sides:
            yield Join.across(self._turned(*turned), self.codes[slice(*own)], distance), turned[0], own[0]

    def _turned(self, first: int, last: int) -> Codes:
        """Return all hashes of some pictures as codes, those of a picture together."""
        return self.hashes[first:last].reshape(-1, 1)

    def _join(self, sink: Sink) -> None:
        threads = self.work.threads
        self.work.progress.stage("comparing", None, "pairs")
        for join, first, second in self._joins():
            for table in join.tables():

                def work(span: tuple[int, int], table=table, first=first, second=second) -> int:  # type: ignore[no-untyped-def]
                    count = 0
                    for portion in table.pairs(span):
                        turned = portion.numbers[:, 0].astype(np.int64) // _HASHES + first
                        own = portion.numbers[:, 1].astype(np.int64) + second
                        other = turned != own
                        lefts, rights = np.minimum(turned, own)[other], np.maximum(turned, own)[other]
                        sink(lefts.astype(np.uint32), rights.astype(np.uint32), self.codes_of(lefts, rights))
                        count += len(portion)
                    return count

                for count in threads.map(work, table.spans(_SPANS * threads.count)):
                    self.compared += count
                    self.work.progress.advance(count)

    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """Return the least distance of pairs in any orientation, from 15 comparisons."""
        least = np.full(len(lefts), 64, np.uint32)
        for way in range(_HASHES):
            for turned, own in ((lefts, rights), (rights, lefts)):
                differing = self.hashes[turned, way] ^ self.hashes[own, 0]
                np.minimum(least, count_bits(differing[:, None]), out=least)
        return least
