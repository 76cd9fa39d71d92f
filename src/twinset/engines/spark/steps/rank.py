"""The keep policy as columns: the row with the least rank is best."""

from __future__ import annotations

from collections.abc import Callable

from twinset.engines.spark.session import Column, DataFrame, functions
from twinset.engines.spark.steps.read import column
from twinset.engines.spark.tasks.settings import RANK
from twinset.errors import OptionError
from twinset.options import DedupOptions, PairsOptions
from twinset.options.checks import shown_value

__all__ = ["best_rank", "missing_values", "rank_columns"]

F = functions
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def rank_columns(frame: DataFrame, options: PairsOptions | DedupOptions) -> list[Column]:
    """Return the columns of a frame that the policy needs, of which the least is best."""
    found: list[Column] = []
    order_by = options.order_by
    for rule, name in options.keep_rules:
        if name is not None:
            found += _ordered(column(frame, name), _kind_of(frame, name), rule in ("highest", "newest"), rule, name)
        elif rule == "first" and order_by is not None:
            found += [column(frame, order_by).isNull().cast("int"), column(frame, order_by)]
    return [one.alias(f"{RANK}{number}") for number, one in enumerate(found)]


def missing_values(options: PairsOptions | DedupOptions) -> dict[str, str]:
    """Return, for each column of the policy, the rank column that is 1 where it has no value."""
    columns = [name for _, name in options.keep_rules if name is not None]
    return {name: f"{RANK}{2 * number}" for number, name in enumerate(columns)}


def best_rank(options: PairsOptions | DedupOptions) -> Column:
    """Return the rank of a sketched row under the policy: a structure, which ends with the id."""
    members: list[Column] = []
    used = 0
    for rule, name in options.keep_rules:
        if name is not None or (rule == "first" and options.order_by is not None):
            members += [F.col(f"{RANK}{used}"), F.col(f"{RANK}{used + 1}")]
            used += 2
        elif rule in _OWN:
            members.append(_OWN[rule]())
    named = [one.alias(f"key_{number}") for number, one in enumerate(members)]
    return F.struct(*named, F.col("id"))


_OWN: dict[str, Callable[[], Column]] = {"longest": lambda: -F.col("length"), "source": lambda: F.lit(0)}


def _kind_of(frame: DataFrame, name: str) -> str:
    """Return the type of a column, or of a field of a nested one, as Spark writes it."""
    return dict(frame.select(column(frame, name).alias("values")).dtypes)["values"]


def _ordered(values: Column, kind: str, descending: bool, rule: str, name: str) -> list[Column]:
    """Return two columns by which values are ordered, missing ones last."""
    if kind in ("float", "double"):
        values = F.when(~F.isnan(values), values.cast("double"))
        ordered = -values if descending else values
    elif kind in _WHOLE or kind == "boolean":
        whole = values.cast("bigint")
        ordered = F.bitwise_not(whole) if descending else whole
    elif kind.startswith("decimal"):
        ordered = -values if descending else values
    elif kind == "date":
        days = F.unix_date(values).cast("bigint")
        ordered = -days if descending else days
    elif kind in ("timestamp", "timestamp_ntz"):
        micros = F.unix_micros(values.cast("timestamp"))
        ordered = F.bitwise_not(micros) if descending else micros
    else:
        raise OptionError(
            f"--keep {rule}:{name} cannot order the column {shown_value(name)} of type {kind} on Spark; cast it to a "
            "number, a date or a timestamp first"
        )
    return [values.isNull().cast("int"), ordered]
