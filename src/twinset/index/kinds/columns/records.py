"""Records in an index: rows with several text columns, compared by all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa

from twinset.documents.items.pack import column_values, packed
from twinset.errors import OptionError, SourceError
from twinset.index.backend import Backend
from twinset.index.kinds.base import Kind, as_sequence
from twinset.index.kinds.passage_queries import PassageSearcher
from twinset.index.kinds.texts import TextKind
from twinset.options.index import IndexedOptions, PassageQueryOptions, SourceOptions


class RecordKind(TextKind):
    """Records of the columns that the index was made with, each with its shingles and its weight."""

    name = "record"

    @property
    def _names(self) -> list[str]:
        return [column.name for column in self.settings.options.text_columns]

    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Return the columns of the index, which cannot be others."""
        columns = self.settings.options.text
        if options.item_kind not in ("text", "records"):
            raise OptionError(f"{options.item_flag} does not fit: the index holds records; leave it out")
        if options.was_given("text") and options.text != columns:
            given = [options.text] if isinstance(options.text, str) else list(options.text)
            raise OptionError(
                f"text is {' and '.join(map(repr, given))}, and the index holds records of "
                f"{' and '.join(map(repr, columns or ()))}; leave it out, and give the columns these names"
            )
        return {"text": columns}

    @property
    def _described(self) -> str:
        return " and ".join(map(repr, self._names))

    def is_single(self, what: Any) -> bool:
        """Whether a query is one record: an object as text, or a mapping from column to text."""
        if not isinstance(what, Mapping):
            return isinstance(what, str)
        values = [one for one in what.values() if one is not None]
        return bool(values) and not any(isinstance(one, Mapping) for one in values)

    def from_values(self, values: Any) -> pa.Array:
        """Pack records: mappings from column to text, or such objects as text."""
        options = IndexedOptions.of(text=self.settings.options.text)
        columns: list[list[Any]] = [[] for _ in self._names]
        for row, one in enumerate(as_sequence(values.to_pylist() if hasattr(values, "to_pylist") else values)):
            texts = column_values(options, self._checked(one, row))
            if isinstance(texts, str):
                raise SourceError(f"record number {row}: {texts}")
            for column, text in zip(columns, texts, strict=True):
                column.append(text)
        return packed(options, [pa.array(column, pa.large_binary()) for column in columns])[0]

    def _checked(self, record: Any, row: int) -> Mapping[str, Any]:
        """Return a record as a mapping that has one of the columns."""
        if record is None:
            return {}
        if isinstance(record, (str, bytes)):
            try:
                record = orjson.loads(record)
            except orjson.JSONDecodeError as error:
                example = ", ".join(f'"{name}": "…"' for name in self._names)
                raise SourceError(f"record number {row} is not JSON ({error}); write it as {{{example}}}") from error
        if not isinstance(record, Mapping):
            kind = type(record).__name__
            raise SourceError(f"record number {row}: a record must be a mapping from column to text, not {kind}")
        if not any(name in record for name in self._names):
            found = ", ".join(map(repr, list(record)[:5])) or "none"
            raise SourceError(
                f"record number {row}: a record of this index has the columns {self._described}; this one has {found}"
            )
        return record

    def passage_searcher(self, backend: Backend, options: PassageQueryOptions) -> PassageSearcher:
        """Refuse queries for passages, which are found in texts."""
        return Kind.passage_searcher(self, backend, options)
