"""The tables of a result: pairs of documents, removed documents, clusters and kept rows."""

from __future__ import annotations

from twinset.engines.local.steps.sketch import READ, UNREADABLE
from twinset.engines.spark.corpus import Contents, Counted, RunRows
from twinset.engines.spark.session import Column, DataFrame, functions
from twinset.engines.spark.steps.read import column
from twinset.engines.spark.tasks.settings import ID
from twinset.schema import SCORES
from twinset.system import batch_sizes

__all__ = ["clusters_of", "document_pairs", "flagged_rows", "kept_rows", "removed_documents"]

F = functions
_COLUMNS = SCORES["jaccard"]


def document_pairs(corpus: RunRows, contents: Contents, pairs: DataFrame, link: bool) -> DataFrame:
    """Return the pairs of documents, the lesser id on the left; with `link`, a copy has a pair with its first only."""
    copied = contents.table.where("copies > 1").select("digest", "first")
    members = corpus.sketched.where(F.col("status") == READ).select("id", "digest")
    copies = members.join(_small(copied, contents.counts["identical"]), "digest")
    if link:
        both = pairs.withColumn("left_id", F.col("left_first")).withColumn("right_id", F.col("right_first"))
        identical = copies.where(F.col("id") != F.col("first")).select(
            F.col("first").alias("left"), F.col("id").alias("right")
        )
    else:
        ids = members.select("digest", "id")
        both = pairs.join(ids.toDF("left_digest", "left_id"), "left_digest")
        both = both.join(ids.toDF("right_digest", "right_id"), "right_digest")
        other = copies.select("digest", F.col("id").alias("other"))
        identical = copies.join(other, "digest").where(F.col("id") < F.col("other"))
        identical = identical.select(F.col("id").alias("left"), F.col("other").alias("right"))
    equal = [F.lit(one.equal).cast("double").alias(one.name) for one in _COLUMNS]
    swapped = F.col("left_id") > F.col("right_id")
    near = both.select(
        F.least("left_id", "right_id").alias("left"),
        F.greatest("left_id", "right_id").alias("right"),
        *_scores(swapped),
    )
    return near.union(identical.select("left", "right", *equal))


def _scores(swapped: Column) -> list[Column]:
    """Return the scores of pairs whose sides are swapped where the condition holds."""
    return [F.when(swapped, F.col(one.swapped)).otherwise(F.col(one.name)).alias(one.name) for one in _COLUMNS]


def removed_documents(corpus: RunRows, contents: Contents, leaders: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return the removed documents with the kept one and the scores of both."""
    kept = contents.table.select(F.col("digest").alias("leader"), F.col("best.id").alias("because_of"))
    sides = leaders.select(
        "digest",
        "leader",
        F.least("digest", "leader").alias("left_digest"),
        F.greatest("digest", "leader").alias("right_digest"),
    )
    scored = sides.join(pairs, ["left_digest", "right_digest"]).join(kept, "leader")
    named = [
        F.when(F.col("digest") == F.col("left_digest"), F.col(one.name))
        .otherwise(F.col(one.swapped))
        .alias(one.removed)
        for one in _COLUMNS
    ]
    near = scored.select("digest", "because_of", *named)
    equal = [F.lit(one.equal).cast("double").alias(one.removed) for one in _COLUMNS]
    copied = contents.table.where("copies > 1").join(leaders, "digest", "left_anti")
    copied = copied.select("digest", F.col("best.id").alias("because_of"), *equal)
    members = corpus.sketched.where(F.col("status") == READ).select("id", "digest")
    return members.join(near.union(copied), "digest").where(F.col("id") != F.col("because_of")).drop("digest")


def clusters_of(corpus: RunRows, removed: Counted) -> DataFrame:
    """Return the cluster of each readable document, named after its kept one."""
    readable = corpus.sketched.where(F.col("status") != UNREADABLE).select("id")
    joined = readable.join(_small(removed.table.select("id", "because_of"), removed.count), "id", "left")
    cluster = F.coalesce("because_of", "id").alias("cluster")
    return joined.select("id", cluster, F.col("because_of").isNull().alias("kept"))


def kept_rows(corpus: RunRows, removed: Counted, id: str) -> DataFrame:
    """Return the rows as given, without those of removed documents and unreadable ones."""
    gone = removed.table.select(F.col("id").alias(ID))
    if corpus.counts["unreadable"]:
        bad = corpus.sketched.where(F.col("status") == UNREADABLE).select(F.col("id").alias(ID))
        gone = gone.union(bad)
    rows = corpus.frame.withColumn(ID, column(corpus.frame, id).cast("string"))
    return rows.join(_small(gone, removed.count), ID, "left_anti").drop(ID)


def _small(ids: DataFrame, count: int) -> DataFrame:
    """Send a table to all tasks if it is small, so that the rows need not move."""
    return F.broadcast(ids) if count <= batch_sizes.BROADCAST_ROWS else ids


def flagged_rows(corpus: RunRows, removed: Counted, id: str) -> DataFrame:
    """Return all readable rows with the columns cluster, duplicate_of and similarity."""
    score = _COLUMNS[0]
    marks = removed.table.select(
        F.col("id").alias(ID), F.col("because_of").alias("duplicate_of"), F.col(score.removed).alias(score.name)
    )
    rows = corpus.frame.withColumn(ID, column(corpus.frame, id).cast("string"))
    if corpus.counts["unreadable"]:
        bad = corpus.sketched.where(F.col("status") == UNREADABLE).select(F.col("id").alias(ID))
        rows = rows.join(bad, ID, "left_anti")
    joined = rows.join(_small(marks, removed.count), ID, "left").withColumn("cluster", F.coalesce("duplicate_of", ID))
    names = [f"`{name}`" for name in corpus.frame.columns]
    return joined.select(*names, "cluster", "duplicate_of", score.name)
