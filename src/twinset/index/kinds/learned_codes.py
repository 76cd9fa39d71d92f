"""Learned codes in an index of vectors: bit codes, fitted on a sample, that rank candidates for the k nearest.

The code of a vector is stored after it, in `slots`. A query ranks the codes of all documents by Hamming distance; the
codes are cached in memory. The best hundredth is then compared exactly, together with the candidates of the tables.
Every change of the index writes a new state to `settings`, by which other processes notice an outdated cache. The
learned parameters are plain numbers in a row of `settings`.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from twinset.engines.progress import Silent
from twinset.errors import DamagedError, OptionError, StateError
from twinset.index.backend import Backend, Int64s
from twinset.index.kinds import kernels
from twinset.index.kinds.base import STATE, kind_for, source_options
from twinset.index.kinds.text_entries import SketchedBatch
from twinset.index.kinds.vectors import VectorKind, VectorSearcher
from twinset.index.query import Answers, Limits, Searcher, Shares
from twinset.index.read_batches import DocumentBatches
from twinset.index.settings import Settings
from twinset.pairs.vectors import every_nearest
from twinset.schema import Codes, Sketches, Vectors
from twinset.sketches.vectors import learned
from twinset.system.vectors import unit_vectors

BITS = 64
_SHARE, _TIMES = 100, 20
"""A hundredth of all documents, and at least twenty times k, are compared exactly."""
_QUERIED, _NEAREST = 200, 10  # queries from the sample, and their nearest neighbours
_MOST = 50_000  # vectors of a sample that are fitted on
_PAGE = 2**10
_NO_ROWS = np.zeros(0, np.int64)


def fit_settings(settings: Settings, sample: tuple[object, ...]) -> Settings:
    """Return the settings of a new index with codes fitted on a sample, and their recall on it."""
    if not sample:
        raise OptionError("learned codes are fitted on a sample; name one with --sample SOURCE")
    kind = kind_for(settings)
    if not isinstance(kind, LearnedKind):
        raise OptionError("learned codes need vectors; name them with --vectors")
    source = sample[0] if len(sample) == 1 else tuple(sample)
    documents = DocumentBatches(source, source_options(kind, {}, source), Silent(), [])
    pieces = list(documents.read(lambda batch: batch.texts.cast(pa.large_binary()), "reading the sample"))
    rows = pa.concat_arrays([pa.nulls(0, pa.large_binary()), *pieces]).drop_null()[:_MOST]
    settled = kind.plan_from(rows)
    if settled.plan is None:
        raise OptionError("the sample holds no vectors; learned codes need thousands of vectors")
    options = dataclasses.replace(settled.options, bits=settled.options.bits or BITS)
    width = 4 * (options.dimensions or 0)
    whole = b"".join(one for one in rows.to_pylist() if len(one) == width)
    vectors = np.frombuffer(whole, "<f4").reshape(-1, width // 4).astype(np.float32, copy=False)
    hashed = unit_vectors(vectors)[0] if options.measure == "cosine" else vectors
    fitted = learned.fit(hashed, int(options.bits or BITS), str(options.learned), settings.seed)
    arrays = {
        name: {"type": array.dtype.str, "shape": array.shape, "data": base64.b64encode(array.tobytes()).decode()}
        for name, array in fitted.arrays().items()
    }
    stored = {"recall": _recall_on_sample(vectors, learned.codes(hashed, fitted), options.measure), "arrays": arrays}
    return dataclasses.replace(settled, options=options, learned=orjson.dumps(stored).decode())


def _recall_on_sample(vectors: Vectors, codes: Codes, measure: str) -> float:
    """Return the share of true nearest neighbours in the sample that are in the best hundredth by their codes."""
    query_rows = np.unique(np.linspace(0, len(vectors) - 1, _QUERIED).astype(np.int64))
    nearest, _, counts = every_nearest(vectors[query_rows], vectors, _NEAREST + 1, measure)
    few = max(_NEAREST, len(vectors) // _SHARE) + 1  # itself among them
    found = total = 0
    for place, row in enumerate(query_rows.tolist()):
        true = set(nearest[place, : counts[place]].tolist()) - {row}
        found += len(true & set(_best(codes[row], codes, few).tolist()))
        total += len(true)
    return found / max(1, total)


def _best(query: npt.NDArray[np.uint64], codes: Codes, count: int) -> Int64s:
    """Return the rows of the `count` codes nearest to a query, the first of equal ones."""
    places, bits = np.empty(len(codes), np.int64), np.empty(len(codes), np.uint32)
    kernels.within_bits(query, codes, 64 * codes.shape[1], places, bits)
    if count >= len(codes):
        return places
    limit = np.partition(bits, count - 1)[count - 1]
    nearer = np.flatnonzero(bits < limit)
    return np.concatenate([nearer, np.flatnonzero(bits == limit)[: count - len(nearer)]])


class LearnedKind(VectorKind):
    """Vectors with learned codes."""

    tracks_changes = True

    @cached_property
    def _learned(self) -> tuple[learned.LearnedCodes, float]:
        try:
            stored = orjson.loads(self.settings.learned or "")
            arrays = {
                name: np.frombuffer(base64.b64decode(one["data"]), one["type"]).reshape(one["shape"]).copy()
                for name, one in stored["arrays"].items()
            }
            fitted, recall = learned.from_arrays(arrays), float(stored["recall"])
        except (ValueError, TypeError, KeyError, StateError) as error:
            raise DamagedError(f"the settings of the index are damaged: no learned codes ({error})") from error
        options = self.settings.options
        if fitted.bits != options.bits or len(fitted.mean) != options.dimensions or not 0 <= recall <= 1:
            raise DamagedError("the settings of the index are damaged: learned codes of another size")
        return fitted, recall

    def facts(self) -> dict[str, Any]:
        """Return the recall of the codes on the sample."""
        return {"recall_on_sample": self.sample_recall}

    @property
    def sample_recall(self) -> float:
        """The recall of the codes on the sample."""
        return self._learned[1]

    @property
    def slots(self) -> int:
        """The numbers of a vector, and the 64-bit words of its code."""
        return super().slots + 2 * -(-int(self.settings.options.bits or BITS) // 64) if self.is_planned else 0

    def codes_of(self, vectors: Vectors) -> Codes:
        """Return the codes of vectors."""
        hashed = unit_vectors(vectors)[0] if self.settings.options.measure == "cosine" else vectors
        return learned.codes(hashed, self._learned[0])

    def codes_in(self, slots: Sketches) -> Codes:
        """Return the codes stored in sketches."""
        return np.ascontiguousarray(slots[:, super().slots :]).view(np.uint64)

    def sketched(self, rows: pa.Array) -> SketchedBatch:
        """Pack vectors and their codes into slots."""
        sketched = super().sketched(rows)
        filled = np.flatnonzero(sketched.shingles)
        codes = self.codes_of(self.vectors_of(sketched.slots[filled]))
        sketched.slots[filled, super().slots :] = codes.view(np.uint32)
        return sketched

    def valid_slots(self, slots: Sketches) -> npt.NDArray[np.bool_]:
        """Return which sketches have a valid vector and its code."""
        right = super().valid_slots(slots)
        good = np.flatnonzero(right)
        right[good] = (self.codes_of(self.vectors_of(slots[good])) == self.codes_in(slots[good])).all(axis=1)
        return right

    def nearest_by(self, backend: Backend) -> str:
        """Rank all vectors by their codes."""
        return "codes"

    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Search by tables, and for the k nearest also by codes."""
        return _LearnedSearcher(backend, self)


