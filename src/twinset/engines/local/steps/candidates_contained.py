"""The second stage of a search for containment: file each set under a few shingles, and look up those of all others.

The first of three readings counts how many distinct contents have each shingle. The second chooses the shingles under
which each content is filed, and measures the sets. In the third every content looks up all its shingles; with more keys
than memory it is repeated for each part of the filed contents. The candidates do not depend on threads, batches or
memory.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from twinset.candidates import contained
from twinset.candidates.contained import BYTES_A_KEY, MOST_PLACES, FiledSets
from twinset.candidates.prefix import Frequencies
from twinset.documents.parts import Block
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.steps.read_sets import SetReader
from twinset.schema import CandidatePairs, Hashes, Numbers
from twinset.system.scratch import Spool

_Chosen = tuple[Numbers, Numbers, Numbers, Hashes]
"""Documents, the sizes of their sets, the numbers of their keys, and the keys."""


class ContainmentSearch(SetReader):
    """Finds candidates among the distinct contents of a corpus. `sizes` are those of all their sets, once measured."""

    def __init__(self, corpus: Corpus, *args: Any) -> None:
        super().__init__(corpus, *args)
        self.sizes: Numbers = np.zeros(corpus.documents, np.uint32)

    def candidates(self, loss: float, least: int) -> Iterator[CandidatePairs]:
        """Yield pairs, each once: all but a share of `loss` of those exactly at the limit.

        Sets of fewer than `least` shingles are left alone.
        """
        frequencies = Frequencies.for_tokens(self.n_tokens, MOST_PLACES)
        self.count_shingles(frequencies)
        keys = Spool(self.state.scratch / "filed", "<u8")
        filed = self._file(frequencies, loss, least, keys)
        del frequencies
        yield from self._look_up(*filed, keys, least)
        keys.remove()

    def _file(self, frequencies: Frequencies, loss: float, least: int, out: Spool) -> tuple[Numbers, Numbers]:
        """Write keys to `out`; return the filed contents in this order, and the number of keys of each."""
        listed = [np.empty((0, 2), np.uint32)]
        for chosen in self.read("choosing shingles", partial(self._choose, frequencies, loss, least)):
            for numbers, sizes, counts, keys in chosen:
                self.sizes[numbers] = sizes
                if len(keys):
                    listed.append(np.stack([numbers, counts], axis=1)[counts > 0])
                    out.append(keys, self.budget.sketches // 16)
        out.close()
        numbers, counts = np.concatenate(listed).T
        return np.ascontiguousarray(numbers), np.ascontiguousarray(counts)

    def _choose(self, frequencies: Frequencies, loss: float, least: int, span: Span, block: Block) -> list[_Chosen]:
        done = []
        for numbers, sets, salts in self.sets(span, block):
            tried = np.where(sets.sizes >= least, sets.sizes, 0).astype(np.uint32)
            counts, keys = contained.choose(
                frequencies, sets.hashes, sets.starts[:-1], tried, salts, self.options.least, loss
            )
            done.append((numbers, sets.sizes.copy(), counts, keys))
        return done

    def _look_up(self, numbers: Numbers, counts: Numbers, keys: Spool, least: int) -> Iterator[CandidatePairs]:
        """Let every content look up all its shingles, once for each part of the filed contents that fits in memory."""
        for filed in self._parts(numbers, counts, keys):
            for pairs in self.read("finding candidates", partial(self._candidates, filed, least)):
                yield from pairs

    def _parts(self, numbers: Numbers, counts: Numbers, keys: Spool) -> Iterator[FiledSets]:
        """Yield lists of the filed contents, each within the memory."""
        limit = max(1, self.budget.sketches // BYTES_A_KEY)
        reach = np.cumsum(counts, dtype=np.int64)
        waiting: list[Hashes] = []
        first, n_read, n_waiting = 0, 0, 0
        for record in keys.chunks():
            waiting.append(record)
            n_read, n_waiting = n_read + len(record), n_waiting + len(record)
            if n_waiting >= limit or n_read == reach[-1]:
                last = int(np.searchsorted(reach, n_read, side="right"))
                some = numbers[first:last]
                yield FiledSets.of(some, self.sizes[some], counts[first:last], np.concatenate(waiting))
                first, n_waiting = last, 0
                waiting.clear()

    def _candidates(self, filed: FiledSets, least: int, span: Span, block: Block) -> list[CandidatePairs]:
        found: list[CandidatePairs] = []
        for numbers, sets, salts in self.sets(span, block):
            tried = np.where(sets.sizes >= least, sets.sizes, 0).astype(np.uint32)
            found += filed.candidates(sets.hashes, sets.starts[:-1], tried, numbers, salts, self.corpus.border)
        return found
