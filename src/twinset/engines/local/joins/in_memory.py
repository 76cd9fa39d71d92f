"""Joins of items that fit in memory: bit codes, vectors, weighted sets.

All distinct items are loaded into memory. The code of a pair grows with its distance and is rounded; exact scores are
computed again when tables are written.
"""

import dataclasses
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.documents.normalize import buffers_of
from twinset.documents.parts import Block
from twinset.engines.local.audit import sample as sampling
from twinset.engines.local.audit.result import AuditResult, append_missed, known_pairs, refuse_lost_pairs
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.joins.base import Candidates, RunPlan, SimilarityJoin, Work
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.candidates import distinct_contents
from twinset.engines.local.steps.sketch import content_groups
from twinset.errors import OptionError
from twinset.options.checks import shown_size
from twinset.schema import Bytes, Flags, Hashes, Numbers, Places, Scores, equal_scores
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool
from twinset.wording import counted

Sink = Callable[[Numbers, Numbers, Numbers], None]
"""Takes pairs: left and right positions, and codes. May be called from several threads."""

_SLICE = 1 << 16  # pairs scored at a time
_AT_ONCE = 256  # items compared with all others at a time; in an audit fewer, if they have many pairs
_MIN_AUDITED, _MAX_AUDITED_PAIRS = 16, 1 << 22
_NAMES = {
    "codes": "code", "images": "picture", "vectors": "vector", "sparse": "sparse vector", "weighted": "weighted set",
}  # fmt: skip


