"""Choose hash functions and tables from a threshold and a recall: for sets, bit codes and vectors."""

from twinset.plan.bands import LEAST_LOSS, Plan, at_least, band_probability, exact_plan, matches_needed, plan

__all__ = ["LEAST_LOSS", "Plan", "at_least", "band_probability", "exact_plan", "matches_needed", "plan"]
