"""What the commands that run for a while have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..options import PlanOptions
from ..plan import Plan, plan
from . import show
from .progress import Progress, progress


def plan_of(options: PlanOptions) -> Plan:
    """Give the plan of a run."""
    return plan(
        options.threshold, options.recall, options.n_hashes, options.n_bands, options.rows_per_band
    )


@contextmanager
def followed(options: PlanOptions, quiet: bool) -> Iterator[Progress]:
    """Follow a run: its plan first, then its progress."""
    chosen = plan_of(options)
    shown = progress(quiet)
    try:
        shown.note(f"plan: {chosen}")
        yield shown
    finally:
        shown.close()


def dry_run(sources: Sequence[str], options: Any, as_json: bool) -> None:
    """Say what would be read and planned."""
    from .. import pipeline

    found = pipeline.dry_run(sources, options)
    if as_json:
        show.as_json(found)
    else:
        show.outline(found, depth=0)


