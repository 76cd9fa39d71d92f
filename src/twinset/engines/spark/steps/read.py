"""documents → shingles → sketches, and identical contents once."""

from __future__ import annotations

from typing import Any

from twinset.engines.local.steps.shingle_length import describe_short_texts, fewest_shingles
from twinset.engines.local.steps.sketch import EMPTY, READ, UNREADABLE
from twinset.engines.spark.corpus import Contents, RunRows
from twinset.engines.spark.session import Column, DataFrame, as_table, functions
from twinset.engines.spark.store import Store
from twinset.engines.spark.tasks import sketch
from twinset.engines.spark.tasks.settings import ID, RANK, Settings
from twinset.engines.spark.worker import in_tasks
from twinset.errors import ColumnError, DuplicateIdError
from twinset.options import DedupOptions, PairsOptions, ReadOptions
from twinset.options.checks import shown_value
from twinset.wording import counted

__all__ = ["collapse", "column", "find_short_texts", "grouped", "id_column", "read"]

F = functions


def column(frame: DataFrame, name: str) -> Column:
    """Return a column, or a field of a nested one such as ``meta.body``."""
    if name in frame.columns:
        return F.col(f"`{name}`")
    if name.split(".")[0] not in frame.columns:
        shown = ", ".join(map(shown_value, frame.columns))
        raise ColumnError(f"there is no column {shown_value(name)}; the columns are {shown}")
    return F.col(".".join(f"`{part}`" for part in name.split(".")))


def id_column(frame: DataFrame, options: ReadOptions) -> str:
    """Return the column of ids; a data frame has no row numbers that could take its place."""
    name = options.group or options.id or "id"
    if name not in frame.columns:
        given = f"there is no column {shown_value(name)}" if options.id else "the rows have no column id"
        raise ColumnError(
            f"{given}; the columns are {', '.join(map(shown_value, frame.columns))}: name one of unique ids with "
            "--id NAME, since the rows of a data frame have no numbers"
        )
    kind = dict(frame.dtypes)[name]
    if kind not in ("string", "tinyint", "smallint", "int", "bigint") and not kind.startswith(("varchar", "char")):
        raise ColumnError(f"ids must be strings or whole numbers, but {shown_value(name)} holds {kind}")
    return name


def grouped(frame: DataFrame, options: PairsOptions | DedupOptions) -> DataFrame:
    """Return a row for each group of a long table: its id and the list of its items."""
    group, item = column(frame, str(options.group)), column(frame, str(options.item))
    missing = frame.agg(
        *(F.sum(one.isNull().cast("bigint")).alias(name) for name, one in (("group", group), ("item", item)))
    )
    for name, count in as_table(missing).to_pylist()[0].items():
        if count:
            value = options.group if name == "group" else options.item
            raise ColumnError(f"the {name} {shown_value(value)} is null in {counted(count, 'row')}")
    gather = F.collect_list if options.bag else F.collect_set
    return frame.groupBy(group.cast("string").alias(ID)).agg(gather(item).alias(str(options.item)))


def read(
    frame: DataFrame, rows: DataFrame, options: PairsOptions | DedupOptions, settings: Settings, store: Store,
    missing: dict[str, str],
) -> RunRows:  # fmt: skip
    """Sketch all rows, store the sketches and count them.

    `missing` names, for each column of the keep policy, the column that is 1 where it has no value.
    """
    ranks = [(name, kind) for name, kind in rows.dtypes if name.startswith(RANK)]
    schema = ", ".join([sketch.COLUMNS, *(f"{name} {kind}" for name, kind in ranks)])
    made = in_tasks(rows, sketch.sketch, {**settings, "ranks": [name for name, _ in ranks]}, schema)
    sketched = store.keep(made, "sketched")
    counts = _count(sketched, missing)
    _check_ids(sketched, counts, options)
    return RunRows(frame, rows, sketched, counts)


