"""What an index holds, and whether its tables keep their promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.engines.progress import Progress
from twinset.errors import DamagedError
from twinset.index.base import Document, Home, Kept, Whole
from twinset.index.entries import UNPACKED, keys_of, packed_bands, runs, sets_of, sketched
from twinset.index.incoming import MOST_ID_BYTES
from twinset.index.packing import unpack, unpack_text, unpacked_size
from twinset.index.settings import Settings
from twinset.schema import HASH_SCHEME, Hashes, Shingles
from twinset.sketches.minhash import sketch

_CHUNK = 2048
_SKETCHES = 2**24
_SHINGLES = 2**22
"""Bytes of sketches, and shingles, that are held at a time."""
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
        if expected is not None and (there := _bands(home)) != expected:
            found += _differing(home, settings, there[0], expected[0])
    except DamagedError as error:
        found.append(str(error))
    return found


def pages(home: Home, settings: Settings, *, contents: bool) -> Iterator[tuple[list[Document], Kept]]:
    """All documents in the order of adding, with their sketches; no more at a time than memory has room for."""
    last = 0
    most = max(1, min(_CHUNK, _SKETCHES // (4 * settings.plan.n_hashes)))
    while len(numbers := home.page(last, most)):
        kept = home.sketches(numbers)
        sizes = np.zeros(len(numbers), np.int64)
        sizes[np.searchsorted(numbers, kept.numbers)] = kept.shingles
        for first, end in runs(sizes, _SHINGLES):
            documents = home.documents(numbers[first:end], contents=contents)
            lengths = np.array([unpacked_size(one.content) for one in documents], np.int64)
            for start, stop in runs(lengths, UNPACKED):
                some = documents[start:stop]
                low, high = np.searchsorted(kept.numbers, [some[0].number, some[-1].number + 1])
                yield some, Kept(kept.numbers[low:high], kept.shingles[low:high], kept.slots[low:high])
        last = int(numbers[-1])


def _documents(home: Home, settings: Settings, progress: Progress) -> tuple[tuple[int, int] | None, list[str]]:
    """Documents against their contents; returns the number and the sum of the band rows that they should have."""
    store = settings.options.store
    rows, total = 0, 0
    wrong: list[str] = []
    progress.stage("checking", home.count(), "documents")
    for documents, kept in pages(home, settings, contents=True):
        if kept.slots.shape[1:] != (settings.plan.n_hashes,):
            return None, [*wrong, f"sketches do not have the {settings.plan.n_hashes} slots of the plan"]
        if store != "text" and any((one.content is None) == (store == "shingles") for one in documents):
            wrong.append(f"documents have contents that an index with store {store!r} has not, or lack them")
        wrong += [f"{what}: {one.id!r}" for one, what in _odd(documents, kept, settings)]
        long = [one.id for one in documents if len(one.id.encode()) > MOST_ID_BYTES]
        wrong += [f"the id has more than {MOST_ID_BYTES} bytes: {id[:40]!r}…" for id in long]
        keys = keys_of(kept.slots, settings)
        some = kept.shingles > 0
        belong = packed_bands(kept.numbers[some], keys[some])
        rows, total = rows + len(belong), (total + _sum(belong >> 32, belong & 0xFFFFFFFF)) % 2**64
        progress.advance(len(documents))
        if len(wrong) > _SHOWN:
            return None, [*wrong[:_SHOWN], f"and more; {len(wrong) - _SHOWN} others so far"]
    return (rows, total), wrong


def _odd(documents: list[Document], kept: Kept, settings: Settings) -> Iterator[tuple[Document, str]]:
    """Documents whose sketch is not that of their content."""
    store = settings.options.store
    if store == "none":
        return
    whole = [one for one in documents if _is_whole(one.content, store)]
    if len(whole) < len(documents):
        numbers = {one.number for one in whole}
        yield from ((one, f"the {store} kept of it cannot be read") for one in documents if one.number not in numbers)
    again = _sketched_again(whole, settings)
    by_number = {number: row for row, number in enumerate(kept.numbers.tolist())}
    for place, one in enumerate(whole):
        row = by_number.get(one.number)
        if row is None or kept.shingles[row] != again.shingles[place]:
            yield one, f"the number of shingles is not that of the {store} kept"
        elif again.shingles[place] and (kept.slots[row] != again.slots[place]).any():
            yield one, f"the sketch is not that of the {store} kept"


def _is_whole(content: bytes | None, store: str) -> bool:
    """Whether the content of a document is what an index of this kind keeps."""
    if content is None:
        return False
    if store == "shingles":
        return len(content) % 8 == 0
    try:
        unpack_text(content)
    except DamagedError:
        return False
    return True


def _sketched_again(documents: list[Document], settings: Settings) -> Kept:
    """The number of shingles and the sketch of each document, from its content."""
    contents = [one.content or b"" for one in documents]
    numbers = np.array([one.number for one in documents], np.int64)
    if settings.options.store == "text":
        texts = pa.array([unpack(content) for content in contents], pa.large_binary())
        made = sketched(texts, settings, sets=False)
        return Kept(numbers, made.shingles, made.slots)
    sets = sets_of(contents, settings)
    shingles = Shingles(np.arange(len(numbers)), sets.starts, sets.hashes)
    slots = sketch(shingles, settings.options.sketch, settings.plan.n_hashes, settings.seed)
    return Kept(numbers, sets.sizes, slots)


def _bands(home: Home) -> tuple[int, int]:
    """The number and the sum of the band rows that are there; no sum at all where some can be nobody's."""
    rows, total, strange = 0, 0, 0
    for keys, documents in home.band_rows():
        rows, total = rows + len(keys), (total + _sum(keys, documents)) % 2**64
        strange += int(np.count_nonzero((keys != keys.astype(np.int32)) | (documents >> 32 != 0)))
    return rows, -1 if strange else total


def _sum(keys: Whole, documents: Whole) -> int:
    """A sum over band rows, whatever their order: equal for equal rows, and hardly ever for others."""
    mixed: Hashes = (keys.astype(np.uint64) << np.uint64(32)) ^ documents.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _TURN
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))


def _differing(home: Home, settings: Settings, there: int, expected: int) -> list[str]:
    """Name documents that their bands do not lead to."""
    found = [f"there are {there} band rows where {expected} belong, or others than belong"]
    for documents, kept in pages(home, settings, contents=False):
        ids = {one.number: one.id for one in documents}
        some = kept.shingles > 0
        keys, numbers = keys_of(kept.slots[some], settings).astype(np.int64), kept.numbers[some]
        rows = home.postings(np.unique(keys))
        belong = (keys << 32) | numbers[:, None]
        lacking = ~np.isin(belong, (rows[0] << 32) | rows[1]).all(axis=1)
        found += [f"a band row is missing: {ids[number]!r}" for number in numbers[lacking].tolist()]
        if len(found) > _SHOWN:
            return found[:_SHOWN]
    return found
