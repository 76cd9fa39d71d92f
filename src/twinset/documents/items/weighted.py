"""Pack lists of elements and weights as weighted sets: sixteen bytes per element, its hash and its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.items.vectors import PackedRows, holds_vectors, listed, listed_numbers
from twinset.documents.normalize import buffers_of
from twinset.schema import MOST_TOTAL, Hashes, Places
from twinset.system.arrays import ranges

_ALLOWED = "allowed: finite numbers, 0 or more"


def holds_weights(kind: Any) -> bool:
    """Whether values of a type can be the weights of lists of elements."""
    return holds_vectors(kind)


def added_weights(weights: Sequence[float]) -> float:
    """Add the weights of a repeated element as packing does: from the smallest on. `sum` may round otherwise.

    Examples
    --------
    >>> added_weights([0.1] * 10)
    0.9999999999999999
    """
    total = 0.0
    for weight in sorted(weights):
        total += weight
    return total


def paired(lists: Any, weights: Any) -> PackedRows:
    """Drop the weights of null elements; return the weights, and the rows with a wrong number of them.

    Examples
    --------
    >>> weights, bad = paired(pa.array([["a", None], [None], ["b"]]), pa.array([[1.0, None], [2.0, 3.0], [4.0]]))
    >>> weights.to_pylist(), bad
    ([[1.0], None, [4.0]], [(1, '1 element and 2 weights; each element needs one weight')])
    """
    if not lists.values.null_count:
        return weights, []
    lists_of_weights, bad = listed(weights)
    rows: list[list[float | None] | None] = lists_of_weights.to_pylist()
    for row, elements in enumerate(lists.to_pylist()):
        mine = rows[row]
        if elements is None or mine is None or None not in elements:
            continue
        if len(elements) != len(mine):
            bad.append((row, _unlike(len(elements), len(mine))))
            rows[row] = None
        else:
            rows[row] = [weight for one, weight in zip(elements, mine, strict=True) if one is not None]
    return pa.array(rows, pa.large_list(pa.float64())), bad


def packed_weighted(elements: PackedRows, weights: Any, worse: Sequence[tuple[int, str]] = ()) -> PackedRows:
    """Pack sets, given as hashes, with lists of weights; `worse` are the bad rows of the weights.

    Weights of repeated elements add up, and elements of weight 0 are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> hashes = pa.array([np.array([9, 7, 9], "<u8").tobytes(), b""], pa.large_binary())
    >>> rows, bad = packed_weighted((hashes, []), pa.array([[1.0, 2.0, 0.5], [4.0]]))
    >>> np.frombuffer(rows[0].as_py(), "<u8,<f8").tolist(), bad
    ([(7, 2.0), (9, 1.5)], [(1, '0 elements and 1 weight; each element needs one weight')])
    """
    rows, bad = elements
    none = np.asarray(rows.is_null()) if rows.null_count else np.zeros(len(rows), np.bool_)
    data, offsets = buffers_of(rows)
    starts, counts = offsets[:-1] // 8, np.where(none, 0, np.diff(offsets) // 8)
    given, weight_starts, missing, odd = listed_numbers(weights)
    weight_counts = np.diff(weight_starts)
    known = {row for row, _ in bad}
    reasons = {row: reason for row, reason in (*worse, *odd) if row not in known}
    for row in np.flatnonzero((counts != weight_counts) & ~none & ~missing).tolist():
        reasons.setdefault(row, _unlike(int(counts[row]), int(weight_counts[row])))
    for row in np.flatnonzero(missing & ~none & (counts > 0)).tolist():
        reasons.setdefault(row, "the weights are null; each element needs one weight")
    out = none | missing
    out[list(reasons)] = True
    hashes = data.view("<u8")[ranges(starts, np.where(out, 0, counts))]
    values = given[ranges(weight_starts[:-1], np.where(out, 0, weight_counts))].astype(np.float64)
    places = np.concatenate([[0], np.cumsum(np.where(out, 0, counts))])
    for row, value in _wrong(values, places):
        reasons.setdefault(row, f"a weight is {value:g}; {_ALLOWED}")
        out[row] = True
    packed = _packed(np.ascontiguousarray(hashes), values, places, out, reasons)
    return packed, sorted([*bad, *reasons.items()])


def _packed(
    hashes: Hashes, values: npt.NDArray[np.float64], places: Places, out: npt.NDArray[np.bool_], reasons: dict[int, str]
) -> Any:
    from twinset.documents.long_tables import kernels  # loads kernels, so only where needed

    values[~(values >= 0) | np.isinf(values)] = 0.0  # of refused rows
    totals = np.bincount(np.repeat(np.arange(len(out)), np.diff(places)), values, len(out))
    counts = np.empty(len(out), np.int64)
    kernels.sort_weighted(hashes, values, places, 0, len(out), counts)
    for row in np.flatnonzero(~(totals <= MOST_TOTAL) & ~out).tolist():
        reasons[row] = f"the weights add up to more than {MOST_TOTAL:g}"
        out[row] = True
    counts[out] = 0
    ends = np.concatenate([[0], np.cumsum(counts)]) * 16
    packed = np.empty(int(ends[-1]) // 8, np.uint64)
    kernels.pack_sets(hashes, values.view(np.uint64), places[:-1].copy(), counts, packed)
    buffers = [pa.py_buffer(np.packbits(~out, bitorder="little")), pa.py_buffer(ends), pa.py_buffer(packed)]
    return pa.Array.from_buffers(pa.large_binary(), len(out), buffers)


def _wrong(values: npt.NDArray[np.float64], places: Places) -> list[tuple[int, float]]:
    wrong = np.flatnonzero(~(values >= 0) | np.isinf(values))
    rows = np.searchsorted(places, wrong, side="right") - 1
    first = {row: float(values[place]) for row, place in zip(rows.tolist()[::-1], wrong.tolist()[::-1], strict=True)}
    return sorted(first.items())


def _unlike(elements: int, weights: int) -> str:
    counts = f"{elements} element{'' if elements == 1 else 's'} and {weights} weight{'' if weights == 1 else 's'}"
    return f"{counts}; each element needs one weight"
