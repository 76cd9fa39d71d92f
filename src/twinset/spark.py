"""Find near-duplicates in data frames of Apache Spark: the same options and the same answer, on a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import twinset
from twinset import pipeline
from twinset.engines.base import Job, Output
from twinset.engines.progress import ProgressChoice, reporting
from twinset.engines.spark.run import SparkEngine, SparkRun
from twinset.engines.spark.sketch import sketch_rows
from twinset.options import DedupOptions, PairsOptions
from twinset.options.sketch import SketchOptions

if TYPE_CHECKING:
    from twinset.engines.spark.session import DataFrame

__all__ = ["SparkDedup", "SparkPairs", "dedup", "find_pairs", "sketch"]


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
    """Find every pair of rows at least as similar as the threshold.

    Parameters
    ----------
    frame
        Any data frame of Spark. A column has unique ids: `id`, or the one that ``id=`` names.
    output
        A folder for the pairs, at any address that Spark can write to; without it the session stores them.
    progress
        Bars for True, or an object that receives the progress of the run.
    **options
        The options of `twinset pairs`, as keyword arguments; one that Spark cannot honour is refused.

    Returns
    -------
    SparkPairs
        With `.pairs` (a data frame), `.summary` and `.plan`.

    Examples
    --------
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> rows = [("a", rose), ("b", rose + " hall"), ("c", "something else")]
    >>> frame = session.createDataFrame(rows, ["id", "text"])
    >>> found = find_pairs(frame, shingle="word:3")
    >>> [(row["left"], row["right"], round(row["similarity"], 2)) for row in found.pairs.collect()]
    [('a', 'b', 0.9)]
    >>> found.release()
    """
    engine = SparkEngine(frame.sparkSession)
    job = Job((frame,), PairsOptions.of(engine="spark", **options), twinset.__version__)
    job = job if output is None else engine.place_pairs(job, output)
    with reporting(progress) as reporter, engine.open(replace(job, progress=reporter)) as run:
        return SparkPairs(pipeline.find_pairs(run))


def dedup(
    frame: DataFrame, *, output: str | None = None, progress: ProgressChoice = False, **options: Any
) -> SparkDedup:
    """Remove near-duplicates, with a reason for each.

    Parameters
    ----------
    frame
        Any data frame of Spark. A column has unique ids: `id`, or the one that ``id=`` names.
    output
        A folder for the result, at any address that Spark can write to; without it the session stores the tables.
    progress
        Bars for True, or an object that receives the progress of the run.
    **options
        The options of `twinset dedup`, as keyword arguments; one that Spark cannot honour is refused. ``order_by=``
        names the column by which a row is the first.

    Returns
    -------
    SparkDedup
        With `.kept`, `.removed`, `.clusters` and `.pairs` (data frames), `.summary` and `.plan`.

    Examples
    --------
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> rows = [("a", rose), ("b", rose + " hall"), ("c", "something else")]
    >>> frame = session.createDataFrame(rows, ["id", "text"])
    >>> done = dedup(frame, shingle="word:3")
    >>> sorted(row["id"] for row in done.kept.collect())
    ['a', 'c']
    >>> done.release()
    """
    engine = SparkEngine(frame.sparkSession)
    job = Job((frame,), DedupOptions.of(engine="spark", **options), twinset.__version__)
    job = job if output is None else engine.place_result(job, output)
    with reporting(progress) as reporter, engine.open(replace(job, progress=reporter)) as run:
        return SparkDedup(pipeline.dedup(run))


def sketch(frame: DataFrame, **options: Any) -> DataFrame:
    """Sketch every row, to estimate similarities later.

    Parameters
    ----------
    frame
        Any data frame of Spark. A column has ids: `id`, or the one that ``id=`` names.
    **options
        The options of `twinset sketch`, as keyword arguments; one that Spark cannot honour is refused.

    Returns
    -------
    DataFrame
        With `id`, `sketch` (a list of numbers) and `shingles`; Spark computes it when it is used.

    Examples
    --------
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> rows = [("a", rose), ("b", rose + " hall"), ("c", "something else")]
    >>> frame = session.createDataFrame(rows, ["id", "text"])
    >>> [(row["id"], len(row["sketch"]), row["shingles"]) for row in sketch(frame, shingle="word:3").collect()]
    [('a', 128, 12), ('b', 128, 13), ('c', 128, 1)]
    """
    return sketch_rows(frame, SketchOptions.of(**options))
