"""Turn items of any kind into sets of hashes; every stage shingles through this module."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinset.documents.items.records import record_columns
from twinset.documents.normalize import buffers_of, lengths, normalize
from twinset.options import ReadOptions, ShingleOptions
from twinset.options.index import IndexOptions
from twinset.options.items import PACKED
from twinset.schema import Flags, Hashes, Places, Shingles
from twinset.shingles.elements import element_sets, together
from twinset.shingles.texts import shingle

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Shingled:
    """Shingles in portions (an iterator), rows with replaced bytes, and the number of bytes."""

    portions: Iterator[Shingles]
    replaced: Places
    nbytes: int
    others: Places | None = None
    """Rows that are not ASCII, for texts."""


def shingled(rows: Any, options: ShingleOptions, seed: int, wanted: Flags | None = None) -> Shingled:
    """Shingle a batch of items, or the wanted ones; nulls are empty.

    The next portion reuses the buffers of a portion: copy what must last.
    """
    kind = getattr(options, "item_kind", "text")  # options for texts alone have no kind
    if kind == "records":
        return _shingle_records(rows, options, seed, wanted)
    if kind in PACKED:
        return _shingle_sets(rows, options, seed, wanted)
    ready = normalize(rows, lowercase=options.lowercase, nfc=options.nfc, wanted=wanted)
    portions = (portion for texts in ready.texts for portion in shingle(texts, options, seed))
    others = [texts.rows for texts in ready.texts if not texts.ascii]
    nbytes = sum(int((texts.ends - texts.starts).sum()) for texts in ready.texts)
    return Shingled(portions, ready.replaced, nbytes, others[0] if others else _NONE)


def item_lengths(rows: Any, options: ReadOptions, others: Places | None = None) -> Hashes:
    """Return the length of each item, 0 for null: characters of texts, elements of sets; `others` as in `Shingled`."""
    if options.item_kind == "text":
        return lengths(rows, others)
    if options.item_kind == "records":
        columns = record_columns(rows, len(options.text_columns))
        return sum((lengths(column) for column in columns), np.zeros(len(rows), np.uint64))
    _, offsets = buffers_of(rows)
    counts = (np.diff(offsets) // 8).astype(np.uint64)
    if rows.null_count:
        counts[np.asarray(rows.is_null())] = 0
    return counts


def _shingle_sets(rows: Any, options: ShingleOptions, seed: int, wanted: Flags | None) -> Shingled:
    chosen = np.ones(len(rows), np.bool_) if wanted is None else wanted
    if rows.null_count:
        chosen = chosen & ~np.asarray(rows.is_null())
    data, offsets = buffers_of(rows)
    numbers = np.flatnonzero(chosen)
    starts, ends = offsets[numbers], offsets[numbers + 1]
    portions = element_sets(data, starts, ends, numbers, options.bag, seed)
    return Shingled(portions, _NONE, int((ends - starts).sum()))


def _shingle_records(rows: Any, options: ShingleOptions, seed: int, wanted: Flags | None) -> Shingled:
    if not isinstance(options, (ReadOptions, IndexOptions)):
        raise TypeError("records need the options that name their columns")
    replaced, nbytes = [_NONE], 0
    columns: list[tuple[int, list[Shingles]]] = []
    texts = record_columns(rows, len(options.text_columns))
    for column, text in zip(options.text_columns, texts, strict=True):
        own = column_options(options, column.shingle)
        column_shingles = shingled(text, own, seed, wanted)
        portions = [dataclasses.replace(one, hashes=one.hashes.copy()) for one in column_shingles.portions]
        columns.append((column.weight, portions))
        replaced.append(column_shingles.replaced)
        nbytes += column_shingles.nbytes
    numbers = np.arange(len(rows)) if wanted is None else np.flatnonzero(wanted)
    return Shingled(iter([together(numbers, columns)]), np.unique(np.concatenate(replaced)), nbytes)


def column_options(options: ReadOptions | IndexOptions, spec: str | None) -> ShingleOptions:
    """Return the shingle options of one column of a record."""
    values = {name: getattr(options, name) for name, _ in ShingleOptions.specs()}
    return ShingleOptions.of(**{**values, "shingle": spec or values["shingle"]})
