"""The Spark session of a run. This is the only module that imports pyspark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twinset.errors import MissingError, TwinsetError

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, SparkSession, Window, functions
    from pyspark.storagelevel import StorageLevel
except ImportError as error:
    raise MissingError.of("pyspark[connect]", extra="spark") from error

__all__ = [
    "Column", "DataFrame", "PySparkException", "SparkSession", "StorageLevel", "Window", "as_table", "functions",
    "open_session", "settled", "translated",
]  # fmt: skip

BATCH_BYTES = 32 * 2**20
"""Maximum bytes of an Arrow batch that a task receives, unless a single row is larger."""

_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH_BYTES),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.session.timeZone": "UTC",
}
MARK = "twinset-error:"
"""Precedes the message of an error that a task raised on purpose, up to the end of the line."""


def open_session(master: str | None = None, connect: str | None = None) -> SparkSession:
    """Return the running session, or start one: on a master, or by a server of Spark Connect."""
    builder = SparkSession.builder.appName("twinset")
    if connect is not None:
        builder = builder.remote(connect)
    elif master is not None:
        builder = builder.master(master)
    with translated():
        return builder.getOrCreate()


@contextmanager
def settled(session: SparkSession) -> Iterator[None]:
    """Set what tasks need while a run lasts, and restore it."""
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


@contextmanager
def translated() -> Iterator[None]:
    """Turn an error of Spark into one line: what a task raised on purpose, else the first line of Spark's message."""
    try:
        yield
    except PySparkException as error:
        raise TwinsetError(_reason(str(error))) from error


def _reason(message: str) -> str:
    on_purpose = re.search(rf"{MARK}(.*)", message)
    if on_purpose:
        return on_purpose[1].strip()
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return f"Spark: {without_secrets(lines[0])}" if lines else "Spark ended the run without a reason"


def without_secrets(text: str) -> str:
    """Leave out what may be a credential: user names and passwords in addresses, tokens and keys."""
    text = re.sub(r"(?<=://)[^/\s@]+@", "", text)
    return re.sub(r"(?i)((?:token|secret|password|key)[\w.]*\s*[=:]\s*)[^\s;,&]+", r"\1***", text)


def as_table(frame: DataFrame) -> Any:
    """Collect a few rows as an Arrow table."""
    with translated():
        return frame.toArrow()
