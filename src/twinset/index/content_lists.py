"""Inverted lists of all contents of an index, in memory: the k nearest of a query, however far, exactly.

The lists are made at the first such query, and again when the index has changed. All connections of a process to one
index share them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.candidates.nearest import sets as nearest_sets
from twinset.candidates.nearest.sets import SetLists
from twinset.engines.local.threads import Threads
from twinset.errors import DamagedError
from twinset.index.backend import Backend, Document, Int64s
from twinset.index.kinds.columns.weighted_sets import SetsWithWeights
from twinset.index.kinds.text_entries import runs, sets_of
from twinset.index.query import Answers, Limits
from twinset.index.settings import Settings
from twinset.pairs.nearest import weighted as nearest_weighted
from twinset.pairs.nearest.weighted import WeightedLists
from twinset.pairs.sets import Sets, scores
from twinset.pairs.weighted import scores_of, totals
from twinset.schema import Hashes, Scores, Shares, WeightedSets, in_order
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, ranges
from twinset.system.memory import default_memory, default_threads

MOST_LISTED = 1 << 26
"""Shingles, or elements, of the largest index whose contents are all listed in memory."""
_QUERIES = 64  # that a thread answers at a time
_NEIGHBOURS = 1 << 22  # of these queries


@dataclass(frozen=True, eq=False)
class ContentLists:
    """The lists of all documents that are not empty, at one version of the index; none if there are too many.

    `sizes` are numbers of shingles, or total weights. `ranks` are the order of ties, by document.
    """

    version: int
    numbers: Int64s
    sizes: npt.NDArray[Any]
    ranks: Int64s
    lists: SetLists | WeightedLists | None

    def nearest(self, queries: Sets, rows: Int64s, limits: Limits, measure: str, without: int | None) -> Answers:
        """Return the k nearest documents of some queries, ties in the order of the ranks."""
        k = min(int(limits.k or 0) + (without is not None), max(1, len(self.numbers)))
        many = max(1, min(_QUERIES, _NEIGHBOURS // k))
        at_once = [rows[first : first + many] for first in range(0, len(rows), many)]
        if len(at_once) == 1:  # a pool of threads takes longer to start
            parts = [self._search(queries, at_once[0], k, measure)]
        else:
            with closing(Threads(default_threads())) as threads:
                parts = list(threads.map(lambda some: self._search(queries, some, k, measure), at_once))
        found = Answers.concat(parts, measure)
        if without is not None:
            found = found.take(np.flatnonzero(found.numbers != without))
        ties = self.ranks[np.searchsorted(self.numbers, found.numbers)]
        return found.best(limits, descending=True, ties=ties)

    def _search(self, queries: Sets, rows: Int64s, k: int, measure: str) -> Answers:
        if isinstance(self.lists, WeightedLists) and isinstance(queries, SetsWithWeights):
            owners, places, exact = self._search_weighted(self.lists, queries.take(rows).weighted, k)
        elif isinstance(self.lists, SetLists):
            owners, places, exact = self._search_sets(self.lists, queries, rows, k)
        else:
            raise ValueError("an index of so many shingles has no lists")
        return Answers(rows[owners], self.numbers[places], in_order(exact, measure))

    def _search_sets(self, lists: SetLists, queries: Sets, rows: Int64s, k: int) -> tuple[Int64s, Int64s, Scores]:
        """Return pairs of a query and a document, by their places, and their scores."""
        sizes = queries.sizes[rows]
        lengths = sizes.astype(np.int64)
        hashes = queries.hashes[ranges(queries.starts[rows], lengths)]
        nearest = lists.search_sets(hashes, offsets_of(lengths)[:-1], sizes, k)
        owners, columns = np.nonzero(np.arange(k) < nearest.found[:, None])
        places = lists.targets[nearest.positions[owners, columns]]
        return owners, places, scores(nearest.shared[owners, columns], sizes[owners], self.sizes[places])

    def _search_weighted(self, lists: WeightedLists, queries: WeightedSets, k: int) -> tuple[Int64s, Int64s, Scores]:
        sums = totals(queries)
        nearest = lists.search_sets(queries, sums, k)
        owners, columns = np.nonzero(np.arange(k) < nearest.found[:, None])
        places = lists.targets[nearest.positions[owners, columns]]
        similarity, shared = nearest.scores[owners, columns], nearest.shared[owners, columns]
        return owners, places, scores_of(similarity, shared, sums[owners], self.sizes[places])


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


def are_listed(backend: Backend, settings: Settings) -> bool:
    """Whether the contents of an index are few enough to be listed."""
    known = _OF_BACKENDS.get(backend)
    if known is not None and known.version == backend.version():
        return known.lists is not None
    total = 0
    for _, sizes in _counts(backend):
        total += int(sizes.sum())
        if not _fit(total, settings):
            return False
    return True


def _fit(shingles: int, settings: Settings) -> bool:
    """Whether lists of so many shingles may be made, and take up to half of the free memory."""
    lists = nearest_weighted if settings.options.item_kind == "weighted" else nearest_sets
    return shingles <= MOST_LISTED and lists.bytes_needed(0, shingles, 0) <= default_memory()


def ranks_of(ids: Sequence[str]) -> Int64s:
    """Return the place of each id in the order of the ids, by code points.

    Examples
    --------
    >>> ranks_of(["user 2", "user 10", "anna"]).tolist()
    [2, 1, 0]
    """
    order = pc.sort_indices(pa.array(ids, pa.large_string())).to_numpy()
    ranks = np.empty(len(ids), np.int64)
    ranks[order] = np.arange(len(ids))
    return ranks


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
        if not _fit(total, settings):
            return ContentLists(version, none, none.astype(np.uint32), none, None)
    numbers, sizes = (np.concatenate(column) for column in zip(*found, strict=True))
    contents = _AllContents(numbers, sizes, weighted=settings.options.item_kind == "weighted")
    contents.read(backend, settings)
    ranks = ranks_of(contents.ids) if settings.ties_by_id else np.arange(len(numbers))
    of_lists = ranks.astype(np.uint32)
    if contents.weights is not None:
        sets = WeightedSets(contents.starts, contents.hashes, contents.weights)
        sums, salts = totals(sets), np.zeros(len(numbers), np.uint64)
        return ContentLists(version, numbers, sums, ranks, WeightedLists(sets, sums, salts, of_lists, border=0))
    counts = sizes.astype(np.uint32)
    lists = SetLists(contents.hashes, contents.starts[:-1], counts, of_lists, border=0)
    return ContentLists(version, numbers, counts, ranks, lists)


class _AllContents:
    """The sets of all documents: set i is hashes[starts[i]:starts[i + 1]], and `weights` if they have any."""

    def __init__(self, numbers: Int64s, sizes: Int64s, *, weighted: bool) -> None:
        self.numbers, self.starts = numbers, offsets_of(sizes)
        self.ids = [""] * len(numbers)
        self.hashes: Hashes = np.empty(int(self.starts[-1]), np.uint64)
        self.weights: Shares | None = np.empty(len(self.hashes)) if weighted else None

    def read(self, backend: Backend, settings: Settings) -> None:
        """Read the contents, each portion in a thread."""

        def fill(portion: tuple[int, list[Document]]) -> None:
            first, documents = portion
            self._fill(first, documents, sets_of([one.content for one in documents], settings), backend.name)

        with closing(Threads(default_threads())) as threads:
            threads.run(fill, _portions(backend, self.numbers, np.diff(self.starts)))

    def _fill(self, first: int, documents: list[Document], sets: Sets, name: str) -> None:
        """Copy the sets of documents to their places."""
        last, lengths = first + len(documents), sets.sizes.astype(np.int64)
        if not np.array_equal(lengths, np.diff(self.starts[first : last + 1])):
            raise DamagedError(
                f"{name} is damaged: the number of shingles of a document does not match its content; run twinset "
                "index verify"
            )
        self.ids[first:last] = [one.id for one in documents]
        places = ranges(sets.starts[: len(documents)], lengths)
        some = slice(self.starts[first], self.starts[last])
        self.hashes[some] = sets.hashes[places]
        if self.weights is not None and isinstance(sets, SetsWithWeights):
            self.weights[some] = sets.weights[places]


def _portions(backend: Backend, numbers: Int64s, sizes: Int64s) -> Iterator[tuple[int, list[Document]]]:
    """Read the contents of documents, up to some shingles at a time, with the position of the first."""
    for first, last in runs(sizes, batch_sizes.INDEX_SHINGLES):
        documents = backend.documents(numbers[first:last], contents=True)
        if len(documents) != last - first:
            raise DamagedError(f"{backend.name} is damaged: a document is missing; run twinset index verify")
        yield first, documents
