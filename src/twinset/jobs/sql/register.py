"""``twinset.register``: SQL functions of Twinset in a connection of DuckDB."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa

from twinset.errors import OptionError
from twinset.jobs.sql.functions import SqlFunctions
from twinset.options.checks import shown_value
from twinset.options.sketch import SqlOptions
from twinset.plan import Plan
from twinset.plan.choose import band_plan

_TYPES = {
    "shingles": (("VARCHAR",), "UBIGINT[]"),
    "bands": (("VARCHAR",), "UBIGINT[]"),
    "sketch": (("VARCHAR",), "BLOB"),
    "candidate": (("BLOB", "BLOB"), "BOOLEAN"),
    "jaccard": (("VARCHAR", "VARCHAR"), "DOUBLE"),
    "containment": (("VARCHAR", "VARCHAR"), "DOUBLE"),
}
"""The types of the arguments and of the value of each function, by the name of the method of `SqlFunctions`."""


def register(connection: Any, **options: Any) -> Plan:
    """Add functions that shingle, sketch and compare texts to a connection of DuckDB.

    All of them use the given options. ``twinset_jaccard(a, b)`` and ``twinset_containment(a, b)`` compare two texts
    exactly. ``twinset_shingles(text)`` and ``twinset_bands(text)`` are lists of hashes: texts with a common band are
    candidates. ``twinset_sketch(text)`` is a short sketch, and ``twinset_candidate(a, b)`` says of two sketches whether
    `find_pairs` would verify the pair.

    Parameters
    ----------
    connection
        A connection of DuckDB, or the module ``duckdb`` for its default connection. Functions of the same names that
        this connection has are replaced.
    **options
        The options of shingles and plan, as for `twinset.find_pairs`: `shingle`, `threshold`, `recall`, `n_bands`,
        `seed`, `lowercase`, … With `prefix` the names begin with another word than ``twinset``.

    Returns
    -------
    Plan
        The bands and rows for the threshold and the recall.

    Examples
    --------
    >>> import duckdb
    >>> import twinset
    >>> connection = duckdb.connect()
    >>> twinset.register(connection, threshold=0.8, shingle="word:1").n_bands
    16
    >>> connection.sql("SELECT twinset_jaccard('one two three', 'Three, two!') AS similarity").fetchall()
    [(0.6666666666666666,)]
    """
    checked = SqlOptions.of(**options)
    duckdb = _module_of(connection)
    plan = band_plan(checked)
    functions = SqlFunctions(checked, plan)
    for method, (arguments, value) in _TYPES.items():
        name = f"{checked.prefix}_{method}"
        function = _of_columns(getattr(functions, method), len(arguments))
        with suppress(duckdb.InvalidInputException):  # this connection has no such function
            connection.remove_function(name)
        try:
            connection.create_function(
                name, function, list(arguments), value, type="arrow", null_handling="special"
            )  # fmt: skip
        except duckdb.CatalogException as error:
            raise OptionError(
                f"this database has a function {name} of another connection or cursor; all cursors can use it; remove "
                "it there with remove_function, or give another prefix"
            ) from error
    return plan


def _module_of(connection: Any) -> Any:
    """Return the module of a connection of DuckDB, which is loaded if there is one."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not (connection is duckdb or isinstance(connection, duckdb.DuckDBPyConnection)):
        raise OptionError(
            f"connection is {shown_value(connection)}; allowed: a connection of DuckDB, such as duckdb.connect()"
        )
    return duckdb


def _of_columns(work: Callable[..., pa.Array], count: int) -> Callable[..., pa.Array]:
    """Return a function of as many columns as DuckDB will pass, which are chunked."""

    def one(column: pa.ChunkedArray) -> pa.Array:
        return work(column.combine_chunks())

    def two(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
        return work(left.combine_chunks(), right.combine_chunks())

    return one if count == 1 else two
