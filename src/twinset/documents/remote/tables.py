"""Fetch the columns of remote tables, of all files at once."""

from __future__ import annotations

from collections.abc import Sequence

from twinset.documents.parquet.read import ParquetPart
from twinset.documents.parts import Part
from twinset.documents.remote.copies import LocalCopy, Ranges
from twinset.documents.remote.fetch import Fetcher


def fetch_tables(parts: Sequence[Part], whole: int, fetcher: Fetcher) -> None:
    """Fetch all of the first `whole` parts, and what is read of the others."""
    wanted: list[tuple[LocalCopy, Ranges | None]] = []
    some = False
    for number, part in enumerate(parts):
        for inner in part.inner:
            if isinstance(inner, ParquetPart) and inner.copy is not None:
                columns = None if number < whole else inner.needed(texts_only=False)
                wanted.append((inner.copy, inner.wanted_ranges(columns)))
                some = some or columns is not None
    fetcher.fetch(wanted, "the columns that are needed of " if some else "all columns of ")
