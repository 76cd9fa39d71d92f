"""Audit a run: compare a sample of its contents exactly with all rows, on the cluster.

The sample is the one that the local engine draws. It is small, whatever the number of documents, so that the driver
can hold it and every task receives it whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from twinset.engines.local.audit import sample as sampling
from twinset.engines.local.audit.result import MAX_NAMED, refuse_lost_pairs
from twinset.engines.local.audit.sets import affordable_count
from twinset.engines.spark.corpus import Contents, RunRows
from twinset.engines.spark.session import Column, DataFrame, SparkSession, as_table, functions
from twinset.engines.spark.store import Store
from twinset.engines.spark.tasks import audit as comparing
from twinset.engines.spark.tasks.settings import ID, Settings, item_columns, opened
from twinset.engines.spark.worker import in_tasks
from twinset.options import DedupOptions, PairsOptions
from twinset.pairs.audit.recall_interval import Sampled, recall_of
from twinset.pairs.sets import scores

__all__ = ["audit_pairs"]

F = functions


def audit_pairs(
    corpus: RunRows, contents: Contents, pairs: DataFrame, candidates: int, options: PairsOptions | DedupOptions,
    settings: Settings, store: Store,
) -> dict[str, Any]:  # fmt: skip
    """Return the audit of the summary: documents, pairs, found, recall, its interval, and missed pairs."""
    session = corpus.rows.sparkSession
    sample, degrees = _draw(contents, pairs, options, session)
    few, count = _cut(corpus, contents, sample, degrees, candidates, options, settings)
    sample, degrees = sample.slice(0, count), degrees[:count]
    near = store.keep(_near(corpus, pairs, sample, few.slice(0, count), options, settings), "near")
    per_document = near.groupBy("place").agg(
        F.count(F.lit(1)).alias("pairs_of"),
        F.sum(F.col("missed").cast("bigint")).alias("missed_of"),
        F.sum(F.col("once").cast("bigint")).alias("pairs"),
        F.sum((F.col("once") & F.col("missed")).cast("bigint")).alias("missed"),
    )
    found = {
        name: np.asarray(column)
        for name, column in zip(per_document.columns, as_table(per_document).columns, strict=True)
    }
    pairs_of, missed_of = np.zeros((2, count), np.int64)
    pairs_of[found["place"]], missed_of[found["place"]] = found["pairs_of"], found["missed_of"]
    refuse_lost_pairs(int(pairs_of.sum() - missed_of.sum()), int(degrees.sum()))
    sampled = Sampled(
        population=contents.counts["contents"], pairs_of=pairs_of, missed_of=missed_of,
        pairs=int(found["pairs"].sum()), missed=int(found["missed"].sum()),
    )  # fmt: skip
    return _summary(sampled, near, sample)


def _draw(
    contents: Contents, pairs: DataFrame, options: PairsOptions | DedupOptions, session: SparkSession
) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Draw the largest sample that may be compared: digest, first and place of its contents, and the pairs of each."""
    documents, shingles = contents.counts["contents"], contents.counts["tokens"]
    size = sampling.most(documents, shingles, shingles, options) if options.audit is None else options.audit
    drawn = contents.table.select("draw", "first", "digest").orderBy("draw", "first").limit(min(size, documents))
    table = as_table(drawn)
    sample = pa.table(
        {
            "digest": table["digest"],
            "first": table["first"],
            "place": pa.array(np.arange(table.num_rows, dtype=np.int32)),
        }
    )
    counted = _known(pairs, sample, session).groupBy("place").count()
    found = as_table(counted)
    degrees = np.zeros(sample.num_rows, np.int64)
    degrees[np.asarray(found["place"])] = np.asarray(found["count"])
    return sample, degrees


def _known(pairs: DataFrame, sample: pa.Table, session: SparkSession) -> DataFrame:
    """Return the pairs of the sample: the place of a sampled content, and the digest of the other one."""
    own = F.broadcast(session.createDataFrame(sample.select(["place", "digest"])))
    both = (("left_digest", "right_digest"), ("right_digest", "left_digest"))
    ends = F.array(*(F.struct(F.col(one).alias("digest"), F.col(other).alias("other")) for one, other in both))
    directed = pairs.select(F.explode(ends).alias("end")).select("end.*")
    return directed.join(own, "digest").select("place", F.col("other").alias("digest"))


