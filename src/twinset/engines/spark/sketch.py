"""Sketch the rows of a data frame."""

from __future__ import annotations

from twinset.engines.spark.session import DataFrame, functions
from twinset.engines.spark.steps.read import column, id_column
from twinset.engines.spark.tasks import slots
from twinset.engines.spark.tasks.settings import ID, sketch_settings_of
from twinset.engines.spark.worker import in_tasks
from twinset.errors import OptionError
from twinset.options.items import PACKED
from twinset.options.sketch import SketchOptions

__all__ = ["sketch_rows"]

F = functions


def sketch_rows(frame: DataFrame, options: SketchOptions) -> DataFrame:
    """Return the id, the sketch and the number of shingles of each row; nothing is computed yet."""
    if options.sketch == "simhash":
        raise OptionError("--sketch simhash cannot be used on Spark: its weights need all documents; use one machine")
    if options.merge or options.item_kind not in ("text", *PACKED) or options.group is not None:
        raise OptionError("a table of sketches is made of the rows of texts, records and sets only, one for each row")
    items = [column(frame, name).alias(name) for name in options.item_columns]
    rows = frame.select(column(frame, id_column(frame, options)).cast("string").alias(ID), *items)
    return in_tasks(rows, slots.make_sketches, sketch_settings_of(options), slots.COLUMNS)
