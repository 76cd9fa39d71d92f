"""Describe an index, and check that its tables agree with each other."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from twinset.engines.progress import Progress
from twinset.errors import DamagedError
from twinset.index.backend import POSTINGS, Backend, Document, Int64s, SketchRows
from twinset.index.kinds.base import Kind, kind_for
from twinset.index.kinds.pack_text import unpacked_size
from twinset.index.kinds.text_entries import UNPACKED, packed_bands, runs
from twinset.index.read_batches import MOST_ID_BYTES
from twinset.index.settings import Settings
from twinset.schema import HASH_SCHEME, Hashes
from twinset.system import batch_sizes

_SKETCHES = 2**24
_SHINGLES = 2**22
"""Bytes of sketches, and shingles, in memory at a time."""
_SHOWN = 20
_MIX, _TURN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def stats(backend: Backend, settings: Settings) -> dict[str, Any]:
    """Return facts about an index in plain values, excluding its seed."""
    sizes, count = backend.sizes(), backend.count()
    options = {name: value for name, value in settings.options.to_dict().items() if name != "seed"}
    return {
        "index": backend.name,
        "documents": count,
        "bytes": sizes,
        "bytes_per_document": round(sizes["total"] / count, 1) if count else None,
        "format": settings.format,
        "hash_scheme": HASH_SCHEME,
        "normalization": None if settings.normalization is None else asdict(settings.normalization),
        "plan": None if settings.plan is None else settings.plan.to_dict(),
        "options": options,
        **kind_for(settings).facts(),
        **backend.facts(),
    }


def problems(backend: Backend, kind: Kind, progress: Progress) -> list[str]:
    """Return the problems of an index."""
    found = backend.integrity_errors()
    if found:
        return found  # damaged tables cannot be compared
    try:
        found += [f"{count} {what}" for what, count in backend.orphans().items() if count]
        expected, wrong = _documents(backend, kind, progress)
        found += wrong
        for table, rows in expected.items():
            if (stored := _stored_rows(backend, table)) != rows:
                found += _differing(backend, kind, table, stored[0], rows[0])
    except DamagedError as error:
        found.append(str(error))
    return found


def pages(backend: Backend, kind: Kind, *, contents: bool) -> Iterator[tuple[list[Document], SketchRows]]:
    """Yield all documents with their sketches in the order of adding, in portions of bounded size."""
    last = 0
    most = max(1, min(batch_sizes.INDEX_CHECKED, _SKETCHES // (4 * max(1, kind.slots))))
    while len(numbers := backend.page(last, most)):
        sketches = backend.sketches(numbers).padded_to(kind.slots)
        sizes = np.zeros(len(numbers), np.int64)
        sizes[np.searchsorted(numbers, sketches.numbers)] = sketches.shingles
        for first, end in runs(sizes, _SHINGLES):
            documents = backend.documents(numbers[first:end], contents=contents)
            lengths = np.array([unpacked_size(one.content) for one in documents], np.int64)
            for start, stop in runs(lengths, UNPACKED):
                some = documents[start:stop]
                low, high = np.searchsorted(sketches.numbers, [some[0].number, some[-1].number + 1])
                rows = sketches.numbers, sketches.shingles, sketches.slots
                yield some, SketchRows(rows[0][low:high], rows[1][low:high], rows[2][low:high])
        last = int(numbers[-1])


def _documents(backend: Backend, kind: Kind, progress: Progress) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Compare documents with their contents; return the expected number and sum of rows by table, and problems."""
    expected = dict.fromkeys(POSTINGS, (0, 0))
    wrong: list[str] = []
    progress.stage("checking", backend.count(), "documents")
    for documents, sketches in pages(backend, kind, contents=True):
        if sketches.slots.shape[1:] != (kind.slots,):
            return {}, [*wrong, f"sketches do not have the {kind.slots} slots of the plan"]
        if error := kind.content_error(documents):
            wrong.append(error)
        differing = [f"{what}: {one.id!r}" for one, what in kind.mismatches(documents, sketches)]
        if differing:  # rows that follow from contents cannot be checked
            expected = {table: rows for table, rows in expected.items() if table not in kind.content_tables}
        wrong += differing
        long = [one.id for one in documents if len(one.id.encode()) > MOST_ID_BYTES]
        wrong += [f"the id has more than {MOST_ID_BYTES} bytes: {id[:40]!r}…" for id in long]
        for table, packed in _postings(kind, documents, sketches, expected).items():
            rows, total = expected[table]
            total = (total + _sum(packed >> 32, packed & 0xFFFFFFFF)) % 2**64
            expected[table] = rows + len(packed), total
        progress.advance(len(documents))
        if len(wrong) > _SHOWN:
            return {}, [*wrong[:_SHOWN], f"and {len(wrong) - _SHOWN} more so far"]
    return expected, wrong


def _postings(
    kind: Kind, documents: list[Document], sketches: SketchRows, tables: Container[str]
) -> dict[str, Int64s]:
    """Return the rows that documents should have in these tables."""
    rows: dict[str, Int64s] = {}
    if "bands" in tables:
        some = sketches.shingles > 0
        rows["bands"] = packed_bands(sketches.numbers[some], kind.keys(sketches.slots[some]))
    if any(table in tables for table in kind.content_tables):
        numbers = np.array([one.number for one in documents], np.int64)
        keys = kind.content_keys([one.content for one in documents])
        rows |= {table: some.postings(numbers) for table, some in keys.items() if table in tables}
    return rows


def _stored_rows(backend: Backend, table: str) -> tuple[int, int]:
    """Return the number and sum of the rows of a table; the sum is -1 if a row has impossible values."""
    rows, total, strange = 0, 0, 0
    for keys, documents in backend.posting_rows(table):
        rows, total = rows + len(keys), (total + _sum(keys, documents)) % 2**64
        strange += int(np.count_nonzero((keys != keys.astype(np.int32)) | (documents >> 32 != 0)))
    return rows, -1 if strange else total


def _sum(keys: Int64s, documents: Int64s) -> int:
    """Return a hash sum of rows that does not depend on their order."""
    mixed: Hashes = (keys.astype(np.uint64) << np.uint64(32)) ^ documents.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _TURN
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))


def _differing(backend: Backend, kind: Kind, table: str, stored: int, expected: int) -> list[str]:
    """Name documents that lack rows of a table."""
    row = f"{table[:-1]} row"
    found = [f"the {row}s are wrong: {stored} are stored, {expected} are expected"]
    for documents, sketches in pages(backend, kind, contents=table != "bands"):
        ids = {one.number: one.id for one in documents}
        wanted = _postings(kind, documents, sketches, (table,)).get(table, np.zeros(0, np.int64))
        keys, numbers = backend.postings(np.unique(wanted >> 32), table)
        lacking = np.unique(wanted[~np.isin(wanted, (keys << 32) | numbers)] & 0xFFFFFFFF)
        article = "an" if table[0] in "aeiou" else "a"
        found += [f"{article} {row} is missing: {ids[number]!r}" for number in lacking.tolist()]
        if len(found) > _SHOWN:
            return found[:_SHOWN]
    return found
