"""A server of Spark Connect gives the answer of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import components, spark_cluster
from tests.engines.spark.results import OPTIONS, PAIRS, is_answer_of_one_machine, write_source
from tests.spark_cluster import Driver


@pytest.fixture
def driver() -> Iterator[Driver]:
    components.skip_without(spark_cluster.missing())
    with (
        spark_cluster.connect_server() as server,
        spark_cluster.folder_of_its_own() as folder,
        Driver(folder, connect=server) as driver,
    ):
        yield driver


def test_a_server_of_spark_connect_gives_the_answer_of_one_machine(driver: Driver, tmp_path: Path) -> None:
    source = write_source(tmp_path / "source")
    for job, options in (("dedup", OPTIONS), ("find_pairs", PAIRS)):
        end = driver.run(job, source, tmp_path / job, **options)
        assert "summary" in end, end
        is_answer_of_one_machine(tmp_path / job, job, **options)