def _cut(
    corpus: RunRows, contents: Contents, sample: pa.Table, degrees: np.ndarray[Any, Any], candidates: int,
    options: PairsOptions | DedupOptions, settings: Settings,
) -> tuple[pa.Table, int]:  # fmt: skip
    """Return the items of the sample in its order, and how many of them the run affords to compare."""
    session = corpus.rows.sparkSession
    chosen = F.broadcast(session.createDataFrame(sample.select(["first", "place"])))
    joined = corpus.rows.join(chosen, corpus.rows[ID] == chosen["first"])
    items = item_columns(corpus.rows.columns)
    rows = as_table(joined.select("place", *(F.col(f"`{name}`") for name in items)))
    rows = rows.sort_by("place").drop_columns("place")
    documents = contents.counts["contents"]
    few = sampling.pilot_size(sample.num_rows, documents)
    others = min(few, sample.num_rows - few)
    if options.audit is not None or few < 1 or others < 1:
        return rows, sample.num_rows
    loaded = comparing.load_sample(rows.slice(0, few + others), opened(settings))
    work = contents.counts["tokens"]
    count = affordable_count(
        loaded.part(0, few), loaded.part(few, few + others), options, sample.num_rows, documents, work, candidates,
        float(degrees.mean()),
    )  # fmt: skip
    return rows, count


def _near(
    corpus: RunRows, pairs: DataFrame, sample: pa.Table, items: pa.Table, options: PairsOptions | DedupOptions,
    settings: Settings,
) -> DataFrame:  # fmt: skip
    """Return a row for each content near a sampled one: was the pair missed, and is it to be counted here?

    The rows of a content are one row here, with the least of their ids, as they are everywhere in a run.
    """
    sample = sample.slice(0, items.num_rows)
    sent = _as_bytes(items.append_column(comparing.DIGEST, sample["digest"]))
    rows = corpus.rows.select(ID, *(F.col(f"`{name}`") for name in items.column_names))
    work = {**settings, "sample": sent, "least": options.least}
    found = in_tasks(rows, comparing.compare_with_sample, work, comparing.COLUMNS)
    known = _known(pairs, sample, corpus.rows.sparkSession).withColumn("known", F.lit(True))
    both = found.withColumn("known", F.lit(False)).unionByName(known, allowMissingColumns=True)
    values = [F.min(name).alias(name) for name in ("id", "shared", "size", "own_size", "once")]
    grouped = both.groupBy("place", "digest").agg(*values, (~F.max("known")).alias("missed"))
    return grouped.where(F.col("id").isNotNull())


def _as_bytes(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    sent: bytes = stream.getvalue().to_pybytes()
    return sent


def _summary(sampled: Sampled, near: DataFrame, sample: pa.Table) -> dict[str, Any]:
    recall, low, high = recall_of(sampled)
    summary: dict[str, Any] = {
        "documents": len(sampled.pairs_of),
        "pairs": sampled.pairs,
        "found": sampled.pairs - sampled.missed,
        "recall": recall,
        "low": low,
        "high": high,
    }
    if sampled.missed:
        own_left = F.col("own_id") < F.col("id")
        columns: list[Column | str] = [
            F.least("own_id", "id").alias("left"),
            F.greatest("own_id", "id").alias("right"),
            "shared",
            F.when(own_left, F.col("own_size")).otherwise(F.col("size")).alias("left_size"),
            F.when(own_left, F.col("size")).otherwise(F.col("own_size")).alias("right_size"),
        ]
        own = near.sparkSession.createDataFrame(sample.select(["place", "first"])).withColumnRenamed("first", "own_id")
        missed = near.where("once and missed").join(F.broadcast(own), "place")
        rows = as_table(missed.select(*columns).orderBy("left", "right").limit(MAX_NAMED))
        shared, left, right = (np.asarray(rows[name]) for name in ("shared", "left_size", "right_size"))
        named = pa.table({"left": rows["left"], "right": rows["right"], **scores(shared, left, right)})
        summary["missed"] = named.to_pylist()
    return summary
