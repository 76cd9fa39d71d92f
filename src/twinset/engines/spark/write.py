"""Write a result as folders of Parquet files; the summary comes last, and a result without it is not one."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from twinset.engines.spark.session import DataFrame, PySparkException, SparkSession, translated
from twinset.errors import OutputError, TwinsetError
from twinset.wording import counted

__all__ = ["check_output", "read_summary", "write_summary", "write_table", "write_whole_table"]

SUMMARY = "summary"
_TABLES = ("kept", "removed", "clusters", "pairs", SUMMARY)


def check_output(session: SparkSession, output: str, force: bool) -> None:
    """Refuse an output that exists; with `force`, take the summary of an earlier result away first."""
    places = _TABLES if _exists(session, output) else ()
    there = [name for name in places if _exists(session, f"{output}/{name}")]
    if there and not force:
        raise OutputError(f"{output} exists; choose another output, or replace it with --force")
    if SUMMARY in there:
        with translated():
            _one_column(session, []).write.mode("overwrite").text(f"{output}/{SUMMARY}")


def _exists(session: SparkSession, path: str) -> bool:
    with translated():
        try:
            _ = session.read.format("binaryFile").load(path).schema  # looks for the path, and reads nothing
        except PySparkException as error:
            if "PATH_NOT_FOUND" in str(error):
                return False
            raise
    return True


def _one_column(session: SparkSession, lines: list[str]) -> DataFrame:
    return session.createDataFrame(pa.table({"value": pa.array(lines, pa.string())})).coalesce(1)


def write_table(frame: DataFrame, path: str) -> DataFrame:
    """Write a table, and return it as read back."""
    with translated():
        frame.write.mode("overwrite").parquet(path)
        return frame.sparkSession.read.schema(frame.schema).parquet(path)


def write_whole_table(frame: DataFrame, path: str, rows: int | None) -> DataFrame:
    """Write a table; a number of rows other than `rows` is a fault of the program."""
    written = write_table(frame, path)
    if rows is None:
        return written
    with translated():
        count = written.count()
    if count != rows:
        raise TwinsetError(
            f"{path} has {counted(count, 'row')} instead of {rows:,}; please report this, and do not use the result"
        )
    return written


def write_summary(session: SparkSession, output: str, summary: dict[str, Any]) -> None:
    """Write the summary as one row of JSON."""
    with translated():
        line = json.dumps(summary, ensure_ascii=False)
        _one_column(session, [line]).write.mode("overwrite").text(f"{output}/{SUMMARY}")


def read_summary(session: SparkSession, output: str) -> dict[str, Any]:
    """Read the summary of a result; an output without one is not a result."""
    with translated():
        rows = session.read.text(f"{output}/{SUMMARY}").limit(2).collect()
    if len(rows) != 1:
        raise OutputError(f"{output} has no summary: the run that wrote it was not completed; run again with --force")
    summary: dict[str, Any] = json.loads(rows[0]["value"])
    return summary
