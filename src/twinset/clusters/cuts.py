"""Cut later copies out of documents: every cut word in one row, with the place of the copy that stays."""

import numpy as np
import numpy.typing as npt

from twinset.clusters import cuts_kernels as kernels

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
