"""What an index holds, and whether its tables keep their promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.engines.progress import Progress
from twinset.errors import DamagedError
from twinset.index.base import Document, Home, Kept, Whole
from twinset.index.entries import keys_of, sketched
from twinset.index.packing import unpack
from twinset.index.settings import Settings
from twinset.schema import HASH_SCHEME, Hashes

_CHUNK = 2048
_SHOWN = 20
_MIX, _TURN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def stats(home: Home, settings: Settings) -> dict[str, Any]:
    """The facts about an index, in plain values; never its seed."""
    sizes, count = home.sizes(), home.count()
    options = {name: value for name, value in settings.options.to_dict().items() if name != "seed"}
    return {
        "index": home.name,
        "documents": count,
        "bytes": sizes,
        "bytes_per_document": round(sizes["total"] / count, 1) if count else None,
        "format": settings.format,
        "hash_scheme": HASH_SCHEME,
        "plan": settings.plan.to_dict(),
        "options": options,
        **home.facts(),
    }


def problems(home: Home, settings: Settings, progress: Progress) -> list[str]:
    """Everything that is wrong with an index, the first of each kind by name."""
    found = home.damage()
    if found:
        return found  # what cannot be read cannot be compared
    try:
        found += [f"{count} {what}" for what, count in home.strays().items() if count]
        expected, wrong = _documents(home, settings, progress)
        found += wrong
        there = _bands(home)
        if there != expected:
            found += _differing(home, settings, there, expected)
    except DamagedError as error:
        found.append(str(error))
    return found


def pages(home: Home, *, contents: bool) -> Iterator[tuple[list[Document], Kept]]:
    """All documents in the order of adding, with their sketches."""
    last = 0
    while len(numbers := home.page(last, _CHUNK)):
        yield home.documents(numbers, contents=contents), home.sketches(numbers)
        last = int(numbers[-1])


def _documents(home: Home, settings: Settings, progress: Progress) -> tuple[tuple[int, int], list[str]]:
    """Documents against their contents; returns the number and the sum of the band rows that they should have."""
    store = settings.options.store
    rows, total, wrong = 0, 0, []
    progress.stage("checking", home.count(), "documents")
    for documents, kept in pages(home, contents=True):
        by_number = {number: row for row, number in enumerate(kept.numbers.tolist())}
        if kept.slots.shape[1:] != (settings.plan.n_hashes,):
            wrong.append(f"sketches do not have the {settings.plan.n_hashes} slots of the plan")
            break
        wrong += [f"{what}: {one.id!r}" for one, what in _odd(documents, kept, by_number, settings)]
        keys = keys_of(kept.slots, settings)
        some = kept.shingles > 0
        belong = np.unique((keys[some].astype(np.int64) << 32) | kept.numbers[some, None])  # equal keys are one row
        rows, total = rows + len(belong), (total + _sum(belong >> 32, belong & 0xFFFFFFFF)) % 2**64
        if store != "text" and any((one.content is None) == (store == "shingles") for one in documents):
            wrong.append(f"documents have contents that an index with store {store!r} has not, or lack them")
        progress.advance(len(documents))
        if len(wrong) > _SHOWN:
            return (rows, total), [*wrong[:_SHOWN], f"and more; {len(wrong) - _SHOWN} others so far"]
    return (rows, total), wrong


def _odd(
    documents: list[Document], kept: Kept, by_number: dict[int, int], settings: Settings
) -> Iterator[tuple[Document, str]]:
    """Documents whose sketch is not that of their content."""
    if settings.options.store == "text":
        try:
            texts = pa.array([unpack(one.content or b"") for one in documents], pa.large_binary())
        except DamagedError:
            yield from ((one, "the text cannot be unpacked") for one in documents if not _unpacks(one.content))
            return
        again = sketched(texts, settings, sets=False)
        for place, one in enumerate(documents):
            row = by_number.get(one.number)
            if row is None or kept.shingles[row] != again.shingles[place]:
                yield one, "the number of shingles is not that of the text"
            elif again.shingles[place] and (kept.slots[row] != again.slots[place]).any():
                yield one, "the sketch is not that of the text"
    elif settings.options.store == "shingles":
        for one in documents:
            row = by_number.get(one.number)
            if row is None or len(one.content or b"") != 8 * int(kept.shingles[row]):
                yield one, "the number of shingles is not that of the hashes kept"


def _unpacks(content: bytes | None) -> bool:
    try:
        unpack(content or b"")
    except DamagedError:
        return False
    return True


def _bands(home: Home) -> tuple[int, int]:
    """The number and the sum of the band rows that are there."""
    rows, total = 0, 0
    for keys, documents in home.band_rows():
        rows, total = rows + len(keys), (total + _sum(keys, documents)) % 2**64
    return rows, total


def _sum(keys: Whole, documents: Whole) -> int:
    """A sum over band rows, whatever their order: equal for equal rows, and hardly ever for others."""
    mixed: Hashes = (keys.astype(np.uint64) << np.uint64(32)) ^ documents.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _TURN
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))


def _differing(home: Home, settings: Settings, there: tuple[int, int], expected: tuple[int, int]) -> list[str]:
    """Name documents that their bands do not lead to."""
    found = [f"there are {there[0]} band rows where {expected[0]} belong, or others than belong"]
    for documents, kept in pages(home, contents=False):
        keys = keys_of(kept.slots, settings).astype(np.int64)
        rows = set(zip(*(column.tolist() for column in home.postings(np.unique(keys))), strict=True))
        for row, one in enumerate(documents[: len(kept.numbers)]):
            if kept.shingles[row] and any((key, one.number) not in rows for key in keys[row].tolist()):
                found.append(f"a band row is missing: {one.id!r}")
                if len(found) > _SHOWN:
                    return found
    return found
