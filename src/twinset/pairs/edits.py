"""Edit similarity: which share of the longer sequence need not be inserted, deleted or replaced to get the other."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MOST_WORK", "edit_similarity"]

MOST_WORK = 40_000_000_000
"""Maximum product of two lengths: 200,000 characters with 200,000 take about a second."""


def edit_similarity(left: Sequence[str], right: Sequence[str]) -> float | None:
    """Return 1 - d / n for the Levenshtein distance d of two sequences, the longer of which has n elements.

    The sequences are strings, or lists of words. The time grows with the product of their lengths; beyond `MOST_WORK`
    the answer is None. Two empty sequences are equal.

    Examples
    --------
    >>> edit_similarity("kitten", "sitting"), edit_similarity(["a", "rose"], ["a", "red", "rose"])
    (0.5714285714285714, 0.6666666666666667)
    """
    if len(left) * len(right) > MOST_WORK:
        return None
    from rapidfuzz.distance import Levenshtein  # imported late: only a comparison of two texts needs it

    longest = max(len(left), len(right))
    return 1.0 - Levenshtein.distance(left, right) / longest if longest else 1.0
