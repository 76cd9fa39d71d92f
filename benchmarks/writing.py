"""Kernels that write a document: draw its words, edit a copy, print it as bytes.

A document is an array of tokens, uint32: bits 0-19 the word, bit 20 a capital, bits 21-23 the separator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from benchmarks.vocabulary import ACCENTED, PHRASE_WORDS, WORDS

Tokens = npt.NDArray[np.uint32]
Random = npt.NDArray[np.uint64]  # one cell: the state of splitmix64

F = TypeVar("F", bound=Callable[..., Any])
kernel = cast("Callable[[F], F]", njit(cache=True, nogil=True))

WORD = np.uint32(0xFFFFF)
CAPITAL = np.uint32(1 << 20)
SEPARATOR = np.uint32(7 << 21)
COMMA, STOP, BREAK, ASKED, SEMICOLON, CRIED, DASH = (np.uint32(i << 21) for i in range(1, 8))
PLAIN_WORDS = WORDS - ACCENTED

IDENTICAL, RELAID, EDITED = 0, 1, 2


@kernel
def chance(random: Random) -> np.uint32:
    """The next 32 random bits (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint32((z ^ (z >> np.uint64(31))) >> np.uint64(32))


@kernel
def below(random: Random, n: int) -> Any:
    """A whole number from 0 to n - 1."""
    return np.int64((np.uint64(chance(random)) * np.uint64(n)) >> np.uint64(32))


@kernel
def happens(random: Random, probability: float) -> bool:
    return bool(chance(random) < probability * 4294967296.0)


@kernel
def draw_word(random: Random, keep: Tokens, alias: Tokens) -> np.uint32:
    column = below(random, len(keep))
    if chance(random) < keep[column]:
        return np.uint32(column)
    return np.uint32(alias[column])


@kernel
def write_original(
    seed: int, n: int, accented: bool, keep: Tokens, alias: Tokens, phrases: Tokens, tokens: Tokens
) -> None:
    """Fill tokens[:n] with sentences of 5 to 25 words, some of which open with a stock phrase."""
    random = np.empty(1, dtype=np.uint64)
    random[0] = seed
    at = 0
    while at < n:
        sentence = min(5 + below(random, 21), n - at)
        opening = -1
        if sentence > PHRASE_WORDS and happens(random, 0.04):
            opening = below(random, len(phrases))
        for i in range(sentence):
            if opening >= 0 and i < PHRASE_WORDS:
                token = phrases[opening, i]
            elif accented and happens(random, 0.03):
                token = np.uint32(PLAIN_WORDS + below(random, ACCENTED))
            else:
                token = np.uint32(draw_word(random, keep, alias))
            if i == 0 or happens(random, 0.02):
                token |= CAPITAL
            if i == sentence - 1:
                end = below(random, 20)
                token |= BREAK if end < 4 else ASKED if end == 4 else CRIED if end == 5 else STOP
            elif happens(random, 0.06):
                token |= DASH if accented and happens(random, 0.2) else COMMA
            elif happens(random, 0.004):
                token |= SEMICOLON
            tokens[at + i] = token
        at += sentence


@kernel
def ends_sentence(token: np.uint32) -> bool:
    mark = token & SEPARATOR
    return bool(mark in (STOP, BREAK, ASKED, CRIED))


@kernel
def move_sentence(random: Random, source: Tokens, n: int, target: Tokens) -> None:
    """target[:n] = source[:n] with one sentence taken out and put back behind another."""
    start = below(random, n)
    while start > 0 and not ends_sentence(source[start - 1]):
        start -= 1
    end = start + 1
    while end < n and not ends_sentence(source[end - 1]):
        end += 1
    rest = n - (end - start)
    goal = below(random, rest + 1)
    while 0 < goal < rest and not ends_sentence(source[goal - 1 + (0 if goal <= start else end - start)]):
        goal += 1
    at = 0
    for i in range(rest + 1):
        if i == goal:
            for j in range(start, end):
                target[at] = source[j]
                at += 1
        if i < rest:
            target[at] = source[i if i < start else i + end - start]
            at += 1


@kernel
def edit_words(random: Random, source: Tokens, n: int, rate: float, keep: Tokens, alias: Tokens, target: Tokens) -> int:
    """Replace, insert or delete a word at each place with probability `rate`; return the new length."""
    at = 0
    for i in range(n):
        token = source[i]
        if happens(random, rate):
            kind = below(random, 10)
            if kind < 5:
                token = (token & ~WORD) | np.uint32(draw_word(random, keep, alias))
            elif kind < 8:
                target[at] = np.uint32(draw_word(random, keep, alias))
                at += 1
            elif at > 0:
                target[at - 1] = (target[at - 1] & ~SEPARATOR) | (token & SEPARATOR)
                continue
        target[at] = token
        at += 1
    return at


@kernel
def lay_out_anew(random: Random, tokens: Tokens, n: int) -> None:
    """Change capitals and punctuation only: every word shingle stays."""
    for i in range(n):
        if happens(random, 0.03):
            tokens[i] ^= CAPITAL
        if tokens[i] & SEPARATOR == 0 and happens(random, 0.03):
            tokens[i] |= COMMA
        elif tokens[i] & SEPARATOR == STOP and happens(random, 0.2):
            tokens[i] = (tokens[i] & ~SEPARATOR) | BREAK


@kernel
def print_tokens(
    tokens: Tokens,
    n: int,
    forms: npt.NDArray[np.uint8],
    form_ends: npt.NDArray[np.int64],
    separators: npt.NDArray[np.uint8],
    separator_ends: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
    at: int,
) -> int:
    """Print tokens[:n] into out[at:] and return where it ends; the last word is followed by a full stop."""
    for i in range(n):
        token = tokens[i]
        form = np.int64(token & WORD) * 2 + np.int64((token & CAPITAL) >> np.uint32(20))
        for j in range(form_ends[form - 1] if form else 0, form_ends[form]):
            out[at] = forms[j]
            at += 1
        mark = np.int64((token & SEPARATOR) >> np.uint32(21))
        if i < n - 1:
            for j in range(separator_ends[mark - 1] if mark else 0, separator_ends[mark]):
                out[at] = separators[j]
                at += 1
    out[at] = 46
    return at + 1


@kernel
def write_documents(
    original_seeds: Random,
    lengths: npt.NDArray[np.int64],
    accented: npt.NDArray[np.bool_],
    copy_seeds: Random,
    kinds: npt.NDArray[np.int8],
    rates: npt.NDArray[np.float64],
    moves: npt.NDArray[np.bool_],
    keep: Tokens,
    alias: Tokens,
    phrases: Tokens,
    forms: npt.NDArray[np.uint8],
    form_ends: npt.NDArray[np.int64],
    separators: npt.NDArray[np.uint8],
    separator_ends: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int32],
) -> None:
    """Write one document a row into `out`, with Arrow's offsets.

    Each row is a pure function of its own seeds, so that a copy needs no memory of where its original stands.
    """
    longest = lengths.max()
    first = np.empty(longest, dtype=np.uint32)
    second = np.empty(longest, dtype=np.uint32)
    edited = np.empty(2 * longest + 1, dtype=np.uint32)
    random = np.empty(1, dtype=np.uint64)
    at = 0
    for row in range(len(lengths)):
        n = lengths[row]
        write_original(original_seeds[row], n, accented[row], keep, alias, phrases, first)
        final = first
        random[0] = copy_seeds[row]
        if kinds[row] == RELAID:
            lay_out_anew(random, first, n)
        elif kinds[row] == EDITED:
            if moves[row]:
                move_sentence(random, first, n, second)
                n = edit_words(random, second, n, rates[row], keep, alias, edited)
            else:
                n = edit_words(random, first, n, rates[row], keep, alias, edited)
            final = edited
        at = print_tokens(final, n, forms, form_ends, separators, separator_ends, out, at)
        offsets[row + 1] = at
