"""The naive search: compare all pairs. Slow, and correct by definition."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import TypeVar

from twinset.textbook.sets import jaccard

__all__ = ["all_pairs", "most_similar"]

Item = TypeVar("Item", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)
Thing = TypeVar("Thing")


def all_pairs(sets: Mapping[Name, Iterable[Item]], threshold: float) -> Iterator[tuple[Name, Name, float]]:
    """Compare all pairs of sets and yield those at or above the threshold: the exact search.

    n sets have n(n-1)/2 pairs: a million have 5·10¹¹, which is why there is more to read.

    Examples
    --------
    >>> names = {"Nadal": {"na", "ad", "da", "al"}, "Nadia": {"na", "ad", "di", "ia"}, "Federer": {"fe", "ed"}}
    >>> [(left, right) for left, right, _ in all_pairs(names, 0.3)]
    [('Nadal', 'Nadia')]
    >>> 10**6 * (10**6 - 1) // 2
    499999500000
    """
    for (left, one), (right, other) in combinations(sets.items(), 2):
        similarity = jaccard(one, other)
        if similarity >= threshold and similarity > 0:
            yield left, right, similarity


def most_similar(
    query: Thing, items: Mapping[Name, Thing], k: int, similarity: Callable[[Thing, Thing], float]
) -> list[tuple[Name, float]]:
    """Compare a query with every item and return the k most similar, best first, ties by order.

    Parameters
    ----------
    query
        The query item.
    items
        The items by name.
    k
        Number of results.
    similarity
        Similarity of two items: `jaccard`, `weighted_jaccard`, `cosine`. A distance needs a minus sign.

    Returns
    -------
    list of tuple
        Names and similarities. Those without similarity (0, or infinite distance) are included, last.

    Examples
    --------
    >>> baskets = {"ann": {"chair", "desk", "rug"}, "ben": {"rug"}, "cleo": {"chair", "rug", "lamp", "desk"}}
    >>> most_similar({"chair", "desk"}, baskets, 2, jaccard)
    [('ann', 0.6666666666666666), ('cleo', 0.5)]
    """
    scored = [(name, similarity(query, item)) for name, item in items.items()]
    return sorted(scored, key=lambda one: -one[1])[:k]
