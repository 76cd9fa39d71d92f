"""Plan a run over codes, vectors or weighted sets: read the items, choose the plan, estimate the cost, join nothing."""

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
    """An alternative plan, with its expected cost per vector in nanoseconds of one core."""

    plan: VectorPlan
    cost: float
    chosen: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain values, ready for JSON."""
        return {**self.plan.to_dict(), "microseconds": self.cost / 1000, "chosen": self.chosen}


@dataclass(frozen=True)
class ItemPlan:
    """The plan of a run.

    items, distinct: number of items, and of distinct items.
    background: cosines, or distances, of random pairs, sorted.
    rivals: plans for vectors, cheapest first.
    """

    plan: RunPlan
    items: int
    distinct: int
    background: list[float]
    rivals: list[Rival]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain values, ready for JSON."""
        return {
            **self.plan.to_dict(),
            "items": self.items,
            "distinct": self.distinct,
            "background": self.quantiles(),
            "ranked": [one.to_dict() for one in self.rivals],
        }

    def quantiles(self) -> list[float]:
        """Minimum, quartiles and maximum of the background."""
        if not self.background:
            return []
        return [float(one) for one in np.quantile(self.background, [0, 0.25, 0.5, 0.75, 1])]


def plan_items(*sources: object, progress: Progress | None = None, **options: Any) -> ItemPlan:
    """Plan a run over codes, vectors or weighted sets.

    *sources: as for `twinset.find_pairs`.
    **options: the options of `twinset pairs`, as keyword arguments.

    Examples
    --------
    >>> found = plan_items([1, 2, 2, 7], codes="code", distance=1)
    >>> print(found.plan, found.items, found.distinct)
    exact, all compared with all: every pair of 64-bit codes that differ in at most 1 bit is found 4 3
    """
    checked = PairsOptions.of(**options)
    reports = progress or Silent()
    with LocalEngine().open(Job(tuple(sources), checked, twinset.__version__, progress=reports)) as run:
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
    """Rank the chosen plan among those of other methods, with and without probes, that reach the same recall."""
    plans_to_rank = [chosen]
    words: dict[str, Any] = {
        "dimensions": chosen.dimensions, "measure": chosen.measure, "vectors": vectors, "others": others,
        "sides": chosen.sides,
    }  # fmt: skip
    for rival in RIVALS:
        if (rival["method"] == "p-stable") == (chosen.measure == "cosine") and rival["method"] != "exact":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            plans_to_rank.append(vector_plan(chosen.threshold, chosen.recall, **rival, **words))
    plans = [one for one in dict.fromkeys(plans_to_rank) if one.reached >= chosen.recall]
    rivals = [Rival(one, one.cost(vectors, others), one == chosen) for one in plans]
    return sorted(rivals, key=lambda one: (one.cost, str(one.plan)))
