"""Choose shingles by the similarity that one changed word leaves.

A changed word changes every shingle that it is in. In a short text these are most of its shingles, so that two texts
that differ in one word are hardly similar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST = 5
"""Words in the longest shingle to choose, which is the default: longer ones only make longer texts too short."""
_LEAST_CHARACTERS = 3
"""Characters in the shortest shingle to choose: nearly all texts of a language share the shorter ones."""
_USUAL_WORD = 5
"""Letters of a word, where they are not counted."""


@dataclass(frozen=True)
class TextLength:
    """The number of words and characters of a text."""

    words: int
    characters: int

    @property
    def word_length(self) -> int:
        """The mean number of letters of a word, rounded; a space follows every word but the last."""
        return max(1, round((self.characters - self.words + 1) / max(1, self.words)))


@dataclass(frozen=True)
class ChosenShingle:
    """A shingle, and the similarity of a text to the same text with another word in its middle."""

    shingle: str
    similarity: float


def similarity_after_change(text: TextLength, kind: str, size: int) -> float:
    """Return the similarity of a text to the same text with another word of the same length in its middle.

    Examples
    --------
    >>> nine = TextLength(words=9, characters=53)
    >>> similarity_after_change(nine, "word", 1), similarity_after_change(nine, "word", 5)
    (0.8, 0.0)
    """
    tokens, changed = (text.words, 1) if kind == "word" else (text.characters, text.word_length)
    shingles = tokens - size + 1
    if shingles < 1:  # the text has fewer tokens and is its only shingle
        return 0.0
    first = (tokens - changed) // 2
    touched = min(first + changed - 1, shingles - 1) - max(0, first - size + 1) + 1
    return (shingles - touched) / (shingles + touched)


def longest_shingle(text: TextLength, threshold: float) -> ChosenShingle:
    """Return the longest shingle, of words or characters, at which one changed word leaves the threshold.

    Without one, return the shingle that leaves the highest similarity.

    Examples
    --------
    >>> longest_shingle(TextLength(words=9, characters=53), 0.8)
    ChosenShingle(shingle='word:1', similarity=0.8)
    >>> longest_shingle(TextLength(words=300, characters=1799), 0.8).shingle
    'word:5'
    """
    letters = text.word_length + 1
    sizes = [(size * letters - 1, "word", size) for size in range(1, LONGEST + 1)]
    sizes += [(size, "char", size) for size in range(_LEAST_CHARACTERS, LONGEST * letters - 1)]
    sizes.sort(key=lambda one: (one[0], one[1] == "word"), reverse=True)
    choices = [ChosenShingle(f"{kind}:{size}", similarity_after_change(text, kind, size)) for _, kind, size in sizes]
    suitable = (choice for choice in choices if choice.similarity >= threshold)
    return next(suitable, None) or max(choices, key=lambda choice: choice.similarity)


def fewest_shingles(kind: str, size: int, similarity: float) -> int:
    """Return how many shingles a text needs so that one changed word leaves a similarity.

    Examples
    --------
    >>> fewest_shingles("word", 5, 0.5)
    15
    """
    touched = size if kind == "word" else size + _USUAL_WORD - 1
    return math.ceil(touched * (1 + similarity) / (1 - similarity))


def usual_length(kind: str, size: int, shingles: int) -> TextLength:
    """Return the length of a text with this number of shingles; its words have a usual length."""
    tokens = shingles + size - 1
    letters = _USUAL_WORD + 1
    return TextLength(tokens, tokens * letters - 1) if kind == "word" else TextLength(-(-tokens // letters), tokens)


def threshold_flag(similarity: float, threshold: float) -> str:
    """Return the flag that lowers the threshold to a similarity; nothing if it is reached or nothing would help.

    Examples
    --------
    >>> threshold_flag(2 / 3, 0.8), threshold_flag(0.8, 0.8)
    (' --threshold 0.66', '')
    """
    lower = math.floor(100 * similarity) / 100
    return f" --threshold {lower:g}" if similarity < threshold and lower > 0 else ""
