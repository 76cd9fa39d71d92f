"""Clusters of pairs: leaders, or connected components."""

from collections.abc import Collection, Hashable, Iterable
from typing import TypeVar

__all__ = ["complete_clusters", "connected_components", "leader_clusters"]

Name = TypeVar("Name", bound=Hashable)


def leader_clusters(names: Iterable[Name], pairs: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """Return for each name its leader: the first kept name that it has a pair with, or itself.

    Every removed name has a pair with a kept one, so there are no chains. No two kept names are a pair.

    Parameters
    ----------
    names
        Names, in order of preference.
    pairs
        Verified pairs, in any order.

    Returns
    -------
    dict
        Name to kept name; a kept name to itself.

    Examples
    --------
    A chain: each is like the next, and the first is not like the last.

    >>> leader_clusters("abcd", [("a", "b"), ("b", "c"), ("c", "d")])
    {'a': 'a', 'b': 'a', 'c': 'c', 'd': 'c'}
    """
    near = _both_ways(pairs)
    leader: dict[Name, Name] = {}
    for name in names:
        kept = (other for other in leader if leader[other] == other)
        leader[name] = next((other for other in kept if (name, other) in near), name)
    return leader


def complete_clusters(names: Iterable[Name], pairs: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """Return for each name the first of its cluster; a name joins only if it has a pair with every member.

    Examples
    --------
    b and c are both like a, but not like each other:

    >>> complete_clusters("abc", [("a", "b"), ("a", "c")]), leader_clusters("abc", [("a", "b"), ("a", "c")])
    ({'a': 'a', 'b': 'a', 'c': 'c'}, {'a': 'a', 'b': 'a', 'c': 'a'})
    """
    near = _both_ways(pairs)
    members: dict[Name, list[Name]] = {}
    leader: dict[Name, Name] = {}
    for name in names:
        fitting = (head for head, those in members.items() if all((name, one) in near for one in those))
        leader[name] = next(fitting, name)
        members.setdefault(leader[name], []).append(name)
    return leader


def connected_components(names: Iterable[Name], pairs: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """Return for each name the first name of its connected component.

    This treats similarity as transitive, which it is not: the ends of a long chain have nothing in common.

    Examples
    --------
    >>> connected_components("abcd", [("a", "b"), ("b", "c"), ("c", "d")])
    {'a': 'a', 'b': 'a', 'c': 'a', 'd': 'a'}
    """
    first = {name: name for name in names}
    place = {name: number for number, name in enumerate(first)}
    edges = list(pairs)
    changed = True
    while changed:
        changed = False
        for left, right in edges:
            earlier = min(first[left], first[right], key=place.__getitem__)
            if (first[left], first[right]) != (earlier, earlier):
                first[left] = first[right] = earlier
                changed = True
    return first


def _both_ways(pairs: Iterable[tuple[Name, Name]]) -> Collection[tuple[Name, Name]]:
    return {both for left, right in pairs for both in ((left, right), (right, left))}
