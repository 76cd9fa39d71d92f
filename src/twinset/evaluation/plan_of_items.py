"""What a run over codes, vectors or weighted sets would do: its plan, made for these very items, and its cost.

Everything is read, as a run reads it, and nothing is joined.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import twinset
from twinset.engines.base import Job
from twinset.engines.local.joins.base import RunPlan
from twinset.engines.local.joins.in_memory import InMemoryJoin
from twinset.engines.local.joins.vectors import VectorJoin
from twinset.engines.local.run import LocalEngine
from twinset.engines.progress import Progress, Silent
from twinset.errors import OptionError, PlanWarning
from twinset.options import PairsOptions
from twinset.plan.vectors import VectorPlan, vector_plan

RIVALS: tuple[dict[str, Any], ...] = (
    {"method": "cross-polytope"},
    {"method": "cross-polytope", "probes": 0},
    {"method": "hyperplane"},
    {"method": "hyperplane", "probes": 0},
    {"method": "p-stable"},
    {"method": "p-stable", "probes": 0},
    {"method": "exact"},
)


@dataclass(frozen=True)
class Rival:
    """A plan beside the chosen one, and what a vector is expected to cost under it, in nanoseconds of one core."""

    plan: VectorPlan
    cost: float
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """Give the values as plain ones, ready for JSON."""
        return {**self.plan.to_dict(), "microseconds": self.cost / 1000, "chosen": self.chosen}


@dataclass(frozen=True)
class ItemPlan:
    """The plan of a run.

    Attributes
    ----------
    plan
        What would be done.
    items, distinct
        How many there are, and how many of them differ from all others.
    background
        Cosines, or distances, of random pairs, sorted: what meets by chance.
    rivals
        Plans for vectors, the cheapest first.
    """

    plan: RunPlan
    items: int
    distinct: int
    background: list[float]
    rivals: list[Rival]

    def to_dict(self) -> dict[str, Any]:
        """Give the values as plain ones, ready for JSON."""
        return {
            **self.plan.to_dict(),
            "items": self.items,
            "distinct": self.distinct,
            "background": self.quantiles(),
            "ranked": [one.to_dict() for one in self.rivals],
        }

    def quantiles(self) -> list[float]:
        """The least, the quarters and the most of the background."""
        if not self.background:
            return []
        return [float(one) for one in np.quantile(self.background, [0, 0.25, 0.5, 0.75, 1])]


def plan_items(*sources: object, progress: Progress | None = None, **words: Any) -> ItemPlan:
    """Plan a run over items that have a measure of their own.

    Parameters
    ----------
    *sources
        As for `twinset.find_pairs`.
    progress
        Told how the work goes.
    **words
        The options of `twinset pairs`, by the same words.

    Returns
    -------
    ItemPlan

    Examples
    --------
    >>> found = plan_items([1, 2, 2, 7], codes="code", distance=1)
    >>> print(found.plan, found.items, found.distinct)
    exact, all compared with all: every pair of 64-bit codes that differ in at most 1 bit is found 4 3
    """
    options = PairsOptions.of(**words)
    told = progress or Silent()
    with LocalEngine().open(Job(tuple(sources), options, twinset.__version__, progress=told)) as run:
        corpus = run.read()
        join = run.plan(corpus, run.collapse(corpus))
        if not isinstance(join, InMemoryJoin):
            raise OptionError("the plan of sets follows from the options alone; give them without a source")
        background, rivals, chosen = [], [], join.plan
        if isinstance(join, VectorJoin):
            chosen = join.vector_plan
            if join.limit > 0 and len(join.vectors) > 1:
                background = sorted(join.others())
                rivals = ranked(chosen, len(join.vectors), background)
        return ItemPlan(chosen, corpus.own, len(join.numbers), background, rivals)


def ranked(chosen: VectorPlan, vectors: int, others: list[float] | None = None) -> list[Rival]:
    """The chosen plan among those of other methods, with and without probes, that reach the same recall."""
    found = [chosen]
    words: dict[str, Any] = {
        "dimensions": chosen.dimensions, "measure": chosen.measure, "vectors": vectors, "others": others,
        "sides": chosen.sides,
    }  # fmt: skip
    for rival in RIVALS:
        if (rival["method"] == "p-stable") == (chosen.measure == "cosine") and rival["method"] != "exact":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            found.append(vector_plan(chosen.threshold, chosen.recall, **rival, **words))
    plans = [one for one in dict.fromkeys(found) if one.reached >= chosen.recall]
    rivals = [Rival(one, one.cost(vectors, others), one == chosen) for one in plans]
    return sorted(rivals, key=lambda one: (one.cost, str(one.plan)))
