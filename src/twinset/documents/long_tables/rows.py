"""Rows of a long table, dictionary-encoded by group, so that work is done once per group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.errors import ColumnError
from twinset.schema import Hashes, Places

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class LongTableRows:
    """Some rows: row i has the group names[codes[i]], the element elements[i] and the weight weights[i].

    Names are distinct and ordered by first appearance, in row firsts[i]; the code of a dropped row is negative.
    """

    codes: Codes
    names: Any
    firsts: npt.NDArray[np.int64]
    elements: Hashes
    weights: npt.NDArray[np.float64] | None = None
    places: Any = None
    words: Any = None
    """`words`: the distinct elements as strings; `places`: the index of each row's element."""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return int(self.codes.nbytes + self.elements.nbytes + weights + self.names.nbytes + self.firsts.nbytes)

    def without(self, rows: Sequence[int]) -> LongTableRows:
        """Mark some rows as dropped."""
        codes = self.codes.copy()
        codes[list(rows)] = -1
        return renumbered(dataclasses.replace(self, codes=codes))

    def compact(self) -> LongTableRows:
        """Remove the dropped rows."""
        chosen = self.codes >= 0
        if chosen.all():
            return self
        weights = None if self.weights is None else self.weights[chosen]
        # First appearances are counted in all rows, including dropped ones.
        return dataclasses.replace(self, codes=self.codes[chosen], elements=self.elements[chosen], weights=weights)


def renumbered(rows: LongTableRows) -> LongTableRows:
    """Renumber the groups by first appearance, without unused ones."""
    from twinset.documents.long_tables.kernels import first_seen  # loads kernels, so only where needed

    new = np.full(len(rows.names), -1, np.int32)
    firsts = np.empty(len(rows.names), np.int64)
    count = first_seen(rows.codes, new, firsts)
    order = np.empty(count, np.int64)
    used = new >= 0
    order[new[used]] = np.flatnonzero(used)
    return dataclasses.replace(rows, names=rows.names.take(pa.array(order)), firsts=firsts[:count])


@dataclass(frozen=True)
class GroupRows:
    """Rows of some groups: row i has group codes[i]. Groups are in the order of their first rows.

    names large_string (k), firsts int64 (k): first row of each, sources uint32 (k), by: optional partition value of
    each.
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


def group_rows(rows: LongTableRows, by: Any, first_row: int, source: int, column: str | None) -> GroupRows:
    """Group the rows of a block; `by` has a value for each row."""
    values = None
    if by is not None:
        values = by.take(pa.array(rows.firsts))
        own = by.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        chosen = rows.codes >= 0
        differing = chosen & (own != own[rows.firsts][rows.codes] if len(rows.firsts) else False)
        if differing.any():
            row = int(np.flatnonzero(differing)[0])
            at = int(rows.codes[row])
            raise _two_values(column, rows.names[at].as_py(), values[at].as_py(), by[row].as_py())
    compact = rows.compact()
    sources = np.full(len(rows.names), source, np.uint32)
    firsts = rows.firsts + first_row
    return GroupRows(compact.codes, compact.elements, compact.weights, rows.names, firsts, sources, values)


def _two_values(column: str | None, name: str, one: str | None, other: str | None) -> ColumnError:
    return ColumnError(
        f"--by {column}: the group {name!r} has {one!r} in one row and {other!r} in another; all rows of a group must "
        "have the same value there"
    )


def join_groups(portions: Sequence[GroupRows], column: str | None = None) -> GroupRows:
    """Concatenate portions of rows; a group may occur in several."""
    from twinset.documents.long_tables.kernels import first_seen

    names = pa.concat_arrays([one.names for one in portions])
    places = names.dictionary_encode()
    codes = np.array(places.indices, np.int32)
    new, firsts = np.full(len(places.dictionary), -1, np.int32), np.empty(len(places.dictionary), np.int64)
    first_seen(codes, new, firsts)
    rows, at = [], 0
    for one in portions:
        rows.append(codes[at : at + len(one.names)][one.codes])
        at += len(one.names)
    by = None
    if portions[0].by is not None:
        every = pa.concat_arrays([one.by for one in portions])
        by = every.take(pa.array(firsts))
        own = every.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        differing = np.flatnonzero(own != own[firsts][codes])
        if len(differing):
            at = int(codes[differing[0]])
            raise _two_values(column, names[int(firsts[at])].as_py(), by[at].as_py(), every[int(differing[0])].as_py())
    weights = [one.weights for one in portions if one.weights is not None]
    return GroupRows(
        np.concatenate(rows),
        np.concatenate([one.elements for one in portions]),
        np.concatenate(weights) if weights else None,
        places.dictionary,
        np.concatenate([one.firsts for one in portions])[firsts],
        np.concatenate([one.sources for one in portions])[firsts],
        by,
    )
