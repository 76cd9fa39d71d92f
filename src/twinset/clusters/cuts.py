"""Cut later copies out of documents: every cut word in one row, with the place of the kept copy."""

import numpy as np
import numpy.typing as npt

from twinset.clusters import cuts_kernels as kernels
from twinset.schema import Hashes, Numbers

Cuts = npt.NDArray[np.uint32]
"""(n, 5): the document, its first and last word (exclusive) cut, the document that has them, and its first word."""


def cut_spans(copies: npt.NDArray[np.uint32], least: int) -> Cuts:
    """Turn copied windows into spans that do not overlap, by document and place.

    Copies (n, ≥ 5): the document that stays, the document that is cut, the place of a window in each, and the number of
    windows of `least` words that follow each other. Where spans overlap, the one that begins first keeps its words.

    Examples
    --------
    >>> import numpy as np
    >>> cut_spans(np.array([[0, 2, 10, 0, 1], [1, 2, 5, 2, 3]], np.uint32), least=4).tolist()
    [[2, 0, 4, 0, 10], [2, 4, 8, 1, 7]]
    """
    rows = copies[np.lexsort((copies[:, 2], copies[:, 0], -copies[:, 4].astype(np.int64), copies[:, 3], copies[:, 1]))]
    cuts = np.empty((len(rows), 5), np.uint32)
    count = kernels.cut_spans(np.ascontiguousarray(rows[:, :5]), least, cuts)
    return cuts[:count].copy()


def repeated_units(
    hashes: Hashes, documents: Numbers, first: Numbers, sizes: Numbers, rank: Numbers, copies: int, everywhere: bool
) -> Cuts:
    """Cut the units (lines, paragraphs) after the first `copies` equal ones; with `everywhere`, all that repeat.

    Unit i: hash, document, first word and number of words. `rank` orders documents, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([7, 8, 7, 7], np.uint64), np.array([0, 0, 1, 1], np.uint32)
    >>> rest = np.array([0, 5, 0, 9], np.uint32), np.full(4, 5, np.uint32), np.array([1, 0], np.uint32)
    >>> repeated_units(*one, *rest, 1, False).tolist()
    [[0, 0, 5, 1, 0], [1, 9, 14, 1, 0]]
    """
    order = np.lexsort((first, rank[documents], hashes))
    hashes, documents, first, sizes = hashes[order], documents[order], first[order], sizes[order]
    fresh = np.ones(len(hashes), np.bool_)
    fresh[1:] = hashes[1:] != hashes[:-1]
    begins = np.flatnonzero(fresh)
    counts = np.diff(np.append(begins, len(hashes)))
    leader = np.repeat(begins, counts)
    number = np.arange(len(hashes)) - leader
    because = leader.copy()
    cut = number >= copies
    if everywhere:
        cut = np.repeat(counts > 1, counts)
        because[fresh & cut] += 1  # the first is cut because of the second
    rows = np.stack([documents, first, first + sizes, documents[because], first[because]], axis=1)[cut]
    return np.ascontiguousarray(rows[np.lexsort((rows[:, 1], rows[:, 0]))].astype(np.uint32))
