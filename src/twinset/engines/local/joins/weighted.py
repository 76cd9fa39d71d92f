"""Join of weighted sets in memory: sketched, cut into bands and verified exactly."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from twinset.candidates import banding
from twinset.candidates.banding import Banded
from twinset.engines.local.joins.in_memory import InMemoryJoin, Sink, distance_codes
from twinset.pairs.weighted import overlaps, scores, totals
from twinset.plan import Plan
from twinset.plan.choose import band_plan
from twinset.schema import Bytes, Numbers, Places, Scores, WeightedSets
from twinset.sketches.weighted import weighted_sketch
from twinset.system.arrays import offsets_of, ranges

_ROWS = 1024  # sketched at a time
_SHORT_TIME = 1e8  # nanoseconds that an audit may always take
_ELEMENT, _SLOT, _COMPARED = 60.0, 40.0, 3.0  # sketching an element and a slot; an element of two sets compared
_MIN_AUDITED = 64
_BYTES_A_SET = 64  # its totals, offsets, numbers and digests


class WeightedJoin(InMemoryJoin):
    """Sets with weights, and the sum of the weights of each."""

    plan: Plan

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed."""
        return False

    @cached_property
    def _banding(self) -> Plan:
        return band_plan(self.options)

    def _allocate(self, counts: Numbers) -> None:
        offsets = offsets_of(counts)
        self.sets = WeightedSets(offsets, np.zeros(offsets[-1], np.uint64), np.zeros(offsets[-1], np.float64))

    def _needed_bytes(self, counts: Numbers) -> int:
        plan = self._banding
        row = banding.width(plan.n_hashes) + 8 * plan.n_bands + _BYTES_A_SET
        return 16 * int(counts.sum(dtype=np.int64)) + len(counts) * row

    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        counts = (ends - starts) // 16
        words = np.frombuffer(data[ranges(starts, ends - starts)], "<u8").reshape(-1, 2)
        targets = ranges(self.sets.offsets[places], counts)
        self.sets.hashes[targets] = words[:, 0]
        self.sets.weights[targets] = np.ascontiguousarray(words[:, 1]).view(np.float64)

    def _prepare(self) -> None:
        self.sums = totals(self.sets)

    def _make_plan(self) -> Plan:
        return self._banding

    def _join(self, sink: Sink) -> None:
        block = self._banded()
        self.work.progress.stage("comparing", self.plan.n_bands, "bands")

        def work(band: int) -> int:
            compared = 0
            for some in banding.within(block, band, self.plan, self.border):
                lefts, rights = (np.ascontiguousarray(some[:, side]) for side in (0, 1))
                similarity = overlaps(self.sets, self.sums, lefts, rights, self.options.least)[1]
                similar = np.flatnonzero(similarity > 0)
                sink(lefts[similar], rights[similar], distance_codes(1.0 - similarity[similar]))
                compared += len(some)
            return compared

        for compared in self.work.threads.map(work, range(self.plan.n_bands)):
            self.compared += compared
            self.work.progress.advance(1)

    def _banded(self) -> Banded:
        count, plan = len(self.numbers), self.plan
        keys = np.empty((plan.n_bands, count), np.uint64)
        low = np.zeros((count, banding.width(plan.n_hashes)), np.uint8)
        salts = np.zeros(count, np.uint64) if self.groups is None else self.groups

        def work(start: int) -> None:
            rows = slice(start, min(start + _ROWS, count))
            offsets = self.sets.offsets[rows.start : rows.stop + 1]
            part = slice(int(offsets[0]), int(offsets[-1]))
            sets = WeightedSets(offsets - offsets[0], self.sets.hashes[part], self.sets.weights[part])
            slots = weighted_sketch(sets, plan.n_hashes, self.options.seed)
            keys[:, rows] = banding.band_keys(slots, salts[rows], plan)
            low[rows, : plan.n_hashes] = slots & np.uint32(0xFF)

        self.work.threads.run(work, range(0, count, _ROWS))
        return Banded(np.arange(count, dtype=np.uint32), keys, low)

    def near_all(self, places: Places) -> Iterator[tuple[Places, Places, Numbers]]:
        """Compare some sets with all others."""
        rights = np.arange(len(self.numbers), dtype=np.uint32)
        for place in places.tolist():
            lefts = np.full(len(rights), place, np.uint32)
            similarity = overlaps(self.sets, self.sums, lefts, rights, self.options.least)[1]
            near_rights = np.flatnonzero(similarity > 0)
            yield lefts[near_rights].astype(np.int64), near_rights, distance_codes(1.0 - similarity[near_rights])

    def affordable(self, count: int, partners: int) -> int:
        """Allow a quarter of the cost of sketching, and a constant."""
        elements, slots = len(self.sets.hashes), len(self.numbers) * self.plan.n_hashes
        one = max(1.0, _COMPARED * (elements + 10 * len(self.numbers)))
        run = _ELEMENT * elements + _SLOT * slots
        return min(count, max(_MIN_AUDITED, int((_SHORT_TIME + run / 4) / one)))

    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """Return 1 - similarity, rounded."""
        return distance_codes(1.0 - self.scores_of(lefts, rights)["similarity"])

    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """Return the scores of pairs."""
        return scores(self.sets, self.sums, lefts, rights)
