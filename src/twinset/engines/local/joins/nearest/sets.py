"""Join each set with its nearest, however far: exactly, from inverted lists in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinset.candidates.nearest.sets import SetLists, bytes_needed
from twinset.engines.local.audit.sets import SetLoader
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, Work
from twinset.engines.local.joins.nearest.contents import NearContents, NearestDocuments
from twinset.engines.local.joins.sets import SetJoin
from twinset.engines.local.steps.candidates import distinct_contents
from twinset.errors import OptionError
from twinset.options.checks import shown_size
from twinset.plan.bands import exact_plan
from twinset.plan.nearest import NearestSetsPlan
from twinset.schema import Numbers
from twinset.system.arrays import ranges
from twinset.system.scratch import Spool
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.candidates.nearest.sets import NearestSets


class NearestSetJoin(SetJoin):
    """Texts, sets and records, each paired with its nearest instead of all that reach a threshold."""

    def __init__(self, corpus: Corpus, copies: Copies, work: Work) -> None:
        super().__init__(corpus, copies, work, exact_plan(work.options.threshold))
        self.top = work.options.top or 1
        self.plan = NearestSetsPlan(self.top)  # type: ignore[assignment]
        self.numbers = np.flatnonzero(distinct_contents(corpus, copies.first)).astype(np.uint32)

    def candidates(self) -> Candidates:
        """Return no candidates: `verify` finds the nearest at once."""
        return Candidates(None, 0)

    def verify(self, candidates: Candidates) -> Spool:
        """Find the nearest of each set; the code of a pair is the number of shared elements."""
        self._refuse_too_large()
        nearest = NearestDocuments(self.corpus, self.copies, self.top, link=self.options.identical == "link")
        self.ranks = nearest.ranks
        lists = self._load_lists(nearest)
        pairs = Spool(self.work.state.scratch / "nearest", "<u4", 3)
        progress = self.work.progress
        progress.stage("finding the nearest", len(lists.queries), "documents")
        tasks = [part for task in lists.tasks for part in nearest.cut(task)]
        results = self.work.threads.map(lambda rows: lists.search(rows, self.top), tasks)
        for rows, found in zip(tasks, results, strict=True):
            for some in nearest.rows(*self._near_contents(lists, rows, found), SAME):
                pairs.append(some, self.work.budget.pairs)
            candidates.count += found.compared
            progress.advance(rows.stop - rows.start)
        pairs.close()
        return pairs

    def _load_lists(self, nearest: NearestDocuments) -> SetLists:
        """Load the sets and build their lists. Sets of different groups (`by`) share no element."""
        loaded = SetLoader(self.corpus, self.options, self.numbers).finish(self.work.threads)
        sets = loaded.sets
        self.sizes[self.numbers] = sets.sizes
        if self.options.by is not None:
            places = ranges(sets.starts[:-1], sets.sizes.astype(np.int64))
            sets.hashes[places] ^= np.repeat(loaded.groups, sets.sizes)
        border = self.corpus.border
        first = None if border is None else int(np.searchsorted(self.numbers, border))
        ranks = nearest.content_ranks(self.numbers)
        return SetLists(sets.hashes, sets.starts[:-1], sets.sizes, ranks, first)

    def _near_contents(self, lists: SetLists, rows: slice, nearest: NearestSets) -> tuple[NearContents, Numbers]:
        """Return the nearest contents by document numbers, and the elements shared."""
        queries = lists.queries[rows]
        owners, columns = np.nonzero(np.arange(self.top) < nearest.found[:, None])
        rights = self.numbers[lists.targets[nearest.positions[owners, columns]]]
        shared = nearest.shared[owners, columns]
        lefts = self.numbers[queries]
        common = shared.astype(np.float64)
        union = self.sizes[lefts][owners].astype(np.float64) + self.sizes[rights] - common
        return NearContents(lefts, owners, rights, 1.0 - common / union), shared

    def _refuse_too_large(self) -> None:
        """Refuse sets whose lists do not fit in memory."""
        elements = int(self.corpus.counts[self.numbers].sum(dtype=np.int64))
        budget = self.work.budget
        needed, room = bytes_needed(len(self.numbers), elements, self.work.threads.count), budget.items
        if needed > room:
            enough = needed * 3 // 2 + budget.total - min(budget.free + budget.in_hand, budget.total)
            sizes = (-(-size // 2**20) * 2**20 for size in (needed, budget.total, room, enough))
            needs, total, left, least = map(shown_size, sizes)
            raise OptionError(
                f"finding the nearest of {counted(len(self.numbers), 'item')} with {elements:,} elements takes {needs} "
                f"of memory, but of the {total} that this run may use only {left} are left; give more with --memory, "
                f"at least {least}, or give a --threshold"
            )
