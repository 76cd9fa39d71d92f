"""Text and its words: normalisation, and the definition of a word."""

import unicodedata
from collections.abc import Iterable

__all__ = ["is_single", "is_word_character", "normalize", "squeeze", "tokens"]

# Scripts written without spaces: each of their word characters is a word. First and last code points.
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

# Emoji and other symbols: not word characters, but each is a word.
EMOJI = (
    *((0x231A, 0x231B), (0x23E9, 0x23FA), (0x2600, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50)),
    *((0x2B55, 0x2B55), (0x1F000, 0x1F0FF), (0x1F1E6, 0x1F1FF), (0x1F200, 0x1F2FF), (0x1F300, 0x1FAFF)),
)


def normalize(text: str, *, lowercase: bool = True, nfc: bool = True) -> str:
    """Normalise text: NFC, then lower case, code point by code point.

    Lower case is Unicode's simple mapping, which ignores context (a final sigma stays σ) and never changes the number
    of code points (İ becomes i).

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
    """Return whether a character belongs to words: letters, numbers, marks and the underscore.

    Examples
    --------
    >>> [is_word_character(c) for c in "é7_ \\u0301-"]
    [True, True, True, False, True, False]
    """
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def is_single(character: str) -> bool:
    """Return whether a character is a word by itself: of a script written without spaces, or an emoji.

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
    """Split text into words: maximal runs of word characters.

    With `split`, each character of a script written without spaces, and each emoji, is a word by itself.

    Examples
    --------
    >>> tokens("the quick_brown fox, 3 times")
    ['the', 'quick_brown', 'fox', '3', 'times']
    >>> tokens("東京tower🗼!")
    ['東', '京', 'tower', '🗼']
    """
    words: list[str] = []
    inside = False
    for character in text:
        if split and is_single(character):
            words.append(character)
            inside = False
        elif is_word_character(character):
            if inside:
                words[-1] += character
            else:
                words.append(character)
            inside = True
        else:
            inside = False
    return words


def squeeze(text: str) -> str:
    """Replace each run of white space by one space, and strip the ends.

    Examples
    --------
    >>> squeeze("  two \\t\\n words ")
    'two words'
    """
    return " ".join(text.split())
