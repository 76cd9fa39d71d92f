"""Fetch the columns of remote tables, of all files at once, and say how much that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twinset.documents.parquet.read import ParquetPart
from twinset.documents.parts import Part
from twinset.documents.remote.copies import LocalCopy, Ranges, joined
from twinset.documents.remote.fetch import GAP, Fetcher, footer_range


def fetch_tables(parts: Sequence[Part], whole: int, fetcher: Fetcher) -> None:
    """Fetch all of the first `whole` parts, and what is read of the others."""
    wanted = _wanted(parts, whole)
    some = any(not is_whole for _, _, is_whole in wanted)
    what = "the columns that are needed of " if some else "all columns of "
    fetcher.fetch([(copy, ranges) for copy, ranges, _ in wanted], what)


def outline_fetch(parts: Sequence[Part], whole: int, copies: Sequence[LocalCopy]) -> dict[str, int]:
    """Return the number of objects that a run would fetch, the bytes of that, and the bytes of the objects."""
    ranges: dict[Path, Ranges] = {}
    for copy, some, _ in _wanted(parts, whole):
        ranges.setdefault(copy.path, [footer_range(copy)]).extend(some)
    of = {copy.path: copy.size for copy in copies}
    fetched = {path: joined(ranges.get(path, [(0, size)]), GAP) for path, size in of.items()}
    count = sum(stop - start for some in fetched.values() for start, stop in some)
    return {"objects": len(of), "bytes": count, "of": sum(of.values())}


def _wanted(parts: Sequence[Part], whole: int) -> list[tuple[LocalCopy, Ranges, bool]]:
    """Return the copies of remote tables, each with what is read of it, and whether that is all."""
    return [
        (inner.copy, inner.wanted_ranges(None if number < whole else inner.needed(texts_only=False)), number < whole)
        for number, part in enumerate(parts)
        for inner in part.inner
        if isinstance(inner, ParquetPart) and inner.copy is not None
    ]