class InMemoryJoin(SimilarityJoin):
    """The distinct items of a run, in memory.

    numbers uint32 (n): the documents, ascending; those from position `border` on are compared against. groups uint64
    (n): a hash of the `by` column, None without one; items of two groups are not paired.

    With `wanted`, only the contents of these documents are loaded, to be scored but not joined.
    """

    def __init__(self, corpus: Corpus, copies: Copies, work: Work, wanted: Flags | None = None) -> None:
        super().__init__(corpus, copies, work)
        distinct = distinct_contents(corpus, copies.first)
        distinct = distinct if wanted is None else distinct & wanted
        self.numbers = np.flatnonzero(distinct).astype(np.uint32)
        self.border = None if corpus.border is None else int(np.searchsorted(self.numbers, corpus.border))
        grouped = self.options.by is not None and wanted is None
        self.groups: Hashes | None = np.zeros(len(self.numbers), np.uint64) if grouped else None
        self.compared = 0
        self._refuse_too_many()
        self._load(distinct)
        self._prepare()
        if wanted is None:
            self.plan = self._make_plan()

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed."""
        return True

    def candidates(self) -> Candidates:
        """Return no candidates: `verify` makes them table by table."""
        return Candidates(None, 0)

    def verify(self, candidates: Candidates) -> Spool:
        """Join the items."""
        state = self.work.state
        done = state.recall("pairs")
        if done is not None:
            candidates.count = done[0]["candidates"]
            return done[1]["pairs"]
        pairs = state.spool("pairs", "<u4", 3)
        self.join(pairs)
        candidates.count = self.compared
        state.finish("pairs", {"candidates": self.compared}, {"pairs": pairs})
        return pairs

    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """Compare a random sample exactly with all other items, and look up its pairs in `pairs`."""
        work, corpus, size = self.work, self.corpus, self.options.audit
        own, partners = sampling.eligible(corpus, self.copies)
        numbers = np.flatnonzero(own).astype(np.uint32)
        degree = 2 * len(pairs) / max(1, len(numbers))  # known pairs per item
        if size is None:
            size = self.affordable(len(numbers), int(np.count_nonzero(partners)))
            size = min(size, max(_MIN_AUDITED, int(_MAX_AUDITED_PAIRS / max(1.0, degree))))
        at_once = max(1, min(_AT_ONCE, int(_AT_ONCE * _AT_ONCE / max(1.0, degree))))
        sample = sampling.drawn(corpus, numbers, min(size, len(numbers)), self.options.seed)
        work.progress.stage("auditing", len(sample), "documents")
        audited = AuditResult.empty(corpus, len(numbers), sample, self.sizes, work.state.scratch, work.budget)
        sampled = np.zeros(corpus.documents, np.bool_)
        sampled[sample] = True
        known = known_pairs(sample, pairs, corpus.documents)
        total = missed = n_met = 0
        starts = range(0, len(sample), at_once)
        compared = work.threads.map(lambda at: self._near_rows(sample[at : at + at_once], at, partners), starts)
        for start, rows in zip(starts, compared, strict=True):
            seen = np.isin(pair_words(rows[:, 1], rows[:, 0]), known)
            n_met += int(np.count_nonzero(seen))
            np.add.at(audited.pairs_of, rows[:, 1], 1)
            np.add.at(audited.missed_of, rows[~seen, 1], 1)
            # A pair of two sampled items is found from both; count it once, from the lesser.
            once = ~sampled[rows[:, 0]] | (sample[rows[:, 1]] < rows[:, 0])
            total += int(np.count_nonzero(once))
            missed += int(np.count_nonzero(once & ~seen))
            append_missed(audited.rows, sample, rows[once & ~seen])
            work.progress.advance(min(at_once, len(sample) - start))
        refuse_lost_pairs(n_met, len(known))
        audited.rows.close()
        return dataclasses.replace(audited, pairs=total, missed=missed)

    def _near_rows(self, batch: Numbers, first: int, partners: Flags) -> Rows:
        """Find every document near one of a few: (document, position of the item in the sample, code).

        `first` is the position of these few in the sample.
        """
        positions = np.searchsorted(self.numbers, batch)
        position = np.zeros(len(self.numbers), np.uint32)
        position[positions] = np.arange(first, first + len(batch), dtype=np.uint32)
        near_rows = [np.empty((0, 3), np.uint32)]
        for lefts, rights, codes in self.near_all(positions):
            near = (lefts != rights) & partners[self.numbers[rights]]
            if self.groups is not None:
                near &= self.groups[lefts] == self.groups[rights]
            near_rows.append(np.stack([self.numbers[rights[near]], position[lefts[near]], codes[near]], axis=1))
        return np.concatenate(near_rows)

    def _prepare(self) -> None:
        """Prepare scoring once the items are in memory."""

    @abstractmethod
    def _make_plan(self) -> RunPlan:
        """Plan the join."""

    @abstractmethod
    def _allocate(self, counts: Numbers) -> None:
        """Allocate memory for items with these numbers of elements."""

    @abstractmethod
    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        """Store items at positions: item i is data[starts[i]:ends[i]]. Called from several threads."""

    @abstractmethod
    def _needed_bytes(self, counts: Numbers) -> int:
        """Return the bytes needed to join items with these numbers of elements."""

    @abstractmethod
    def _join(self, sink: Sink) -> None:
        """Pass pairs of positions, the lesser left, with their codes to `sink`; pairs may repeat."""

    @abstractmethod
    def near_all(self, places: Places) -> Iterator[tuple[Places, Places, Numbers]]:
        """Compare the items at some positions with all, and yield the near ones: left and right positions, and codes.

        An item may be near itself; sides and groups are ignored.
        """

    @abstractmethod
    def affordable(self, count: int, partners: int) -> int:
        """Return how many of `count` items an audit may compare with `partners` others, at little of the run's cost."""

    @abstractmethod
    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """Return the code of each pair of positions."""

    @abstractmethod
    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """Return the exact scores of each pair of positions."""

    def places(self, documents: npt.NDArray[Any]) -> Places:
        """Return the positions of the contents of some documents."""
        positions: Places = np.searchsorted(self.numbers, self.copies.first[documents])
        return positions

    def _refuse_too_many(self) -> None:
        counts = self.corpus.counts[self.numbers]
        needed, room = self._needed_bytes(counts), self.work.budget.items
        if needed > room:
            what = counted(len(self.numbers), f"distinct {_NAMES[self.options.item_kind]}")
            budget = self.work.budget
            enough = needed * 3 // 2 + budget.total - min(budget.free + budget.in_hand, budget.total)
            needs, total, left, minimum = (shown_size(_round(size)) for size in (needed, budget.total, room, enough))
            raise OptionError(
                f"joining {what} takes {needs} of memory, but of the {total} that this run may use only {left} are "
                f"left; give more with --memory, at least {minimum}"
            )

    def _load(self, distinct: Flags) -> None:
        self._allocate(self.corpus.counts[self.numbers])
        border = self.corpus.border

        def fill(span: Span, block: Block) -> None:
            rows = np.flatnonzero(distinct[span.documents])
            documents = rows + span.first
            places = np.searchsorted(self.numbers, documents)
            data, offsets = buffers_of(block.texts)
            self._fill(places, data, offsets[rows], offsets[rows + 1])
            if self.groups is not None:
                other = border is not None and span.first >= border
                digests = self.corpus.digests[span.documents]
                self.groups[places] = content_groups(digests, block.texts, other)[rows]

        for _ in self.corpus.read(self.work.threads, fill, wanted=distinct):
            pass
        if self._needed_bytes(self.corpus.counts[self.numbers]) > self.work.budget.free // 8:
            self.corpus.cached_blocks.clear()  # the items are loaded now; rows written later are read again

    def join(self, out: Spool) -> None:
        """Append every near pair to `out` once, by document numbers."""
        scratch = Spool(self.work.state.scratch / "measured", "<u4", 3)
        limit = self.work.budget.pairs
        lock = threading.Lock()

        def sink(lefts: Numbers, rights: Numbers, codes: Numbers) -> None:
            rows = np.stack([self.numbers[lefts], self.numbers[rights], codes], axis=1)
            if self.groups is not None:
                rows = rows[self.groups[lefts] == self.groups[rights]]
            with lock:  # the order does not matter: rows are sorted later
                scratch.append(rows, limit)

        self._join(sink)
        scratch.close()
        for rows in sorted_portions(scratch, self.corpus.documents, limit):
            out.append(_drop_repeats(rows), limit)
        scratch.remove()

    def join_all(self, out: Spool) -> None:
        """Append every near pair to `out` by comparing all items with all."""
        self.work.progress.stage("comparing all", len(self.numbers), "documents")

        def compared(start: int) -> Rows:
            near = [np.empty((0, 3), np.uint32)]
            for lefts, rights, codes in self.near_all(np.arange(start, min(start + _AT_ONCE, len(self.numbers)))):
                valid = lefts < rights
                if self.groups is not None:
                    valid &= self.groups[lefts] == self.groups[rights]
                if self.border is not None:
                    valid &= (lefts < self.border) & (rights >= self.border)
                near.append(np.stack([self.numbers[lefts[valid]], self.numbers[rights[valid]], codes[valid]], axis=1))
            return np.concatenate(near)

        starts = range(0, len(self.numbers), _AT_ONCE)
        for start, rows in zip(starts, self.work.threads.map(compared, starts), strict=True):
            out.append(rows)
            self.work.progress.advance(min(_AT_ONCE, len(self.numbers) - start))
        out.close()

    def measure_all(self, candidates: Spool, out: Spool) -> None:
        """Append (left, right, code) of every candidate to `out`, however dissimilar."""
        for chunk in candidates.chunks():
            for start in range(0, len(chunk), _SLICE):
                rows = chunk[start : start + _SLICE]
                codes = self.codes_of(self.places(rows[:, 0]), self.places(rows[:, 1]))
                out.append(np.concatenate([rows, codes[:, None]], axis=1))

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return the exact scores of pairs of documents; the code is SAME for identical contents."""
        scores = equal_scores(self.measure, len(code))
        distinct = np.flatnonzero((code != SAME) & (self.copies.first[left] != self.copies.first[right]))
        for start in range(0, len(distinct), _SLICE):
            rows = distinct[start : start + _SLICE]
            for name, values in self.scores_of(self.places(left[rows]), self.places(right[rows])).items():
                scores[name][rows] = values
        return scores

    def identical_across(self, pairs: Spool) -> int:
        """Count the pairs of documents whose items on two sides have distance 0."""
        return sum(self.copies.count_pairs(*rows[rows[:, 2] == 0, :2].T) for rows in pairs.chunks())


def distance_codes(distances: npt.NDArray[np.float64]) -> Numbers:
    """Encode non-negative distances as 32-bit floats, whose bits are in the same order."""
    return np.ascontiguousarray(distances, np.float32).view(np.uint32)


def _drop_repeats(rows: Rows) -> Rows:
    """Drop sorted rows that repeat the pair before."""
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[new]


def _round(size: int) -> int:
    """Round a size up to whole MiB."""
    return -(-size // 2**20) * 2**20
