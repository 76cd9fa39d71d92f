"""Choose shingles by the similarity that one changed word, or one changed character, leaves.

A changed word changes every shingle that contains it. In a short text these are most of its shingles, so two texts that
differ in one word are hardly similar. Shingles of characters are for changes within words, such as typing errors, so
for them a text is judged by one changed character.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 5
"""Words in the longest shingle to choose, which is the default: longer ones only make longer texts too short."""
_LEAST_CHARACTERS = 3
"""Characters in the shortest shingle to choose: nearly all texts of a language share the shorter ones."""
SHORTEST_CHARACTERS = 2
"""Characters in the shortest shingle to recommend for names and codes."""
_MOST_CHARACTERS = 3
"""Characters in the longest shingle to recommend for texts of few words."""
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
    return _left_by(tokens, changed, size)


def _left_by(tokens: int, changed: int, size: int) -> float:
    """Return the similarity of a text to the same text with a run of its tokens changed, in the middle."""
    shingles = tokens - size + 1
    if shingles < 1:  # the text has fewer tokens and is its only shingle
        return 0.0
    first = (tokens - changed) // 2
    touched = min(first + changed - 1, shingles - 1) - max(0, first - size + 1) + 1
    return (shingles - touched) / (shingles + touched)


def longest_shingle(text: TextLength, threshold: float) -> ChosenShingle:
    """Return the longest shingle, of words or characters, that reaches the threshold after one word is changed.

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


def fewest_shingles(size: int, similarity: float) -> int:
    """Return how many shingles a text needs so that one changed word, or character, of them leaves a similarity.

    Examples
    --------
    >>> fewest_shingles(5, 0.5)
    15
    """
    return math.ceil(size * (1 + similarity) / (1 - similarity))


def usual_length(size: int, shingles: int) -> TextLength:
    """Return the length of a text with this number of shingles of words, which have a usual length."""
    words = shingles + size - 1
    return TextLength(words, words * (_USUAL_WORD + 1) - 1)


def character_shingle(characters: int, most: int = _MOST_CHARACTERS) -> ChosenShingle:
    """Return the longest shingle of characters at which one changed character leaves half, within bounds.

    Examples
    --------
    >>> character_shingle(10).shingle, character_shingle(11).shingle, character_shingle(4)
    ('char:2', 'char:3', ChosenShingle(shingle='char:2', similarity=0.2))
    """
    size = max(SHORTEST_CHARACTERS, min(most, (characters + 1) // 4))
    return ChosenShingle(f"char:{size}", _left_by(characters, 1, size))


def shorter_shingle(text: TextLength, kind: str, size: int, similarity: float) -> str | None:
    """Return a shingle that fits a text that is short for shingles of this kind and size; None if none does.

    Words: the longest shingle at which one changed word leaves the similarity. A text of so few words that none does
    has a shingle for one changed character.

    Examples
    --------
    >>> shorter_shingle(TextLength(4, 19), "word", 5, 0.5), shorter_shingle(TextLength(2, 10), "word", 5, 0.5)
    ('word:1', 'char:2')
    >>> shorter_shingle(TextLength(2, 10), "char", 9, 0.5), shorter_shingle(TextLength(1, 5), "char", 2, 0.5)
    ('char:2', None)
    """
    if kind == "char":
        return character_shingle(text.characters, size - 1).shingle if size > SHORTEST_CHARACTERS else None
    chosen = longest_shingle(text, similarity)
    return chosen.shingle if chosen.similarity >= similarity else character_shingle(text.characters).shingle


def short_note(whose: str, short: Mapping[str, Any]) -> str:
    """Say that texts are too short for their shingles, and what to try.

    Examples
    --------
    >>> short_note("2 are", {"shingle": "word:5", "changed": "word", "similarity": 0.5, "try": "--shingle word:1"})
    '2 are short for shingles of word:5: one changed word leaves a similarity below 0.5; try --shingle word:1'
    """
    columns = short.get("columns", ())
    where = f" in {' and '.join(filter(None, (', '.join(columns[:-1]), columns[-1])))}" if columns else ""
    return (
        f"{whose} short for shingles of {short['shingle']}{where}: one changed {short['changed']} leaves a similarity "
        f"below {short['similarity']:g}; try {short['try']}"
    )


def threshold_flag(similarity: float, threshold: float) -> str:
    """Return the flag that lowers the threshold to a similarity; nothing if it is reached or nothing would help.

    Examples
    --------
    >>> threshold_flag(2 / 3, 0.8), threshold_flag(0.8, 0.8)
    (' --threshold 0.66', '')
    """
    lower = math.floor(100 * similarity) / 100
    return f" --threshold {lower:g}" if similarity < threshold and lower > 0 else ""
