"""Bit codes in an index: every code within a distance is found.

Some bits of a code are split into m blocks, and the code is stored under each of them (multi-index hashing: Norouzi,
Punjani, Fleet, CVPR 2012). Each block has a radius, and the radii plus one add up to d + 1. Two codes that differ in at
most d bits then differ, in at least one block, in no more bits than its radius. So a query looks up its own blocks and
those within the radius. If that is more work than comparing it with every code, it is compared with every code. The k
nearest are searched at increasing distances until no nearer code can be missing.

The bits of a block are spread over the code: the leading zeros of small numbers would otherwise fill a whole block.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates.hamming.query import radii_of
from twinset.documents.formats.python_objects import check_array
from twinset.documents.items.codes import code_of, holds_codes, packed_codes
from twinset.errors import OptionError, SourceError
from twinset.index.backend import Backend, Int64s, SketchRows
from twinset.index.kinds import kernels
from twinset.index.kinds.base import FixedWidthKind, as_sequence
from twinset.index.kinds.text_entries import Keys, SketchedBatch
from twinset.index.query import Answers, Limits, Searcher, Shares, find_candidates
from twinset.index.settings import Settings
from twinset.options.index import QueryOptions, SourceOptions
from twinset.plan.codes import CodeJoinPlan
from twinset.schema import Codes, Sketches

_SEEK, _FETCH, _ROW, _COMPARE = 1.0, 2.0, 0.5, 0.002
"""Approximate microseconds of a look-up, of a candidate, and of reading and comparing a code. They decide how answers
are found, never what they are."""
_PLANNED = 1_000_000  # codes that the plan is made for
_BLOCK = 3.0  # cost of storing one more block, in microseconds of a query
_MOST_BLOCKS, _WIDEST = 64, 32
_QUERIES, _KEYS = 1024, 2**19  # queries and keys in one look-up
_MEETINGS = 2**19
_SKETCHES = 2**24
_PAGE = 2**10  # codes read at a time: larger pages are three times slower
_ROWS = 2**14


@lru_cache(maxsize=64)
def blocks(bits: int, tables: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the bits of each block, counted from the first bit of a code; all blocks have up to 32 bits.

    Examples
    --------
    >>> [block.tolist() for block in blocks(8, 3)]
    [[0, 4], [1, 5], [2, 6]]
    """
    width = min(_WIDEST, bits // tables)
    places = np.arange(width * tables) * bits // (width * tables)
    return tuple(places[block::tables] for block in range(tables))


def make_plan(bits: int, distance: int) -> CodeJoinPlan:
    """Choose the number of blocks that makes a query within a distance cheapest.

    Examples
    --------
    >>> make_plan(64, 3).tables, make_plan(128, 3).tables, make_plan(64, 6).tables
    (3, 4, 3)
    """

    def cost(tables: int) -> float:
        width = min(_WIDEST, bits // tables)
        probes = sum(_within(width, int(radius)) for radius in radii_of(min(distance, bits), tables))
        return float(_SEEK * probes + _FETCH * probes * _PLANNED / 2**width + _BLOCK * tables)

    return CodeJoinPlan(bits, distance, min(range(1, min(bits, _MOST_BLOCKS) + 1), key=cost))


def _within(width: int, radius: int) -> int:
    return sum(comb(width, size) for size in range(min(width, radius) + 1))


@lru_cache(maxsize=128)
def _flips(width: int, radius: int) -> npt.NDArray[np.int32]:
    """Return every mask that flips `radius` bits of a block."""
    if radius == 0:
        return np.zeros(1, np.int32)
    chosen = np.array(list(combinations(range(width), radius)), np.int64)
    found: npt.NDArray[np.int32] = (np.int64(1) << chosen).sum(axis=1).astype(np.uint32).view(np.int32)
    return found


class CodeKind(FixedWidthKind):
    """Bit codes with the same number of bits."""

    name = "code"
    empty = "code"

    def plan_from(self, rows: pa.Array) -> Settings:
        """Take the number of bits from the first code."""
        bits = 8 * (self.width or next(iter(self._sizes(rows)[self._sizes(rows) > 0].tolist()), 0))
        if self.is_planned or not bits:
            return self.settings
        options = dataclasses.replace(self.settings.options, bits=bits)
        return dataclasses.replace(self.settings, options=options, plan=make_plan(bits, int(options.reach)))

    @property
    def width(self) -> int | None:
        """Bytes of a code."""
        bits = self.settings.options.bits
        return None if bits is None else bits // 8

    def size(self, width: int) -> str:
        """Describe the size in bits."""
        return f"{8 * width} bits"

    @property
    def slots(self) -> int:
        """Codes are padded to whole words of 64 bits."""
        return 2 * -(-(self.width or 0) // 8) if self.is_planned else 0

    @property
    def plan(self) -> CodeJoinPlan:
        """The plan; raise `ValueError` if there is none yet."""
        if not isinstance(self.settings.plan, CodeJoinPlan):
            raise ValueError("the index has no plan yet")
        return self.settings.plan

    def codes_of(self, slots: Sketches) -> Codes:
        """Return the codes stored in sketches."""
        return np.ascontiguousarray(slots).view(np.uint64)

    def valid_slots(self, slots: Sketches) -> npt.NDArray[np.bool_]:
        """Return which sketches are codes followed by zero padding."""
        return ~np.asarray(np.ascontiguousarray(slots).view(np.uint8)[:, self.width or 0 :].any(axis=1))

    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Return the column of codes."""
        if options.item_kind not in ("text", "codes"):
            raise OptionError(f"{options.item_flag} does not fit: the index holds codes; leave it out")
        return {"codes": options.codes or self.settings.options.codes}

    def is_single(self, what: Any) -> bool:
        """Whether a query is one code: a whole number, bytes, or hexadecimal digits."""
        return isinstance(what, (str, bytes, bytearray, int, np.integer)) and not isinstance(what, bool)

    def from_values(self, values: Any) -> pa.Array:
        """Accept whole numbers, bytes or hexadecimal digits, in lists or in arrays of NumPy or Arrow."""
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            if not (holds_codes(column.type) or pa.types.is_null(column.type)):
                raise SourceError(f"codes must be whole numbers, bytes or hexadecimal digits, not {column.type}")
            rows, bad = packed_codes(column)
        elif isinstance(values, np.ndarray):
            check_array(values, "codes", SourceOptions.of(codes="code"))
            rows, bad = packed_codes(pa.array(values))
        else:
            rows, bad = _pack_list(values)
        if bad:
            raise SourceError(f"code number {bad[0][0]} cannot be read: {bad[0][1]}")
        return rows

    def keys(self, slots: Sketches) -> Keys:
        """Return the bits of each block as one number, mixed with the number of the block."""
        if not self.is_planned:
            return np.zeros((len(slots), 0), np.int32)
        cut = blocks(self.plan.bits, self.plan.tables)
        keys = np.zeros((len(slots), len(cut)), np.uint32)
        for start in range(0, len(slots), _ROWS):
            some = np.ascontiguousarray(slots[start : start + _ROWS])
            bits = np.unpackbits(some.view(np.uint8), axis=1)
            for number, places in enumerate(cut):
                padded = np.zeros((len(some), _WIDEST), np.uint8)
                padded[:, : len(places)] = bits[:, places]
                whole = np.packbits(padded, axis=1, bitorder="little").view("<u4")[:, 0]
                keys[start : start + _ROWS, number] = whole ^ np.uint32(number * 0x9E3779B1 % 2**32)
        return keys.view(np.int32)

    def limits(self, options: QueryOptions) -> Limits:
        """Default to the distance of the index, or to none for the k nearest."""
        if options.threshold is not None:
            raise OptionError(f"threshold does not apply to an index of {self.name}s; give a distance (--distance)")
        if options.distance is not None and options.distance % 1:
            raise OptionError(f"distance is {options.distance:g}; codes differ in a whole number of bits")
        reach = self.settings.options.reach if options.k is None else np.inf
        return Limits(reach if options.distance is None else options.distance, options.k)

    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Search by blocks."""
        return _CodeSearcher(backend, self)


class _CodeSearcher(Searcher):
    """Answers queries in an index of codes: Hamming distances."""

    def __init__(self, backend: Backend, kind: CodeKind) -> None:
        super().__init__(backend, kind.settings)
        self.kind = kind

    def recall(self, answers: Answers, limits: Limits) -> Shares:
        """Return 1: every code is found."""
        return np.ones(len(answers.numbers))

    def find(self, queries: SketchedBatch, limits: Limits, without: int | None = None) -> list[Answers]:
        """Return the answers in portions."""
        rows = np.flatnonzero(queries.shingles)
        if not len(rows) or not self.kind.is_planned:
            return []
        most = int(min(limits.threshold, self.kind.plan.bits))
        parts: list[Answers] = []
        codes, k = self.kind.codes_of(queries.slots), limits.k and limits.k + (without is not None)
        for part in self._search(codes, rows, most, k):
            if without is not None:
                other = part.numbers != without
                part = Answers(part.queries[other], part.numbers[other], (part.scores[0][other],))
            parts.append(part.best(limits, descending=False))
        return parts

    def _search(self, codes: Codes, rows: Int64s, most: int, k: int | None) -> Iterator[Answers]:
        """Yield codes within a distance of queries; all answers to a query are in one portion."""
        probes = self._probes(most)
        scan = k is None and probes * len(rows) * _SEEK > self._scan_cost(len(rows))
        at_once = _QUERIES if scan or k is not None else max(1, min(_QUERIES, _KEYS // probes))
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            if scan:
                yield self._scan(codes, some, most, None)
            elif k is None:
                yield from self._within(codes, some, most)
            else:
                yield from self._nearest(codes, some, most, k)

    def _probes(self, most: int) -> int:
        width, tables = len(self._blocks[0]), len(self._blocks)
        return sum(_within(width, int(radius)) for radius in radii_of(most, tables))

    @property
    def _blocks(self) -> tuple[npt.NDArray[np.int64], ...]:
        return blocks(self.kind.plan.bits, self.kind.plan.tables)

    def _scan_cost(self, queries: int) -> float:
        return self.backend.last_number() * (_ROW * -(-queries // _QUERIES) + _COMPARE * queries)

    def _block_keys(self, codes: Codes, rows: Int64s) -> Keys:
        return self.kind.keys(codes[rows].view(np.uint32))

    def _within(self, codes: Codes, rows: Int64s, most: int) -> Iterator[Answers]:
        """Yield all codes within a distance."""
        radii = radii_of(most, len(self._blocks)).tolist()
        steps = [(block, size) for block, radius in enumerate(radii) for size in range(radius + 1)]
        keys = self._probe_keys(self._block_keys(codes, rows), steps)
        for query_rows, numbers in find_candidates(self.backend, rows, keys, _MEETINGS):
            yield self._verify(codes, query_rows, numbers, most)

    def _probe_keys(self, filed: Keys, steps: list[tuple[int, int]]) -> Keys:
        """Return the keys of blocks with some of their bits flipped."""
        width = len(self._blocks[0])
        tried = [filed[:, block, None] ^ _flips(width, size) for block, size in steps if size <= width]
        return np.concatenate([np.zeros((len(filed), 0), np.int32), *tried], axis=1)

    def _verify(self, codes: Codes, query_rows: Int64s, numbers: Int64s, most: int) -> Answers:
        parts: list[Answers] = []
        for chosen, places, kept in self.with_sketches(numbers, self.kind.slots, _SKETCHES):
            bits = np.empty(len(chosen), np.uint32)
            kernels.differing_bits(codes, self.kind.codes_of(kept.slots), query_rows[chosen], places, bits)
            near = bits <= most
            parts.append(Answers(query_rows[chosen[near]], numbers[chosen[near]], (bits[near].astype(np.int64),)))
        return Answers.concat(parts, self.measure)

    def _nearest(self, codes: Codes, rows: Int64s, most: int, k: int) -> Iterator[Answers]:
        """Yield the k nearest within a distance, searching at increasing distances until none can be missing."""
        found = Answers.concat([], self.measure)
        seen = np.zeros(0, np.uint64)
        active = rows
        for proven, steps in self._steps(most):
            keys = self._probe_keys(self._block_keys(codes, active), steps)
            if keys.size * _SEEK > self._scan_cost(len(active)):
                break
            for query_rows, numbers in find_candidates(self.backend, active, keys, _MEETINGS):
                pairs = (query_rows.astype(np.uint64) << np.uint64(32)) | numbers.astype(np.uint64)
                new = ~np.isin(pairs, seen)
                seen = np.concatenate([seen, pairs[new]])
                found = Answers.concat([found, self._verify(codes, query_rows[new], numbers[new], most)], self.measure)
            near = np.bincount(found.queries[found.scores[0] <= proven], minlength=len(codes))
            done = active[(near[active] >= k) | (proven >= most)]
            mine = np.isin(found.queries, done)
            yield Answers(found.queries[mine], found.numbers[mine], (found.scores[0][mine],))
            found = Answers(found.queries[~mine], found.numbers[~mine], (found.scores[0][~mine],))
            active = np.setdiff1d(active, done)
            if not len(active):
                return
        yield self._scan(codes, active, most, k)

    def _steps(self, most: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield steps: the distance within which nothing is missed afterwards, and the blocks and bits to flip."""
        tables = len(self._blocks)
        for radius in range(2):
            yield min(most, (radius + 1) * tables - 1), [(block, radius) for block in range(tables)]
            if (radius + 1) * tables > most:
                return
        for distance in range(2 * tables, most + 1):
            yield distance, [(distance % tables, distance // tables)]

    def _scan(self, codes: Codes, rows: Int64s, most: int, k: int | None) -> Answers:
        """Compare queries with every code."""
        limits = dict.fromkeys(rows.tolist(), most)
        found: dict[int, list[tuple[Int64s, Int64s]]] = {row: [] for row in limits}
        places, bits = np.empty(_PAGE, np.int64), np.empty(_PAGE, np.uint32)
        after = 0
        while len((page := self.backend.sketch_page(after, _PAGE)).numbers):
            after = int(page.numbers[-1])
            numbers, theirs = self._codes_of(page)
            for row, limit in limits.items():
                if limit < 0:
                    continue
                count = kernels.within_bits(codes[row], theirs, limit, places, bits)
                found[row].append((numbers[places[:count]], bits[:count].astype(np.int64)))
                if k is not None:
                    limits[row] = _keep_nearest(found[row], k, limit)
        parts = [
            Answers(np.full(len(numbers), row), numbers, (distances,))
            for row, some in found.items()
            for numbers, distances in some
        ]
        return Answers.concat(parts, self.measure)

    def _codes_of(self, page: SketchRows) -> tuple[Int64s, Codes]:
        fit_settings = page.padded_to(self.kind.slots)
        if fit_settings.slots.shape[1] != self.kind.slots:
            raise self.damaged("has no sketch, or a sketch of another plan")
        some = fit_settings.shingles > 0
        return fit_settings.numbers[some], self.kind.codes_of(fit_settings.slots[some])


def _keep_nearest(found: list[tuple[Int64s, Int64s]], k: int, limit: int) -> int:
    """Keep the k nearest so far, and return the maximum distance of a better one."""
    numbers, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((numbers, distances))[:k]
    found[:] = [(numbers[order], distances[order])]
    return limit if len(order) < k else int(distances[order[-1]]) - 1


def _pack_list(values: Any) -> tuple[pa.Array, list[tuple[int, str]]]:
    """Pack a list of codes."""
    alone = isinstance(values, (str, bytes, bytearray, int))
    codes: list[bytes | None] = []
    for place, value in enumerate([values] if alone else as_sequence(values)):
        try:
            codes.append(None if value is None else code_of(value))
        except ValueError as error:
            return pa.nulls(0), [(place, str(error))]
    return packed_codes(pa.array(codes, pa.large_binary()))
