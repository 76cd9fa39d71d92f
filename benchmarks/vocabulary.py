"""Pseudo-words with the frequencies and lengths of a natural language, and the words as they are printed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WORDS = 60_000
ACCENTED = 3_000  # the last words of the vocabulary; only documents drawn as accented hold them
PHRASES = 4_000
PHRASE_WORDS = 8
SEPARATORS = (" ", ", ", ". ", ".\n\n", "? ", "; ", "! ", " — ")

_ONSETS = (2 * "b c d f g h j k l m n p r s t v w z " + "br ch cl dr fl gr pl pr sh sl st th tr").split()
_NUCLEI = (2 * "a e i o u " + "ai ea io ou").split()
_CODAS = ["", "", "", "l", "n", "r", "s", "t", "nd", "st"]
_ACCENTS = {"a": "á", "e": "é", "i": "ï", "o": "ö", "u": "ü", "s": "š", "c": "ç"}


@dataclass(frozen=True)
class Vocabulary:
    """Words as bytes, an alias table to draw them by frequency, and stock phrases that documents share.

    `forms` is the concatenation of every word twice, as it is and capitalised; form `2 * word + capital`
    is `forms[form_ends[form - 1]:form_ends[form]]`. `keep` and `alias` are Walker's table: draw a column,
    keep it when the second draw is below `keep`, else take `alias`.
    """

    forms: npt.NDArray[np.uint8]
    form_ends: npt.NDArray[np.int64]
    separators: npt.NDArray[np.uint8]
    separator_ends: npt.NDArray[np.int64]
    keep: npt.NDArray[np.uint32]
    alias: npt.NDArray[np.uint32]
    phrases: npt.NDArray[np.uint32]


def make_vocabulary(seed: int) -> Vocabulary:
    """Draw the words; frequent ones are short, as in any language."""
    rng = np.random.default_rng(seed)
    words = _draw_words(rng)
    plain = WORDS - ACCENTED
    frequency = 1.0 / (np.arange(plain) + 2.7) ** 1.02
    frequency = (frequency / frequency.sum()).astype(np.float64)
    keep, alias = _alias_table(frequency)
    phrases = rng.choice(plain, size=(PHRASES, PHRASE_WORDS), p=frequency).astype(np.uint32)
    forms, form_ends = _concatenate([form for word in words for form in (word, word.capitalize())])
    separators, separator_ends = _concatenate(list(SEPARATORS))
    return Vocabulary(forms, form_ends, separators, separator_ends, keep, alias, phrases)


def _draw_words(rng: np.random.Generator) -> list[str]:
    seen: dict[str, None] = {}
    while len(seen) < WORDS:
        rank = len(seen)
        syllables = 1 if rank < 300 else 2 if rank < 12_000 else 3
        if rank < WORDS - ACCENTED and rng.random() < 0.02:
            word = str(rng.integers(1, 10**5))
        else:
            word = "".join(_syllable(rng, last=i == syllables - 1) for i in range(syllables))
        if rank >= WORDS - ACCENTED:
            letter = next(letter for letter in word if letter in _ACCENTS or letter in "aeiou")
            word = word.replace(letter, _ACCENTS[letter], 1)
        seen.setdefault(word)
    return list(seen)


def _syllable(rng: np.random.Generator, last: bool) -> str:
    coda = _CODAS[rng.integers(len(_CODAS))] if last else ""
    return _ONSETS[rng.integers(len(_ONSETS))] + _NUCLEI[rng.integers(len(_NUCLEI))] + coda


def _alias_table(p: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    scaled = p * len(p)
    keep = np.full(len(p), 2**32 - 1, dtype=np.uint32)
    alias = np.arange(len(p), dtype=np.uint32)
    small = [int(i) for i in np.flatnonzero(scaled < 1)]
    large = [int(i) for i in np.flatnonzero(scaled >= 1)]
    while small and large:
        low, high = small.pop(), large[-1]
        keep[low] = min(2**32 - 1, int(scaled[low] * 2**32))
        alias[low] = high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return keep, alias


def _concatenate(strings: list[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    encoded = [string.encode() for string in strings]
    ends = np.cumsum([len(string) for string in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8).copy(), ends
