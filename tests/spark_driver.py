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


def flaky(frame: Any, share: float) -> Any:
    """Let this share of all tasks that read a text fail when they are tried first."""
    from pyspark.sql import functions

    @functions.udf("string")
    def failing(text: str) -> str:
        import random

        from pyspark import TaskContext

        task = TaskContext.get()
        drawn = random.Random(f"{task.stageId()} {task.partitionId()}").random()
        if task.attemptNumber() == 0 and drawn < share:
            raise RuntimeError("the first attempt fails")
        return text

    return frame.withColumn("text", failing("text"))


def too_large(frame: Any) -> Any:
    """Make the text of one row larger than the memory of an executor."""
    from pyspark.sql import functions as F

    row = F.col("id") == frame.agg(F.min("id")).collect()[0][0]
    return frame.withColumn("text", F.when(row, F.expr("repeat(text, 40000000)")).otherwise(F.col("text")))


def do(session: Any, asked: dict[str, Any]) -> None:
    import twinset.spark
    from twinset.errors import TwinsetError

    frame = session.read.parquet(asked["source"])
    frame = flaky(frame, asked["flaky"]) if "flaky" in asked else frame
    frame = too_large(frame) if "too_large" in asked else frame
    job = getattr(twinset.spark, asked["job"])
    try:
        done = job(frame, output=asked["output"], progress=Steps(), **asked["options"])
    except KeyboardInterrupt:
        say(stopped=True)
    except Exception as error:
        say(error=str(error), refused=isinstance(error, TwinsetError))
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
