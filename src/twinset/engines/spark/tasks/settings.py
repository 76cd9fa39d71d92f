"""The options of a run as plain values, which a task receives, and the options that it makes of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import pyarrow as pa

from twinset.documents.formats.memory_tables import TablePart
from twinset.documents.parts import Block
from twinset.options import DedupOptions, PairsOptions
from twinset.options.sketch import SketchOptions
from twinset.plan import Plan
from twinset.plan.choose import band_plan

__all__ = [
    "ID",
    "RANK",
    "Batches",
    "Settings",
    "TaskOptions",
    "item_columns",
    "open_block",
    "opened",
    "settings_of",
    "sketch_settings_of",
]

Batches: TypeAlias = Any
"""An iterator of record batches."""
Settings: TypeAlias = dict[str, Any]
"""What a task needs to know, as plain values: Spark sends them to the workers."""

ID = "twinset_id"
"""The column of ids as strings, beside those of the items."""
RANK = "twinset_rank_"
"""What the names of the columns of the keep policy begin with."""

_JOBS: dict[str, type[PairsOptions | DedupOptions]] = {"pairs": PairsOptions, "dedup": DedupOptions}


@dataclass(frozen=True)
class TaskOptions:
    """The options and the plan of a run, in a task."""

    options: PairsOptions | DedupOptions
    plan: Plan


def settings_of(options: PairsOptions | DedupOptions) -> Settings:
    """Return the options that differ from their defaults, as plain values.

    Rows have their ids beside them, so that no column of a batch is read as one.
    """
    job = next(name for name, kind in _JOBS.items() if isinstance(options, kind))
    plain = dataclasses.replace(options, id=None, no_id=True, engine="local", master=None, connect=None, order_by=None)
    if options.item_kind == "groups":  # the session has made lists of them
        plain = dataclasses.replace(plain, group=None, item=None, items=options.item)
    values = {name: getattr(plain, name) for name, _ in plain.specs()}
    given = {name: value for name, value in values.items() if value != plain.defaults()[name]}
    return {"job": job, "options": tuple(sorted(given.items(), key=lambda item: item[0]))}


def sketch_settings_of(options: SketchOptions) -> Settings:
    """Return the options of a table of sketches that differ from their defaults, as plain values."""
    values = {name: getattr(options, name) for name, _ in options.specs() if name not in ("id", "no_id")}
    given = {name: value for name, value in values.items() if value != options.defaults()[name]}
    return {"options": tuple(sorted({**given, "no_id": True}.items()))}


def opened(settings: Settings) -> TaskOptions:
    """Return the options and the plan that the settings stand for."""
    return _opened(settings["job"], settings["options"])


@cache
def _opened(job: str, given: tuple[tuple[str, Any], ...]) -> TaskOptions:
    options = _JOBS[job].of(**dict(given))
    return TaskOptions(options, band_plan(options))


def item_columns(names: list[str]) -> list[str]:
    """Return the columns of the items, of those that a step has beside its own."""
    return [name for name in names if name != ID and not name.startswith(RANK)]


def open_block(table: pa.Table, options: PairsOptions | DedupOptions) -> tuple[TablePart, Block]:
    """Read rows as the local engine reads those of a table in memory."""
    part = TablePart("data frame", 0, options, table)
    return part, part.block(table, 0, whole=False, texts_only=False)
