"""Shingles: runs of k consecutive words or characters, as a list, as a set, or as a bag."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

from twinset.options.checks import parse_shingle
from twinset.textbook.words import normalize, squeeze, tokens

__all__ = ["Shingle", "bag_as_set", "shingle_list", "shingles"]

Shingle = tuple[str, ...] | str
"""A tuple of words, or a string of characters."""

Item = TypeVar("Item", bound=Hashable)


def shingle_list(
    text: str,
    shingle: str = "word:5",
    *,
    lowercase: bool = True,
    nfc: bool = True,
    squeezed: bool = True,
    spaces: bool = True,
    split: bool = True,
) -> list[Shingle]:
    """Return the shingles of a text in order, with repeats: runs of k words or of k characters.

    A text with fewer than k tokens has one shingle, all of it; a text without tokens has none.

    Parameters
    ----------
    text
        The text.
    shingle
        ``word:K`` or ``char:K``.
    lowercase, nfc, squeezed, split
        The normalisation steps; each can be turned off.
    spaces
        Whether white space counts as characters; without it all of it is removed.

    Returns
    -------
    list
        Tuples of words, or strings of characters.

    Examples
    --------
    >>> shingle_list("abcab", "char:2")
    ['ab', 'bc', 'ca', 'ab']
    >>> rose = shingle_list("a rose is a rose is a rose", "word:4")
    >>> len(rose), len(set(rose))
    (5, 3)
    >>> len(shingle_list("The quick brown fox jumps over the lazy dog", "word:5"))
    5
    >>> shingle_list("too short")
    [('too', 'short')]
    """
    kind, k = parse_shingle(shingle)
    text = normalize(text, lowercase=lowercase, nfc=nfc)
    if kind == "word":
        words = tuple(tokens(text, split=split))
        return [words[i : i + k] for i in range(max(len(words) - k + 1, min(len(words), 1)))]
    if not spaces:
        text = "".join(text.split())
    elif squeezed:
        text = squeeze(text)
    return [text[i : i + k] for i in range(max(len(text) - k + 1, min(len(text), 1)))]


def shingles(
    text: str, shingle: str = "word:5", *, bag: bool = False, **steps: bool
) -> frozenset[Shingle] | Counter[Shingle]:
    """Return the shingles of a text as a set or, with `bag`, as a `Counter` of occurrences.

    Examples
    --------
    >>> sorted(shingles("abcdabd", "char:2"))
    ['ab', 'bc', 'bd', 'cd', 'da']
    >>> shingles("abcab", "char:2", bag=True)
    Counter({'ab': 2, 'bc': 1, 'ca': 1})
    """
    listed = shingle_list(text, shingle, **steps)
    return Counter(listed) if bag else frozenset(listed)


def bag_as_set(items: Iterable[Item]) -> frozenset[tuple[Item, int]]:
    """Turn a bag into a set: the n-th occurrence of an item becomes the pair of the item and n.

    The Jaccard similarity of two such sets is that of the bags, in which repeated items count.

    Examples
    --------
    >>> sorted(bag_as_set(["ab", "bc", "ca", "ab"]))
    [('ab', 0), ('ab', 1), ('bc', 0), ('ca', 0)]
    """
    return frozenset((item, n) for item, times in Counter(items).items() for n in range(times))
