"""A random sample of pairs to label, stratified by similarity.

Each stratum is a range of scores. Within it, the pairs with the lowest hash of both digests and the seed are drawn: a
simple random sample that does not depend on the order of rows, and that has most pairs in common with the sample of a
later run over more documents. Each drawn pair is stored with its weight, the number of pairs that it stands for.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.errors import OptionError, StateError
from twinset.schema import DISTANCES, SCORES, Hashes, Shares
from twinset.verdicts.events import SAMPLE, Content, Event
from twinset.verdicts.store import VerdictStore

__all__ = ["Population", "Sample", "SampledPair", "Stratum", "draw_sample", "limit_of", "samples_of"]

_LEAST_PART = 0.5
"""Share of the labels that is divided equally among the strata; the rest is divided by their sizes."""


@dataclass(frozen=True)
class Population:
    """All scored pairs of distinct contents of a result.

    left, right (n, 2): digests. score: larger is nearer, so distances are negative. `measure` is that of the result,
    `check` names it, and `basis` says how it compares contents.
    """

    left: Hashes
    right: Hashes
    score: Shares
    measure: str
    lowest: float
    check: str
    basis: str


@dataclass(frozen=True)
class Stratum:
    """Pairs with scores from `low` (inclusive) up to the next stratum: how many there are, and how many were drawn."""

    low: float
    population: int
    drawn: int


@dataclass(frozen=True)
class SampledPair:
    """A pair of a sample, in the order in which pairs are to be labelled. It stands for `weight` pairs."""

    left: Content
    right: Content
    score: float
    stratum: int
    weight: float


@dataclass(frozen=True)
class Sample:
    """A sample as it is stored; `strata` ascend, and `pairs` are in the order in which they are to be labelled."""

    mark: str
    time: int
    seed: int
    measure: str
    check: str
    strata: tuple[Stratum, ...]
    pairs: tuple[SampledPair, ...]

    @property
    def by_distance(self) -> bool:
        """Whether scores are negative distances."""
        return self.measure in DISTANCES

    @property
    def population(self) -> int:
        """The number of pairs that the sample stands for."""
        return sum(one.population for one in self.strata)


def draw_sample(
    store: VerdictStore, population: Population, name: Callable[[npt.NDArray[np.int64]], Sequence[tuple[str, str]]], *,
    who: str, pairs: int = 60, strata: int = 6, seed: int = 1,
) -> Sample:  # fmt: skip
    """Draw a sample and store it; the same sample is not stored twice.

    Parameters
    ----------
    name
        Returns the ids of the rows drawn.
    who
        The person who draws it.
    pairs, strata, seed
        The number of pairs to draw, of ranges of scores, and the seed.
    """
    chosen = chosen_rows(population, pairs, strata, seed)
    rows = chosen.rows
    made = Sample(
        _mark(population, seed, pairs, strata, rows), 0, seed, population.measure, population.check,
        chosen.strata,
        tuple(
            SampledPair(
                Content(population.left[row].tobytes(), left), Content(population.right[row].tobytes(), right),
                float(population.score[row]), h, chosen.strata[h].population / chosen.strata[h].drawn,
            )
            for row, h, (left, right) in zip(rows.tolist(), chosen.stratum.tolist(), name(rows), strict=True)
        ),
    )  # fmt: skip
    known = next((one for one in samples_of(store) if one.mark == made.mark), None)
    if known is not None:
        return known
    store.add_sample(made.mark, _header(made), _rows(made), who=who, basis=population.basis)
    return next(one for one in samples_of(store) if one.mark == made.mark)


@dataclass(frozen=True)
class ChosenRows:
    """Rows of a population in a random order, the stratum of each, and the strata, ascending."""

    rows: npt.NDArray[np.int64]
    stratum: npt.NDArray[np.int64]
    strata: tuple[Stratum, ...]


def chosen_rows(population: Population, pairs: int, strata: int, seed: int) -> ChosenRows:
    """Choose the rows of a sample at random, some of each stratum."""
    order = _in_random_order(population, seed)
    scores = population.score[order]
    if not len(order):
        raise OptionError("there are no pairs to sample: no two different contents are as similar as the floor")
    edges = _edges(population, scores, min(strata, pairs))  # each stratum needs a label
    sizes = np.bincount(np.searchsorted(edges, scores, "right") - 1, minlength=len(edges))
    edges, sizes = edges[sizes > 0], sizes[sizes > 0]
    stratum = np.searchsorted(edges, scores, "right") - 1
    drawn = _allot(sizes, pairs)
    first = [np.flatnonzero(stratum == h)[:count] for h, count in enumerate(drawn.tolist())]
    chosen = np.sort(np.concatenate(first))  # back to the random order, in which pairs are labelled
    listed = tuple(Stratum(*one) for one in zip(edges.tolist(), sizes.tolist(), drawn.tolist(), strict=True))
    return ChosenRows(order[chosen], stratum[chosen], listed)


def limit_of(sample: Sample, score: float) -> float:
    """Return a score as a threshold, or as a distance if scores are negative distances."""
    return -score + 0.0 if sample.by_distance else score


def samples_of(store: VerdictStore) -> list[Sample]:
    """Return the samples of a file, the oldest first."""
    steps: dict[str, list[Event]] = {}
    for event in store.samples():
        steps.setdefault(event.step, []).append(event)
    heads = [(one[0], one[1:]) for one in steps.values() if one[0].kind == SAMPLE]
    return [_sample(head, rows) for head, rows in sorted(heads, key=lambda one: one[0].order)]


def check_facts(event: Event) -> dict[str, Any]:
    """Return the numbers of a ``sample`` or ``sampled`` event; raise `StateError` if they are none."""
    numbers = {"low": float, "population": int, "drawn": int}
    try:
        facts = json.loads(event.data)
        if event.kind == SAMPLE:
            strata = facts["strata"]
            fits = isinstance(facts["seed"], int) and isinstance(facts["check"], str) and facts["measure"] in SCORES
            fits = fits and len(strata) > 0 and all(_have(one, numbers) for one in strata)
            fits = fits and all(0 < one["drawn"] <= one["population"] for one in strata)
        else:
            fits = _have(facts, {"score": float, "stratum": int, "weight": float}) and facts["stratum"] >= 0
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        fits = False
    if not fits:
        raise StateError(f"the event {event.mark} has no numbers of a sample; export the verdicts again")
    return dict(facts)


def _have(facts: dict[str, Any], kinds: dict[str, type]) -> bool:
    """Whether facts have exactly these numbers."""
    fits = (type(facts.get(name)) in (kind, int) and math.isfinite(facts[name]) for name, kind in kinds.items())
    return set(facts) == set(kinds) and all(fits)


def _sample(head: Event, rows: Sequence[Event]) -> Sample:
    facts = check_facts(head)
    strata = tuple(Stratum(float(one["low"]), one["population"], one["drawn"]) for one in facts["strata"])
    pairs = []
    for row in rows:
        data, (left, right) = check_facts(row), row.contents
        if right is None or data["stratum"] >= len(strata):
            raise StateError(f"the event {row.mark} is not of the sample {head.mark}; export the verdicts again")
        pairs.append(SampledPair(left, right, float(data["score"]), data["stratum"], float(data["weight"])))
    drawn = [sum(one.stratum == h for one in pairs) for h in range(len(strata))]
    if drawn != [one.drawn for one in strata]:
        raise StateError(f"the sample {head.mark} lacks some of its pairs; export the verdicts again")
    return Sample(head.mark, head.time, facts["seed"], facts["measure"], facts["check"], strata, tuple(pairs))


def _header(sample: Sample) -> str:
    strata = [{"low": one.low, "population": one.population, "drawn": one.drawn} for one in sample.strata]
    return _as_json({"seed": sample.seed, "measure": sample.measure, "check": sample.check, "strata": strata})


def _rows(sample: Sample) -> list[tuple[Content, Content, str]]:
    return [
        (one.left, one.right, _as_json({"score": one.score, "stratum": one.stratum, "weight": one.weight}))
        for one in sample.pairs
    ]


def _as_json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def _edges(population: Population, scores: Shares, strata: int) -> Shares:
    """Return the lower ends of ranges of scores of equal width, from the lowest score of the result up."""
    highest = 0.0 if population.measure in DISTANCES else 1.0
    lowest = population.lowest if np.isfinite(population.lowest) else float(scores.min())
    edges = lowest + (highest - lowest) * np.arange(strata) / strata
    if population.measure == "bits":
        edges = np.ceil(edges)
    rounded = np.round(edges, 3)
    edges = np.where(rounded[0] <= edges[0], rounded, edges)
    edges[0] = min(float(edges[0]), float(scores.min()))
    return np.unique(edges)


def _allot(sizes: npt.NDArray[np.int64], pairs: int) -> npt.NDArray[np.int64]:
    """Divide labels among strata: a part equally, the rest by size; each gets at least one, none more than it has.

    Examples
    --------
    >>> _allot(np.array([900, 90, 10]), 60).tolist(), _allot(np.array([4, 90, 10]), 60).tolist()
    ([37, 13, 10], [4, 46, 10])
    """
    share = _LEAST_PART / len(sizes) + (1 - _LEAST_PART) * sizes / sizes.sum()
    drawn = np.ones(len(sizes), np.int64)
    while drawn.sum() < min(pairs, sizes.sum()):
        left = pairs - int(drawn.sum())
        room = sizes - drawn
        ideal = np.where(room > 0, share, 0.0)
        ideal = ideal / ideal.sum() * left
        step = np.minimum(np.floor(ideal).astype(np.int64), room)
        if not step.any():  # the last few, to the largest remainders
            order = np.lexsort((np.arange(len(sizes)), -np.where(room > 0, ideal, -1.0)))
            step[order[: min(left, int(np.count_nonzero(room)))]] = 1
        drawn += step
    return drawn


def _in_random_order(population: Population, seed: int) -> npt.NDArray[np.int64]:
    """Return the rows in a random order that is the same for any order of rows and of the two sides.

    A pair of contents that is there twice, in two groups, is returned once, a pair of equal contents never.
    """
    left, right = (np.ascontiguousarray(one, "<u8") for one in (population.left, population.right))
    swap = (right[:, 0] < left[:, 0]) | ((right[:, 0] == left[:, 0]) & (right[:, 1] < left[:, 1]))
    words = np.where(swap[:, None], np.concatenate([right, left], axis=1), np.concatenate([left, right], axis=1))
    mixed = np.full(len(words), seed, np.uint64)
    for column in words.T:
        mixed = _mix(mixed ^ column)
    order = np.lexsort((words[:, 3], words[:, 2], words[:, 1], words[:, 0], mixed))
    fresh = (left != right).any(axis=1)[order]
    fresh[1:] &= (words[order[1:]] != words[order[:-1]]).any(axis=1)
    chosen: npt.NDArray[np.int64] = order[fresh]
    return chosen


def _mix(words: Hashes) -> Hashes:
    """Mix the bits of words (the finalizer of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _mark(population: Population, seed: int, pairs: int, strata: int, rows: npt.NDArray[np.int64]) -> str:
    """Return the mark of a sample, the same wherever the same sample is drawn."""
    chosen = b"".join(
        part.tobytes() for side in (population.left, population.right) for part in np.ascontiguousarray(side[rows])
    )
    facts = f"{population.basis}|{population.check}|{population.lowest!r}|{seed}|{pairs}|{strata}|".encode()
    return hashlib.blake2b(facts + chosen, digest_size=16).hexdigest()
