"""What the commands that run for a while have in common."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from twinset.cli.screen import show
from twinset.cli.support.interrupt import insist
from twinset.cli.support.progress import Display, progress
from twinset.options import DedupOptions, PlanOptions
from twinset.plan.choose import plan_for


def load(say: Callable[[str], None], what: str = "jobs.dedup") -> None:
    """Load what does the work, and say so where that takes a while: kernels are compiled when they are imported."""
    # Work is spread over our own threads: products of matrices, of which vectors need many, shall have one each. NumPy
    # looks at this when it is loaded, which is now.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # nothing that is loaded here is ever garbage, and looking for some takes a fifth of the time
    try:
        from twinset.compiled import on_compile

        on_compile(lambda: say("compiling for this machine: once, for 10 to 20 seconds"))
        import_module(f"twinset.{what}")
    finally:
        gc.freeze()
        gc.enable()
    insist()  # an import that forgives everything may have forgiven that, too


@contextmanager
def followed(options: PlanOptions, quiet: bool, planned: bool = True) -> Iterator[Display]:
    """Follow a run: its plan first, unless the run itself will tell it, then its progress."""
    # An index has a plan of its own, which is told when it is open; what has a measure of its own, when it is read.
    later = getattr(options, "index", None) is not None
    chosen = None if later or not planned else plan_for(options)
    shown = progress(quiet)
    if getattr(options, "memory", None) is None:
        # Arrow's allocator gives memory back after 10 ms and asks for it again; with memory to spare that is only work.
        os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
        # Large pages are cleared 2 MB at a time, and on a virtual machine that hands idle ones back to its host each
        # is fetched anew: a fifth of a run. Small ones cost little anywhere.
        os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    try:
        if chosen is not None:
            shown.note(f"plan: {chosen}")
        load(shown.note)
        yield shown
    finally:
        shown.close()


@contextmanager
def watched(quiet: bool, what: str = "jobs.dedup") -> Iterator[Display]:
    """Show the progress of what needs no plan."""
    told = progress(quiet)
    try:
        load(told.note, what)
        yield told
    finally:
        told.close()


def dry_run(
    sources: Sequence[str], options: Any, as_json: bool, words: dict[str, Any] | None = None, sketches: bool = False
) -> None:
    """Say what would be read and planned; `words` are those that were given."""
    if sketches:
        from twinset.jobs.estimate import outlined

        found = outlined(tuple(sources), options, words or {})
    elif isinstance(options, DedupOptions):
        from twinset.jobs.dedup import outline_dedup

        found = outline_dedup(tuple(sources), options, words or {})
    else:
        from twinset.jobs.pairs import outline_pairs

        found = outline_pairs(tuple(sources), options)
    if as_json:
        show.as_json(found)
    else:
        show.outline(found, depth=0)
