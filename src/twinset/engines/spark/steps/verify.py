"""Verify candidates: the texts of a family of candidates are brought together once, and compared exactly.

A document belongs to the family of its least candidate, and so does a pair: nearly all documents of a group of
near-copies meet in one family, and their texts cross the network once for it. (Where there are many candidates, all
texts cross it once more, to meet the list of those that are needed.) A large family is cut into pieces, as a
large bucket is.
"""

from __future__ import annotations

from twinset.engines.spark.corpus import Contents, Counted, RunRows
from twinset.engines.spark.session import DataFrame, functions
from twinset.engines.spark.steps.candidates import block_of, ends_of, piece_of
from twinset.engines.spark.store import Store
from twinset.engines.spark.tasks import families, verify
from twinset.engines.spark.tasks.settings import ID, Settings, item_columns
from twinset.engines.spark.worker import in_tasks
from twinset.system import batch_sizes

__all__ = ["verify_pairs"]

F = functions


def verify_pairs(
    corpus: RunRows, contents: Contents, pairs: Counted, least: float, settings: Settings, store: Store
) -> DataFrame:
    """Return the pairs of contents that reach the threshold `least`, with their scores, stored."""
    few = pairs.count <= batch_sizes.BROADCAST_ROWS
    listed = _listed_in_one_task(pairs.table, contents, settings) if few else _listed(pairs.table, contents)
    items = item_columns(corpus.rows.columns)
    if few:
        listed = F.broadcast(listed)  # then only the texts that are needed cross the network
    texts = corpus.rows.join(listed, F.col(ID) == F.col("first"))
    rows = texts.select(*verify.LEADING, *(F.col(f"`{name}`") for name in items))
    ordered = rows.repartition("family", "block").sortWithinPartitions("family", "block")
    found = in_tasks(ordered, verify.verify, {**settings, "least": least}, verify.COLUMNS)
    return store.keep(found, "pairs")


def _listed_in_one_task(pairs: DataFrame, contents: Contents, settings: Settings) -> DataFrame:
    """Return the documents of each block of a family, with their partners in it, of few pairs."""
    rows = contents.table.select("digest", "first", "tokens").join(F.broadcast(ends_of(pairs)), "digest")
    work = {**settings, "family_shingles": batch_sizes.FAMILY_SHINGLES}
    given = rows.select("digest", "partner", "first", "tokens").repartition(1)
    return in_tasks(given, families.list_families, work, families.COLUMNS)


def _listed(pairs: DataFrame, contents: Contents) -> DataFrame:
    """Return the same, by joins: for more pairs than one task can hold."""
    blocks = _blocks(_with_families(pairs), contents)
    members = (
        ends_of(blocks, "family", "block")
        .groupBy("family", "block", "digest")
        .agg(F.collect_list("partner").alias("partners"))
    )
    return members.join(contents.table.select("digest", "first", "tokens"), "digest")


def _with_families(pairs: DataFrame) -> DataFrame:
    """Add the family of each pair: the least of the candidates of both documents."""
    ends = pairs.select("left_digest", "right_digest").union(pairs.select("right_digest", "left_digest"))
    ends = ends.toDF("digest", "other")
    least = (
        ends.groupBy("digest")
        .agg(F.min("other").alias("other"))
        .select("digest", F.least("digest", "other").alias("least"))
    )
    of_left, of_right = least.toDF("left_digest", "left_least"), least.toDF("right_digest", "right_least")
    both = pairs.join(of_left, "left_digest").join(of_right, "right_digest")
    return both.select("left_digest", "right_digest", F.least("left_least", "right_least").alias("family"))


def _blocks(pairs: DataFrame, contents: Contents) -> DataFrame:
    """Add the block of each pair; families that are too large for one task have several."""
    members = pairs.select("family", F.explode(F.array("left_digest", "right_digest")).alias("digest")).distinct()
    sized = (
        members.join(contents.table.select("digest", "tokens"), "digest")
        .groupBy("family")
        .agg(F.sum("tokens").alias("tokens"))
    )
    limit = batch_sizes.FAMILY_SHINGLES
    large = sized.where(F.col("tokens") > limit).select(
        "family", F.ceil(F.col("tokens") / F.lit(limit)).cast("int").alias("pieces")
    )
    cut = pairs.join(large, "family", "left").fillna({"pieces": 1})
    cut = cut.withColumn("left_piece", piece_of("left_digest", "pieces")).withColumn(
        "right_piece", piece_of("right_digest", "pieces")
    )
    block = block_of(F.col("left_piece"), F.col("right_piece"), F.col("pieces"))
    return cut.select("family", "left_digest", "right_digest", block.alias("block"))
