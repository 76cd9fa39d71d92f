"""Read the true passages of an evaluation: two documents and a span of each per row.

    left,left_start,left_end,right,right_start,right_end
    suspicious,suspicious_start,suspicious_end,source,source_start,source_end     the names used at PAN

Spans are in characters (code points) of the original text, the end exclusive. Columns may be in any order, and others
are ignored, so the passages of an earlier result can be the truth.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import ColumnError, RowError, SourceError
from twinset.evaluation.truth_files import as_text, columns_by_name, read_columns
from twinset.schema import Places
from twinset.wording import at_row

_SIDES = (("left", "right"), ("suspicious", "source"))
SPAN_COLUMNS = tuple(tuple(f"{side}{part}" for side in sides for part in ("", "_start", "_end")) for sides in _SIDES)
ALLOWED = f"the columns {', '.join(SPAN_COLUMNS[0])}, or {', '.join(SPAN_COLUMNS[1])}"
_OFFSETS = r"^[0-9]{1,12}$"
_OFFSETS_ALLOWED = "whole numbers, 0 or more, of up to 12 digits"


@dataclass(frozen=True)
class TruePassages:
    """The true passages by id: two documents (strings), and a span of each."""

    name: str
    left: Any
    right: Any
    spans: tuple[Places, Places, Places, Places]
    """Start and end on the left, start and end on the right."""


def read_passages(given: object) -> TruePassages:
    """Read true passages from a file, or from a table with Arrow's stream interface.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = [{"left": "a", "left_start": 0, "left_end": 9, "right": "b", "right_start": 5, "right_end": 14}]
    >>> read_passages(pa.Table.from_pylist(rows)).spans[3].tolist()
    [14]
    """
    if isinstance(given, (str, os.PathLike)):
        name = os.fsdecode(given)
        return _of_table(read_columns(name, _span_columns, "--passages names a file of true passages"), name)
    if hasattr(given, "__arrow_c_stream__"):
        return _of_table(pa.table(given), "the truth")
    raise SourceError(
        f"a {type(given).__name__} is not a truth of passages: give a path, or a table with {ALLOWED}"
    )  # fmt: skip


def _span_columns(names: list[str], where: str) -> list[str]:
    """Return the six columns of the truth, left first, or raise an error that names the missing ones."""
    at = columns_by_name(names, {name for columns in SPAN_COLUMNS for name in columns}, where)
    missing = [[name for name in columns if name not in at] for columns in SPAN_COLUMNS]
    if sorted(map(len, missing))[:2] == [0, 0]:
        raise ColumnError("the truth has both left and right, and suspicious and source; leave two out", where=where)
    best = min(range(len(SPAN_COLUMNS)), key=lambda number: len(missing[number]))
    if not missing[best]:
        return [at[name] for name in SPAN_COLUMNS[best]]
    if len(missing[best]) < len(SPAN_COLUMNS[best]):
        why = f"it lacks {', '.join(missing[best])}"
    else:
        why = f"it has {', '.join(map(repr, names)) or 'none'}"
    raise ColumnError(f"a truth of passages must have {ALLOWED}; {why}", where=where)


def _of_table(table: pa.Table, name: str) -> TruePassages:
    columns = _span_columns(table.column_names, name)
    texts = [as_text(table.column(column), column, name) for column in columns]
    for column, text in zip(columns, texts, strict=True):
        if text.null_count:
            row = int(np.flatnonzero(text.is_null().to_numpy(zero_copy_only=False))[0])
            raise RowError(f"{column} is empty; every row needs one", where=at_row(name, row))
    left_start, left_end, right_start, right_end = (
        _offsets(texts[place], columns[place], name) for place in (1, 2, 4, 5)
    )
    for start, end, label in ((left_start, left_end, columns[2]), (right_start, right_end, columns[5])):
        if (end <= start).any():
            row = int(np.argmax(end <= start))
            raise RowError(
                f"{label} is {end[row]}, and the passage begins at {start[row]}; the end is exclusive and must be "
                "greater",
                where=at_row(name, row),
            )
    return TruePassages(name, texts[0], texts[3], (left_start, left_end, right_start, right_end))


def _offsets(texts: Any, column: str, name: str) -> Places:
    """Convert the offsets of a column from text."""
    texts = pc.utf8_trim_whitespace(texts)
    right = pc.match_substring_regex(texts, _OFFSETS).to_numpy(zero_copy_only=False)
    if not right.all():
        row = int(np.argmin(right))
        raise RowError(f"{column} is {texts[row].as_py()[:60]!r}; allowed: {_OFFSETS_ALLOWED}", where=at_row(name, row))
    return np.asarray(texts.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)
