"""Find codes and vectors of a different width, which cannot be compared with the others."""

import numpy as np
import numpy.typing as npt

from twinset.engines.local.steps.sketch import READ
from twinset.schema import Bytes, Numbers, Places

OF_ONE_WIDTH = ("codes", "vectors", "images")


def find_width(status: Bytes, counts: Numbers) -> tuple[int | None, Places, npt.NDArray[np.uint32]]:
    """Return the most frequent width (the first of ties), the items of another width, and the widths of all.

    Examples
    --------
    >>> width, odd, _ = find_width(np.zeros(4, np.uint8), np.array([8, 8, 4, 8], np.uint32))
    >>> width, odd.tolist()
    (8, [2])
    """
    known = status == READ
    first_width = int(counts[np.argmax(known)]) if known.any() else None
    if first_width is None or not ((counts != first_width) & known).any():  # nearly always
        return first_width, np.zeros(0, np.int64), counts
    read = np.flatnonzero(known)
    widths, first, many = np.unique(counts[read], return_index=True, return_counts=True)
    width = int(widths[np.lexsort((first, -many))[0]])
    return width, read[counts[read] != width], counts


def width_reason(kind: str, count: int, width: int | None) -> str:
    """Say why an item of another width cannot be compared."""
    if kind == "vectors":
        return f"the vector has {count} dimensions, and most have {width}; only vectors of one width can be compared"
    return f"the code has {8 * count} bits, and most have {8 * (width or 0)}; pad shorter codes with zeros"
