"""Weighted sets in an index: elements with weights, compared by Σ min / Σ max."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import orjson
import pyarrow as pa

from twinset.documents.items.pack import column_values, json_type, packed
from twinset.errors import OptionError, SourceError
from twinset.index.backend import Backend
from twinset.index.kinds.base import Kind, as_sequence
from twinset.index.kinds.columns.weighted_queries import WeightedSearcher
from twinset.index.kinds.passage_queries import PassageSearcher
from twinset.index.kinds.texts import TextKind
from twinset.index.query import Limits, Searcher
from twinset.options.index import IndexedOptions, PassageQueryOptions, QueryOptions, SourceOptions


class WeightedKind(TextKind):
    """Weighted sets: lists of elements and of weights, or the rows of long tables."""

    name = "weighted set"
    empty = "element"

    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Return the columns of the sets and of the weights: those given, or those of the index."""
        if options.item_kind == "weighted":
            return {}
        if options.item_kind in ("items", "groups"):
            raise OptionError(
                f"{options.item_flag} is given without --weight, and the index holds weighted sets; name the column of "
                "the weights with --weight"
            )
        if options.item_kind != "text" or options.was_given("text"):
            raise OptionError(f"{options.item_flag} does not fit: the index holds weighted sets; leave it out")
        ours = self.settings.options
        return {name: getattr(ours, name) for name in ("items", "group", "item", "weight")}

    def is_single(self, what: Any) -> bool:
        """Whether a query is one set: an object as text, or a mapping from element to weight."""
        if not isinstance(what, Mapping):
            return isinstance(what, str)
        return bool(what) and all(isinstance(one, Real) for one in what.values())

    def from_values(self, values: Any) -> pa.Array:
        """Return sets as objects in text, from mappings or from such objects."""
        options = IndexedOptions.of(items="items", weight="weights")
        columns: dict[str, list[Any]] = {"items": [], "weights": []}
        for row, one in enumerate(as_sequence(values.to_pylist() if hasattr(values, "to_pylist") else values)):
            elements = column_values(options, _parsed(one, row))
            if isinstance(elements, str):
                raise SourceError(f"set number {row}: {elements}")
            for column, value in zip(columns.values(), elements, strict=True):
                column.append(value)
        rows, bad = packed(options, [pa.array(each, json_type(options, name)) for name, each in columns.items()])
        if bad:
            raise SourceError(f"set number {bad[0][0]}: {bad[0][1]}")
        return rows

    def containment_limits(self, options: QueryOptions) -> Limits:
        """Refuse queries for containment, which shingles without weights decide."""
        return Kind.containment_limits(self, options)

    def passage_searcher(self, backend: Backend, options: PassageQueryOptions) -> PassageSearcher:
        """Refuse queries for passages, which are found in texts."""
        return Kind.passage_searcher(self, backend, options)

    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Search by bands, sketches and contents."""
        return WeightedSearcher(backend, self.settings)


def _parsed(value: Any, row: int) -> Any:
    """Return a set that is given as text as a mapping."""
    if not isinstance(value, (str, bytes)):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise SourceError(
            f"set number {row} is not JSON ({error}); write it as an object from element to weight, such as "
            '{"Ran": 4.5, "Alien": 3}'
        ) from error
