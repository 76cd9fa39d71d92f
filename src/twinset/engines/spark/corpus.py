"""The documents of a run on Spark, as data frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twinset.engines.spark.session import DataFrame

__all__ = ["Contents", "Counted", "RunRows"]


@dataclass(frozen=True)
class RunRows:
    """The rows of a run.

    `frame` has the rows as given, `rows` their ids and items, `sketched` a row of sketches for each, which is stored.
    `counts` are totals over all rows.
    """

    frame: DataFrame
    rows: DataFrame
    sketched: DataFrame
    counts: dict[str, Any]


@dataclass(frozen=True)
class Contents:
    """The distinct contents: a row for each, with the least id that has it (`first`) and the best (`best`)."""

    table: DataFrame
    counts: dict[str, Any]


@dataclass(frozen=True)
class Counted:
    """A data frame and its number of rows, None where it is not known before it is written."""

    table: DataFrame
    count: Any
