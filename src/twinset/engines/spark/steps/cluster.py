"""Cluster verified pairs by the keep policy.

Up to `batch_sizes.CLUSTERED_PAIRS` pairs are clustered in one task. More are first decided in rounds: a document
without a better one beside it is kept, and those beside it are removed, until the rest fits in one task.
"""

from __future__ import annotations

from twinset.engines.spark.corpus import Contents, Counted
from twinset.engines.spark.session import Column, DataFrame, Window, functions, translated
from twinset.engines.spark.steps.candidates import ends_of
from twinset.engines.spark.store import Store
from twinset.engines.spark.tasks import cluster
from twinset.engines.spark.tasks.settings import Settings
from twinset.engines.spark.worker import in_tasks
from twinset.system import batch_sizes

__all__ = ["find_leaders"]

F = functions
_LEAST_PROGRESS = 0.9
"""A round that leaves a larger share of the pairs is the last: chains in a bad order end in one task instead."""


def find_leaders(contents: Contents, pairs: Counted, method: str, settings: Settings, store: Store) -> DataFrame:
    """Return (digest, leader) of each content that is removed, stored."""
    if method != "leader" or pairs.count <= batch_sizes.CLUSTERED_PAIRS:
        ranks = contents.table.select("digest", F.col("best").alias("rank"))
        ends = ends_of(pairs.table)
        small = pairs.count <= batch_sizes.BROADCAST_ROWS
        leaders = _in_one_task(ranks.join(F.broadcast(ends) if small else ends, "digest"), method, settings)
        return store.keep(leaders, "leaders")
    edges = store.keep(_edges(contents, pairs.table), "edges")
    removed = _removed_in_rounds(edges, settings, store)
    kept_near = edges.select(F.col("worse.digest").alias("digest"), "better").join(removed, "digest")
    gone = removed.select(F.col("digest").alias("gone"))
    kept_near = kept_near.join(gone, F.col("better.digest") == F.col("gone"), "left_anti")
    best = kept_near.groupBy("digest").agg(F.min("better").alias("best"))
    return store.keep(best.select("digest", F.col("best.digest").alias("leader")), "leaders")


def _edges(contents: Contents, pairs: DataFrame) -> DataFrame:
    """Return the two contents of each pair by rank: `better` and `worse`, each (rank, digest)."""
    ranks = contents.table.select("digest", "best")
    left = ranks.toDF("left_digest", "left_rank")
    right = ranks.toDF("right_digest", "right_rank")
    both = pairs.select("left_digest", "right_digest").join(left, "left_digest").join(right, "right_digest")
    one = F.struct(F.col("left_rank").alias("rank"), F.col("left_digest").alias("digest"))
    other = F.struct(F.col("right_rank").alias("rank"), F.col("right_digest").alias("digest"))
    return both.select(F.least(one, other).alias("better"), F.greatest(one, other).alias("worse"))


def _in_one_task(ends: DataFrame, method: str, settings: Settings) -> DataFrame:
    rows = ends.select("digest", "partner", "rank").repartition(1)
    leaders = in_tasks(rows, cluster.cluster, {**settings, "method": method}, cluster.COLUMNS)
    return leaders.where(F.col("digest") != F.col("leader"))


def _removed_in_rounds(edges: DataFrame, settings: Settings, store: Store) -> DataFrame:
    """Return the digests of all removed contents, stored."""
    removed: list[DataFrame] = []
    left, before, count = edges, 0, _count(edges)
    while count > batch_sizes.CLUSTERED_PAIRS and (not before or count <= _LEAST_PROGRESS * before):
        decided = store.keep(_round(left), "round")
        removed.append(decided.where("removed and as_worse").select(F.col("node.digest").alias("digest")))
        left = decided.where("open and not as_worse").select(
            F.col("node").alias("better"), F.col("other").alias("worse")
        )
        before, count = count, _count(left)
    removed.append(_in_one_task(_ends_of_edges(left), "leader", settings).select("digest"))
    whole = removed[0]
    for one in removed[1:]:
        whole = whole.union(one)
    return store.keep(whole.distinct(), "removed")


def _count(frame: DataFrame) -> int:
    with translated():
        return frame.count()


def _ends_of_edges(edges: DataFrame) -> DataFrame:
    """Return two rows for each edge, as `ends_of` does for a pair."""

    def end(one: str, other: str) -> Column:
        digest, partner = F.col(f"{one}.digest"), F.col(f"{other}.digest")
        lesser = F.when(digest < partner, partner)
        return F.struct(digest.alias("digest"), lesser.alias("partner"), F.col(f"{one}.rank").alias("rank"))

    return edges.select(F.explode(F.array(end("better", "worse"), end("worse", "better"))).alias("end")).select("end.*")


def _round(edges: DataFrame) -> DataFrame:
    """Decide what has no better one beside it, and what is beside that.

    Returns two rows for each pair, (node, other, as_worse), with `removed` for a node that is removed now, and `open`
    for a pair of which neither is decided.
    """
    of_node = Window.partitionBy("node.digest")
    ends = F.explode(F.array(_end("better", "worse", False), _end("worse", "better", True))).alias("end")
    nodes = edges.select(ends).select("end.*").withColumn("best", ~F.max("as_worse").over(of_node))
    pairs = nodes.where("not as_worse").select(F.col("node").alias("better"), F.col("other").alias("worse"), "best")
    beside = F.max("best").over(Window.partitionBy("worse.digest"))
    pairs = pairs.withColumn("worse_removed", beside)
    extra = [F.col("best"), F.col("worse_removed")]
    ends = F.explode(F.array(_end("better", "worse", False, *extra), _end("worse", "better", True, *extra))).alias(
        "end"
    )
    nodes = pairs.select(ends).select("end.*")
    nodes = nodes.withColumn("removed", F.max(F.col("as_worse") & F.col("worse_removed")).over(of_node))
    open_pair = ~F.col("removed") & ~F.col("worse_removed") & ~F.col("best")
    return nodes.select("node", "other", "as_worse", "removed", open_pair.alias("open"))


def _end(node: str, other: str, as_worse: bool, *more):  # type: ignore[no-untyped-def]
    return F.struct(F.col(node).alias("node"), F.col(other).alias("other"), F.lit(as_worse).alias("as_worse"), *more)
