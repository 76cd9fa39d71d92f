"""Extend pairs of places to passages, on the words of both documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from twinset.engines.local.corpus import Span
from twinset.engines.local.passages.search import AnchorSearch, PassageCandidates
from twinset.engines.local.passages.words import BlockWords
from twinset.options.passages import PassagesOptions
from twinset.pairs.passages import (
    NO_CROWDS,
    CrowdedWindows,
    Joined,
    LoadedWords,
    Runs,
    joined_runs,
    maximal_runs,
    spans_of,
    union,
    without_parts,
)
from twinset.schema import Numbers, Places
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, pair_words
from twinset.system.scratch import Spool


class PassageVerifier:
    """Extends pairs of places in portions: each loads the words of one or two ranges of documents."""

    def __init__(self, search: AnchorSearch, options: PassagesOptions) -> None:
        self.search, self.options, self.corpus = search, options, search.corpus
        self.threads, self.budget = search.threads, search.budget

    def passages(self, candidates: PassageCandidates, run_pairs: Spool | None) -> Iterator[tuple[Joined, Numbers]]:
        """Yield passages, and for those of crowded windows the number of documents, else 0."""
        spools = [candidates.pairs, candidates.crowd_pairs, *([run_pairs] if run_pairs else [])]
        ties = self._ties(candidates)
        lone = np.ones(len(ties), np.bool_)
        wanted = np.zeros(self.corpus.documents, np.bool_)
        for spool in spools:
            for record in spool.chunks():
                wanted[record[:, :2]] = True
        numbers = np.flatnonzero(wanted)
        portion_of = self._portions(numbers)
        count = int(portion_of.max(initial=0)) + 1
        for left in range(count):
            for right in range(left, count):
                chosen = [_between(spool, portion_of, left, right) for spool in spools]
                if not any(len(rows) for rows in chosen):
                    continue
                mine = np.flatnonzero(wanted & ((portion_of == left) | (portion_of == right)))
                loaded = self._load(mine)
                runs = self._runs_of(chosen, candidates.crowds, loaded)
                lone &= without_parts(np.ascontiguousarray(ties[:, :5]), runs)
                found = self._joined(runs, chosen, loaded) if self.options.gap else spans_of(runs)
                yield found, np.zeros(len(found), np.uint32)
        yield spans_of(ties[lone, :5]), ties[lone, 5]

    def _ties(self, candidates: PassageCandidates) -> Numbers:
        """Return ties of crowded windows as runs of words, with the number of documents."""
        ties = candidates.ties.copy()
        ties[:, 4] += np.uint32(self.options.least - 1)
        same = ties[:, 0] == ties[:, 1]
        ties[same, 4] = np.minimum(ties[same, 4], ties[same, 3] - ties[same, 2])
        return ties

    def _portions(self, numbers: Places) -> Numbers:
        """Assign documents to portions whose words fit in memory, two at a time."""
        portion_of = np.zeros(self.corpus.documents, np.uint32)
        reach = np.cumsum(self.corpus.counts[numbers].astype(np.int64) * 8)
        total = int(reach[-1]) if len(reach) else 0
        if total > self.budget.sets:
            limit = max(1, self.budget.sets // 2)
            portion_of[numbers] = np.unique((reach - 1) // limit, return_inverse=True)[1]
        return portion_of

    def _load(self, numbers: Places) -> LoadedWords:
        """Load the words of some documents, ascending."""
        counts = self.corpus.counts[numbers].astype(np.int64)
        offsets = offsets_of(counts)
        starts = np.full(self.corpus.documents, -1, np.int64)
        starts[numbers] = offsets[:-1]
        words = np.empty(int(offsets[-1]), np.uint64)
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[numbers] = True

        def fill(span: Span, found: BlockWords) -> None:
            if len(found.rows):
                first = starts[found.rows[0] + span.first]
                words[first : first + len(found.hashes)] = found.hashes

        for _ in self.search.each(wanted, fill):
            pass
        return LoadedWords(words, starts, self.corpus.counts)

    def _runs_of(self, chosen: list[Numbers], crowds: CrowdedWindows, loaded: LoadedWords) -> Runs:
        """Return the maximal runs with a window that is not crowded."""
        runs = self._runs(chosen[0], loaded, self.options.least, crowds)
        if len(chosen[1]):
            runs = union(runs, self._runs(chosen[1], loaded, self.options.least, NO_CROWDS))
        return runs

    def _joined(self, runs: Runs, chosen: list[Numbers], loaded: LoadedWords) -> Joined:
        """Join these runs and shorter ones over gaps."""
        least, run = self.options.least, self.options.run
        every = union(runs, self._runs(chosen[2], loaded, run, NO_CROWDS)) if len(chosen) > 2 else runs
        return joined_runs(every, loaded, least, run, self.options.gap)

    def _runs(self, hits: Numbers, loaded: LoadedWords, least: int, crowds: CrowdedWindows) -> Runs:
        """Extend hits in several threads, those of two documents in one."""
        hits = hits[np.argsort(pair_words(hits[:, 0], hits[:, 1]), kind="stable")]
        step = max(1, min(batch_sizes.VERIFIED_PAIRS * 4, len(hits) // (2 * self.threads.count) + 1))
        cuts = [0]
        while cuts[-1] < len(hits):
            at = min(len(hits), cuts[-1] + step)
            while at < len(hits) and (hits[at, :2] == hits[at - 1, :2]).all():
                at += 1
            cuts.append(at)
        pieces = [hits[start:end] for start, end in pairwise(cuts)]
        done = list(self.threads.map(lambda rows: maximal_runs(rows, loaded, least, crowds), pieces))
        return np.concatenate([np.empty((0, 5), np.uint32), *done])


def _between(spool: Spool, portion_of: Numbers, left: int, right: int) -> Numbers:
    """Return the pairs of places with one document in each of two portions."""
    rows = [np.empty((0, 4), np.uint32)]
    for record in spool.chunks():
        portions = np.sort(portion_of[record[:, :2]], axis=1)
        rows.append(record[(portions[:, 0] == left) & (portions[:, 1] == right)])
    return np.concatenate(rows)
