"""Options of the index."""

from twinset.options.index.create import IndexOptions
from twinset.options.index.query import PassageQueryOptions, QueryCommandOptions, QueryOptions
from twinset.options.index.sources import AddOptions, ExportOptions, IndexedOptions, SourceOptions, WriteOptions

__all__ = [
    "AddOptions",
    "ExportOptions",
    "IndexOptions",
    "IndexedOptions",
    "PassageQueryOptions",
    "QueryCommandOptions",
    "QueryOptions",
    "SourceOptions",
    "WriteOptions",
]
