"""Find a field by its name: a column or key, or a path such as ``meta.body`` into structs and objects.

A column or key of exactly that name comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MISSING = object()
_DEEPEST = 20


def value_at(values: Mapping[str, Any], name: str) -> Any:
    """Return the value of a key or path of an object; None below a null, MISSING where there is none.

    Examples
    --------
    >>> row = {"meta": {"body": "one", "a.b": 2}, "meta.id": 7, "none": None}
    >>> [value_at(row, name) for name in ("meta.body", "meta.a.b", "meta.id", "none.body")]
    ['one', 2, 7, None]
    >>> value_at(row, "meta.other") is MISSING
    True
    """
    value = values.get(name, MISSING)
    at = name.find(".") if value is MISSING else -1
    while at >= 0:
        inner = values.get(name[:at], MISSING)
        if inner is None:
            return None
        if isinstance(inner, dict) and (found := value_at(inner, name[at + 1 :])) is not MISSING:
            return found
        at = name.find(".", at + 1)
    return value


def paths_in(values: Mapping[str, Any], before: str = "", depth: int = _DEEPEST) -> Iterator[tuple[str, Any]]:
    """Yield the paths into the objects of an object, with their values.

    Examples
    --------
    >>> [path for path, _ in paths_in({"id": 1, "meta": {"body": "one", "more": {"n": 2}}})]
    ['meta.body', 'meta.more', 'meta.more.n']
    """
    for key, value in values.items():
        if before:
            yield before + key, value
        if isinstance(value, dict) and depth:
            yield from paths_in(value, f"{before}{key}.", depth - 1)


def place_of(fields: Iterable[Any], name: str) -> list[int] | None:
    """Return the position of a column, then those of the fields below it; None if there is no such path.

    Examples
    --------
    >>> schema = pa.schema([("id", pa.int64()), ("meta", pa.struct([("url", pa.string()), ("body", pa.string())]))])
    >>> place_of(schema, "meta.body"), place_of(schema, "id"), place_of(schema, "body")
    ([1, 1], [0], None)
    """
    listed = list(fields)
    for at, one in enumerate(listed):
        if one.name == name:
            return [at]
    for at, one in enumerate(listed):
        if pa.types.is_struct(one.type) and name.startswith(f"{one.name}."):
            rest = place_of(one.type, name[len(one.name) + 1 :])
            if rest is not None:
                return [at, *rest]
    return None


def type_at(schema: Any, place: list[int]) -> Any:
    """Return the type of the field at a place."""
    kind = schema.field(place[0]).type
    for at in place[1:]:
        kind = kind.field(at).type
    return kind


def column_at(table: Any, name: str) -> Any:
    """Return a column of a table, or a field of its structs; null below a null struct."""
    place = place_of(table.schema, name)
    if place is None:
        raise KeyError(name)
    column = table.column(place[0])
    return column if len(place) == 1 else pc.struct_field(column, place[1:])


def paths_of(fields: Iterable[Any], before: str = "") -> Iterator[str]:
    """Yield the paths into the structs of a schema.

    Examples
    --------
    >>> list(paths_of(pa.schema([("id", pa.int64()), ("meta", pa.struct([("body", pa.string())]))])))
    ['meta.body']
    """
    for one in fields:
        if before:
            yield before + one.name
        if pa.types.is_struct(one.type):
            yield from paths_of(one.type, f"{before}{one.name}.")
