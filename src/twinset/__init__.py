"""Twinset finds near-duplicates: documents in; verified pairs, clusters and clean data out.

    twinset.find_pairs(source, …)    find every pair of documents at least as similar as the threshold (also: pairs)
    twinset.dedup(source, …)         remove near-duplicates, with a reason for every removal
    twinset.find_passages(source, …) find every run of words that two documents share, and its places
    twinset.trim(source, …)          cut repeated passages, lines or paragraphs out of documents
    twinset.open_result(folder)      open a result of dedup or find_passages
    twinset.recut(result, …)         recut a result at another threshold, without comparing again
    twinset.compare(a, b, …)         compare two documents exactly
    twinset.collapse(results, …)     fold near-duplicate search results under their first appearance
    twinset.explain(a, b, …)         show what two texts share, or why a document of a result was removed
    twinset.report(result, path)     write a result as one HTML page
    twinset.evaluate(source, …)      measure precision and recall against a truth or the exact join
    twinset.Index                    an index on disk or in a database: add, query, update, remove
    twinset.VectorIndex              an index of vectors in memory
    twinset.Client(url, …)           a client of twinset serve
    twinset.sketch(source, …)        make sketches, to merge and compare them without the documents
    twinset.register(connection, …)  add functions that compare texts to the SQL of DuckDB
    twinset.plan(…)                  choose hashes, bands and rows for a threshold and a recall
    twinset.warm()                   compile everything ahead of the first run
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twinset.client import Client
    from twinset.errors import (
        BusyError,
        CacheWarning,
        ColumnError,
        DamagedError,
        DuplicateIdError,
        FetchError,
        MissingError,
        NormalizationWarning,
        OptionError,
        OutputError,
        PlanWarning,
        RowError,
        SourceError,
        SourceWarning,
        StateError,
        TwinsetError,
        UnknownIdError,
        VerdictChangedError,
    )
    from twinset.index.in_memory import VectorIndex
    from twinset.index.index import Index
    from twinset.jobs.codes import SimHashes
    from twinset.jobs.collapse import collapse
    from twinset.jobs.compare import compare
    from twinset.jobs.dedup import dedup
    from twinset.jobs.evaluate import evaluate
    from twinset.jobs.explain import explain
    from twinset.jobs.pairs import find_pairs
    from twinset.jobs.pairs import find_pairs as pairs
    from twinset.jobs.passages import find_passages
    from twinset.jobs.report import report
    from twinset.jobs.result import open_result, recut
    from twinset.jobs.sketch import Sketches, sketch
    from twinset.jobs.sql.register import register
    from twinset.jobs.trim import trim
    from twinset.jobs.warm import warm
    from twinset.plan import Plan, plan

__version__ = "0.1.0"

__all__ = [
    "BusyError",
    "CacheWarning",
    "Client",
    "ColumnError",
    "DamagedError",
    "DuplicateIdError",
    "FetchError",
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
    "SourceWarning",
    "StateError",
    "TwinsetError",
    "UnknownIdError",
    "VectorIndex",
    "VerdictChangedError",
    "__version__",
    "collapse",
    "compare",
    "dedup",
    "evaluate",
    "explain",
    "find_pairs",
    "find_passages",
    "open_result",
    "pairs",
    "plan",
    "recut",
    "register",
    "report",
    "sketch",
    "trim",
    "warm",
]

# Imported on first use: most need Arrow and Numba, which would delay `twinset --help`, and the command handles Ctrl-C
# only after this module is loaded.
_LAZY = {
    "Client": "client", "Index": "index.index", "Plan": "plan", "SimHashes": "jobs.codes", "Sketches": "jobs.sketch",
    "VectorIndex": "index.in_memory",
    "collapse": "jobs.collapse", "compare": "jobs.compare", "dedup": "jobs.dedup", "evaluate": "jobs.evaluate",
    "explain": "jobs.explain", "find_pairs": "jobs.pairs", "find_passages": "jobs.passages",
    "open_result": "jobs.result", "recut": "jobs.result", "register": "jobs.sql.register",
    "sketch": "jobs.sketch", "trim": "jobs.trim", "warm": "jobs.warm",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        _refuse_platform()
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    if name in __all__:
        return getattr(import_module(".errors", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _refuse_platform() -> None:
    """Raise `ImportError` where Twinset does not run: what follows would fail for a reason that nobody understands."""
    from twinset.system.platforms import why_unsupported

    if reason := why_unsupported():
        raise ImportError(reason)


def __dir__() -> list[str]:
    return __all__


class _Function:
    """A function with the name of a subpackage."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __get__(self, package: ModuleType, kind: type) -> Any:
        _refuse_platform()
        return getattr(import_module(self.module, __name__), self.name)

    def __set__(self, package: ModuleType, folder: ModuleType) -> None:
        """Ignore the subpackage that the import system assigns."""


class _Package(ModuleType):
    """The package, in which the commands `pairs`, `plan` and `report` are functions and not the subpackages."""

    pairs = _Function(".jobs.pairs", "find_pairs")
    plan = _Function(".plan", "plan")
    report = _Function(".jobs.report", "report")


sys.modules[__name__].__class__ = _Package
