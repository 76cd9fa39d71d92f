"""Rows of a pandas or Polars data frame or series, chosen by a mask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from twinset.documents.parts import Mask
from twinset.errors import SourceError
from twinset.wording import counted


def one_frame(sources: Sequence[object]) -> Any:
    """Return the only source if it is a pandas or Polars frame or series; otherwise None."""
    return sources[0] if len(sources) == 1 and (_is_pandas(sources[0]) or _is_polars(sources[0])) else None


def take_rows(frame: Any, mask: Mask, columns: Any = None) -> Any:
    """Return the rows of a frame that a mask selects, as a frame of the same library; pandas keeps its index.

    `columns` is an Arrow table of further columns, with one row for each row of the frame. With it a series becomes a
    frame.
    """
    if len(frame) != len(mask):
        raise SourceError(
            f"the frame was changed since that run: it has {counted(len(frame), 'row')}, not {len(mask):,}; "
            "run dedup again"
        )
    if columns is None:
        return frame[mask] if _is_pandas(frame) else frame.filter(mask)
    if frame.ndim == 1 if _is_pandas(frame) else not hasattr(frame, "with_columns"):
        frame = frame.to_frame()
    if _is_pandas(frame):
        added = columns.to_pandas()
        return frame.assign(**{name: added[name].array for name in added})[mask]
    return frame.with_columns(sys.modules["polars"].from_arrow(columns).get_columns()).filter(mask)


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