@dataclass(frozen=True)
class _CodeCache:
    """The codes of all documents at one state of the index."""

    state: str | None
    numbers: Int64s
    codes: Codes


_CODES: WeakKeyDictionary[Backend, _CodeCache] = WeakKeyDictionary()


class _LearnedSearcher(VectorSearcher):
    """Answers queries in an index of vectors with learned codes."""

    kind: LearnedKind

    def _ranks(self, limits: Limits) -> bool:
        return limits.k is not None

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """For the k nearest, the recall on the sample, or that of the tables if it is higher."""
        by_tables = super().recall(answers, limits)
        return np.maximum(by_tables, self.kind.sample_recall) if limits.k is not None else by_tables

    def _candidates(self, vectors: Vectors, rows: Int64s, limits: Limits) -> Iterator[tuple[Int64s, Int64s]]:
        if limits.k is None:
            yield from super()._candidates(vectors, rows, limits)
            return
        cached, codes = self._cached_codes(), self.kind.codes_of(vectors)
        count = max(_TIMES * limits.k, len(cached.numbers) // _SHARE)
        for row in rows.tolist():
            best = _best(codes[row], cached.codes, count) if len(cached.numbers) else _NO_ROWS
            by_tables = super()._candidates(vectors, np.array([row]), limits) if self.kind.plan.tables else iter(())
            numbers = np.unique(np.concatenate([cached.numbers[best], *(numbers for _, numbers in by_tables)]))
            yield np.full(len(numbers), row), numbers

    def _cached_codes(self) -> _CodeCache:
        """Return the codes of all documents; read them again if the index has changed."""
        state = self.backend.settings(STATE).get(STATE)
        cached = _CODES.get(self.backend)
        if cached is None or cached.state != state:
            pages = list(self._pages())
            numbers = np.concatenate([np.zeros(0, np.int64), *(numbers for numbers, _ in pages)])
            words = -(-int(self.settings.options.bits or BITS) // 64)
            codes = np.concatenate([np.zeros((0, words), np.uint64), *(codes for _, codes in pages)])
            cached = _CODES[self.backend] = _CodeCache(state, numbers, codes)
        return cached

    def _pages(self) -> Iterator[tuple[Int64s, Codes]]:
        after = 0
        while len((page := self.backend.sketch_page(after, _PAGE).padded_to(self.kind.slots)).numbers):
            if page.slots.shape[1] != self.kind.slots:
                raise self.damaged("has no sketch, or a sketch of another plan")
            after = int(page.numbers[-1])
            some = page.shingles > 0
            yield page.numbers[some], self.kind.codes_in(page.slots[some])
