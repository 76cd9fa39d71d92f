"""Both engines give the same answer, and it is the one that comparing everything with everything gives."""

from __future__ import annotations

import gc
import math
import threading
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests import oracles
from tests.engines.contract import tables
from tests.engines.contract.answers import Answer, Case, common, in_order, local_answer, shuffled, spark_answer
from twinset.system import batch_sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {"BUCKET_DOCUMENTS": 2, "FAMILY_SHINGLES": 100}


def missing_last(value: Any, sign: int = 1) -> tuple[bool, Any]:
    gone = value is None or (isinstance(value, float) and math.isnan(value))
    return gone, 0 if gone else sign * value


def newest(value: Any) -> tuple[bool, Any]:
    return missing_last(None if value is None else value.toordinal() if not hasattr(value, "hour") else value.hour, -1)


CASES = [
    Case(
        "texts",
        tables.families(1),
        {"threshold": 0.6, "floor": 0.3, "shingle": "word:2", "keep": "highest:score,newest:day,longest", "by": "lang"},
        lambda table: tables.text_sets(table, shingle="word:2"),
        best=lambda row: (missing_last(row["score"], -1), newest(row["day"]), -len(row["text"] or "")),
        partitions=7,
    ),
    Case(
        "bags of characters, flagged",
        tables.families(2),
        {"threshold": 0.5, "shingle": "char:5", "bag": True, "keep": "highest:stars", "flag": True},
        lambda table: tables.text_sets(table, shingle="char:5", bag=True),
        best=lambda row: missing_last(row["stars"], -1),
        partitions=7,
    ),
    Case(
        "complete clusters, in pieces",
        tables.families(3, members=8),
        {"threshold": 0.4, "shingle": "word:1", "keep": "longest", "cluster": "complete"},
        lambda table: tables.text_sets(table, shingle="word:1"),
        best=lambda row: -len(row["text"] or ""),
        limits=SMALL,
    ),
    Case(
        "components, ordered by a column",
        tables.families(4),
        {"threshold": 0.6, "shingle": "word:1", "keep": "lowest:stars", "cluster": "components"},
        lambda table: tables.text_sets(table, shingle="word:1"),
        best=lambda row: missing_last(row["stars"]),
        spark={"keep": "first", "order_by": "stars"},
    ),
    Case(
        "records",
        tables.families(5),
        {"threshold": 0.5, "text": ("title,word:1", "text,word:3,2"), "keep": "newest:seen"},
        tables.record_sets,
        best=lambda row: newest(row["seen"]),
        partitions=7,
    ),
    Case(
        "pairs of sets, linked",
        tables.families(6),
        {"threshold": 0.5, "items": "tags", "identical": "link"},
        tables.tag_sets,
        job="find_pairs",
        partitions=64,
    ),
    Case(
        "groups of a long table",
        tables.long_table(tables.families(7)),
        {"threshold": 0.5, "group": "user", "item": "movie"},
        tables.group_sets,
        partitions=7,
    ),
    Case(
        "pairs of all identical texts, in pieces",
        tables.families(8, members=8),
        {"threshold": 0.5, "shingle": "word:1", "identical": "all"},
        lambda table: tables.text_sets(table, shingle="word:1"),
        job="find_pairs",
        partitions=7,
        limits=SMALL,
    ),
    Case(
        "chain in the worst order, in rounds",
        tables.chains(9),
        {"threshold": 0.6, "shingle": "word:1"},
        lambda table: tables.text_sets(table, shingle="word:1"),
        limits={**SMALL, "CLUSTERED_PAIRS": 4},
    ),
    Case("no rows", tables.SCHEMA.empty_table(), {}, tables.text_sets),
    Case("one row", tables.families(1).slice(20, 1), {}, tables.text_sets, job="find_pairs"),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


class Answers:
    """The answers of both engines to the cases, each found once."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._known: dict[tuple[str, str], Answer] = {}

    def of(self, case: Case, engine: str) -> Answer:
        key = (case.name, engine)
        if key not in self._known:
            self._known[key] = local_answer(case) if engine == "local" else self._of_spark(case)
        return self._known[key]

    def _of_spark(self, case: Case) -> Answer:
        session = self._request.getfixturevalue("spark")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in case.limits.items():
                patch.setattr(batch_sizes, name, value)
            return spark_answer(case, session)


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest) -> Answers:
    return Answers(request)


@every_case
def test_spark_gives_the_answer_of_one_machine(case: Case, answers: Answers) -> None:
    spark, local = answers.of(case, "spark"), answers.of(case, "local")
    for name, rows in local.tables.items():
        assert list(map(repr, spark.tables[name])) == list(map(repr, rows)), name
    expected = common(local.summary)
    if "order_by" in case.spark:  # an order, and no rule: nobody needs to have a value
        del expected["unranked"]
    assert common(spark.summary) == expected


# By the definitions


@cache
def true_pairs(name: str) -> dict[tuple[str, str], oracles.Scores]:
    """All pairs down to the least similarity that is scored, the lesser id on the left."""
    case = next(one for one in CASES if one.name == name)
    least = case.options.get("floor") or case.options.get("threshold", 0.8)
    groups = {row[case.id]: row.get(case.options.get("by")) for row in case.table.to_pylist()}
    every = oracles.pairs_of_sets(case.sets(case.table), least)
    return {pair: scores for pair, scores in every.items() if groups[pair[0]] == groups[pair[1]]}


def firsts(case: Case) -> dict[str, str]:
    """For each row that is not empty the first of its content, which the `by` column is a part of."""
    groups = {row[case.id]: row.get(case.options.get("by")) for row in case.table.to_pylist()}
    first: dict[Any, str] = {}
    return {id: first.setdefault((one, groups[id]), id) for id, one in case.sets(case.table).items() if one}


def reported(case: Case) -> dict[tuple[str, str], oracles.Scores]:
    """The pairs of a result: of distinct contents, and of each copy with its first, unless all are wanted."""
    every = true_pairs(case.name)
    if case.options.get("identical") == "all":
        return every
    first = firsts(case)
    return {
        (left, right): scores
        for (left, right), scores in every.items()
        if first[left] == left and first[right] in (left, right)
    }


def expected_clusters(case: Case) -> dict[str, str]:
    """The kept row of each, by clustering all true pairs."""
    rows = {row[case.id]: row for row in case.table.to_pylist()}
    best = sorted(rows, key=lambda id: (case.best(rows[id]), id))
    rank = {id: place for place, id in enumerate(best)}
    least = case.options.get("threshold", 0.8)
    near = [pair for pair, scores in true_pairs(case.name).items() if scores[0] >= least]
    edges = sorted((max(rank[a], rank[b]), min(rank[a], rank[b])) for a, b in near)
    method = case.options.get("cluster", "leader")
    oracle = {"leader": oracles.leaders, "complete": oracles.complete, "components": oracles.components}[method]
    return {best[one]: best[kept] for one, kept in enumerate(oracle(len(best), edges))}


engines = pytest.mark.parametrize("engine", ["local", "spark"])


@engines
@every_case
def test_pairs_are_those_that_there_are(case: Case, engine: str, answers: Answers) -> None:
    answer = answers.of(case, engine)
    found = {(row["left"], row["right"]): oracles.scores_in(row) for row in answer.tables["pairs"]}
    assert found == reported(case)
    assert len(found) == len(answer.tables["pairs"]) == answer.summary["pairs"]


@engines
@every_case
def test_the_audit_compares_every_two_contents(case: Case, engine: str, answers: Answers) -> None:
    audit = answers.of(case, engine).summary["audit"]
    first = firsts(case)
    distinct = {pair for pair in true_pairs(case.name) if first[pair[0]] == pair[0] and first[pair[1]] == pair[1]}
    assert (audit["documents"], audit["pairs"]) == (len(set(first.values())), len(distinct))
    assert audit["found"] == audit["pairs"]


clustered = pytest.mark.parametrize("case", [case for case in CASES if case.job == "dedup"], ids=lambda case: case.name)


@engines
@clustered
def test_the_best_of_each_cluster_is_kept(case: Case, engine: str, answers: Answers) -> None:
    answer, expected = answers.of(case, engine), expected_clusters(case)
    found = {row["id"]: row["cluster"] for row in answer.tables["clusters"]}
    assert found == expected
    kept = {id for id, leader in expected.items() if id == leader}
    everything = case.options.get("flag")
    assert answer.ids("kept", case.id) == (set(expected) if everything else kept)
    removed = {row["id"]: row for row in answer.tables["removed"]}
    assert {id: row["because_of"] for id, row in removed.items()} == {
        id: leader for id, leader in expected.items() if id != leader
    }
    sets = case.sets(case.table)
    for id, row in removed.items():
        assert oracles.scores_in(row, "removed") == oracles.scores(sets[id], sets[row["because_of"]])
    assert {row["id"] for row in answer.tables["clusters"] if row["kept"]} == kept


@engines
@clustered
def test_the_summary_counts_every_row(case: Case, engine: str, answers: Answers) -> None:
    summary, expected, first = answers.of(case, engine).summary, expected_clusters(case), firsts(case)
    removed = Counter(leader for id, leader in expected.items() if id != leader)
    counts = {
        "documents": len(expected), "kept": len(expected) - removed.total(), "removed": removed.total(),
        "clusters": len(removed), "empty": len(expected) - len(first), "unreadable": 0, "replaced": 0,
        "identical": len(first) - len(set(first.values())), "verbatim": count_verbatim(case, first),
    }  # fmt: skip
    assert {name: summary[name] for name in counts} == counts


def count_verbatim(case: Case, first: dict[str, str]) -> int:
    """Count the documents that equal an earlier one of the same content in every byte: sets of equal content do."""
    if {"items", "group"} & set(case.options):
        return len(first) - len(set(first.values()))
    texts = [one.split(",")[0] for one in case.options.get("text", ("text",))]
    values = {row["id"]: tuple(row[name] for name in texts) for row in case.table.to_pylist()}
    return len(first) - len({(leader, values[id]) for id, leader in first.items()})


@engines
def test_a_row_keeps_all_its_columns(engine: str, answers: Answers) -> None:
    case = next(case for case in CASES if case.name == "texts")
    kept = {row["id"]: row for row in answers.of(case, engine).tables["kept"]}
    given = {row["id"]: row for row in case.table.to_pylist()}
    assert {id: repr(row) for id, row in kept.items()} == {id: repr(given[id]) for id in kept}


@pytest.mark.parametrize("options", [{"shingle": "char:5", "bag": True, "n_hashes": 64}, {"items": "tags"}], ids=str)
def test_sketches_are_those_of_one_machine(spark: SparkSession, options: dict[str, Any]) -> None:
    import twinset.spark

    table = tables.families(12).drop_columns("seen")
    found = twinset.spark.sketch(shuffled(spark, table, 3), **options).toArrow()
    local = pa.table(twinset.sketch(table, **options))
    assert found.column_names == local.column_names
    assert in_order(found) == in_order(local)


# Many rows, and what the driver collects of them

COPIES = 100_000


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of rows of each table that the driver receives."""
    from pyspark.sql.classic.dataframe import DataFrame

    sizes: list[int] = []
    to_arrow, collect = DataFrame.toArrow, DataFrame.collect

    def counting_table(self: Any) -> pa.Table:
        table = to_arrow(self)
        sizes.append(table.num_rows)
        return table

    def counting_rows(self: Any) -> list[Any]:
        rows = collect(self)
        sizes.append(len(rows))
        return rows

    monkeypatch.setattr(DataFrame, "toArrow", counting_table)
    monkeypatch.setattr(DataFrame, "collect", counting_rows)
    return sizes


def test_many_copies_templates_and_large_texts(spark: SparkSession, collected: list[int]) -> None:
    """A hundred thousand identical rows, texts all of which are about half alike, and two texts of megabytes."""
    import twinset.spark

    large = [f"word{number}" for number in range(300_000)]
    texts = [*tables.templates(1), " ".join(large), " ".join(["other", *large[3000:]])]
    texts += ["the same words again and again"] * COPIES
    table = pa.table({"id": [f"d{number:06}" for number in range(len(texts))], "text": texts})
    options = {"threshold": 0.5, "shingle": "word:1", "audit": 40}
    before = stored(spark)
    done = twinset.spark.dedup(shuffled(spark, table, 7), **options)
    assert max(collected) < 100
    local = twinset.dedup(table, **options)
    for name in ("removed", "pairs"):
        assert in_order(getattr(done, name).toArrow()) == in_order(getattr(local, name)), name
    assert common(done.summary) == common(local.summary)
    assert done.summary["identical"] == COPIES - 1
    kept = done.kept.select("id").toArrow()["id"].to_pylist()
    assert sorted(kept) == local.kept["id"].to_pylist()
    done.release()
    del done
    pause = threading.Event()
    for _ in range(600):
        gc.collect()  # what nobody holds here is given back there, and Spark notices when it collects garbage, too
        spark.sparkContext._jvm.System.gc()
        if stored(spark) <= before:
            return
        pause.wait(0.1)
    pytest.fail("tables of the run are still stored")


def stored(session: SparkSession) -> set[int]:
    """What the session stores."""
    return set(session.sparkContext._jsc.getPersistentRDDs())
