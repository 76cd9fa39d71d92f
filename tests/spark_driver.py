"""A driver of Spark in a process of its own, which tests may kill: python -m tests.spark_driver.

It reads lines of JSON: first the settings and the place of the session, then jobs. It writes a line for each step of a
job, for each stage of Spark that has a running task, and for the end of the job.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

_LINE = threading.Lock()


def say(**what: Any) -> None:
    with _LINE:
        sys.__stdout__.write(json.dumps(what) + "\n")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]


class Steps:
    """Tells of each step as it begins."""

    def stage(self, name: str, *_: object) -> None:
        say(step=name)

    def advance(self, *_: object) -> None: ...

    def note(self, *_: object) -> None: ...

    def close(self) -> None: ...


def open_session(asked: dict[str, Any]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("tests")
    builder = builder.remote(asked["connect"]) if "connect" in asked else builder.master(asked["master"])
    if "connect" not in asked:
        for name, value in asked["settings"].items():
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    if "connect" not in asked:
        session.sparkContext.setLogLevel("ERROR")
        threading.Thread(target=watch, args=(session.sparkContext,), daemon=True).start()
    return session


def watch(context: Any) -> None:
    """Tell of each stage once a task of it runs."""
    tracker, told, pause = context.statusTracker(), set(), threading.Event()
    while not pause.wait(0.01):
        for stage in tracker.getActiveStageIds():
            found = tracker.getStageInfo(stage)
            if stage not in told and found is not None and found.numActiveTasks:
                told.add(stage)
                say(running=stage)


def do(session: Any, asked: dict[str, Any]) -> None:
    import twinset.spark
    from twinset.errors import TwinsetError

    frame = session.read.parquet(asked["source"])
    job = getattr(twinset.spark, asked["job"])
    try:
        done = job(frame, output=asked["output"], progress=Steps(), **asked["options"])
    except TwinsetError as error:
        say(error=str(error), kind=type(error).__name__)
    else:
        say(summary=done.summary)


def main() -> None:
    lines = iter(sys.stdin.readline, "")
    session = open_session(json.loads(next(lines)))
    say(ready=True)
    for line in lines:
        do(session, json.loads(line))
    session.stop()


if __name__ == "__main__":
    main()
