"""Read the plan of a run from its summary."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from twinset.options.items import ItemOptions
from twinset.plan.bands import Plan
from twinset.plan.codes import CodeJoinPlan, OrientationPlan
from twinset.plan.containment import ContainmentPlan
from twinset.plan.nearest import NearestSetsPlan
from twinset.plan.sparse import SparsePlan

if TYPE_CHECKING:
    from twinset.plan.vectors import VectorPlan

AnyPlan: TypeAlias = "Plan | ContainmentPlan | CodeJoinPlan | VectorPlan | SparsePlan | NearestSetsPlan"


def plan_from_summary(options: ItemOptions, values: dict[str, Any]) -> AnyPlan:
    """Read the plan of a run with these options from its summary; raise `KeyError` for a missing value.

    Examples
    --------
    >>> from twinset.options import DedupOptions
    >>> print(plan_from_summary(DedupOptions.of(codes="code"), {"bits": 64, "distance": 3, "tables": 4}))
    exact, 4 tables: every pair of 64-bit codes that differ in at most 3 bits is found
    """
    kinds: dict[str, Any] = {"codes": CodeJoinPlan, "images": CodeJoinPlan, "sparse": SparsePlan}
    kind = kinds.get(options.item_kind, Plan)
    if options.item_kind == "vectors":
        from twinset.plan.vectors import VectorPlan  # loads kernels, so only where needed

        kind = VectorPlan
    if getattr(options, "any_orientation", False):
        kind = OrientationPlan
    if options.measure == "containment":
        kind = ContainmentPlan
    if values.get("neighbours") == "sets":
        kind = NearestSetsPlan
    attributes = {one.name: values[one.name] for one in fields(kind)}
    plan: AnyPlan = kind(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in attributes.items()}
    )
    return plan
