"""Twinset on Spark in one process: what a session takes to start, each run, and what crossed the network.

Prints one JSON line. The clock of a run starts when the session is there. Bytes are read from Spark's own event log.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=["pairs", "dedup"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path, help="for the event log, shuffles and results; it is emptied")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--audit", type=int)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    log = arguments.folder / "events"
    log.mkdir(parents=True)
    started = time.perf_counter()
    session = open_local(arguments.folder, log)
    start = time.perf_counter() - started
    runs = [_run(session, arguments, arguments.folder / f"out-{number}") for number in range(arguments.repeat)]
    session.stop()
    print(
        json.dumps(
            {"start": start, "runs": runs, "best": min(run["seconds"] for run in runs), **moved(log, arguments.repeat)}
        )
    )


def open_local(folder: Path, log: Path | None = None, **more: str) -> Any:
    """A session on two cores of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_DIRS"] = str(folder / "local")
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "8g",
        "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "64", "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"), **more,
    }  # fmt: skip
    if log is not None:
        settings |= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": log.as_uri(),
        }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def _run(session: Any, arguments: argparse.Namespace, out: Path) -> dict[str, Any]:
    import twinset.spark

    frame = session.read.parquet(str(arguments.corpus))
    options: dict[str, Any] = {} if arguments.audit is None else {"audit": arguments.audit}
    started = time.perf_counter()
    if arguments.job == "pairs":
        done: Any = twinset.spark.find_pairs(frame, **options)
        pairs = done.pairs.count()
    else:
        done = twinset.spark.dedup(frame, output=str(out), **options)
        pairs = done.summary["pairs"]
    seconds = time.perf_counter() - started
    done.release()
    audit = done.summary["audit"]
    return {
        "seconds": seconds,
        "pairs": pairs,
        "documents": done.summary["documents"],
        "text_bytes": done.summary["text_bytes"],
        "steps": done.summary["timings"]["seconds"],
        "recall": None if audit is None else audit["recall"],
    }


def moved(log: Path, repeat: int) -> dict[str, float]:
    """Bytes that were shuffled, spilled, and written by a run, from the metrics of its tasks."""
    totals = dict.fromkeys(("shuffled", "spilled", "tasks", "cpu"), 0.0)
    for path in log.rglob("*"):
        if path.is_file() and not path.name.startswith((".", "appstatus")):
            _add(path, totals)
    return {name: value / repeat for name, value in totals.items()}


def _add(path: Path, totals: dict[str, float]) -> None:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            metrics = event.get("Task Metrics")
            if event.get("Event") == "SparkListenerTaskEnd" and metrics:
                totals["tasks"] += 1
                totals["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                totals["spilled"] += metrics["Disk Bytes Spilled"]
                totals["cpu"] += metrics["Executor CPU Time"] / 1e9


if __name__ == "__main__":
    main()
