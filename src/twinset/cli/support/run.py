"""Run a job: load its modules, show its plan and progress, or only a dry run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support.interrupt import raise_pending_interrupt
from twinset.cli.support.progress import Display, progress
from twinset.cli.support.settings import given_settings
from twinset.options import DedupOptions, PlanOptions, RunOptions
from twinset.plan.choose import announced_plan


def load(note: Callable[[str], None], module: str = "jobs.dedup", seconds: str = "10 to 20") -> None:
    """Import a module of the library, with a note if its kernels are compiled, which takes a while."""
    # Twinset has its own threads, so a matrix product gets one. NumPy reads this variable when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # imported objects are never garbage, and collecting takes a fifth of the time
    try:
        from twinset.compiled import on_compile

        on_compile(lambda: note(f"compiling for this machine (once, {seconds} seconds)"))
        import_module(f"twinset.{module}")
    finally:
        gc.freeze()
        gc.enable()
    raise_pending_interrupt()  # an import that catches every exception may have caught a Ctrl-C


@contextmanager
def followed(
    options: RunOptions, quiet: bool, planned: bool = True, module: str = "jobs.dedup"
) -> Iterator[Display]:
    """Show the plan of a run, unless the run itself shows it later, and its progress."""
    # The plan of an index is shown when it is open; items with a measure of their own are planned when they are read.
    later = getattr(options, "index", None) is not None
    chosen = announced_plan(options) if planned and not later and isinstance(options, PlanOptions) else None
    shown = progress(quiet)
    if getattr(options, "memory", None) is None:
        # Arrow's allocator returns memory after 10 ms and requests it again, which wastes time if memory is free.
        os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
        # Large pages are cleared 2 MB at a time, and a virtual machine that returns idle pages to its host fetches
        # each again: a fifth of a run. Small pages are cheap everywhere.
        os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    try:
        if chosen is not None:
            shown.note(f"plan: {chosen}")
        load(shown.note, module)
        yield shown
    finally:
        shown.close()


@contextmanager
def watched(quiet: bool, module: str = "jobs.dedup", compiling: str = "10 to 20") -> Iterator[Display]:
    """Show the progress of a job without a plan."""
    shown = progress(quiet)
    try:
        load(shown.note, module, compiling)
        yield shown
    finally:
        shown.close()


def dry_run(
    sources: Sequence[str],
    options: Any,
    as_json: bool,
    given: dict[str, Any] | None = None,
    sketches: bool = False,
    output: str | None = None,
    outline: dict[str, Any] | None = None,
) -> None:
    """Print what would be read, planned and written; `given` are the options that have been given.

    `outline` describes it, if that is known.
    """
    from twinset.cli.screen.dry_run import print_dry_run

    if outline is not None:
        plan = outline
    elif sketches:
        from twinset.jobs.estimate import outlined

        plan = outlined(tuple(sources), options, given or {})
    elif isinstance(options, DedupOptions):
        from twinset.jobs.dedup import outline_dedup

        plan = outline_dedup(tuple(sources), options, given or {})
    else:
        from twinset.jobs.pairs import outline_pairs

        plan = outline_pairs(tuple(sources), options)
    context = click.get_current_context()
    if as_json:
        origins = {one.name: one.origin for one in given_settings(context)}
        show.as_json({**plan, **({"settings": origins} if origins else {})})
    else:
        print_dry_run(plan, options, output, given_settings(context, flags=True))