def _count(sketched: DataFrame, missing: dict[str, str]) -> dict[str, Any]:
    """Count rows by outcome."""
    readable = F.col("status") != UNREADABLE
    of = {"empty": EMPTY, "unreadable": UNREADABLE}
    totals = sketched.agg(
        F.count(F.lit(1)).alias("documents"),
        *(
            F.coalesce(F.sum((F.col("status") == status).cast("bigint")), F.lit(0)).alias(name)
            for name, status in of.items()
        ),
        F.coalesce(F.sum(F.col("replaced").cast("bigint")), F.lit(0)).alias("replaced"),
        F.coalesce(F.sum("text_bytes"), F.lit(0)).alias("text_bytes"),
        F.coalesce(F.sum(F.col("id").isNull().cast("bigint")), F.lit(0)).alias("without_id"),
        *(F.coalesce(F.sum(F.when(readable, F.col(flag))), F.lit(0)).alias(flag) for flag in missing.values()),
    )
    [row] = as_table(totals).to_pylist()
    unranked = {column: row.pop(flag) for column, flag in missing.items()}
    return {**row, "unranked": {column: count for column, count in unranked.items() if count}}


def find_short_texts(corpus: RunRows, options: PairsOptions | DedupOptions) -> dict[str, Any] | None:
    """Return how many texts are short for the shingles, and what to try; None if few are."""
    fewest = fewest_shingles(options)
    if fewest is None:
        return None
    texts = corpus.sketched.where(F.col("status") == READ)

    def median() -> int:
        middle = F.expr("percentile_disc(0.5) within group (order by tokens)")
        return int(as_table(texts.agg(middle.alias("median")))["median"][0].as_py())

    counts = corpus.counts
    short = texts.where(F.col("tokens") < fewest).count()
    return describe_short_texts(short, counts["documents"] - counts["empty"] - counts["unreadable"], median, options)


def _check_ids(sketched: DataFrame, counts: dict[str, Any], options: PairsOptions | DedupOptions) -> None:
    name = shown_value(options.id or "id")
    if counts.pop("without_id"):
        raise ColumnError(
            f"the id {name} is null in some rows; every row needs an id: name another column with --id NAME"
        )
    repeated = sketched.groupBy("id").count().where("count > 1").orderBy("id").limit(1)
    for row in as_table(repeated).to_pylist():
        raise DuplicateIdError(
            f"the id {row['id']!r} appears {row['count']} times; name a column of unique ids with --id NAME"
        )


def collapse(corpus: RunRows, best: Column, store: Store) -> Contents:
    """Group rows by content; `best` orders the rows of a content, the least first."""
    first = F.struct("id", "tokens", "bytes", "draw", "keys", "sketch")
    grouped = (
        corpus.sketched.where(F.col("status") == READ)
        .groupBy("digest")
        .agg(F.min(first).alias("one"), F.min(best).alias("best"), F.count(F.lit(1)).alias("copies"),
            F.count_distinct("text").alias("texts"))
        .select(
            "digest", "copies", "texts", "best", F.col("one.id").alias("first"),
            *(F.col(f"one.{name}").alias(name) for name in ("tokens", "bytes", "draw", "keys", "sketch")),
        )
    )  # fmt: skip
    table = store.keep(grouped, "contents")
    copies, texts = F.col("copies"), F.col("texts")
    totals = table.agg(
        F.count(F.lit(1)).alias("contents"),
        F.coalesce(F.sum(copies - 1), F.lit(0)).alias("identical"),
        F.coalesce(F.sum(copies - texts), F.lit(0)).alias("verbatim"),
        F.coalesce(F.sum(F.expr("copies * (copies - 1) div 2")), F.lit(0)).alias("identical_pairs"),
        F.coalesce(F.sum("tokens"), F.lit(0)).alias("tokens"),
    )
    [counts] = as_table(totals).to_pylist()
    return Contents(table, counts)
