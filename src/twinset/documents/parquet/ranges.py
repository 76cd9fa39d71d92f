"""The bytes of a Parquet file that some of its columns need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twinset.documents.parquet.footer import RowGroup

_PADDING = 100
"""Bytes after a column that Arrow may read: old writers left out the header of a dictionary from its size."""


def column_ranges(groups: Iterable[RowGroup], columns: Sequence[str], size: int) -> list[tuple[int, int]]:
    """Return the ranges of some columns, with all their fields, in a file of `size` bytes.

    Page indexes and bloom filters are between the columns and the footer; Arrow reads neither for whole columns.

    Examples
    --------
    >>> from twinset.documents.parquet.footer import ColumnChunk
    >>> chunks = [ColumnChunk(path, "BYTE_ARRAY", "none", 2, 9, at, at + 9, True, True)
    ...           for path, at in [("id", 4), ("meta.body", 13), ("other", 22)]]
    >>> column_ranges([RowGroup(2, 27, tuple(chunks))], ["meta"], 1000)
    [(13, 122)]
    """
    return [
        (chunk.start, min(size, chunk.stop + _PADDING))
        for group in groups
        for chunk in group.columns
        if any(is_below(chunk.path, name) for name in columns)
    ]


def is_below(path: str, name: str) -> bool:
    """Whether the path of a column in a file belongs to a column or field."""
    return path == name or path.startswith(f"{name}.")
