"""Twinset finds near-duplicates: documents in; verified pairs, clusters and clean data out.

    twinset.find_pairs(source, …)    every pair of documents at least as similar as the threshold
    twinset.dedup(source, …)         the clean collection, and a reason for every document removed
    twinset.open_result(folder)      a result of dedup, opened again
    twinset.compare(a, b, …)         two documents, exactly
    twinset.collapse(results, …)     search results, near-duplicates folded under their first appearance
    twinset.explain(a, b, …)         what two documents share, and where they differ
    twinset.evaluate(source, …)      how well they are found, against a truth or the exact join
    twinset.Index                    an index on disk or in a database: add, query, update, remove
    twinset.VectorIndex              an index of vectors in memory
    twinset.sketch(source, …)        sketches to keep, to merge and to compare later, without the documents
    twinset.plan(…)                  the hashes, bands and rows behind a threshold and a recall
"""

from __future__ import annotations

from twinset import starting as starting  # before all others: they take a while

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING, Any

from twinset.errors import (
    BusyError,
    ColumnError,
    DamagedError,
    DuplicateIdError,
    MissingError,
    NormalizationWarning,
    OptionError,
    OutputError,
    PlanWarning,
    RowError,
    SourceError,
    StateError,
    TwinsetError,
    UnknownIdError,
)
from twinset.plan import Plan, plan

if TYPE_CHECKING:
    from twinset.index.in_memory import VectorIndex
    from twinset.index.index import Index
    from twinset.jobs.codes import SimHashes
    from twinset.jobs.collapse import collapse
    from twinset.jobs.compare import compare
    from twinset.jobs.evaluate import evaluate
    from twinset.jobs.result import open_result
    from twinset.jobs.sketch import Sketches, sketch
    from twinset.pipeline import dedup, find_pairs
    from twinset.results.explain import explain

__version__ = "0.1.0"

__all__ = [
    "BusyError",
    "ColumnError",
    "DamagedError",
    "DuplicateIdError",
    "Index",
    "MissingError",
    "NormalizationWarning",
    "OptionError",
    "OutputError",
    "Plan",
    "PlanWarning",
    "RowError",
    "SimHashes",
    "Sketches",
    "SourceError",
    "StateError",
    "TwinsetError",
    "UnknownIdError",
    "VectorIndex",
    "__version__",
    "collapse",
    "compare",
    "dedup",
    "evaluate",
    "explain",
    "find_pairs",
    "open_result",
    "plan",
    "sketch",
]

# Imported when first asked for: they need Arrow and Numba, which `twinset --help` does not wait for.
_LAZY = {
    "Index": "index.index", "VectorIndex": "index.in_memory", "collapse": "jobs.collapse",
    "compare": "jobs.compare", "dedup": "pipeline", "evaluate": "jobs.evaluate", "find_pairs": "pipeline",
    "explain": "results.explain", "open_result": "jobs.result", "SimHashes": "jobs.codes", "Sketches": "jobs.sketch",
    "sketch": "jobs.sketch",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
