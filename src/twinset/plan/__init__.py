"""Threshold and recall in; what to hash, and how often, out: for sets, for bit codes and for vectors."""

from twinset.plan.bands import LEAST_LOSS, Plan, at_least, band_probability, exact_plan, matches_needed, plan

__all__ = ["LEAST_LOSS", "Plan", "at_least", "band_probability", "exact_plan", "matches_needed", "plan"]
