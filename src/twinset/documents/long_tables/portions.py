"""Rows of groups, some at a time, and several times some as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.long_tables import kernels
from twinset.documents.long_tables.rows import Codes, LongRows
from twinset.errors import ColumnError
from twinset.schema import Hashes, Places


@dataclass(frozen=True)
class Portion:
    """Rows of some groups: row i is of group codes[i]. Groups are in the order of their first rows.

    names large_string (k), firsts int64 (k): their first rows among all, sources uint32 (k), by: a value each, if
    groups are compared by one.
    """

    codes: Codes
    elements: Hashes
    weights: npt.NDArray[np.float64] | None
    names: Any
    firsts: Places
    sources: npt.NDArray[np.uint32]
    by: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the rows and groups."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return int(self.codes.nbytes + self.elements.nbytes + weights + self.names.nbytes + 12 * len(self.names))


def portion_of(rows: LongRows, by: Any, first_row: int, source: int, column: str | None) -> Portion:
    """The rows of a block that are not left out; `by` has a value for each row."""
    values = None
    if by is not None:
        values = by.take(pa.array(rows.firsts))
        own = by.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        chosen = rows.codes >= 0
        odd = chosen & (own != own[rows.firsts][rows.codes] if len(rows.firsts) else False)
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            at = int(rows.codes[row])
            raise _two_values(column, rows.names[at].as_py(), values[at].as_py(), by[row].as_py())
    there = rows.there()
    sources = np.full(len(rows.names), source, np.uint32)
    return Portion(there.codes, there.elements, there.weights, rows.names, rows.firsts + first_row, sources, values)


def _two_values(column: str | None, name: str, one: str | None, other: str | None) -> ColumnError:
    return ColumnError(
        f"--by {column}: the group {name!r} has {one!r} in one row and {other!r} in another; all rows of a group must "
        "have the same value there"
    )


def together(portions: Sequence[Portion], column: str | None = None) -> Portion:
    """Several portions, in the order of their rows, as one."""
    names = pa.concat_arrays([one.names for one in portions])
    places = names.dictionary_encode()
    codes = np.array(places.indices, np.int32)
    new, firsts = np.full(len(places.dictionary), -1, np.int32), np.empty(len(places.dictionary), np.int64)
    kernels.first_seen(codes, new, firsts)
    rows, at = [], 0
    for one in portions:
        rows.append(codes[at : at + len(one.names)][one.codes])
        at += len(one.names)
    by = None
    if portions[0].by is not None:
        every = pa.concat_arrays([one.by for one in portions])
        by = every.take(pa.array(firsts))
        own = every.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(own != own[firsts][codes])
        if len(odd):
            at = int(codes[odd[0]])
            raise _two_values(column, names[int(firsts[at])].as_py(), by[at].as_py(), every[int(odd[0])].as_py())
    weights = [one.weights for one in portions if one.weights is not None]
    return Portion(
        np.concatenate(rows),
        np.concatenate([one.elements for one in portions]),
        np.concatenate(weights) if weights else None,
        places.dictionary,
        np.concatenate([one.firsts for one in portions])[firsts],
        np.concatenate([one.sources for one in portions])[firsts],
        by,
    )
