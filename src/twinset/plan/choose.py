"""Choose the plan of a run from its options."""

import warnings
from typing import Any

from twinset.errors import PlanWarning
from twinset.options import DedupOptions, PlanOptions
from twinset.options.items import MEASURED
from twinset.plan.bands import Plan, exact_plan, plan
from twinset.plan.containment import ContainmentPlan
from twinset.plan.nearest import NearestSetsPlan


def plan_for(options: PlanOptions) -> Plan | None:
    """Return the plan of a run over sets; None for items that are planned after reading.

    Examples
    --------
    >>> from twinset.options import PairsOptions
    >>> print(plan_for(PairsOptions.of(threshold=0.8)).n_bands)
    16
    >>> plan_for(PairsOptions.of(vectors="vector")) is None
    True
    """
    return None if getattr(options, "item_kind", "text") in MEASURED else band_plan(options)


def band_plan(options: PlanOptions) -> Plan:
    """Return the bands and rows of the options, or none for an exact run or one by containment, without sketches."""
    exact = getattr(options, "exact", False) or getattr(options, "nearest_sets", False)
    if exact or getattr(options, "contained", None) is not None:
        return exact_plan(options.threshold)
    with warnings.catch_warnings():
        if isinstance(options, DedupOptions) and options.index is not None:
            warnings.simplefilter("ignore", PlanWarning)  # the warning was issued when the index was made
        return plan(options.least, options.recall, options.n_hashes, options.n_bands, options.rows_per_band)


def announced_plan(options: Any) -> Plan | ContainmentPlan | NearestSetsPlan | None:
    """Return the plan to show before anything is read; None for items that are planned after reading."""
    if getattr(options, "nearest_sets", False):
        return NearestSetsPlan(options.top)
    if getattr(options, "contained", None) is not None:
        return containment_plan(options)
    return plan_for(options)


def containment_plan(options: Any) -> ContainmentPlan:
    """Return the plan of a search for containment."""
    return ContainmentPlan(options.least, 1.0 if getattr(options, "exact", False) else options.recall)


def outline_plan(options: Any) -> dict[str, Any]:
    """Describe a plan before anything is read."""
    chosen = announced_plan(options)
    if chosen is not None:
        return chosen.to_dict()
    if options.by_distance:
        return {"distance": options.farthest, "chosen": "when all are read"}
    return {"threshold": options.least, "recall": options.recall, "chosen": "when all are read"}
