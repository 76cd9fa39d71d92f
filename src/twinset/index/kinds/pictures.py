"""Pictures in an index: a perceptual hash finds near-duplicates, a colour layout the k nearest.

Both are in `slots`, first the 64 bits of the hash, then the 33 numbers of the layout. Hashes are looked up and compared
as codes. A query for the k nearest without a distance is compared with the layouts of all pictures, so none is missed.
Those of up to `MOST_SCANNED` pictures stay in memory between queries. Every change of the index writes a new state to
`settings`, by which other processes notice that theirs are outdated. An index of an older format has hashes only.

With `any_orientation` a query has the sketches of its eight orientations, and the distance of a picture is the least.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.parts import PictureSketch
from twinset.errors import OptionError, SourceError
from twinset.index.backend import Backend, Int64s
from twinset.index.kinds.base import STATE
from twinset.index.kinds.codes import CodeKind, make_plan
from twinset.index.kinds.text_entries import Keys, SketchedBatch
from twinset.index.query import MOST_SCANNED, Answers, Limits, Searcher, Shares
from twinset.index.read_batches import Batch
from twinset.index.settings import Settings
from twinset.options.index import QueryOptions, SourceOptions
from twinset.pairs.vectors import every_nearest
from twinset.schema import Codes, Sketches, Vectors
from twinset.sketches.images import (
    BITS,
    LAYOUT,
    ORIENTATIONS,
    hashes_and_layouts,
    oriented_hashes,
    oriented_sketches,
    perceptual_hashes,
)

_HASH = BITS // 32
"""Slots of a hash."""
_PAGE, _PORTION = 2**10, 2**15  # pictures read at a time, and compared at a time
_QUERIES, _FEW, _TOGETHER = 256, 32, 3
"""Queries compared at a time; of few queries, only three: larger products start the threads of BLAS, which takes longer
than the products."""
_NO_KEYS = np.zeros((0, 0), np.int32)


class PictureKind(CodeKind):
    """Pictures as codes of 64 bits: their perceptual hashes."""

    name = "picture"
    empty = "picture"

    def plan_from(self, rows: pa.Array) -> Settings:
        """Plan for hashes, whatever the first pictures are."""
        if self.is_planned:
            return self.settings
        return dataclasses.replace(self.settings, plan=make_plan(BITS, int(self.settings.options.reach)))

    @property
    def width(self) -> int | None:
        """Bytes of a hash."""
        return BITS // 8

    def facts(self) -> dict[str, Any]:
        """Return whether colour layouts are stored."""
        return {"colour_layouts": self.settings.has_layouts}

    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Read pictures."""
        if options.item_kind not in ("text", "images"):
            raise OptionError(f"{options.item_flag} does not fit: the index holds pictures; leave it out")
        return {"images": True}

    def picture_sketch(self, *, any_orientation: bool = False) -> PictureSketch | None:
        """Make hashes."""
        return oriented_hashes if any_orientation else perceptual_hashes

    def check_batch(self, batch: Batch) -> Batch:
        """Accept every batch: sketches of pictures have one width, and queries may have those of all orientations."""
        return batch

    def queries(self, rows: pa.Array) -> SketchedBatch:
        """Prepare pictures as queries; those with eight orientations have as many sketches in a row."""
        turned = ORIENTATIONS * (self.width or 0)
        if not (self._sizes(rows) == turned).any():
            return super().queries(rows)
        filled = rows.is_valid()
        slots = np.zeros((len(rows), ORIENTATIONS * self.slots), np.uint32)
        data = b"".join(rows.filter(filled).to_pylist())
        slots[np.asarray(filled)] = np.frombuffer(data, np.uint32).reshape(-1, slots.shape[1])
        none = np.zeros(0, np.int64)
        return SketchedBatch(np.asarray(filled).astype(np.uint32), slots, _NO_KEYS, None, none)

    def limits(self, options: QueryOptions) -> Limits:
        """As for codes, in the orientations that the options say."""
        return dataclasses.replace(super().limits(options), any_orientation=options.any_orientation)

    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Search hashes by blocks, of one or of all orientations."""
        searcher = self._searcher(backend, limits)
        return _OrientationSearcher(searcher) if limits.any_orientation else searcher

    def _searcher(self, backend: Backend, limits: Limits) -> Searcher:
        return super().searcher(backend, limits)

    def is_single(self, what: Any) -> bool:
        """Return False: a picture is a file, and a file is a source."""
        return False

    def from_values(self, values: Any) -> pa.Array:
        """Refuse values: pictures are files."""
        raise SourceError(
            "pictures are read from files: give their folder, or a tuple of paths, instead of ids and texts"
        )


class LayoutKind(PictureKind):
    """Pictures with hashes and colour layouts."""

    tracks_changes = True

    @property
    def width(self) -> int | None:
        """Bytes of a hash and a layout."""
        return 4 * (_HASH + LAYOUT)

    @property
    def slots(self) -> int:
        """A hash and a layout."""
        return _HASH + LAYOUT

    def picture_sketch(self, *, any_orientation: bool = False) -> PictureSketch | None:
        """Make hashes and layouts."""
        return oriented_sketches if any_orientation else hashes_and_layouts

    def codes_of(self, slots: Sketches) -> Codes:
        """Return the hashes stored in sketches."""
        return super().codes_of(slots[:, :_HASH])

    def layouts_of(self, slots: Sketches) -> Vectors:
        """Return the layouts stored in sketches."""
        return np.ascontiguousarray(slots[:, _HASH:]).view(np.float32)

    def keys(self, slots: Sketches) -> Keys:
        """Return the keys of the hashes."""
        return super().keys(slots[:, :_HASH])

    def valid_slots(self, slots: Sketches) -> npt.NDArray[np.bool_]:
        """Return which sketches have the layout of a picture: finite, of colours from 0 to 255."""
        layouts = self.layouts_of(slots)
        with np.errstate(invalid="ignore", over="ignore"):
            lengths = (layouts.astype(np.float64) ** 2).sum(axis=1)
        return np.asarray(np.isfinite(lengths) & (lengths <= 3 * 256.0**2))

    def limits(self, options: QueryOptions) -> Limits:
        """Compare layouts for the k nearest without a distance, else hashes."""
        found = super().limits(options)
        return dataclasses.replace(found, by_layout=found.k is not None and options.distance is None)

    def measure(self, limits: Limits) -> str:
        """Return bits for hashes, and a distance for layouts."""
        return "distance" if limits.by_layout else super().measure(limits)

    def _searcher(self, backend: Backend, limits: Limits) -> Searcher:
        return _LayoutSearcher(backend, self) if limits.by_layout else super()._searcher(backend, limits)


@dataclass(frozen=True)
class _LayoutCache:
    """The layouts of all pictures at one state of the index."""

    state: str | None
    numbers: Int64s
    layouts: Vectors


_LAYOUTS: WeakKeyDictionary[Backend, _LayoutCache] = WeakKeyDictionary()


class _OrientationSearcher(Searcher):
    """Answers queries in all eight orientations: with the least distance of each picture."""

    def __init__(self, inner: Searcher) -> None:
        super().__init__(inner.backend, inner.settings)
        self.inner, self.measure = inner, inner.measure

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return that of a search in one orientation."""
        return self.inner.recall(answers, limits)

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers in one portion.

        The k nearest are among the k nearest of each orientation.
        """
        if not queries.shingles.any():
            return []
        slots = queries.slots.reshape(ORIENTATIONS * len(queries), -1)
        turned = SketchedBatch(np.repeat(queries.shingles, ORIENTATIONS), slots, _NO_KEYS, None, queries.replaced)
        found = Answers.concat(self.inner.find(turned, limits, without), self.measure)
        found.queries = found.queries // ORIENTATIONS
        found = found.take(np.lexsort((found.scores[0], found.numbers, found.queries)))
        again = (found.queries[1:] == found.queries[:-1]) & (found.numbers[1:] == found.numbers[:-1])
        first = np.flatnonzero(np.concatenate([[True], ~again])) if len(found.queries) else found.queries
        return [found.take(first).best(limits, descending=False)]


class _LayoutSearcher(Searcher):
    """Answers queries for the k nearest by colour layout."""

    def __init__(self, backend: Backend, kind: LayoutKind) -> None:
        super().__init__(backend, kind.settings)
        self.kind, self.measure = kind, "distance"

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return 1: every picture is compared."""
        return np.ones(len(answers.numbers))

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers in one portion; all pictures are read once for all queries."""
        rows = np.flatnonzero(queries.shingles)
        layouts, best = self.kind.layouts_of(queries.slots), Answers.concat([], self.measure)
        at_once = _TOGETHER if len(rows) <= _FEW else _QUERIES
        for numbers, theirs in self._portions() if len(rows) else ():
            parts = [
                self._nearest(layouts, rows[start : start + at_once], numbers, theirs, limits, without)
                for start in range(0, len(rows), at_once)
            ]
            best = Answers.concat([best, *parts], self.measure).best(limits, descending=False)
        return [best]

    def _nearest(
        self, layouts: Vectors, rows: Int64s, numbers: Int64s, theirs: Vectors, limits: Limits, without: int | None
    ) -> Answers:
        """Return the k nearest of some queries among some pictures."""
        count = (limits.k or 0) + (without is not None)
        places, distances, counts = every_nearest(layouts[rows], theirs, count, self.measure)
        present = np.arange(places.shape[1]) < counts[:, None]
        asking = np.broadcast_to(rows[:, None], places.shape)[present]
        found = Answers(asking, numbers[places[present].astype(np.int64)], (distances[present],))
        return found.take(np.flatnonzero(found.numbers != (without or 0)))

    def _portions(self) -> Iterator[tuple[Int64s, Vectors]]:
        """Yield the layouts of all pictures, with their numbers: from memory, unless they are too many."""
        if not self.has_at_most(MOST_SCANNED):
            yield from self._read(_PORTION)
            return
        state = self.backend.settings(STATE).get(STATE)
        cached = _LAYOUTS.get(self.backend)
        if cached is None or cached.state != state:
            self.backend.refuse_orphans()  # a picture that was lost would be missing in every answer
            read = list(self._read(MOST_SCANNED))
            none = np.zeros(0, np.int64), np.zeros((0, LAYOUT), np.float32)
            numbers, layouts = (np.concatenate(column) for column in zip(none, *read, strict=True))
            cached = _LAYOUTS[self.backend] = _LayoutCache(state, numbers, layouts)
        yield cached.numbers, cached.layouts

    def _read(self, most: int) -> Iterator[tuple[Int64s, Vectors]]:
        """Yield the layouts of all pictures in portions of at least `most`, read by small pages, which are faster."""
        waiting: list[tuple[Int64s, Vectors]] = []
        for page in self.sketch_pages(self.kind.slots, 4 * self.kind.slots * _PAGE, None):
            waiting.append((page.numbers, self.kind.layouts_of(page.slots)))
            if sum(len(numbers) for numbers, _ in waiting) >= most:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)


def _joined(parts: list[tuple[Int64s, Vectors]]) -> tuple[Int64s, Vectors]:
    numbers, layouts = zip(*parts, strict=True)
    return np.concatenate(numbers), np.concatenate(layouts)
