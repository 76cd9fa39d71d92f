"""The definitions, written to be read.

Everything here is plain Python and follows the textbook word by word: shingles, Jaccard similarity, MinHash
by permutation and by row hashing, banding, and the naive search that compares all pairs. Nothing is fast. The
tests hold the kernels against it, and it is the place to learn what the kernels compute.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from .checks import parse_shingle

__all__ = [
    "all_pairs",
    "bag_as_set",
    "band_probability",
    "candidates",
    "characteristic_matrix",
    "containment",
    "is_single",
    "is_word_character",
    "jaccard",
    "jaccard_distance",
    "minhash_by_permutation",
    "minhash_by_row_hashing",
    "normalize",
    "shingle_list",
    "shingles",
    "signature_similarity",
    "squeeze",
    "tokens",
]

Shingle = tuple[str, ...] | str
Item = TypeVar("Item", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)

# Scripts written without spaces: a word character of these is a word by itself. First and last code points.
HAN = (
    *((0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)
KANA = ((0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1AFFF), (0x1B000, 0x1B16F))
THAI = ((0x0E01, 0x0E7F),)
LAO = ((0x0E80, 0x0EFF),)
KHMER = ((0x1780, 0x17FF),)
MYANMAR = ((0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
WITHOUT_SPACES = HAN + KANA + THAI + LAO + KHMER + MYANMAR

# Emoji and other pictures: no word characters, yet each is a word by itself.
EMOJI = (
    *((0x231A, 0x231B), (0x23E9, 0x23FA), (0x2600, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50)),
    *((0x2B55, 0x2B55), (0x1F000, 0x1F0FF), (0x1F1E6, 0x1F1FF), (0x1F200, 0x1F2FF), (0x1F300, 0x1FAFF)),
)


def normalize(text: str, *, lowercase: bool = True, nfc: bool = True) -> str:
    """Bring text to its one form: NFC, then lower case, code point by code point.

    Lower case is Unicode's simple mapping, which never looks at the neighbours (a final sigma stays σ) and
    never changes the number of code points (İ becomes i).

    Examples
    --------
    >>> normalize("Cafe\\u0301 ΣΑΣ İ")
    'café σασ i'
    """
    if nfc:
        text = unicodedata.normalize("NFC", text)
    if lowercase:
        # Only İ has a longer full mapping; its simple one is the first code point of it.
        text = "".join(character.lower()[0] for character in text)
    return text


def is_word_character(character: str) -> bool:
    """Say whether a character belongs to words: letters, numbers, marks and the underscore.

    Examples
    --------
    >>> [is_word_character(c) for c in "é7_ \\u0301-"]
    [True, True, True, False, True, False]
    """
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def is_single(character: str) -> bool:
    """Say whether a character is a word by itself: of a script written without spaces, or an emoji.

    Examples
    --------
    >>> [is_single(c) for c in "a日ไ🙂。"]
    [False, True, True, True, False]
    """
    if _within(character, WITHOUT_SPACES):
        return is_word_character(character)
    assigned = unicodedata.category(character) != "Cn"
    return _within(character, EMOJI) and assigned and not character.isalnum()


def _within(character: str, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


def tokens(text: str, *, split: bool = True) -> list[str]:
    """Cut text into words: maximal runs of word characters.

    With `split`, each character of a script written without spaces, and each emoji, is a word by itself.

    Examples
    --------
    >>> tokens("the quick_brown fox, 3 times")
    ['the', 'quick_brown', 'fox', '3', 'times']
    >>> tokens("東京tower🗼!")
    ['東', '京', 'tower', '🗼']
    """
    found: list[str] = []
    inside = False
    for character in text:
        if split and is_single(character):
            found.append(character)
            inside = False
        elif is_word_character(character):
            if inside:
                found[-1] += character
            else:
                found.append(character)
            inside = True
        else:
            inside = False
    return found


def squeeze(text: str) -> str:
    """Make each run of white space one space, and strip the ends.

    Examples
    --------
    >>> squeeze("  two \\t\\n words ")
    'two words'
    """
    return " ".join(text.split())


def shingle_list(
    text: str,
    shingle: str = "word:5",
    *,
    lowercase: bool = True,
    nfc: bool = True,
    squeezed: bool = True,
    split: bool = True,
) -> list[Shingle]:
    """Give the shingles of a text in order, repeated ones included: runs of k words or of k characters.

    A text with fewer than k tokens has one shingle, all of it; a text without tokens has none.

    Parameters
    ----------
    text
        The text.
    shingle
        ``word:K`` or ``char:K``.
    lowercase, nfc, squeezed, split
        The steps that bring the text to its one form; each can be turned off.

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
    >>> shingle_list("too short")
    [('too', 'short')]
    """
    kind, k = parse_shingle(shingle)
    text = normalize(text, lowercase=lowercase, nfc=nfc)
    if kind == "word":
        words = tuple(tokens(text, split=split))
        return [words[i : i + k] for i in range(max(len(words) - k + 1, min(len(words), 1)))]
    if squeezed:
        text = squeeze(text)
    return [text[i : i + k] for i in range(max(len(text) - k + 1, min(len(text), 1)))]


def shingles(
    text: str, shingle: str = "word:5", *, bag: bool = False, **steps: bool
) -> frozenset[Shingle] | Counter[Shingle]:
    """Give the shingles of a text as a set or, with `bag`, as a `Counter` of how often each stands there.

    Examples
    --------
    >>> sorted(shingles("abcdabd", "char:2"))
    ['ab', 'bc', 'bd', 'cd', 'da']
    >>> shingles("abcab", "char:2", bag=True)
    Counter({'ab': 2, 'bc': 1, 'ca': 1})
    """
    found = shingle_list(text, shingle, **steps)
    return Counter(found) if bag else frozenset(found)


def bag_as_set(items: Iterable[Item]) -> frozenset[tuple[Item, int]]:
    """Make a bag a set: the n-th occurrence of an item becomes the pair of the item and n.

    The Jaccard similarity of two such sets is that of the bags, in which repeated items count.

    Examples
    --------
    >>> sorted(bag_as_set(["ab", "bc", "ca", "ab"]))
    [('ab', 0), ('ab', 1), ('bc', 0), ('ca', 0)]
    """
    return frozenset((item, n) for item, times in Counter(items).items() for n in range(times))


def jaccard(left: Iterable[Hashable], right: Iterable[Hashable]) -> float:
    """Give the Jaccard similarity of two sets: what they share, of all that is in either.

    Two `Counter` objects are compared as bags. Two empty sets share nothing: 0.

    Examples
    --------
    >>> jaccard({"chair", "desk", "rug", "keyboard", "mouse"}, {"chair", "rug", "keyboard"})
    0.6
    >>> nadal, nadia = (shingles(name, "char:2") for name in ("Nadal", "Nadia"))
    >>> round(jaccard(nadal, nadia), 4)
    0.3333
    >>> jaccard(Counter(["ab", "ab", "bc", "ca"]), Counter(["ab", "bc"]))
    0.5
    """
    a, b = _as_set(left), _as_set(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def jaccard_distance(left: Iterable[Hashable], right: Iterable[Hashable]) -> float:
    """Give the Jaccard distance: one less the similarity.

    Examples
    --------
    >>> jaccard_distance("abcde", "cdefgh")
    0.625
    """
    return 1 - jaccard(left, right)


def containment(inner: Iterable[Hashable], outer: Iterable[Hashable]) -> float:
    """Give the share of one set that is in another.

    Examples
    --------
    >>> containment("abcd", "bcdefg")
    0.75
    """
    a, b = _as_set(inner), _as_set(outer)
    return len(a & b) / len(a) if a else 0.0


def _as_set(items: Iterable[Hashable]) -> frozenset[Hashable]:
    return bag_as_set(items.elements()) if isinstance(items, Counter) else frozenset(items)


def characteristic_matrix(
    sets: Mapping[Name, Iterable[Item]], rows: Sequence[Item] | None = None
) -> list[list[int]]:
    """Write sets as columns of a matrix: 1 where the row's element is in the column's set.

    Examples
    --------
    >>> characteristic_matrix({"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}, rows="abcde")
    [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]]
    """
    columns = [frozenset(items) for items in sets.values()]
    if rows is None:
        rows = list(dict.fromkeys(item for items in sets.values() for item in items))
    return [[int(row in column) for column in columns] for row in rows]


def minhash_by_permutation(items: Iterable[Item], position: Callable[[Item], int]) -> int:
    """Give the minhash by its definition: the first position that holds an element, rows permuted.

    The probability that two sets have equal minhashes, over all permutations, is their Jaccard similarity.

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
    """Give the signatures of all columns in one pass over the rows, hash functions in place of permutations.

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
        For each hash function the smallest value met in each column; infinity for an empty column.

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


def signature_similarity(left: Sequence[object], right: Sequence[object]) -> float:
    """Give the share of hashes in which two signatures agree: an unbiased estimate of the Jaccard similarity.

    Examples
    --------
    >>> round(signature_similarity([2, 2, 1], [2, 4, 1]), 2)
    0.67
    """
    return sum(a == b for a, b in zip(left, right, strict=True)) / len(left)


def candidates(
    signatures: Mapping[Name, Sequence[Hashable]], n_bands: int, rows_per_band: int
) -> set[tuple[Name, Name]]:
    """Give the pairs whose signatures agree in all rows of at least one band.

    Examples
    --------
    >>> first_band = {"one": (1, 3, 6, 0), "two": (2, 3, 1, 0), "three": (1, 3, 6, 0), "four": (2, 1, 3, 1)}
    >>> candidates(first_band, n_bands=1, rows_per_band=4)
    {('one', 'three')}
    """
    found: set[tuple[Name, Name]] = set()
    for band in range(n_bands):
        buckets: defaultdict[tuple[Hashable, ...], list[Name]] = defaultdict(list)
        for name, signature in signatures.items():
            buckets[tuple(signature[band * rows_per_band : (band + 1) * rows_per_band])].append(name)
        for names in buckets.values():
            found.update(combinations(names, 2))
    return found


def band_probability(similarity: float, n_bands: int, rows_per_band: int) -> float:
    """Give the probability that a pair becomes a candidate: 1-(1-s^r)^b.

    Examples
    --------
    >>> [round(band_probability(s / 10, 20, 5), 3) for s in range(2, 8)]
    [0.006, 0.047, 0.186, 0.47, 0.802, 0.975]
    """
    return float(1 - (1 - similarity**rows_per_band) ** n_bands)


def all_pairs(sets: Mapping[Name, Iterable[Item]], threshold: float) -> Iterator[tuple[Name, Name, float]]:
    """Compare every two sets and give the pairs at least as similar as the threshold: the exact search.

    Examples
    --------
    >>> names = {name: shingles(name, "char:2") for name in ("Nadal", "Nadia", "Federer")}
    >>> [(left, right) for left, right, _ in all_pairs(names, 0.3)]
    [('Nadal', 'Nadia')]
    """
    for (left, one), (right, other) in combinations(sets.items(), 2):
        similarity = jaccard(one, other)
        if similarity >= threshold and similarity > 0:
            yield left, right, similarity
