"""Groups: what to make of pairs. Leaders and what falls to them, or whatever hangs together."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import TypeVar

__all__ = ["complete_clusters", "connected_components", "leader_clusters"]

Name = TypeVar("Name", bound=Hashable)


def leader_clusters(names: Iterable[Name], pairs: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """Give for each name the one it falls to: the first kept one that it has a pair with; itself if there is none.

    Whatever is removed has a pair with what is kept, so that nothing is lost through a chain of likenesses. And no two
    that are kept are a pair.

    Parameters
    ----------
    names
        Those that are to be kept rather than others come first.
    pairs
        Verified ones, in any order.

    Returns
    -------
    dict
        Name to kept name; a kept one to itself.

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
    """Give for each name the first of its cluster, which it joins only if it has a pair with every member.

    Examples
    --------
    b and c are both like a, but not like each other:

    >>> complete_clusters("abc", [("a", "b"), ("a", "c")]), leader_clusters("abc", [("a", "b"), ("a", "c")])
    ({'a': 'a', 'b': 'a', 'c': 'c'}, {'a': 'a', 'b': 'a', 'c': 'a'})
    """
    near = _both_ways(pairs)
    members: dict[Name, list[Name]] = {}
    found: dict[Name, Name] = {}
    for name in names:
        fitting = (head for head, those in members.items() if all((name, one) in near for one in those))
        found[name] = next(fitting, name)
        members.setdefault(found[name], []).append(name)
    return found


def connected_components(names: Iterable[Name], pairs: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """Give for each name the first one that it hangs together with, through however many pairs.

    Likeness is not transitive, and this supposes that it is: the ends of a long chain have nothing in common.

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
