"""A run of Spark: bad rows and workers, its output, and what it leaves behind."""

from __future__ import annotations

import doctest
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.engines.spark.results import OPTIONS, PAIRS, is_answer_of_one_machine, write_source
from twinset.errors import ColumnError, DuplicateIdError, OutputError, TwinsetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORDS = " ".join(f"word{number}" for number in range(40))
TABLE = pa.table(
    {
        "id": [f"d{number}" for number in range(8)],
        "text": [WORDS, f"{WORDS} more", WORDS, "other", "", None, "one two", "three"],
        "rank": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5],
        "near": [None if number == 4 else f"n{number}" for number in range(8)],
        "twice": ["x" if number in (2, 6) else f"t{number}" for number in range(8)],
        "raw": [b"\xff one two" if number == 3 else b"three four" for number in range(8)],
    }
)


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(TABLE).repartition(2)


def dedup(frame: DataFrame, **options: Any) -> Any:
    import twinset.spark

    return twinset.spark.dedup(frame, **options)


def test_examples_run(spark: SparkSession) -> None:
    """The examples of the docstrings: they need a session, which the tests of other modules do not start."""
    import twinset.spark

    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(twinset.spark, extraglobs={"session": spark}):
        runner.run(test)
    assert (runner.failures, runner.tries > 10) == (0, True)


# Rows


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"id": "twice"}, DuplicateIdError, "the id 'x' appears 2 times"),
        ({"id": "near"}, ColumnError, "the id 'near' is null in some rows"),
        ({"id": "name"}, ColumnError, "there is no column 'name'; the columns are 'id', 'text', 'rank'"),
        ({"id": "rank"}, ColumnError, "ids must be strings or whole numbers, but 'rank' holds double"),
        ({"keep": "highest:name"}, ColumnError, "there is no column 'name'; the columns are 'id', 'text'"),
        ({"keep": "newest:near"}, TwinsetError, "'near' of type string on Spark; cast it"),
        ({"text": "body"}, ColumnError, "body"),
    ],
    ids=["repeated id", "null id", "no id", "type of ids", "no column", "no dates", "no text"],
)
def test_rows_that_cannot_be_used(
    frame: DataFrame, options: dict[str, str], kind: type[TwinsetError], said: str
) -> None:
    with pytest.raises(kind) as refused:
        dedup(frame, **options)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_data_frame_without_ids(frame: DataFrame) -> None:
    with pytest.raises(ColumnError, match="the rows have no column id"):
        dedup(frame.drop("id"))


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[dict[str, str]]:
    """All settings of the session, two of which are its own and none of ours."""
    own = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.execution.arrow.maxRecordsPerBatch": "77"}
    for name, value in own.items():
        spark.conf.set(name, value)
    yield spark.conf.getAll
    for name in own:
        spark.conf.unset(name)


def test_a_row_that_stops_the_run_is_named(spark: SparkSession, frame: DataFrame, settings: dict[str, str]) -> None:
    with pytest.raises(TwinsetError) as stopped:
        dedup(frame, text="raw", on_error="stop")
    assert "'d3'" in str(stopped.value)
    assert "not UTF-8" in str(stopped.value)
    assert "\n" not in str(stopped.value)
    assert spark.conf.getAll == settings


# Workers


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ('__version__ = "0.0.1"', f"has twinset 0.0.1, but the driver has {twinset.__version__}"),
        ('raise ImportError("not here")', f"has no twinset: not here; install twinset {twinset.__version__}"),
    ],
    ids=["another version", "none"],
)
def test_a_worker_without_this_package_is_named(
    spark: SparkSession, frame: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, said: str
) -> None:
    (tmp_path / "twinset").mkdir()
    (tmp_path / "twinset" / "__init__.py").write_text(package)
    monkeypatch.setitem(spark.sparkContext.environment, "PYTHONPATH", str(tmp_path))
    with pytest.raises(TwinsetError) as refused:
        dedup(frame)
    assert f"the worker {socket.gethostname()} ({sys.executable}) {said}" in str(refused.value)


# Outputs


