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

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinset.errors import (
        BusyError,
        CacheWarning,
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
    from twinset.index.in_memory import VectorIndex
    from twinset.index.index import Index
    from twinset.jobs.codes import SimHashes
    from twinset.jobs.collapse import collapse
    from twinset.jobs.compare import compare
    from twinset.jobs.dedup import dedup
    from twinset.jobs.evaluate import evaluate
    from twinset.jobs.pairs import find_pairs
    from twinset.jobs.result import open_result
    from twinset.jobs.sketch import Sketches, sketch
    from twinset.plan import Plan, plan
    from twinset.results.explain import explain

__version__ = "0.1.0"

__all__ = [
    "BusyError",
    "CacheWarning",
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

# Imported when first asked for. Most need Arrow and Numba, which `twinset --help` does not wait for; and the command
# can handle Ctrl-C only after this module is loaded.
_LAZY = {
    "Index": "index.index", "Plan": "plan", "SimHashes": "jobs.codes", "Sketches": "jobs.sketch",
    "VectorIndex": "index.in_memory",
    "collapse": "jobs.collapse", "compare": "jobs.compare", "dedup": "jobs.dedup", "evaluate": "jobs.evaluate",
    "explain": "results.explain", "find_pairs": "jobs.pairs", "open_result": "jobs.result", "sketch": "jobs.sketch",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    if name in __all__:
        return getattr(import_module(".errors", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """The package: its `plan` is the function, although there is a folder of that name."""

    @property
    def plan(self) -> Any:
        """The function `twinset.plan.plan`."""
        return import_module(".plan", __name__).plan

    @plan.setter
    def plan(self, folder: ModuleType) -> None:
        """Leave the name to the function when the import system sets it to the folder."""


sys.modules[__name__].__class__ = _Package
