"""Inverted lists of all contents of an index, in memory: the k nearest of a query, however far, exactly.

The lists are made at the first such query, and again when the index has changed. All connections of a process to one
index share them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from twinset.candidates.nearest.sets import SetLists, bytes_needed
from twinset.engines.local.threads import Threads
from twinset.errors import DamagedError
from twinset.index.backend import Backend, Document, Int64s
from twinset.index.kinds.text_entries import runs, sets_of
from twinset.index.query import Answers, Limits
from twinset.index.settings import Settings
from twinset.pairs.sets import Sets, scores
from twinset.schema import Hashes, Numbers, in_order
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, ranges
from twinset.system.memory import default_memory, default_threads

MOST_LISTED = 1 << 26
"""Shingles, or elements, of the largest index whose contents are all listed in memory."""
_QUERIES = 64  # that a thread answers at a time


@dataclass(frozen=True, eq=False)
class ContentLists:
    """The lists of all documents that are not empty, at one version of the index; none if there are too many."""

    version: int
    numbers: Int64s
    sizes: Numbers
    lists: SetLists | None

    def nearest(self, queries: Sets, rows: Int64s, limits: Limits, measure: str, without: int | None) -> Answers:
        """Return the k nearest documents of some queries, ties in the order of the documents' numbers."""
        at_once = [rows[first : first + _QUERIES] for first in range(0, len(rows), _QUERIES)]
        k = min(int(limits.k or 0) + (without is not None), max(1, len(self.numbers)))
        if len(at_once) == 1:  # a pool of threads takes longer to start
            parts = [self._search(queries, at_once[0], k, measure)]
        else:
            with closing(Threads(default_threads())) as threads:
                parts = list(threads.map(lambda some: self._search(queries, some, k, measure), at_once))
        found = Answers.concat(parts, measure)
        if without is not None:
            found = found.take(np.flatnonzero(found.numbers != without))
        return found.best(limits, descending=True)

    def _search(self, queries: Sets, rows: Int64s, k: int, measure: str) -> Answers:
        if self.lists is None:
            raise ValueError("an index of so many shingles has no lists")
        sizes = queries.sizes[rows]
        lengths = sizes.astype(np.int64)
        hashes = queries.hashes[ranges(queries.starts[rows], lengths)]
        nearest = self.lists.search_sets(hashes, offsets_of(lengths)[:-1], sizes, k)
        owners, columns = np.nonzero(np.arange(k) < nearest.found[:, None])
        places = self.lists.targets[nearest.positions[owners, columns]]
        exact = scores(nearest.shared[owners, columns], sizes[owners], self.sizes[places])
        return Answers(rows[owners], self.numbers[places], in_order(exact, measure))


_OF_BACKENDS: WeakKeyDictionary[Backend, ContentLists] = WeakKeyDictionary()
_BY_NAME: WeakValueDictionary[str, ContentLists] = WeakValueDictionary()
_making = threading.Lock()


def content_lists(backend: Backend, settings: Settings) -> ContentLists:
    """Return the lists of an index at its present version; within a snapshot."""
    version = backend.version()
    with _making:  # other connections wait for the same lists
        for known in (_OF_BACKENDS.get(backend), _BY_NAME.get(f"{backend.name}\n{settings.seed}")):
            if known is not None and known.version == version:
                _OF_BACKENDS[backend] = known
                return known
        _OF_BACKENDS.pop(backend, None)  # frees the memory of lists that nobody uses any more
        made = _make(backend, settings, version)
        _OF_BACKENDS[backend] = _BY_NAME[f"{backend.name}\n{settings.seed}"] = made
        return made


def are_listed(backend: Backend) -> bool:
    """Whether the contents of an index are few enough to be listed."""
    known = _OF_BACKENDS.get(backend)
    if known is not None and known.version == backend.version():
        return known.lists is not None
    total = 0
    for _, sizes in _counts(backend):
        total += int(sizes.sum())
        if not _fit(total):
            return False
    return True


def _fit(shingles: int) -> bool:
    """Whether lists of so many shingles may be made, and take up to half of the free memory."""
    return shingles <= MOST_LISTED and bytes_needed(0, shingles, 0) <= default_memory()


def _counts(backend: Backend) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield the numbers of documents that are not empty, with their numbers of shingles."""
    after = 0
    while len(page := backend.page(after, batch_sizes.INDEX_PAGE)):
        after = int(page[-1])
        numbers, sizes = backend.shingle_counts(page)
        yield numbers[sizes > 0], sizes[sizes > 0]


def _make(backend: Backend, settings: Settings, version: int) -> ContentLists:
    backend.refuse_orphans()  # a document that was lost would be missing in every answer
    none = np.zeros(0, np.int64)
    found, total = [(none, none)], 0
    for numbers, sizes in _counts(backend):
        found.append((numbers, sizes))
        total += int(sizes.sum())
        if not _fit(total):
            return ContentLists(version, none, none.astype(np.uint32), None)
    numbers, sizes = (np.concatenate(column) for column in zip(*found, strict=True))
    starts, hashes = offsets_of(sizes), np.empty(total, np.uint64)
    _fill(backend, settings, numbers, starts, hashes)
    ranks, counts = np.arange(len(numbers), dtype=np.uint32), sizes.astype(np.uint32)
    return ContentLists(version, numbers, counts, SetLists(hashes, starts[:-1], counts, ranks, border=0))


def _fill(backend: Backend, settings: Settings, numbers: Int64s, starts: Int64s, hashes: Hashes) -> None:
    """Read the contents of documents and write their sets to hashes[starts[i]:starts[i + 1]]."""

    def fill(portion: tuple[int, list[Document]]) -> None:
        first, documents = portion
        sets = sets_of([one.content for one in documents], settings)
        lengths = sets.sizes.astype(np.int64)
        if not np.array_equal(lengths, np.diff(starts[first : first + len(documents) + 1])):
            raise DamagedError(
                f"{backend.name} is damaged: the number of shingles of a document does not match its content; run "
                "twinset index verify"
            )
        start = starts[first]
        hashes[start : start + lengths.sum()] = sets.hashes[ranges(sets.starts[: len(documents)], lengths)]

    with closing(Threads(default_threads())) as threads:
        threads.run(fill, _portions(backend, numbers, np.diff(starts)))


def _portions(backend: Backend, numbers: Int64s, sizes: Int64s) -> Iterator[tuple[int, list[Document]]]:
    """Read the contents of documents, up to some shingles at a time, with the position of the first."""
    for first, last in runs(sizes, batch_sizes.INDEX_SHINGLES):
        documents = backend.documents(numbers[first:last], contents=True)
        if len(documents) != last - first:
            raise DamagedError(f"{backend.name} is damaged: a document is missing; run twinset index verify")
        yield first, documents
