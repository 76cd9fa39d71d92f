"""A run of either engine over the same rows, and its answer in plain values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import twinset
from tests.engines.contract.tables import Row, Sets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = {"dedup": ("pairs", "removed", "clusters", "kept"), "find_pairs": ("pairs",)}
# So high that every pair is found: then the clusters are those of all pairs, too.
CERTAIN = {"recall": 0.999999}
# What each engine says in its own way: where the rows came from, what it was told, how long it took, names.
OWN = ("input", "options", "timings", "named", "order_by", "tables")


@dataclass(frozen=True)
class Case:
    """Rows, sorted by id, with a job, and what is needed to say by the definitions what comes of it.

    `sets` are the items by id, `best` is the key by which rows are better. `partitions` and `limits`, batch sizes, are
    of Spark, which `spark` gives other options than `options`, if any differ.
    """

    name: str
    table: pa.Table
    options: Mapping[str, Any]
    sets: Callable[[pa.Table], Sets]
    job: str = "dedup"
    best: Callable[[Row], Any] = lambda row: ()
    partitions: int = 1
    limits: Mapping[str, int] = field(default_factory=dict)
    spark: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.options.get("group", "id"))


@dataclass(frozen=True)
class Answer:
    """The rows of the tables, in a fixed order, and the summary."""

    tables: dict[str, list[Row]]
    summary: dict[str, Any]

    def ids(self, table: str = "kept", column: str = "id") -> set[str]:
        return {row[column] for row in self.tables[table]}


def local_answer(case: Case) -> Answer:
    done = getattr(twinset, case.job)(case.table, **CERTAIN, **case.options)
    return Answer({name: in_order(getattr(done, name)) for name in TABLES[case.job]}, done.summary)


def spark_answer(case: Case, session: SparkSession) -> Answer:
    import twinset.spark

    frame = shuffled(session, case.table, case.partitions)
    before = session.conf.getAll
    done = getattr(twinset.spark, case.job)(frame, **{**CERTAIN, **case.options, **case.spark})
    answer = Answer({name: in_order(getattr(done, name).toArrow()) for name in TABLES[case.job]}, done.summary)
    done.release()
    assert session.conf.getAll == before, "settings of the session were not restored"
    return answer


def shuffled(session: SparkSession, table: pa.Table, partitions: int = 1) -> DataFrame:
    """The rows in another order, spread over partitions."""
    order = list(range(table.num_rows))
    random.Random(4).shuffle(order)
    frame = session.createDataFrame(table.take(pa.array(order, pa.int64())))
    return frame if partitions == 1 else frame.repartition(partitions)


def common(summary: dict[str, Any]) -> dict[str, Any]:
    """What both engines say in the same words: counts, the audit and the plan."""
    return {name: value for name, value in summary.items() if name not in OWN}


def in_order(table: pa.Table) -> list[Row]:
    return sorted(table.to_pylist(), key=repr)
