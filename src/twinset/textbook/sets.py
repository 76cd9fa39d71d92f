"""Sets, bags and weighted sets: their similarity, and their characteristic matrix."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from twinset.textbook.shingling import bag_as_set

__all__ = ["characteristic_matrix", "containment", "jaccard", "jaccard_distance", "weighted_jaccard"]

Item = TypeVar("Item", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)


def jaccard(left: Iterable[Hashable], right: Iterable[Hashable]) -> float:
    """Return the Jaccard similarity of two sets: the size of the intersection divided by that of the union.

    Two `Counter` objects are compared as bags. Two empty sets have similarity 0.

    Examples
    --------
    >>> jaccard({"chair", "desk", "rug", "keyboard", "mouse"}, {"chair", "rug", "keyboard"})
    0.6

    "Nadal" and "Nadia" share two of six pairs of letters. 2 is the size of what they share, 2/6 the similarity:

    >>> nadal, nadia = {"na", "ad", "da", "al"}, {"na", "ad", "di", "ia"}
    >>> len(nadal & nadia), len(nadal | nadia), round(jaccard(nadal, nadia), 4)
    (2, 6, 0.3333)

    Bags:

    >>> jaccard(Counter(["ab", "ab", "bc", "ca"]), Counter(["ab", "bc"]))
    0.5
    """
    a, b = _as_set(left), _as_set(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def jaccard_distance(left: Iterable[Hashable], right: Iterable[Hashable]) -> float:
    """Return the Jaccard distance: one minus the similarity.

    Examples
    --------
    Three in common of eight in all:

    >>> jaccard_distance("abcde", "cdefgh")
    0.625
    """
    return 1 - jaccard(left, right)


def containment(inner: Iterable[Hashable], outer: Iterable[Hashable]) -> float:
    """Return the share of one set that is in another.

    A quotation is contained in its book, and hardly similar to it.

    Examples
    --------
    >>> containment("abcd", "bcdefg")
    0.75
    >>> quoted, book = range(5, 10), range(1000)
    >>> containment(quoted, book), jaccard(quoted, book)
    (1.0, 0.005)
    """
    a, b = _as_set(inner), _as_set(outer)
    return len(a & b) / len(a) if a else 0.0


def _as_set(items: Iterable[Hashable]) -> frozenset[Hashable]:
    return bag_as_set(items.elements()) if isinstance(items, Counter) else frozenset(items)


def weighted_jaccard(left: Mapping[Item, float], right: Mapping[Item, float]) -> float:
    """Return the Jaccard similarity of weighted sets: the sum of minimum weights divided by that of maximum weights.

    An absent element has weight 0. Weights of 1 give the similarity of sets, integers that of bags.

    Examples
    --------
    >>> weighted_jaccard({"bread": 2, "milk": 0.5}, {"bread": 1, "milk": 0.5, "salt": 0.5})
    0.5
    >>> weighted_jaccard(Counter(["ab", "ab", "bc", "ca"]), Counter(["ab", "bc"]))
    0.5
    """
    every = left.keys() | right.keys()
    # `fsum` rounds only once, so that the order of the items does not matter.
    least, most = (math.fsum(pick(left.get(x, 0), right.get(x, 0)) for x in every) for pick in (min, max))
    return least / most if most else 0.0


def characteristic_matrix(sets: Mapping[Name, Iterable[Item]], rows: Sequence[Item] | None = None) -> list[list[int]]:
    """Write sets as columns of a matrix: 1 where the row's element is in the column's set.

    It is a way to visualise sets, not to store them: it has a row for every possible element, and is nearly all 0.

    Examples
    --------
    >>> characteristic_matrix({"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}, rows="abcde")
    [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]]
    """
    columns = [frozenset(items) for items in sets.values()]
    if rows is None:
        rows = list(dict.fromkeys(item for items in sets.values() for item in items))
    return [[int(row in column) for column in columns] for row in rows]
