"""Answer queries for passages: which documents share runs of words with a query, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from twinset.candidates.anchors import CROWD, AnchorGroups, PlaceRules
from twinset.documents.parts import Block
from twinset.engines.local.passages.words import WordSpans, place_spans
from twinset.errors import DamagedError
from twinset.index.backend import Backend, Int64s
from twinset.index.kinds.anchors import AnchoredTexts, anchor_keys, anchored, winnow_sizes, word_options
from twinset.index.kinds.pack_text import unpack
from twinset.index.kinds.text_entries import runs, whole_contents
from twinset.index.settings import Settings
from twinset.options.passages import PLACES
from twinset.pairs.coverage import count_holders
from twinset.pairs.passages import Joined, LoadedWords, maximal_runs, spans_of
from twinset.schema import PASSAGES, Flags, Hashes, Numbers, Places
from twinset.sketches.winnowing import Anchors, surroundings
from twinset.system import batch_sizes
from twinset.system.arrays import pair_words

_ANY = 2**31


@dataclass(frozen=True)
class PassageLimits:
    """The limits of a query for passages: the minimum number of words, and the documents of a crowd."""

    least: int
    crowd: int


@dataclass(frozen=True)
class _Found:
    """Passages of a query (document 0) with candidates (from 1 on), and their places in both texts."""

    rows: Joined
    left: tuple[Places, Places]
    right: tuple[Places, Places]

    @classmethod
    def concat(cls, parts: list[_Found]) -> _Found:
        """Concatenate passages of several portions of candidates."""
        none = np.zeros(0, np.int64)
        parts = [cls(np.empty((0, 7), np.uint32), (none, none), (none, none)), *parts]
        sides = ([getattr(one, side) for one in parts] for side in ("left", "right"))
        left, right = ((np.concatenate([one[0] for one in each]), np.concatenate([one[1] for one in each]))
                       for each in sides)  # fmt: skip
        return cls(np.concatenate([one.rows for one in parts]), left, right)


class PassageSearcher:
    """Finds the passages that documents of one back end share with queries, within a snapshot.

    A document is compared with a query if they have an anchor in common that stands in up to `crowd` documents. Of an
    anchor that stands in more, the first document is compared. All maximal runs of both texts are answers.
    """

    def __init__(self, backend: Backend, settings: Settings, limits: PassageLimits) -> None:
        self.backend, self.settings, self.limits = backend, settings, limits
        self._sizes, self._options = winnow_sizes(settings), word_options(settings)

    def prepared(self, texts: pa.Array) -> AnchoredTexts:
        """Return texts as queries; thread-safe."""
        return anchored(texts, self.settings)

    def answer(self, names: list[str], queries: AnchoredTexts, without: int | None = None) -> pa.Table:
        """Return the passages of queries, and of each query those of documents that share most words first."""
        tables = [self._passages(name, queries, row, without) for row, name in enumerate(names)]
        return pa.concat_tables([PASSAGES.empty_table(), *tables])

    def _passages(self, name: str, queries: AnchoredTexts, row: int, without: int | None) -> pa.Table:
        anchors, words = queries.anchors_of(row), queries.words_of(row)
        numbers, crowded = self._candidates(anchors.hashes, without)
        ids: list[str] = []
        parts: list[_Found] = []
        for some, texts in self._portions(numbers):
            others = anchored(texts, self.settings)
            rows = self._runs(anchors, words, others)
            left = self._places(queries.block, np.full(len(rows), row, np.int64), rows[:, 2], rows[:, 3])
            right = self._places(others.block, rows[:, 1].astype(np.int64) - 1, rows[:, 4], rows[:, 5])
            rows[:, 1] += np.uint32(len(ids))
            parts.append(_Found(rows, left, right))
            ids += some
        found = _Found.concat(parts)
        documents = count_holders(found.rows, len(ids) + 1).astype(np.int64)
        documents[self._are_crowded(found.rows, words, anchors.places, crowded)] = self.limits.crowd + 1
        order = _best_first(found.rows, len(ids) + 1)
        rows = found.rows[order]
        columns = [
            [name] * len(rows), [ids[place - 1] for place in rows[:, 1].tolist()],
            *(one[order] for one in (*found.left, *found.right)),
            *(one.astype(np.int64) for one in (rows[:, 3] - rows[:, 2], rows[:, 6], documents[order])),
        ]  # fmt: skip
        return pa.table([pa.array(one, field.type) for one, field in zip(columns, PASSAGES, strict=True)], PASSAGES)

    def _candidates(self, hashes: Hashes, without: int | None) -> tuple[Int64s, Flags]:
        """Return the documents to compare, ascending, and which anchors of the query are crowded."""
        keys, places = np.unique(anchor_keys(hashes, self.settings).astype(np.int64), return_inverse=True)
        room = self.limits.crowd + 1 + (without is not None)
        found, numbers = self.backend.first_postings(keys, room, "anchors")
        stay = numbers != (without or 0)
        order = np.lexsort((numbers[stay], found[stay]))
        found, numbers = found[stay][order], numbers[stay][order]
        starts = np.searchsorted(found, keys)
        counts = np.searchsorted(found, keys, "right") - starts
        crowded = counts > self.limits.crowd
        rare = ~np.repeat(crowded, counts)
        chosen = np.concatenate([numbers[rare], numbers[starts[crowded]]])
        return np.unique(chosen), crowded[places]

    def _portions(self, numbers: Int64s) -> Iterator[tuple[list[str], pa.Array]]:
        """Read the ids and the texts of documents, up to some shingles at a time."""
        known, sizes = self.backend.shingle_counts(numbers)
        if len(known) != len(numbers):
            raise self._damaged("is missing")
        for first, last in runs(sizes, batch_sizes.INDEX_SHINGLES):
            documents = self.backend.documents(numbers[first:last], contents=True)
            if len(documents) != last - first:
                raise self._damaged("is missing")
            contents = whole_contents([one.content for one in documents], self.settings)
            texts = pa.array([unpack(one) for one in contents], pa.large_binary())
            yield [one.id for one in documents], texts

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(
            f"{self.backend.name} is damaged: a document in its anchors {what}; run twinset index verify"
        )

    def _runs(self, anchors: Anchors, words: Hashes, others: AnchoredTexts) -> Joined:
        """Return the maximal runs of a query with documents, as passages of document 0 with those from 1 on."""
        theirs = np.isin(others.anchors.hashes, anchors.hashes)
        groups = AnchorGroups(
            np.concatenate([anchors.hashes, others.anchors.hashes[theirs]]),
            np.concatenate([np.zeros(len(anchors.hashes), np.uint32), others.anchors.documents[theirs] + np.uint32(1)]),
            np.concatenate([anchors.places, others.anchors.places[theirs]]),
            PlaceRules(border=1, within=False, crowd=_ANY, most_places=PLACES * self.limits.crowd),
        )
        loaded = LoadedWords(
            np.concatenate([words, others.words]),
            np.concatenate([[0], others.starts + len(words)]),
            np.concatenate([np.array([len(words)], np.uint32), others.lengths]),
        )
        hits = np.concatenate([*groups.pairs(self._sizes.k), _first_places(groups)])
        return spans_of(maximal_runs(hits, loaded, self.limits.least))

    def _places(self, block: Block, rows: Places, first: Numbers, last: Numbers) -> tuple[Places, Places]:
        """Return the code points at which spans of words of texts start and end."""
        order = np.lexsort((first, rows))
        starts, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        spans = WordSpans(rows[order], first[order], last[order])
        starts[order], ends[order] = place_spans(block, self._options, spans)
        return starts, ends

    def _are_crowded(self, rows: Joined, words: Hashes, places: Numbers, crowded: Flags) -> Flags:
        """Return which passages have crowded anchors only.

        The anchors of a passage are those that its own windows keep, as a text of its words alone has them. One that
        only a window over its edge keeps is not in other documents with the passage.
        """
        whole, ends = np.array([0, len(words)]), np.array([len(places)])
        windows = surroundings(words, whole, ends, places, self._sizes)
        rare = np.concatenate([[0], np.cumsum(~crowded)])
        first = np.searchsorted(windows.last, rows[:, 2])
        last = np.searchsorted(windows.first, rows[:, 3].astype(np.int64) - self._sizes.least, "right")
        found: Flags = rare[last] == rare[first]
        return found


def _first_places(groups: AnchorGroups) -> Numbers:
    """Pair the first place in the query with the first in each document, for anchors at too many places.

    Text that repeats itself would otherwise have a run for each pair of places.
    """
    hits = [np.empty((0, 4), np.uint32)]
    for group in np.flatnonzero(groups.kinds == CROWD).tolist():
        some = slice(*groups.starts[group : group + 2].tolist())
        documents, places = groups.documents[some], groups.places[some]
        first = np.flatnonzero(np.diff(documents)) + 1
        query = np.zeros(len(first), np.uint32)
        hits.append(np.stack([query, documents[first], query + places[0], places[first]], axis=1))
    return np.concatenate(hits)


def _best_first(rows: Joined, documents: int) -> Places:
    """Return the order of passages: documents that share most words, then the places in the query."""
    total = np.bincount(rows[:, 1], rows[:, 6], documents)[rows[:, 1]]
    return np.lexsort((pair_words(rows[:, 2], rows[:, 4]), rows[:, 1], -total))
