"""The SQL functions on Arrow arrays: the same shingles, sketches, bands and scores as in a run.

A null stays null. A text without tokens is empty: it has no shingles and no bands, and its similarity to any text is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.candidates.banding import band_keys, width
from twinset.documents.normalize import buffers_of
from twinset.engines.local.steps.sketch import distinct_sets, low_bytes
from twinset.errors import OptionError
from twinset.options.sketch import SqlOptions
from twinset.pairs.sets import Sets, overlaps, scores
from twinset.plan import Plan
from twinset.schema import Bytes, Hashes, Scores, Sketches
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, ranges

Rows = npt.NDArray[np.int64]


class SqlFunctions:
    """The functions for one set of options; thread-safe."""

    def __init__(self, options: SqlOptions, plan: Plan) -> None:
        self._options, self._plan = options, plan

    def shingles(self, texts: pa.Array) -> pa.Array:
        """Return the hashes of the distinct shingles of each text, in the order of their first appearance."""
        return _by_portions(texts, self._shingles)

    def bands(self, texts: pa.Array) -> pa.Array:
        """Return the keys of the bands of each text."""
        return _by_portions(texts, self._bands, 4 * self._plan.n_hashes)

    def sketch(self, texts: pa.Array) -> pa.Array:
        """Return the sketch of each text, the low byte of each slot; an empty text has an empty one."""
        return _by_portions(texts, self._sketches, 4 * self._plan.n_hashes)

    def candidate(self, lefts: pa.Array, rights: pa.Array) -> pa.Array:
        """Return whether two sketches agree in as many slots as a run requires before it verifies a pair."""
        known = _both(lefts, rights)
        matches = np.zeros(len(known), np.bool_)
        left, right = (self._low_bytes(one) for one in (lefts, rights))
        sketched = (left[1] & right[1]).nonzero()[0]
        equal = np.count_nonzero(left[0][sketched] == right[0][sketched], axis=1)
        # The bytes that pad a sketch are always equal.
        matches[sketched] = equal >= self._plan.min_matches + width(self._plan.n_hashes) - self._plan.n_hashes
        return pa.array(matches, mask=~known)

    def jaccard(self, lefts: pa.Array, rights: pa.Array) -> pa.Array:
        """Return the exact Jaccard similarity of two texts."""
        return self._score(lefts, rights, "similarity")

    def containment(self, lefts: pa.Array, rights: pa.Array) -> pa.Array:
        """Return the share of the shingles of the first text that the second one has."""
        return self._score(lefts, rights, "left_in_right")

    def _shingles(self, texts: pa.Array) -> pa.Array:
        sets, _ = distinct_sets(texts, self._options, self._options.seed)
        values = sets.hashes[ranges(sets.starts, sets.sizes.astype(np.int64))]
        return _lists(sets.sizes, values)

    def _bands(self, texts: pa.Array) -> pa.Array:
        slots, filled = self._slots(texts)
        keys = band_keys(slots[filled], np.zeros(len(filled), np.uint64), self._plan)
        counts = np.zeros(len(texts), np.int64)
        counts[filled] = self._plan.n_bands
        return _lists(counts, np.ascontiguousarray(keys.T).ravel())

    def _sketches(self, texts: pa.Array) -> pa.Array:
        slots, filled = self._slots(texts)
        low = low_bytes(slots[filled])
        sizes = np.zeros(len(texts), np.int64)
        sizes[filled] = low.shape[1]
        buffers = [None, pa.py_buffer(offsets_of(sizes)), pa.py_buffer(low)]
        return pa.Array.from_buffers(pa.large_binary(), len(texts), buffers)

    def _slots(self, texts: pa.Array) -> tuple[Sketches, Rows]:
        """Return the sketches of texts, and the rows of those that are not empty."""
        options = self._options
        slots = np.zeros((len(texts), self._plan.n_hashes), np.uint32)
        sets, _ = distinct_sets(texts, options, options.seed, slots, options.sketch, keep=False)
        return slots, np.flatnonzero(sets.sizes)

    def _low_bytes(self, sketches: pa.Array) -> tuple[Bytes, npt.NDArray[np.bool_]]:
        """Return the bytes of sketches as rows, and which rows have one."""
        data, offsets = buffers_of(sketches)
        size, sizes = width(self._plan.n_hashes), np.diff(offsets)
        has_one = sizes == size
        for other in sizes[~has_one & (sizes > 0)][:1].tolist():
            raise OptionError(f"a sketch has {other} bytes, and those of these options {size}: it was made with others")
        rows = np.zeros((len(sketches), size), np.uint8)
        rows[has_one] = data[offsets[:-1][has_one, None] + np.arange(size)]
        return rows, has_one

    def _score(self, lefts: pa.Array, rights: pa.Array, name: str) -> pa.Array:
        """Return a score of each pair of texts, a limited amount of text at a time."""
        known = _both(lefts, rights)
        found = np.zeros(len(known))
        for rows in _portions(_bytes(lefts) + _bytes(rights)):
            found[rows] = self._compare(*(one[rows].cast(pa.large_string()) for one in (lefts, rights)))[name]
        return pa.array(found, mask=~known)

    def _compare(self, lefts: pa.Array, rights: pa.Array) -> Scores:
        """Score pairs of texts; a text that occurs in several pairs is shingled once."""
        texts = pa.concat_arrays([lefts, rights]).dictionary_encode()
        sets, _ = distinct_sets(texts.dictionary, self._options, self._options.seed)
        if not len(texts.dictionary):
            sets = Sets(sets.hashes, np.zeros(1, np.int64), np.zeros(1, np.uint32))
        numbers = np.asarray(texts.indices.fill_null(0)).astype(np.uint32)
        left, right = numbers[: len(lefts)], numbers[len(lefts) :]
        shared = overlaps(sets, left, right, 0.0)
        with np.errstate(invalid="ignore"):
            found = scores(shared, sets.sizes[left], sets.sizes[right])
        return {name: np.nan_to_num(values) for name, values in found.items()}


def _both(lefts: pa.Array, rights: pa.Array) -> npt.NDArray[np.bool_]:
    """Return the rows where neither is null."""
    return np.asarray(pc.and_(lefts.is_valid(), rights.is_valid()))


def _bytes(texts: pa.Array) -> Rows:
    return np.diff(buffers_of(texts)[1])


def _portions(sizes: Rows) -> Iterator[slice]:
    """Cut rows into runs of a limited size in bytes, or of one row."""
    load = np.cumsum(sizes) // batch_sizes.SQL_BYTES
    edges = [0, *(np.flatnonzero(np.diff(load)) + 1).tolist(), len(sizes)]
    return (slice(start, end) for start, end in pairwise(edges))


def _by_portions(texts: pa.Array, work: Callable[[pa.Array], pa.Array], room: int = 0) -> pa.Array:
    """Do work on a limited amount of text at a time, each with some bytes of room; nulls stay null."""
    made = pa.concat_arrays([work(texts[rows]) for rows in _portions(_bytes(texts) + room)])
    return pc.if_else(texts.is_valid(), made, None) if texts.null_count else made


def _lists(counts: npt.NDArray[np.integer], hashes: Hashes) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(offsets_of(counts)), pa.array(hashes))
