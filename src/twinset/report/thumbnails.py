"""Thumbnails for a report: re-encoded small JPEGs, without any other data of the file."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.items.image_decode import thumbnail
from twinset.errors import SourceError
from twinset.report.numbers import Numbers, Whole
from twinset.results.explain import kept_numbers
from twinset.results.stored import StoredResult

SIDE = 220
"""Maximum width and height of a thumbnail in pixels."""

MOST, ROOM = 1500, 16_000_000
"""Maximum number of pictures shown, and of their bytes in total; the others are listed by name."""


def add_pictures(
    data: dict[str, Any], numbers: Numbers, rows: Whole, clusters: Whole, members: dict[int, list[int]]
) -> None:
    """Add the pictures of the clusters shown, then of the first list entries, up to the limits."""
    recorded = numbers.recorded
    compared = np.array([row for found in members.values() for row in found], np.int64)
    led = np.array(list(members), np.int64)
    gone = _first(np.concatenate([np.searchsorted(rows, compared), np.arange(len(rows))]))
    kept = _first(np.concatenate([np.searchsorted(clusters, led), np.argsort(-numbers.sizes[clusters], kind="stable")]))
    found = {
        "removed": recorded.numbers_of(recorded.removed["id"].take(pa.array(rows[gone]))),
        "kept": kept_numbers(recorded, pa.chunked_array([numbers.kept_ids.take(pa.array(clusters[kept]))])),
    }
    data["pictures"] = {"removed": {}, "kept": {}}
    room = ROOM
    # Alternately, so that a removed picture appears beside the kept one.
    turns = [(side, place) for pair in _turns(len(gone), len(kept)) for side, place in pair]
    for side, place in turns[:MOST]:
        shown = _shown(recorded, int(found[side][place]))
        room -= len(shown["src"])
        if room < 0:
            break
        data["pictures"][side][str((gone if side == "removed" else kept)[place])] = shown


def _first(places: Whole) -> Whole:
    """Unique positions in order of first occurrence, up to the limit."""
    _, first = np.unique(places, return_index=True)
    kept: Whole = places[np.sort(first)][:MOST]
    return kept


def _turns(gone: int, kept: int) -> list[list[tuple[str, int]]]:
    most = max(gone, kept)
    return [
        [(side, place) for side, count in (("kept", kept), ("removed", gone)) if place < count] for place in range(most)
    ]


def _shown(recorded: StoredResult, number: int) -> dict[str, Any]:
    """A picture for the page: thumbnail, size in pixels, and bytes."""
    picture = read_thumbnail(recorded, number, SIDE)
    source = "data:image/jpeg;base64," + base64.b64encode(picture.jpeg).decode()
    return {"src": source, "width": picture.width, "height": picture.height, "bytes": picture.file_bytes}


@dataclass(frozen=True)
class Thumbnail:
    """A small JPEG of a picture, with the size of the picture in pixels and the bytes of its file."""

    jpeg: bytes
    width: int
    height: int
    file_bytes: int


def read_thumbnail(recorded: StoredResult, number: int, side: int) -> Thumbnail:
    """Read the picture of a document by number, and reduce it to `side` pixels; a changed file raises `SourceError`."""
    where = recorded.documents.slice(number, 1)
    part = recorded.sources.trusted(int(where["part"][0].as_py()))
    if part.format != "images":
        raise SourceError("is no longer a source of pictures; run dedup again", where=part.name)
    row = int(where["row"][0].as_py())
    data = part.file_bytes(row)
    small, width, height = thumbnail(data, part.files[row].path, side)
    return Thumbnail(small, width, height, len(data))
