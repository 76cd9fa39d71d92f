"""A search for passages on this machine."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from twinset.candidates.anchors import ONE_SIDE, PlaceRules, Repeats
from twinset.documents.parts import Part
from twinset.engines.base import Output, PassageRun
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.opened import OpenedJob
from twinset.engines.local.passages import write
from twinset.engines.local.passages.read import AnchorReader, parts_bytes
from twinset.engines.local.passages.search import AnchorSearch, PassageCandidates
from twinset.engines.local.passages.verify import PassageVerifier
from twinset.engines.local.passages.words import block_words
from twinset.engines.local.steps.open import warn_of_unreadable
from twinset.options.passages import PLACES, PassagesOptions
from twinset.pairs.passages import Joined
from twinset.schema import Numbers
from twinset.sketches.winnowing import Winnow, winnow

__all__ = ["FoundPassages", "LocalPassageRun", "SearchedJob"]


@dataclasses.dataclass(frozen=True)
class FoundPassages:
    """Passages in input order, and how many documents hold each."""

    rows: Joined
    documents: Numbers


class SearchedJob(OpenedJob):
    """An opened job whose documents are searched for repeated runs of words."""

    sizes: Winnow
    run_sizes: Winnow | None = None
    reader: type[AnchorReader] = AnchorReader

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        """Record the duration of a step."""
        since = time.perf_counter()
        yield
        self.timed(step, since)

    def read_anchors(self, *, whole: bool, with_lengths: bool) -> Corpus:
        """Read every document once: its words, and anchors of them."""
        self.fetch()
        reader = self.reader(
            self.parts, self.against, self.options, None, self.budget, self.state, self.threads, self.progress,
            batch_bytes=self.batch_bytes, whole=whole, by_length=with_lengths, needs_ids=self.job.needs_ids,
        )  # fmt: skip
        reader.sizes, reader.run_sizes, reader.with_lengths = self.sizes, self.run_sizes, with_lengths
        if self.against < len(self.parts):
            reader.filters = self._smaller_side()
        corpus = reader.corpus()
        warn_of_unreadable(corpus)
        self.budget = self.budget.beside(corpus.documents)
        return corpus

    def _smaller_side(self) -> tuple[Repeats, Repeats | None]:
        """Read the smaller side for its anchors, by which those of both sides are filtered."""
        sides = [(0, self.parts[: self.against]), (self.against, self.parts[self.against :])]
        first, parts = min(sides, key=lambda side: parts_bytes(side[1]))
        with self.timing("smaller side"):
            return self._filter(first, parts, self.sizes), (
                None if self.run_sizes is None else self._filter(first, parts, self.run_sizes)
            )

    def _filter(self, first: int, parts: list[Part], sizes: Winnow) -> Repeats:
        def tasks() -> Iterator[Any]:
            for number, part in enumerate(parts):
                for chunk in part.chunks(self.batch_bytes):
                    yield number + first, chunk

        def hashes(task: Any) -> Any:
            number, chunk = task
            words = block_words(chunk.read(), self.options, number)
            return winnow(words.hashes, words.offsets, sizes).hashes

        found = list(self.threads.map(hashes, tasks()))
        known = Repeats(sum(map(len, found)), max(1 << 20, self.budget.free // 8), ONE_SIDE)
        for some in found:
            known.add(some)
        return known

    def search(self, corpus: Corpus) -> AnchorSearch:
        """Search the anchors of a corpus."""
        return AnchorSearch(corpus, self.options, self.budget, self.state.scratch, self.threads)

    def outline(self) -> dict[str, Any]:
        """Describe what would be read and searched; only headers and footers are read."""
        return {
            **self.outline_sources(),
            "plan": self.sizes.to_dict(),
            "options": self.options.to_dict(),
            "threads": self.threads.count,
            "memory": self.budget.total,
        }


class LocalPassageRun(SearchedJob, PassageRun):
    """A run on this machine that finds passages."""

    options: PassagesOptions

    def _facts(self) -> dict[str, Any]:
        self.sizes = Winnow.of(self.options.least)
        if self.options.gap:
            self.run_sizes = Winnow(self.options.run, 1)
        return {"plan": self.sizes.to_dict()}

    def read(self) -> Corpus:
        """Read every document once: its words, and anchors of them."""
        with self.timing("read"):
            return self.read_anchors(whole=False, with_lengths=True)

    def candidates(self, corpus: Corpus) -> PassageCandidates:
        """Find pairs of places with equal anchors."""
        self.progress.stage("searching", None, "anchors")
        rank = np.arange(corpus.documents, dtype=np.uint32)
        with self.timing("candidates"):
            return self.search(corpus).candidates(self.sizes, self._rules(corpus), rank)

    def _rules(self, corpus: Corpus) -> PlaceRules:
        crowd = self.options.crowd
        return PlaceRules(corpus.border or 0, self.options.within, crowd, PLACES * crowd)

    def verify(self, corpus: Corpus, candidates: PassageCandidates) -> FoundPassages:
        """Extend pairs of places to passages."""
        self.progress.stage("verifying", None, "passages")
        with self.timing("verify"):
            search = self.search(corpus)
            runs = search.run_pairs(self.run_sizes, self._rules(corpus)) if self.run_sizes else None
            found = list(PassageVerifier(search, self.options).passages(candidates, runs))
            rows = np.concatenate([np.empty((0, 7), np.uint32), *(one for one, _ in found)])
            many = np.concatenate([np.empty(0, np.uint32), *(one for _, one in found)])
            order = np.lexsort((rows[:, 4], rows[:, 2], rows[:, 1], rows[:, 0]))
            return write.with_holders(rows[order], many[order], corpus.documents)

    def write_passages(self, corpus: Corpus, candidates: PassageCandidates, passages: FoundPassages) -> Output:
        """Write passages, the copied share of each document, and boilerplate."""
        return write.write_passages(self, corpus, candidates, passages)