class Interrupting:
    """Does something as a step begins."""

    def __init__(self, step: str, act: Callable[[], None]) -> None:
        self._step, self._act = step, act

    def stage(self, name: str, total: int | None, unit: str) -> None:
        if name == self._step:
            self._act()

    def advance(self, n: int) -> None: ...

    def note(self, text: str) -> None: ...

    def close(self) -> None: ...


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_output_is_complete_replaced_or_refused(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    from twinset.engines.spark.write import read_summary

    output = str(tmp_path / "result")
    done = dedup(frame, output=output, threshold=0.5)
    local = twinset.dedup(TABLE, threshold=0.5)
    for name in ("kept", "removed", "clusters", "pairs"):
        written = pq.read_table(f"{output}/{name}").to_pylist()
        assert sorted(written, key=repr) == sorted(getattr(local, name).to_pylist(), key=repr)
        assert sorted(getattr(done, name).toArrow().to_pylist(), key=repr) == sorted(written, key=repr)
    assert read_summary(spark, output) == done.summary
    assert done.summary["removed"] == 2
    times = {path.parent.name: path.stat().st_mtime_ns for path in Path(output).glob("*/_SUCCESS")}
    assert max(times, key=lambda name: times[name] if name != "_steps" else 0) == "summary"
    assert sum(path.stat().st_size for path in Path(output).glob("_steps/*/*.parquet")) < 30_000, "steps are kept"

    with pytest.raises(OutputError, match="exists; choose another output, or replace it with force=True"):
        dedup(frame, output=output)
    with pytest.raises(KeyboardInterrupt) as stopped:
        dedup(frame, output=output, force=True, progress=Interrupting("collapse", interrupt))
    [left] = stopped.value.__notes__
    assert left == f"{output} is not a result, since it has no summary; run again with force=True, or remove it"
    with pytest.raises(OutputError, match="has no summary: the run that wrote it was not completed"):
        read_summary(spark, output)

    again = dedup(frame, output=output, force=True, threshold=1.0, keep="lowest:rank")
    assert read_summary(spark, output) == again.summary
    assert len(pq.read_table(f"{output}/removed")) == again.summary["removed"] == 1


def test_a_cancelled_run_is_an_error_without_a_summary(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    from pyspark.sql import functions

    from twinset.engines.spark.write import read_summary

    context = spark.sparkContext
    started = tmp_path / "started"

    @functions.udf("string")
    def endless(text: str) -> str:
        import threading

        started.touch()
        threading.Event().wait()
        return text

    stop = cancel_when(context, started)
    with pytest.raises(TwinsetError, match=r"Spark: .*cancelled"):
        dedup(frame.withColumn("text", endless("text")), output=str(tmp_path / "result"))
    stop()
    with pytest.raises(TwinsetError):
        read_summary(spark, str(tmp_path / "result"))


def cancel_when(context: Any, started: Path) -> Callable[[], None]:
    """Cancel all jobs once a file is there, in a thread; what is returned waits for its end."""
    import threading

    pause = threading.Event()

    def watch() -> None:
        while not started.exists() and not pause.wait(0.01):
            pass
        context.cancelAllJobs()

    thread = threading.Thread(target=watch)
    thread.start()

    def stop() -> None:
        pause.set()
        thread.join()

    return stop


@pytest.mark.parametrize("job", ["dedup", pytest.param("find_pairs", marks=pytest.mark.soak)])
def test_addresses_are_those_of_spark(spark: SparkSession, tmp_path: Path, job: str) -> None:
    """Sources and results on a file system that Spark knows and this machine does not."""
    write_source(tmp_path / "pages")
    (tmp_path / "results").mkdir()
    links = {f"fs.viewfs.mounttable.bucket.link./{name}": (tmp_path / name).as_uri() for name in ("pages", "results")}
    for name, folder in links.items():
        spark.conf.set(name, folder)
    try:
        pages, options = {"dedup": ("pages/*.parquet", OPTIONS), "find_pairs": ("pages", PAIRS)}[job]
        source, output = f"viewfs://bucket/{pages}", f"viewfs://bucket/results/{job}"
        scratch = "viewfs://bucket/results/scratch"
        getattr(twinset, job)(source, engine="spark", output=output, scratch=scratch, **options)
        is_answer_of_one_machine(tmp_path / "results" / job, job, **options)
        with pytest.raises(OutputError, match=f"{output} exists"):
            getattr(twinset, job)(source, engine="spark", output=output, **options)
        [own] = (tmp_path / "results" / "scratch").iterdir()  # a folder of the run in one that others may use
        assert own.name.startswith("twinset-")
        assert not list(own.rglob("*.parquet"))
        assert not (tmp_path / "results" / job / "_steps").exists()
    finally:
        for name in links:
            spark.conf.unset(name)


@pytest.mark.parametrize("address", ["s3a://ann:hunter2@bucket/place", "nosuch://ann:hunter2@host/place"])
def test_an_output_that_cannot_be_written_tells_no_credentials(frame: DataFrame, address: str) -> None:
    with pytest.raises(TwinsetError) as refused:
        dedup(frame, output=address)
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)
