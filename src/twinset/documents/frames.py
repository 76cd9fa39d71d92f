"""Rows of a pandas or Polars data frame or series, or of a Hugging Face data set, chosen by a mask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.data_sets.splits import Split, has_splits, is_data_set
from twinset.documents.parts import Mask
from twinset.errors import SourceError
from twinset.wording import counted


def one_frame(sources: Sequence[object]) -> Any:
    """Return the only source if its rows can be chosen; otherwise None.

    It is a pandas or Polars frame or series, or a Hugging Face `Dataset` or `DatasetDict`.
    """
    if len(sources) == 1 and (_is_pandas(sources[0]) or _is_polars(sources[0]) or is_data_set(sources[0])):
        return sources[0]
    splits = [one for one in sources if isinstance(one, Split)]
    if not splits or len(splits) < len(sources) or not all(is_data_set(one.rows) for one in splits):
        return None
    whole = splits[0].whole
    return whole if len(whole) == len(splits) and all(one.whole is whole for one in splits) else None


def take_rows(frame: Any, mask: Mask, columns: Any = None) -> Any:
    """Return the rows of a frame that a mask selects, as a frame of the same library; pandas keeps its index.

    `columns` is an Arrow table of further columns, with one row for each row of the frame. With it a series becomes a
    frame.
    """
    if has_splits(frame):
        return _take_splits(frame, mask, columns)
    _check_length(len(frame), mask)
    if is_data_set(frame):
        return _take_from_data_set(frame, mask, columns)
    if columns is None:
        return frame[mask] if _is_pandas(frame) else frame.filter(mask)
    if frame.ndim == 1 if _is_pandas(frame) else not hasattr(frame, "with_columns"):
        frame = frame.to_frame()
    if _is_pandas(frame):
        added = columns.to_pandas()
        return frame.assign(**{name: added[name].array for name in added})[mask]
    return frame.with_columns(sys.modules["polars"].from_arrow(columns).get_columns()).filter(mask)


def _check_length(rows: int, mask: Mask) -> None:
    if rows != len(mask):
        raise SourceError(
            f"the frame was changed since that run: it has {counted(rows, 'row')}, not {len(mask):,}; run dedup again"
        )


def _take_from_data_set(data: Any, mask: Mask, columns: Any) -> Any:
    """Select rows of a Hugging Face data set: its columns stay where they are, on the disk or in memory."""
    rows = np.flatnonzero(mask)
    if columns is None:
        return data.select(rows)
    datasets = sys.modules["datasets"]
    return datasets.concatenate_datasets([data, datasets.Dataset(columns)], axis=1).select(rows)


def _take_splits(splits: Any, mask: Mask, columns: Any) -> Any:
    lengths = [len(one) for one in splits.values()]
    _check_length(sum(lengths), mask)
    found, first = {}, 0
    for name, one in splits.items():
        rows = slice(first, first + len(one))
        found[name] = take_rows(one, mask[rows], None if columns is None else columns.slice(first, len(one)))
        first = rows.stop
    return type(splits)(found)


def mixed_columns(frame: Any) -> list[Any]:
    """Return the columns of a pandas frame whose values are of several types, which Arrow cannot hold."""
    if not _is_pandas(frame) or frame.ndim == 1 or not frame.columns.is_unique:
        return []
    return [name for name in frame.columns if not _has_one_type(frame[name])]


def _has_one_type(series: Any) -> bool:
    try:
        pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


def _is_pandas(given: object) -> bool:
    """Whether it is a pandas frame or series; if it is, pandas is already loaded."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, (pandas.DataFrame, pandas.Series))


def _is_polars(given: object) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(given, (polars.DataFrame, polars.Series))
