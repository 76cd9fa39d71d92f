"""Candidates: pairs of contents that share a band and have similar sketches.

A key is one shuffled row of 24 bytes. Only keys that two contents share are joined with the sketches, and only
within a bucket. A large bucket is cut into pieces, and each pair of pieces is a block of its own, so that no task holds
a whole bucket.
"""

from __future__ import annotations

from twinset.engines.spark.corpus import Contents
from twinset.engines.spark.session import Column, DataFrame, Window, functions
from twinset.engines.spark.store import Store
from twinset.engines.spark.tasks import buckets
from twinset.engines.spark.tasks.settings import Settings
from twinset.engines.spark.worker import in_tasks
from twinset.system import batch_sizes

__all__ = ["block_of", "ends_of", "find_candidates", "piece_of"]

F = functions


def find_candidates(contents: Contents, settings: Settings, store: Store) -> DataFrame:
    """Return the candidates as (left_digest, right_digest), each once and stored."""
    keys = contents.table.select("digest", F.explode("keys").alias("key"))
    sharing = F.count(F.lit(1)).over(Window.partitionBy("key"))
    shared = keys.withColumn("sharing", sharing).where("sharing > 1")
    pieces = F.ceil(F.col("sharing") / F.lit(batch_sizes.BUCKET_DOCUMENTS)).cast("int")
    cut = shared.withColumn("pieces", pieces).withColumn("piece", piece_of("digest", "pieces"))
    blocks = cut.select("key", "digest", "piece", F.explode(blocks_of("piece", "pieces")).alias("block"))
    rows = blocks.join(contents.table.select("digest", "sketch"), "digest")
    grouped = rows.select("key", "block", "piece", "digest", "sketch").repartition("key", "block")
    ordered = grouped.sortWithinPartitions("key", "block")
    found = in_tasks(ordered, buckets.join_buckets, settings, buckets.COLUMNS)
    return store.keep(found.distinct(), "candidates")


def piece_of(digest: str, pieces: str) -> Column:
    """Return the piece of a document, a number below the number of pieces, by its digest."""
    return F.when(F.col(pieces) == 1, F.lit(0)).otherwise(F.pmod(F.xxhash64(digest), F.col(pieces)).cast("int"))


def blocks_of(piece: str, pieces: str) -> Column:
    """Return the blocks in which a piece meets every piece, itself too."""
    others = F.sequence(F.lit(0), F.col(pieces) - 1)
    return F.transform(others, lambda other: block_of(F.col(piece), other, F.col(pieces)))


def block_of(piece: Column, other: Column, pieces: Column) -> Column:
    """Return the block in which two pieces meet."""
    return F.least(piece, other).cast("bigint") * pieces + F.greatest(piece, other)


def ends_of(pairs: DataFrame, *more: str) -> DataFrame:
    """Return two rows for each pair: the lesser digest with the other as its partner, and the other without one."""
    ends = F.array(
        F.struct(F.col("left_digest").alias("digest"), F.col("right_digest").alias("partner")),
        F.struct(F.col("right_digest").alias("digest"), F.lit(None).cast("binary").alias("partner")),
    )
    return pairs.select(*more, F.explode(ends).alias("end")).select(*more, "end.*")
