"""A run that is stopped with Ctrl-C ends its jobs, empties its folder of steps, and says what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import components, spark_cluster
from tests.engines.spark.results import OPTIONS, TABLE, summary_of, write_source
from tests.spark_cluster import Driver


@pytest.fixture
def folder() -> Iterator[Path]:
    components.skip_without(spark_cluster.missing())
    with spark_cluster.folder_of_its_own() as made:
        yield made


def steps_are_empty(output: Path) -> bool:
    """Whether tables of steps were written, and nothing of them is left."""
    files = [path for path in (output / "_steps").rglob("*") if path.is_file()]
    assert files, "no step has begun"
    return all(path.parent == output / "_steps" for path in files) and not any(
        path.stat().st_size for path in files if not path.name.endswith(".crc")
    )


def test_the_command_says_what_is_left(folder: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row, default=str) + "\n" for row in TABLE.to_pylist()), "utf-8")
    command = [sys.executable, "-m", "twinset", "dedup", str(rows), "--engine", "spark", "--master", "local[1]"]
    with subprocess.Popen(
        [*command, "--threshold", "0.5", "--shingle", "word:2", "-o", "clean", "--quiet"], cwd=tmp_path,
        env=spark_cluster.environment(folder), stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as run:  # fmt: skip
        try:
            wait_for(tmp_path / "clean" / "_steps" / "contents" / "_SUCCESS", run)
            os.kill(run.pid, signal.SIGINT)
            assert run.stderr is not None
            last = run.stderr.read().splitlines()[-1]
            assert run.wait() == 130
        finally:
            run.kill()
    assert last == (
        "twinset: stopped; clean is not a result, since it has no summary; run again with --force, or remove it"
    )
    assert steps_are_empty(tmp_path / "clean")
    assert summary_of(tmp_path / "clean") is None


def wait_for(path: Path, run: subprocess.Popen[str]) -> None:
    import threading

    pause = threading.Event()
    while not path.exists():
        assert run.poll() is None, "the run has ended"
        pause.wait(0.01)


def test_a_session_of_somebody_else_goes_on(folder: Path, tmp_path: Path) -> None:
    """Spark's handler of Ctrl-C is replaced while a run lasts, and the session can be used afterwards."""
    source = write_source(tmp_path / "source")
    with Driver(folder, master="local[2]") as driver:
        driver.begin("dedup", source, tmp_path / "first", **OPTIONS)
        for event in driver.events():
            if event.get("step") == "verify":
                os.kill(driver.process.pid, signal.SIGINT)
        assert event == {"stopped": True}, event
        assert steps_are_empty(tmp_path / "first")
        assert "summary" in driver.run("find_pairs", source, tmp_path / "next", threshold=0.5, shingle="word:2")
