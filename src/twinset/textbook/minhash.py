"""MinHash: a few numbers per set, which agree in two sets with a probability equal to their similarity.

By permutation, the definition; by hashing the rows, the usual implementation; and with a single hash function, by its k
smallest values.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

__all__ = [
    "bottom_k",
    "bottom_k_similarity",
    "minhash_by_permutation",
    "minhash_by_row_hashing",
    "minhash_signature",
    "signature_error",
    "signature_similarity",
]

Item = TypeVar("Item", bound=Hashable)


def minhash_by_permutation(items: Iterable[Item], position: Callable[[Item], int]) -> int:
    """Return the minhash by its definition: the first position with an element, rows permuted.

    Over all permutations, two sets have equal minhashes with probability equal to their Jaccard similarity: the
    minhashes are equal if the first element of the union is in both.

    Examples
    --------
    Rows 1 to 5 are sent to the positions 4, 1, 5, 3, 2:

    >>> sent = {1: 4, 2: 1, 3: 5, 4: 3, 5: 2}
    >>> [minhash_by_permutation(rows, sent.__getitem__) for rows in ({1, 4}, {2, 3, 4}, {3, 5})]
    [3, 1, 2]

    In the row order b, e, a, d, c the first elements of four sets are:

    >>> ["beadc"[minhash_by_permutation(s, "beadc".index)] for s in ("ad", "c", "bde", "acd")]
    ['a', 'c', 'b', 'a']
    """
    return min(position(item) for item in items)


def minhash_by_row_hashing(
    rows: Iterable[tuple[int, Iterable[int]]], hashes: Sequence[Callable[[int], int]], n_columns: int
) -> list[list[float]]:
    """Return the signatures of all columns in one pass over the rows, with hash functions instead of permutations.

    Parameters
    ----------
    rows
        Row numbers, each with the columns that hold a 1 in it.
    hashes
        Functions of the row number.
    n_columns
        The number of columns.

    Returns
    -------
    list of list
        For each hash function the minimum in each column; infinity for an empty column.

    Examples
    --------
    >>> sets = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    >>> rows = [(row, [c for c, s in enumerate(sets) if row in s]) for row in range(5)]
    >>> minhash_by_row_hashing(rows, [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5], 4)
    [[1, 3, 0, 1], [0, 2, 0, 0]]
    """
    signatures = [[float("inf")] * n_columns for _ in hashes]
    for row, columns in rows:
        values = [h(row) for h in hashes]
        for column in columns:
            for signature, value in zip(signatures, values, strict=True):
                signature[column] = min(signature[column], value)
    return signatures


def minhash_signature(items: Iterable[Item], hashes: Sequence[Callable[[Item], int]]) -> list[int]:
    """Return the signature of a non-empty set: for each hash function the minimum over its elements.

    It is a column of `minhash_by_row_hashing`, for elements of any kind and without a matrix.

    Examples
    --------
    >>> minhash_signature({1, 3, 4}, [lambda x: x % 5, lambda x: (2 * x + 1) % 5])
    [1, 2]
    >>> minhash_signature({2, 3, 5}, [lambda x: x % 5, lambda x: (2 * x + 1) % 5])
    [0, 0]
    """
    elements = list(items)
    return [min(h(item) for item in elements) for h in hashes]


def signature_similarity(left: Sequence[object], right: Sequence[object]) -> float:
    """Return the share of equal hashes of two signatures: an unbiased estimate of the Jaccard similarity.

    Examples
    --------
    >>> round(signature_similarity([2, 2, 1], [2, 4, 1]), 2)
    0.67
    """
    return sum(a == b for a, b in zip(left, right, strict=True)) / len(left)


def signature_error(similarity: float, n_hashes: int) -> float:
    """Return the standard error of that estimate: √(s(1-s)/k). Four times the hashes halve it.

    Examples
    --------
    >>> [signature_error(0.5, k) for k in (100, 400)]
    [0.05, 0.025]
    """
    return math.sqrt(similarity * (1 - similarity) / n_hashes)


def bottom_k(hashes: Iterable[int], k: int) -> list[int]:
    """Return the bottom-k sketch of a set: its k smallest hashes, by one hash function.

    Examples
    --------
    >>> bottom_k([52, 7, 31, 7, 88], k=3)
    [7, 31, 52]
    """
    return sorted(set(hashes))[:k]


def bottom_k_similarity(left: Sequence[int], right: Sequence[int], k: int) -> float:
    """Estimate the Jaccard similarity from two bottom-k sketches.

    The k smallest hashes of the union are a random sample of it, and they are the k smallest of both sketches together.
    The estimate is the share of them that both sets have, and exact if the union has at most k elements. Such a sketch
    cannot be banded: its values have no fixed positions.

    Examples
    --------
    >>> bottom_k_similarity([7, 31, 52], [7, 40, 52], k=3)
    0.3333333333333333
    >>> bottom_k_similarity([7, 31, 52], [7, 40, 52], k=4)
    0.5
    """
    sample = bottom_k([*left, *right], k)
    return sum(x in left and x in right for x in sample) / len(sample) if sample else 0.0
