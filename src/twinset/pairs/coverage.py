"""Measure the copied share of each document, and count the documents that contain a passage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twinset.pairs import coverage_kernels as kernels
from twinset.pairs.passages import Joined
from twinset.schema import Numbers
from twinset.system.arrays import pair_words

NONE = 0xFFFFFFFF


@dataclass(frozen=True)
class SharedSpans:
    """Both sides of passages: the document, its first and last word (exclusive), and the document that shares it."""

    documents: Numbers
    starts: Numbers
    ends: Numbers
    others: Numbers

    @classmethod
    def of(cls, rows: Joined) -> SharedSpans:
        """List both sides of passages."""
        sides = [(rows[:, 0], rows[:, 2], rows[:, 3], rows[:, 1]), (rows[:, 1], rows[:, 4], rows[:, 5], rows[:, 0])]
        return cls(*(np.concatenate(columns) for columns in zip(*sides, strict=True)))


def count_holders(rows: Joined, documents: int) -> Numbers:
    """Return for each passage the number of documents that contain its left side, as far as passages show.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0, 1, 2, 9, 0, 7, 7], [0, 2, 0, 9, 0, 9, 9], [1, 2, 0, 7, 2, 9, 7]], np.uint32)
    >>> count_holders(rows, 3).tolist()
    [3, 2, 3]
    """
    spans = SharedSpans.of(rows)
    keys = pair_words(spans.documents, spans.starts)
    order = np.argsort(keys, kind="stable")
    keys, ends, others = keys[order], spans.ends[order], spans.others[order]
    reach, counts = np.empty(len(keys), np.uint32), np.empty(len(rows), np.uint32)
    kernels.largest_ends(keys, ends, reach)
    asked = pair_words(rows[:, 0], rows[:, 2])
    stamps = np.zeros(documents, np.uint32)
    kernels.count_holders(keys, ends, others, asked, np.ascontiguousarray(rows[:, 3]), reach, stamps, counts)
    return counts


@dataclass(frozen=True)
class Coverage:
    """By document: copied words, the document that shares most of them (NONE), and how many it shares."""

    copied: Numbers
    most_in: Numbers
    most: Numbers


def coverage(rows: Joined, documents: int) -> Coverage:
    """Measure how much of each document its passages cover.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0, 1, 2, 9, 0, 7, 7], [0, 2, 0, 4, 0, 4, 4]], np.uint32)
    >>> found = coverage(rows, 3)
    >>> found.copied.tolist(), found.most_in.tolist(), found.most.tolist()
    ([9, 7, 4], [1, 0, 0], [7, 7, 4])
    """
    spans = SharedSpans.of(rows)
    copied, most = np.zeros(documents, np.uint32), np.zeros(documents, np.uint32)
    most_in = np.full(documents, NONE, np.uint32)
    order = np.argsort(pair_words(spans.documents, spans.starts))
    kernels.covered_words(spans.documents[order], spans.starts[order], spans.ends[order], copied)
    order = np.lexsort((spans.starts, pair_words(spans.documents, spans.others)))
    kernels.most_covered(
        spans.documents[order], spans.others[order], spans.starts[order], spans.ends[order], most, most_in
    )
    return Coverage(copied, most_in, most)
