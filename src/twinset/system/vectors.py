"""Check vectors, and compute their directions, squared lengths and digests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.compiled import vector_kernels
from twinset.errors import SourceError
from twinset.schema import MOST_DIMENSIONS, Hashes, Vectors

__all__ = ["check_vectors", "digests", "squares", "unit_vectors"]

_ROWS = 1 << 14  # at a time: temporary arrays stay small


def check_vectors(array: npt.ArrayLike, dimensions: int | None = None, first: int = 0) -> Vectors:
    """Convert vectors to 32-bit floats, one per row, or raise an error that names the first invalid one.

    Parameters
    ----------
    array
        Numbers, (n, d). Floats of 16 or 64 bits and whole numbers are rounded to 32-bit floats.
    dimensions
        The required d; any unless given.
    first
        The number of the first row, for messages.

    Returns
    -------
    ndarray
        float32 (n, d), contiguous; the array itself where it is that already.

    Examples
    --------
    >>> check_vectors([[1, 2], [3, 4]]).dtype
    dtype('float32')
    >>> check_vectors([[1.0, 2.0], [3.0, float("nan")]])
    Traceback (most recent call last):
    twinset.errors.SourceError: row 1, counted from 0, holds nan; allowed: finite numbers that 32-bit floats can hold
    """
    given = np.asarray(array)
    if given.ndim != 2 or given.dtype.kind not in "fiu":
        shape = " × ".join(map(str, given.shape)) or "a single value"
        raise SourceError(
            f"the vectors are {shape} of type {given.dtype}; allowed: an array of numbers, one vector per row"
        )
    if not 1 <= given.shape[1] <= MOST_DIMENSIONS:
        raise SourceError(f"the vectors have {given.shape[1]} dimensions; allowed: 1 to {MOST_DIMENSIONS}")
    if dimensions is not None and given.shape[1] != dimensions:
        raise SourceError(f"the vectors have {given.shape[1]} dimensions; the others have {dimensions}")
    with np.errstate(over="ignore"):
        vectors: Vectors = np.ascontiguousarray(given, np.float32)
    for start in range(0, len(vectors), _ROWS):
        finite = np.isfinite(vectors[start : start + _ROWS])
        if not finite.all():
            row, column = (int(at) for at in np.argwhere(~finite)[0])
            raise SourceError(
                f"row {first + start + row}, counted from 0, holds {_shown(given[start + row, column])};"
                " allowed: finite numbers that 32-bit floats can hold"
            )
    return vectors


def unit_vectors(vectors: Vectors) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """Scale vectors to length 1, and mark those that have a direction, that is, are not all zero.

    These are hashed, rounded to 32-bit floats; exact cosines use the original vectors.

    Examples
    --------
    >>> directions, known = unit_vectors(check_vectors([[3, 4], [0, 0]]))
    >>> directions.tolist(), known.tolist()
    ([[0.6000000238418579, 0.800000011920929], [0.0, 0.0]], [True, False])
    """
    directions = np.empty(vectors.shape, np.float32)
    known = np.empty(len(vectors), np.bool_)
    vector_kernels.units(vectors, directions, known)
    return directions, known


def squares(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Return the squared length of each vector, in 64-bit floats.

    Examples
    --------
    >>> squares(check_vectors([[3, 4], [0, 0]])).tolist()
    [25.0, 0.0]
    """
    lengths = np.empty(len(vectors), np.float64)
    vector_kernels.squares(vectors, lengths)
    return lengths


def digests(vectors: Vectors) -> Hashes:
    """Return 128-bit digests of vectors: uint64 (n, 2).

    Equal vectors should be joined as one, since the number of their pairs is quadratic.

    Examples
    --------
    >>> found = digests(check_vectors([[1, 0], [1, -0.0], [0, 1]]))
    >>> (found == found[0]).all(axis=1).tolist()
    [True, True, False]
    """
    words = np.empty((len(vectors), 2), np.uint64)
    vector_kernels.digests(vectors.view(np.uint32), words)
    return words


def _shown(value: Any) -> str:
    return f"{float(value):g}"
