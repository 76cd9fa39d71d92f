"""All pairs of vectors, and nearest neighbours, from an array in memory: Twinset's steps in their order, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.pairs import vectors as verifying
from twinset.plan.vectors import VectorPlan
from twinset.schema import Hashes, Numbers, Places, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import squares, unit_vectors

Scores = npt.NDArray[np.float64]

ROWS = 4096  # hashed at a time


def pairs(vectors: Vectors, plan: VectorPlan, seed: int = 1, threads: int = 2) -> tuple[Numbers, Numbers, Scores]:
    """All pairs that the plan finds, in order; vectors without direction have no cosines, and are in none."""
    if plan.method == "exact":
        every = verifying.AllWithAll(vectors, plan.threshold, plan.measure)
        return _ordered(list(_packed(every.pairs(0, len(vectors)))))
    with ThreadPoolExecutor(threads) as pool:
        hashed, known = directions(vectors, plan, pool)
        numbers = np.flatnonzero(known).astype(np.uint32)
        hashed = hashed if known.all() else hashed[numbers]
        signatures = in_parts(pool, hashed, lambda rows: vector_keys.sign(hashed[rows], plan, seed))
        tried = keys(hashed, plan, seed, pool)
        lengths = squares(vectors)
        blocks = pool.map(lambda one: probing.probed(numbers, one, signatures), tried)
        jobs = [(block, part) for block in blocks for part in _portions(len(numbers), threads)]

        def find(job: tuple[probing.Probed, tuple[int, int]]) -> list[tuple[Hashes, Scores]]:
            candidates = probing.within(job[0], plan.most_differing, job[1])
            return list(_packed(_verified(vectors, lengths, plan, some) for some in candidates))

        return _ordered([portion for portions in pool.map(find, jobs) for portion in portions])


def _verified(
    vectors: Vectors, lengths: Scores, plan: VectorPlan, candidates: probing.CandidatePairs
) -> tuple[Numbers, Numbers, Scores]:
    lefts, rights = (np.ascontiguousarray(candidates[:, side]) for side in (0, 1))
    if plan.measure == "cosine":
        kept, scores = verifying.similar(lefts, rights, plan.threshold, vectors, lengths)
    else:
        kept, scores = verifying.near(lefts, rights, plan.threshold, vectors)
    return lefts[kept], rights[kept], scores


def _packed(portions: Iterable[tuple[Numbers, Numbers, Scores]]) -> Iterator[tuple[Hashes, Scores]]:
    """A pair as one number, to be sorted."""
    for lefts, rights, scores in portions:
        yield lefts.astype(np.uint64) << np.uint64(32) | rights, scores


def _ordered(found: list[tuple[Hashes, Scores]]) -> tuple[Numbers, Numbers, Scores]:
    """Each pair once: several tables may have found it."""
    words = np.concatenate([np.empty(0, np.uint64), *(words for words, _ in found)])
    scores = np.concatenate([np.empty(0), *(scores for _, scores in found)])
    words, first = np.unique(words, return_index=True)
    return (words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32), scores[first]


def directions(vectors: Vectors, plan: VectorPlan, pool: ThreadPoolExecutor) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """What is hashed: vectors of length 1 for cosines, the vectors themselves for distances."""
    if plan.measure == "distance":
        return vectors, np.ones(len(vectors), np.bool_)
    parts = list(pool.map(lambda rows: unit_vectors(vectors[rows]), _slices(len(vectors))))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def keys(hashed: Vectors, plan: VectorPlan, seed: int, pool: ThreadPoolExecutor) -> list[Hashes]:
    """The keys that each vector tries, in each table."""
    drawn = vector_keys.draw(plan, seed)
    tried = [np.empty((len(hashed), plan.probes + 1), np.uint64) for _ in range(plan.tables)]

    def work(rows: slice) -> None:
        for table, moves in enumerate(vector_keys.moves(hashed[rows], drawn, range(plan.tables), plan.probes)):
            tried[table][rows] = probing.next_keys(moves, plan.probes)

    list(pool.map(work, _slices(len(hashed))))
    return tried


def in_parts(pool: ThreadPoolExecutor, vectors: Vectors, work: Callable[[slice], Any]) -> Any:
    return np.concatenate(list(pool.map(work, _slices(len(vectors)))))


def _slices(count: int) -> Iterable[slice]:
    return [slice(start, min(start + ROWS, count)) for start in range(0, max(count, 1), ROWS)]


def _portions(count: int, parts: int) -> list[tuple[int, int]]:
    return list(pairwise(np.linspace(0, count, parts + 1).astype(int).tolist()))


class Index:
    """Vectors in hash tables, to be asked for the nearest of others."""

    def __init__(self, vectors: Vectors, plan: VectorPlan, seed: int = 1, threads: int = 2) -> None:
        self.vectors, self.plan, self.seed, self.threads = vectors, plan, seed, threads
        with ThreadPoolExecutor(threads) as pool:
            hashed, _ = directions(vectors, plan, pool)
            signatures = in_parts(pool, hashed, lambda rows: vector_keys.sign(hashed[rows], plan, seed))
            own = keys(hashed, VectorPlan(**{**vars(plan), "probes": 0}), seed, pool)
            numbers = np.arange(len(vectors), dtype=np.uint32)
            self.blocks = list(pool.map(lambda one: probing.probed(numbers, one, signatures), own))

    def nearest(self, queries: Vectors, count: int) -> tuple[Numbers, Scores, Places]:
        """The nearest that are found, best first."""
        with ThreadPoolExecutor(self.threads) as pool:
            parts = list(pool.map(lambda rows: self._nearest(queries[rows], count, rows), _slices(len(queries))))
        numbers, scores, counts = (np.concatenate([part[i] for part in parts]) for i in range(3))
        return numbers, scores, counts

    def _nearest(self, queries: Vectors, count: int, rows: slice) -> tuple[Numbers, Scores, Places]:
        hashed = unit_vectors(queries)[0] if self.plan.measure == "cosine" else queries
        drawn = vector_keys.draw(self.plan, self.seed)
        signatures = vector_keys.sign(hashed, self.plan, self.seed)
        found = []
        every = vector_keys.moves(hashed, drawn, range(self.plan.tables), self.plan.probes)
        for block, moves in zip(self.blocks, every, strict=True):
            tried = probing.next_keys(moves, self.plan.probes)
            portions = probing.find_candidates(tried, signatures, block, self.plan.most_differing)
            found += [one[:, 0].astype(np.uint64) << np.uint64(32) | one[:, 1] for one in portions]
        words = np.concatenate(found) if found else np.empty(0, np.uint64)
        words.sort()
        asking, candidates = (words >> np.uint64(32)).astype(np.int64), words.astype(np.uint32)
        offsets = np.searchsorted(asking, np.arange(len(queries) + 1)).astype(np.int64)
        return verifying.nearest(queries, self.vectors, offsets, candidates, count, self.plan.measure)
