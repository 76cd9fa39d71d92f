"""Notice records whose fields are too short for their shingles.

A changed word changes every shingle of the field that contains it. A record is short if one changed word leaves a
similarity below one half over all columns; a short title beside a long body does no harm.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinset.documents.items.records import record_columns
from twinset.documents.parts import Part
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.steps.shingle import column_options
from twinset.engines.local.steps.shingle_length import HALF, MANY, measure_texts, median_of
from twinset.engines.local.steps.sketch import READ
from twinset.options.checks import parse_shingle
from twinset.options.items import TextColumn
from twinset.plan import shingle_length as lengths
from twinset.schema import Numbers, Places

_MEASURED = 1000
"""Records to measure, the first of the sources, so that the result does not depend on batches."""


@dataclass(frozen=True)
class _Field:
    """One column of the measured records: the words and characters of each of its fields."""

    column: TextColumn
    shingle: str
    words: Numbers
    characters: Numbers

    @property
    def kind(self) -> str:
        return parse_shingle(self.shingle)[0]

    @property
    def size(self) -> int:
        return parse_shingle(self.shingle)[1]

    @property
    def median(self) -> lengths.TextLength:
        """The median length of the fields that are not empty."""
        some = self.words > 0
        return lengths.TextLength(median_of(self.words[some]), median_of(self.characters[some]))

    def shingles(self) -> Places:
        """The weighted number of shingles of each field."""
        tokens = (self.words if self.kind == "word" else self.characters).astype(np.int64)
        return np.where(self.words > 0, np.maximum(1, tokens - self.size + 1), 0) * self.column.weight


def find_short_records(
    parts: Sequence[Part], corpus: Corpus, options: Any, batch_bytes: int
) -> dict[str, Any] | None:
    """Return how many records have fields that are short for their shingles, and what to try; None if few have."""
    if options.item_kind != "records":
        return None
    left = min(HALF, options.threshold)
    specs = [(column, *parse_shingle(column.shingle or options.shingle)) for column in options.text_columns]
    counts = corpus.counts[corpus.status == READ]
    touched = max(column.weight * size for column, _, size in specs)
    if MANY * int(np.count_nonzero(counts < lengths.fewest_shingles(touched, left))) < max(1, len(counts)):
        return None  # without reading anything again
    fields = _measure(parts, options, batch_bytes)
    total = sum((field.shingles() for field in fields), np.zeros(len(fields[0].words), np.int64))
    short = [_is_short(field, total, left) for field in fields]
    read = int(np.count_nonzero(total))
    named = [field for field, rows in zip(fields, short, strict=True) if MANY * int(rows.sum()) >= max(1, read)]
    better = {field.column.name: _better(field, options.threshold) for field in named}
    changes = [field for field in named if better[field.column.name] is not None]
    if not changes:
        return None
    kinds = sorted({field.kind for field in changes}, reverse=True)
    return {
        "documents": int(np.count_nonzero(np.logical_or.reduce(short))),
        "measured": len(total),
        "columns": [field.column.name for field in changes],
        "shingle": " and ".join(sorted({field.shingle for field in changes})),
        "changed": " or ".join({"word": "word", "char": "character"}[kind] for kind in kinds),
        "similarity": left,
        "try": _flags(fields, better, options.threshold),
    }


def _measure(parts: Sequence[Part], options: Any, batch_bytes: int) -> list[_Field]:
    """Measure the fields of the first records."""
    columns = options.text_columns
    measured: list[list[tuple[Numbers, Numbers]]] = [[] for _ in columns]
    rows = 0
    for chunk in (chunk for part in parts for chunk in part.chunks(batch_bytes)):
        texts = chunk.read(texts_only=True).texts.slice(0, _MEASURED - rows)
        for column, text, into in zip(columns, record_columns(texts, len(columns)), measured, strict=True):
            into.append(measure_texts(text, column_options(options, column.shingle)))
        rows += len(texts)
        if rows >= _MEASURED:
            break
    return [
        _Field(column, column.shingle or options.shingle, *(np.concatenate(side) for side in zip(*found, strict=True)))
        for column, found in zip(columns, measured, strict=True)
    ]


def _is_short(field: _Field, total: Places, left: float) -> Any:
    """Return for each record whether one changed word of the field leaves less than a similarity."""
    touched = np.minimum(field.shingles(), field.size * field.column.weight)
    return (touched > 0) & (total - touched < left * (total + touched))


def _better(field: _Field, threshold: float) -> str | None:
    return lengths.shorter_shingle(field.median, field.kind, field.size, threshold)


def _flags(fields: Sequence[_Field], better: dict[str, str | None], threshold: float) -> str:
    """Return the flags of all columns, with a threshold that one changed word, or character, leaves."""
    flags, total, most = [], 0, 0
    for field in fields:
        chosen, weight = better.get(field.column.name) or field.column.shingle, field.column.weight
        parts = [field.column.name, *([chosen] if chosen else []), *([str(weight)] if weight > 1 else [])]
        flags.append(f"--text {shlex.quote(','.join(parts))}")
        if field.words.any():
            kind, size = parse_shingle(chosen or field.shingle)
            tokens = field.median.words if kind == "word" else field.median.characters
            shingles = max(1, tokens - size + 1)
            total, most = total + weight * shingles, max(most, weight * min(size, shingles))
    return " ".join(flags) + lengths.threshold_flag((total - most) / (total + most), threshold)
