"""Define every option once: name, default, bounds, choices and help.

The keyword arguments of the Python functions, the flags of the command line and `docs/commands.md` are derived from
the dataclasses below. They only store and check values; nothing heavy is imported here.

    ItemOptions                  PlanOptions
         │                           │
    ReadOptions  ShingleOptions  ContainmentOptions  TableOptions  RunOptions  AuditOptions
          └───────────┴────┬─────────────┴────────────┴─────────────┴────────────┘
              PairsOptions · DedupOptions          CompareOptions (shingles and a sketch)
"""

from twinset.options.base import Options, option
from twinset.options.items import ItemOptions, TableOptions
from twinset.options.jobs import ArrivalOptions, CompareOptions, DedupOptions, PairsOptions
from twinset.options.steps import (
    AuditOptions,
    ContainmentOptions,
    PlanOptions,
    ReadOptions,
    RunOptions,
    ShingleOptions,
)

__all__ = [
    "ArrivalOptions",
    "AuditOptions",
    "CompareOptions",
    "ContainmentOptions",
    "DedupOptions",
    "ItemOptions",
    "Options",
    "PairsOptions",
    "PlanOptions",
    "ReadOptions",
    "RunOptions",
    "ShingleOptions",
    "TableOptions",
    "option",
]
