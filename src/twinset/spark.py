"""Find near-duplicates in data frames of Apache Spark: the same options and the same answer, on a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import twinset
from twinset import pipeline
from twinset.engines.base import Job, Output
from twinset.engines.progress import ProgressChoice, reporting
from twinset.engines.spark.run import SparkEngine, SparkRun
from twinset.options import DedupOptions, PairsOptions

if TYPE_CHECKING:
    from twinset.engines.spark.session import DataFrame

__all__ = ["SparkDedup", "SparkPairs", "dedup", "find_pairs"]


class _Result:
    """A result: its tables are data frames."""

    def __init__(self, output: Output) -> None:
        self.summary, self.plan = output.summary, output.plan
        self._tables: dict[str, DataFrame] = output.tables
        self._run = output.held

    def release(self) -> None:
        """Give back what the result stores on the cluster; tables that were not written can no longer be read."""
        if isinstance(self._run, SparkRun):
            self._run.release()


class SparkPairs(_Result):
    """Pairs of near-duplicates: `.pairs` (a data frame), `.summary` and `.plan`."""

    @property
    def pairs(self) -> DataFrame:
        """The pairs: left, right, similarity, left_in_right, right_in_left."""
        return self._tables["pairs"]


class SparkDedup(SparkPairs):
    """A clean data frame: `.kept`, `.removed`, `.clusters`, `.pairs`, `.summary` and `.plan`."""

    @property
    def kept(self) -> DataFrame:
        """The rows as given, without near-duplicates; with `flag`, all rows with three more columns."""
        return self._tables["kept"]

    @property
    def removed(self) -> DataFrame:
        """Each removed row with the kept one it resembles."""
        return self._tables["removed"]

    @property
    def clusters(self) -> DataFrame:
        """The cluster of each row."""
        return self._tables["clusters"]


def find_pairs(
    frame: DataFrame, *, output: str | None = None, progress: ProgressChoice = False, **options: Any
) -> SparkPairs:
    """Find every pair of rows at least as similar as the threshold."""
    with _opened(frame, PairsOptions.of(**options), output, None, progress) as run:
        return SparkPairs(pipeline.find_pairs(run))


def dedup(
    frame: DataFrame, *, output: str | None = None, order_by: str | None = None, progress: ProgressChoice = False,
    **options: Any,
) -> SparkDedup:  # fmt: skip
    """Remove near-duplicates, with a reason for each."""
    with _opened(frame, DedupOptions.of(**options), output, order_by, progress) as run:
        return SparkDedup(pipeline.dedup(run))


def _opened(
    frame: DataFrame, options: PairsOptions | DedupOptions, output: str | None, order_by: str | None, progress: ProgressChoice
) -> SparkRun:
    job = Job((frame,), options, twinset.__version__, address=output)
    with reporting(progress) as reporter:
        return SparkEngine(frame.sparkSession, order_by).open(replace(job, progress=reporter))
