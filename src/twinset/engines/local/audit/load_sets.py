"""Load the shingle sets of some documents as their texts are read."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.parts import Block
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import OTHER_SIDE, WorkOptions, content_digests
from twinset.engines.local.threads import Threads
from twinset.pairs.sets import Sets
from twinset.schema import Hashes, Numbers, Places, Shingles


@dataclass(frozen=True)
class LoadedSets:
    """Documents with their shingle sets; only those of the same group (`by`) are compared."""

    numbers: Numbers
    sets: Sets
    groups: Hashes

    def part(self, first: int, last: int) -> "LoadedSets":
        """Return documents first to last - 1."""
        sets = Sets(self.sets.hashes, self.sets.starts[first : last + 1], self.sets.sizes[first:last])
        return LoadedSets(self.numbers[first:last], sets, self.groups[first:last])


class SetLoader:
    """Loads the sets of some documents, in the order given: from blocks read for other steps, the rest at the end."""

    def __init__(self, corpus: Corpus, options: WorkOptions, numbers: Numbers) -> None:
        self.corpus, self.options = corpus, options
        sets = Sets.with_room(corpus.counts[numbers])
        self.loaded = LoadedSets(numbers, sets, np.zeros(len(numbers), np.uint64))
        self._order = np.argsort(numbers, kind="stable")
        self._missing = np.ones(len(numbers), np.bool_)

    def fill(self, span: Span, block: Block) -> None:
        """Load the missing sets of a block; threads may call this with different blocks."""
        sorted_numbers = self.loaded.numbers[self._order]
        first, last = np.searchsorted(sorted_numbers, [span.first, span.first + span.rows])
        positions = self._order[first:last]
        positions = positions[self._missing[positions]]
        rows = self.loaded.numbers[positions].astype(np.int64) - span.first
        for portion in chosen(block.texts, rows, self.options):
            targets = positions[np.searchsorted(rows, portion.rows)]
            self.loaded.sets.fill(portion, np.arange(len(targets)), targets)
            self.loaded.groups[targets] = groups_of(self.corpus, self.options, portion, portion.rows + span.first)
        self._missing[positions] = False

    def finish(self, threads: Threads) -> LoadedSets:
        """Read what is missing and return all sets."""
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[self.loaded.numbers[self._missing]] = True
        if wanted.any():
            for _ in self.corpus.read(threads, self.fill, wanted=wanted):
                pass
        return self.loaded


def chosen(texts: pa.Array, rows: Places, options: WorkOptions) -> Iterator[Shingles]:
    """Yield the shingles of some rows of a block; a few rows are copied first, many are masked."""
    if 2 * len(rows) > len(texts):
        wanted = np.zeros(len(texts), np.bool_)
        wanted[rows] = True
        yield from shingled(texts, options, options.seed, wanted).portions
        return
    for portion in shingled(plain(texts).take(pa.array(rows)), options, options.seed).portions:
        yield dataclasses.replace(portion, rows=rows[portion.rows])


def groups_of(
    corpus: Corpus, options: WorkOptions, portion: Shingles, numbers: npt.NDArray[np.integer]
) -> Hashes | np.uint64:
    """Recover the hash of each document's `by` column, which salts its digest."""
    if options.by is None:
        return np.uint64(0)
    groups: Hashes = corpus.digests[numbers, 0] ^ content_digests(portion)[:, 0]
    if corpus.border is not None:
        groups[numbers >= corpus.border] ^= OTHER_SIDE
    return groups


def plain(texts: pa.Array) -> pa.Array:
    """Cast string views, from which Arrow cannot take rows."""
    view = pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type)
    return texts.cast(pa.large_binary()) if view else texts
