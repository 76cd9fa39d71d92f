"""Read the shingle sets of the distinct contents of a corpus, as often as a join needs them."""

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from twinset.candidates.prefix import Frequencies
from twinset.documents.parts import Block
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.state import RunState
from twinset.engines.local.steps.candidates import distinct_contents
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import OTHER_SIDE, WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Numbers, Places
from twinset.system.arrays import Room

_Out = TypeVar("_Out")


class SetReader:
    """Reads the distinct contents of a corpus; `wanted` marks them."""

    def __init__(
        self, corpus: Corpus, first: Numbers, options: WorkOptions, budget: Budget, state: RunState, threads: Threads,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.corpus, self.options, self.budget = corpus, options, budget
        self.state, self.threads, self.progress = state, threads, progress
        self.wanted = distinct_contents(corpus, first)
        self._room = Room()
        self._counting = threading.Lock()

    @property
    def n_tokens(self) -> int:
        """The number of shingles of all contents, with repeats."""
        return int(self.corpus.counts[self.wanted].sum(dtype=np.int64))

    def count_shingles(self, frequencies: Frequencies) -> None:
        """Count shingles, in the first reading."""

        def count(span: Span, block: Block) -> None:
            for _, sets, salts in self.sets(span, block):
                with self._counting:
                    frequencies.add(sets.hashes, sets.starts, sets.sizes, salts)

        for _ in self.read("counting shingles", count):
            pass

    def read(self, stage: str, work: Callable[[Span, Block], _Out]) -> Iterator[_Out]:
        """Yield work(span, block) for each block, in order."""
        self.progress.stage(stage, self.corpus.documents, "documents")
        for span, result in self.corpus.read(self.threads, work, wanted=self.wanted):
            yield result
            self.progress.advance(span.rows)

    def sets(self, span: Span, block: Block) -> Iterator[tuple[Numbers, Sets, Hashes]]:
        """Yield the wanted documents of a block with their shingle sets and salts, in portions."""
        wanted = self.wanted[span.documents]
        for portion in shingled(block.texts, self.options, self.options.seed, wanted).portions:
            lengths = np.diff(portion.offsets)
            sets = Sets.with_room(lengths, self._room)
            places = np.arange(len(lengths))
            sets.fill(portion, places, places)
            numbers = (portion.rows + span.first).astype(np.uint32)
            yield numbers, sets, self._salts(numbers, portion.hashes, portion.offsets)

    def _salts(self, numbers: Numbers, hashes: Hashes, offsets: Places) -> Hashes:
        """Recover the salts of the `by` column: a digest is the sum of the hashes, salted."""
        if self.options.by is None:
            return np.zeros(len(numbers), np.uint64)
        reach = np.zeros(len(hashes) + 1, np.uint64)
        np.cumsum(hashes, out=reach[1:])  # wraps around, as the digest does
        salts: Hashes = self.corpus.digests[numbers, 0] ^ np.diff(reach[offsets])
        return np.where(numbers >= self.corpus.own, salts ^ OTHER_SIDE, salts)
