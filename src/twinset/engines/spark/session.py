"""The Spark session of a run. This is the only module that imports pyspark."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from twinset.errors import MissingError, TwinsetError

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, DataFrame, SparkSession, Window, functions
except ImportError as error:
    raise MissingError.of("pyspark[connect]", extra="spark") from error

__all__ = [
    "Column", "DataFrame", "PySparkException", "SparkSession", "Window", "as_table", "functions",
    "open_session", "settled", "stoppable", "translated", "without_pandas_warnings",
]  # fmt: skip

BATCH_BYTES = 32 * 2**20
"""Maximum bytes of an Arrow batch that a task receives, unless a single row is larger."""

_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH_BYTES),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.session.timeZone": "UTC",
}
_QUIET: dict[str, Any] = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
"""For a session of our own: progress and errors are ours to show."""
_HERE: dict[str, Any] = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "32"}
"""For a session of our own on this machine: as many tasks as a cluster has would take seconds each step."""
_HANDLERS = ("pyspark.", "twinset.")
"""Modules whose handlers of Ctrl-C may be replaced while a run lasts."""
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

MARK = "twinset-error:"
"""Precedes the message of an error that a task raised on purpose, up to the end of the line."""


def open_session(master: str | None = None, connect: str | None = None) -> SparkSession:
    """Return the running session, or start one: on a master, or by a server of Spark Connect."""
    builder = SparkSession.builder.appName("twinset")
    if connect is not None:
        builder = builder.remote(connect)
    else:
        builder = builder.config(map=_QUIET)
        if master is not None:
            builder = builder.master(master)
        os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}")
        if master is not None and master.startswith("local"):
            builder = builder.config(map=_HERE)
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers are on this machine
    with translated(), without_pandas_warnings(), _kept_handler():
        return builder.getOrCreate()


@contextmanager
def _kept_handler() -> Iterator[None]:
    """Keep the handler of Ctrl-C, which Spark replaces."""
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if ours else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def without_pandas_warnings() -> Iterator[None]:
    """Leave out what Spark says of the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@contextmanager
def settled(session: SparkSession) -> Iterator[None]:
    """Set what tasks need while a run lasts, and restore it."""
    settings = dict(_SETTINGS)
    if tuple(map(int, session.version.split(".")[:2])) < (4, 1):  # it bounds batches by rows only
        settings["spark.sql.execution.arrow.maxRecordsPerBatch"] = "500"
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


_asked_to_stop = threading.Event()
_PAUSE = 0.1
"""Seconds between two attempts to stop jobs: a call that is still planned has none yet."""


@contextmanager
def stoppable(session: SparkSession) -> Iterator[None]:
    """Stop the jobs of a session at a Ctrl-C, and raise KeyboardInterrupt when the call to Spark has returned.

    An exception within the call would leave its answer to be taken for that of the next call, and Spark's own handler
    makes a call within the call. A second Ctrl-C does not wait.
    """
    before = signal.getsignal(signal.SIGINT)
    known = before is signal.default_int_handler or str(getattr(before, "__module__", "")).startswith(_HANDLERS)
    if not known or threading.current_thread() is not threading.main_thread():
        yield
        return
    ended = threading.Event()
    stopping = threading.Thread(target=_stop_jobs, args=(session, ended), daemon=True)

    def stop(number: int, frame: FrameType | None) -> None:
        if _asked_to_stop.is_set():
            raise KeyboardInterrupt
        _asked_to_stop.set()
        stopping.start()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        asked, raised = _asked_to_stop.is_set(), sys.exc_info()[0] is not None
        ended.set()
        signal.signal(signal.SIGINT, before)
        if asked:
            stopping.join()
            _asked_to_stop.clear()
            if not raised:
                signal.raise_signal(signal.SIGINT)


def _stop_jobs(session: SparkSession, ended: threading.Event) -> None:
    while not ended.is_set():
        with suppress(Exception):  # the session may have ended, and there is nobody to be told
            session.interruptAll()
        ended.wait(_PAUSE)


def _raise_if_stopped() -> None:
    if _asked_to_stop.is_set() and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


@contextmanager
def translated() -> Iterator[None]:
    """Turn an error of Spark into one line: what a task raised on purpose, else the first line of Spark's message."""
    try:
        yield
    except PySparkException as error:
        _raise_if_stopped()
        raise TwinsetError(_reason(str(error))) from error
    except Exception as error:
        _raise_if_stopped()
        # A classic session lets some errors of the JVM through, with a hundred lines of its stack.
        java = getattr(error, "java_exception", None)
        if java is None:
            raise
        raise TwinsetError(_reason(str(java.toString()))) from None
    _raise_if_stopped()


def _reason(message: str) -> str:
    on_purpose = re.search(rf"{MARK}(.*)", message)
    if on_purpose:
        return on_purpose[1].strip()
    lines = [line.strip() for line in message.splitlines() if line.strip()] or ["it ended the run without a reason"]
    raised = [line for line in lines if re.match(r"[\w.]+(?:Error|Exception)\b", line)]
    if "Traceback (most recent call last)" in message and raised:
        return f"a task of Spark failed: {without_secrets(raised[0])}"
    return f"Spark: {without_secrets(lines[0])}"


def without_secrets(text: str) -> str:
    """Leave out what may be a credential: user names and passwords in addresses, tokens and keys."""
    text = re.sub(r"(?<=://)[^/\s@]+@", "", text)
    return re.sub(r"(?i)((?:token|secret|password|key)[\w.]*\s*[=:]\s*)[^\s;,&]+", r"\1***", text)


def as_table(frame: DataFrame) -> Any:
    """Collect a few rows as an Arrow table."""
    with translated():
        return frame.toArrow()
