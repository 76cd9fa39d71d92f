"""Find or replace a field by its name: a column or key, or a path such as ``meta.body`` into structs and objects.

A column or key of exactly that name comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.schema import Places

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


def replace_at(table: Any, name: str, rows: Places, texts: Sequence[str]) -> Any:
    """Return a table with other texts in some rows, in ascending order, of a column or a field of its structs.

    The schema stays: a dictionary gets the new texts at its end, and one that is full raises `ValueError`.

    Examples
    --------
    >>> table = pa.table({"meta": [{"n": 1, "body": "one"}, {"n": 2, "body": "two"}]})
    >>> replace_at(table, "meta.body", np.array([1]), ["2"])["meta"].to_pylist()
    [{'n': 1, 'body': 'one'}, {'n': 2, 'body': '2'}]
    """
    place = place_of(table.schema, name)
    if place is None:
        raise KeyError(name)
    column = table.column(place[0])
    starts = np.cumsum([0, *map(len, column.chunks)])
    cuts = np.searchsorted(rows, starts)
    chunks = [
        replace_texts(chunk, rows[cuts[at] : cuts[at + 1]] - starts[at], texts[cuts[at] : cuts[at + 1]], place[1:])
        for at, chunk in enumerate(column.chunks)
    ]
    return table.set_column(place[0], table.schema.field(place[0]), pa.chunked_array(chunks, column.type))


def replace_texts(array: Any, rows: Places, texts: Sequence[str], place: Sequence[int] = ()) -> Any:
    """Return an array with other texts in some rows; `place` leads to a field of its structs.

    Examples
    --------
    >>> replace_texts(pa.array(["one", None, "two"]), np.array([2]), ["2"]).to_pylist()
    ['one', None, '2']
    """
    if not len(rows):
        return array
    if place:
        fields = [array.field(at) for at in range(array.type.num_fields)]
        fields[place[0]] = replace_texts(fields[place[0]], rows, texts, place[1:])
        null = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(fields, fields=list(array.type), mask=null)
    mask = np.zeros(len(array), np.bool_)
    mask[rows] = True
    return _replace(array, pa.array(mask), pa.array(texts, pa.large_string()))


def _replace(array: Any, mask: Any, texts: Any) -> Any:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _replace(array.storage, mask, texts))
    if pa.types.is_dictionary(kind):
        present = array.dictionary.cast(pa.large_binary())
        values = texts.cast(pa.large_binary())
        added = values.filter(pc.invert(pc.is_in(values, value_set=present))).unique()
        if len(present) + len(added) > np.iinfo(kind.index_type.to_pandas_dtype()).max + 1:
            raise ValueError(f"a dictionary of {kind.index_type} has no room for the new texts; convert it to strings")
        codes = pc.index_in(values, value_set=pa.concat_arrays([present, added])).cast(kind.index_type)
        dictionary = pa.concat_arrays([array.dictionary, added.cast(kind.value_type)])
        indices = pc.replace_with_mask(array.indices, mask, codes)
        return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=kind.ordered)
    plain = _without_view(kind)  # Arrow cannot replace views
    return pc.replace_with_mask(array.cast(plain), mask, texts.cast(plain)).cast(kind)


def without_views(table: Any) -> Any:
    """The table with views as plain strings or bytes: Arrow supports few operations on views."""
    plain = [_without_view(one.type) for one in table.schema]
    if all(new.equals(old.type) for new, old in zip(plain, table.schema, strict=True)):
        return table
    fields = [one.with_type(kind) for one, kind in zip(table.schema, plain, strict=True)]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _without_view(kind: Any) -> Any:
    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([one.with_type(_without_view(one.type)) for one in kind])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        item = kind.value_field.with_type(_without_view(kind.value_type))
        if types.is_fixed_size_list(kind):
            return pa.list_(item, kind.list_size)
        return pa.list_(item) if types.is_list(kind) else pa.large_list(item)
    if types.is_map(kind):
        return pa.map_(_without_view(kind.key_type), kind.item_field.with_type(_without_view(kind.item_type)))
    return kind
