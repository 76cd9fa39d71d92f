"""A cluster of processes gives the answer of one machine, also if some of them are killed; or it says why not."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import components, spark_cluster
from tests.engines.spark.results import OPTIONS, is_answer_of_one_machine, summary_of, write_source
from tests.spark_cluster import Cluster, Driver

STEPS = ("read", "collapse", "candidates", "verify", "audit", "cluster", "write")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    components.skip_without(spark_cluster.missing())
    with spark_cluster.cluster() as made:
        yield made


@pytest.fixture
def driver(cluster: Cluster) -> Iterator[Driver]:
    """A driver for one test: it holds all cores of the cluster."""
    with Driver(cluster.folder, master=cluster.address) as made:
        yield made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("cluster") / "source")


def strike(driver: Driver, blows: dict[str, Callable[[], None]]) -> dict[str, Any]:
    """Strike once in each of these steps, while a task runs, and return how the job ended."""
    left, step, event = dict(blows), "", dict[str, Any]()
    for event in driver.events():
        step = event.get("step", step)
        if "running" in event and step in left:
            left.pop(step)()
    return event


def again(cluster: Cluster, number: int) -> Callable[[], None]:
    """Kill a worker with all that it runs, and start it again."""

    def blow() -> None:
        cluster.workers[number].kill()
        cluster.workers[number].start()

    return blow


def is_right_or_refused(end: dict[str, Any], output: Path) -> None:
    """Never a wrong result, nor a part of one."""
    if "summary" in end:
        is_answer_of_one_machine(output, "dedup", **OPTIONS)
    else:
        assert end.get("refused"), end
        assert "\n" not in end["error"]
        assert summary_of(output) is None


def test_a_cluster_gives_the_answer_of_one_machine_although_workers_are_killed(
    cluster: Cluster, driver: Driver, source: Path, tmp_path: Path
) -> None:
    driver.begin("dedup", source, tmp_path / "result", **OPTIONS)
    end = strike(driver, {"read": again(cluster, 0), "verify": again(cluster, 1)})
    assert "summary" in end, end
    is_answer_of_one_machine(tmp_path / "result", "dedup", **OPTIONS)


# Many times over


@pytest.mark.soak
def test_twenty_kills_among_failing_tasks(cluster: Cluster, source: Path, tmp_path: Path) -> None:
    rng = random.Random(os.environ["TWINSET_TEST_SEED"])
    settings = {"spark.speculation": "true", "spark.speculation.quantile": "0.5", "spark.task.maxFailures": "8"}
    with Driver(cluster.folder, settings, master=cluster.address) as driver:
        for number in range(20):
            output = tmp_path / str(number)
            driver.begin("dedup", source, output, harm={"flaky": 0.3}, **OPTIONS)
            end = strike(driver, {rng.choice(STEPS): again(cluster, rng.randrange(2))})
            is_right_or_refused(end, output)
            assert "summary" in end, end


@pytest.mark.soak
def test_shuffle_files_that_are_lost(cluster: Cluster, driver: Driver, source: Path, tmp_path: Path) -> None:
    def lose() -> None:
        for path in cluster.folder.rglob("shuffle_*"):
            with suppress(FileNotFoundError):
                path.unlink()

    for number, step in enumerate(STEPS):
        output = tmp_path / str(number)
        driver.begin("dedup", source, output, **OPTIONS)
        is_right_or_refused(strike(driver, {step: lose}), output)


@pytest.mark.soak
def test_an_executor_without_memory(driver: Driver, source: Path, tmp_path: Path) -> None:
    output = tmp_path / "result"
    driver.begin("dedup", source, output, harm={"too_large": True}, **OPTIONS)
    *_, end = driver.events()
    assert "summary" not in end
    is_right_or_refused(end, output)
    driver.begin("dedup", source, tmp_path / "next", **OPTIONS)
    *_, end = driver.events()
    is_right_or_refused(end, tmp_path / "next")


@pytest.mark.soak
@pytest.mark.timeout(2400)  # two drivers one after the other: ten minutes and more on a busy machine
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_is_killed(cluster: Cluster, source: Path, tmp_path: Path, step: str) -> None:
    output = tmp_path / "result"
    with Driver(cluster.folder, master=cluster.address) as driver:
        driver.begin("dedup", source, output, **OPTIONS)
        for event in driver.events():
            if event.get("step") == step:  # not when a task is seen: those of a short step may be over by then
                driver.process.kill()
    assert summary_of(output) is None
    with Driver(cluster.folder, master=cluster.address) as driver:
        assert "summary" in driver.run("dedup", source, output, force=True, **OPTIONS)
    is_answer_of_one_machine(output, "dedup", **OPTIONS)
