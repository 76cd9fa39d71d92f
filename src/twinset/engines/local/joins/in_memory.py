"""Joins of items that fit in memory: bit codes, vectors, weighted sets.

All distinct items are held in memory and joined in the way of their kind. The code of a pair grows with its distance
and is rounded; exact scores are taken from the items again when tables are written.
"""

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twinset.documents.normalize import buffers_of
from twinset.documents.parts import Block
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.joins.base import Candidates, RunPlan, SimilarityJoin, Work
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.sketch import READ, content_groups
from twinset.errors import OptionError
from twinset.options.checks import shown_size
from twinset.schema import Bytes, Hashes, Numbers, Places, Scores, equal_scores
from twinset.system.scratch import Spool
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.engines.local.audit.run import AuditResult

Sink = Callable[[Numbers, Numbers, Numbers], None]
"""Takes pairs: places on the left and on the right, and codes. May be called from several threads."""

_SLICE = 1 << 16  # pairs scored at a time
_AT_ONCE = 256  # items compared with all others at a time
_NAMES = {"codes": "code", "images": "picture", "vectors": "vector", "weighted": "weighted set"}


class InMemoryJoin(SimilarityJoin):
    """The distinct items of a run, in memory, and how those of this kind are joined and scored.

    numbers uint32 (n): the documents, ascending, those compared against from place `border` on. groups uint64 (n): a
    hash of the column of `by`, or nothing where there is none; items of two groups are no pair.

    With `wanted`, only the contents of these documents are held, to be scored and not to be joined.
    """

    def __init__(self, corpus: Corpus, copies: Copies, work: Work, wanted: npt.NDArray[np.bool_] | None = None) -> None:
        super().__init__(corpus, copies, work)
        distinct = (copies.first == np.arange(corpus.documents, dtype=np.uint32)) & (corpus.status == READ)
        distinct = distinct if wanted is None else distinct & wanted
        self.numbers = np.flatnonzero(distinct).astype(np.uint32)
        self.border = None if corpus.border is None else int(np.searchsorted(self.numbers, corpus.border))
        grouped = self.options.by is not None and wanted is None
        self.groups: Hashes | None = np.zeros(len(self.numbers), np.uint64) if grouped else None
        self.compared = 0
        self._refuse_too_many()
        self._load(distinct)
        self._look_over()
        if wanted is None:
            self.plan = self._planned()

    @property
    def exact(self) -> bool:
        """Whether no pair can be missed."""
        return True

    def candidates(self) -> Candidates:
        """Candidates are drawn table by table while they are verified."""
        return Candidates(None, 0)

    def verify(self, candidates: Candidates) -> Spool:
        """Join the items, and keep what is near enough."""
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

    def audit(self, pairs: Spool, candidates: Candidates) -> "AuditResult | None":
        """Compare a sample of the items with all others."""
        from twinset.engines.local.audit.in_memory import audit  # loads kernels: only where needed

        return audit(self, self.options.audit, pairs)

    def _look_over(self) -> None:
        """What scoring needs to know of the items, once they are in memory."""

    @abstractmethod
    def _planned(self) -> RunPlan:
        """How they will be joined."""

    @abstractmethod
    def _room(self, counts: Numbers) -> None:
        """Make room for items of so many elements each."""

    @abstractmethod
    def _fill(self, places: Places, data: Bytes, starts: Places, ends: Places) -> None:
        """Put items at places: item i is data[starts[i]:ends[i]]. Called from several threads."""

    @abstractmethod
    def _memory(self, counts: Numbers) -> int:
        """Bytes that the join of items of so many elements each takes."""

    @abstractmethod
    def _join(self, sink: Sink) -> None:
        """Hand over pairs by place, the lesser left, each with its code; the same pair may come more than once."""

    @abstractmethod
    def near_all(self, places: Places) -> Iterator[tuple[Places, Places, Numbers]]:
        """All that is near enough to the items at some places, by comparing them with everything.

        Gives places on both sides, and codes. An item may be near to itself; sides and groups are not looked at.
        """

    @abstractmethod
    def affordable(self, count: int, partners: int) -> int:
        """How many of `count` items an audit may compare with `partners` others: a small part of the run's work."""

    @abstractmethod
    def codes_of(self, lefts: Places, rights: Places) -> Numbers:
        """The code of each pair of places."""

    @abstractmethod
    def scores_of(self, lefts: Places, rights: Places) -> Scores:
        """The exact scores of each pair of places."""

    def places(self, documents: npt.NDArray[Any]) -> Places:
        """Where the contents of some documents are held."""
        found: Places = np.searchsorted(self.numbers, self.copies.first[documents])
        return found

    def _refuse_too_many(self) -> None:
        counts = self.corpus.counts[self.numbers]
        needed, room = self._memory(counts), self.work.budget.items
        if needed > room:
            what = counted(len(self.numbers), f"distinct {_NAMES[self.options.item_kind]}")
            raise OptionError(
                f"{what} take {shown_size(_round(needed))} of memory to be joined, and of the "
                f"{shown_size(_round(self.work.budget.total))} that this run may take {shown_size(_round(room))} are "
                f"left for them; give more with --memory, at least {shown_size(_round(self._enough(needed)))}"
            )

    def _enough(self, needed: int) -> int:
        budget = self.work.budget
        return needed * 3 // 2 + budget.total - min(budget.free + budget.in_hand, budget.total)

    def _load(self, distinct: npt.NDArray[np.bool_]) -> None:
        self._room(self.corpus.counts[self.numbers])
        border = self.corpus.border

        def fill(span: Span, block: Block) -> None:
            rows = np.flatnonzero(distinct[span.first : span.first + span.rows])
            documents = rows + span.first
            places = np.searchsorted(self.numbers, documents)
            data, offsets = buffers_of(block.texts)
            self._fill(places, data, offsets[rows], offsets[rows + 1])
            if self.groups is not None:
                other = border is not None and span.first >= border
                digests = self.corpus.digests[span.first : span.first + span.rows]
                self.groups[places] = content_groups(digests, block.texts, other)[rows]

        for _ in self.corpus.read(self.work.threads, fill, wanted=distinct):
            pass
        if self._memory(self.corpus.counts[self.numbers]) > self.work.budget.free // 8:
            self.corpus.held.clear()  # they are here now; what is written later is read again

    def join(self, out: Spool) -> None:
        """Append every pair that is near enough to `out`, by document numbers, each once."""
        scratch = Spool(self.work.state.scratch / "measured", "<u4", 3)
        limit = self.work.budget.pairs
        lock = threading.Lock()

        def sink(lefts: Numbers, rights: Numbers, codes: Numbers) -> None:
            rows = np.stack([self.numbers[lefts], self.numbers[rights], codes], axis=1)
            if self.groups is not None:
                rows = rows[self.groups[lefts] == self.groups[rights]]
            with lock:  # in which order they come does not matter: they are sorted
                scratch.append(rows)
                if scratch.nbytes > limit:
                    scratch.forget()

        self._join(sink)
        scratch.close()
        for rows in sorted_portions(scratch, self.corpus.documents, limit):
            out.append(_each_once(rows))
            if out.nbytes > limit:
                out.forget()
        scratch.remove()

    def join_all(self, out: Spool) -> None:
        """As `join`, by comparing everything with everything: nothing is missed."""
        self.work.progress.stage("comparing all", len(self.numbers), "documents")

        def compared(start: int) -> Rows:
            found = [np.empty((0, 3), np.uint32)]
            for lefts, rights, codes in self.near_all(np.arange(start, min(start + _AT_ONCE, len(self.numbers)))):
                kept = lefts < rights
                if self.groups is not None:
                    kept &= self.groups[lefts] == self.groups[rights]
                if self.border is not None:
                    kept &= (lefts < self.border) & (rights >= self.border)
                found.append(np.stack([self.numbers[lefts[kept]], self.numbers[rights[kept]], codes[kept]], axis=1))
            return np.concatenate(found)

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
        """The exact scores of pairs of documents; the code is SAME where they have the same content."""
        scores = equal_scores(self.measure, len(code))
        distinct = np.flatnonzero((code != SAME) & (self.copies.first[left] != self.copies.first[right]))
        for start in range(0, len(distinct), _SLICE):
            some = distinct[start : start + _SLICE]
            for name, values in self.scores_of(self.places(left[some]), self.places(right[some])).items():
                scores[name][some] = values
        return scores

    def identical_across(self, pairs: Spool) -> int:
        """How many pairs items at no distance on two sides make."""
        copies, total = self.copies, 0
        for rows in pairs.chunks():
            lefts, rights = rows[rows[:, 2] == 0, :2].T
            total += int((copies.counts[lefts].astype(np.int64) * copies.counts[rights]).sum())
        return total


def distance_codes(distances: npt.NDArray[np.float64]) -> Numbers:
    """Codes of distances from 0 on: their 32-bit floats, whose bits are in the same order."""
    return np.ascontiguousarray(distances, np.float32).view(np.uint32)


def _each_once(rows: Rows) -> Rows:
    """Sorted rows without those that repeat the one before."""
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return rows[new]


def _round(size: int) -> int:
    """A size that can be read: in whole MiB, upwards."""
    return -(-size // 2**20) * 2**20
