"""Word hashes of texts in order, and the places of the words in the original texts."""

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.schema import Bytes, Hashes, Numbers, Places, Texts
from twinset.shingles import runs_kernels as kernels
from twinset.shingles import units_kernels
from twinset.shingles.texts import BIT_PLACES
from twinset.shingles.words_kernels import AT_ONCE
from twinset.unicode import classes

_MOST_WORDS = 2  # bytes per word at least, the last excepted: a character that is a word by itself has three or more


@dataclass(frozen=True)
class WordRuns:
    """Word hashes of some rows of a batch: those of rows[i] are hashes[offsets[i]:offsets[i+1]]."""

    rows: Places
    offsets: Places
    hashes: Hashes


class _Scratch(threading.local):
    text: Bytes = np.empty(0, np.uint8)
    borders: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def __init__(self) -> None:
        self.high = np.empty(AT_ONCE, np.uint64)

    def fit(self, longest: int) -> None:
        if len(self.text) < longest + 80:
            self.text = np.empty(longest + 80, np.uint8)
            self.borders = np.empty(2 * longest + 80, np.int32)


_scratch = _Scratch()


def word_runs(texts: Texts, lowercase: bool, split: bool) -> WordRuns:
    """Hash every word of the texts, in order.

    Examples
    --------
    >>> import numpy as np
    >>> data = np.frombuffer(b"A rose is a rose", np.uint8)
    >>> runs = word_runs(Texts(data, np.array([0]), np.array([16]), np.array([0]), ascii=True), True, True)
    >>> len(runs.hashes), len(set(runs.hashes.tolist()))
    (5, 3)
    """
    lengths = texts.ends - texts.starts
    _scratch.fit(int(lengths.max(initial=0)))
    hashes = np.empty(int((lengths // _MOST_WORDS).sum()) + len(lengths) + 5, np.uint64)
    offsets = np.empty(len(lengths) + 1, np.int64)
    kernels.word_hashes(
        texts.data, texts.starts, texts.ends, texts.ascii, lowercase, split, classes(), BIT_PLACES,
        _scratch.text, _scratch.borders, _scratch.high, hashes, offsets,
    )  # fmt: skip
    return WordRuns(texts.rows, offsets, hashes[: offsets[-1]])


@dataclass(frozen=True)
class TextUnits:
    """Lines or paragraphs: a hash of the words, the row, the first word, the number of words; words of each row."""

    hashes: Hashes
    rows: Places
    first: Numbers
    sizes: Numbers
    row_numbers: Places
    row_words: Numbers


def text_units(texts: Texts, lowercase: bool, split: bool, paragraphs: bool, least: int) -> TextUnits:
    """Hash the words of each line, or of each paragraph, with at least `least` words.

    Examples
    --------
    >>> import numpy as np
    >>> data = np.frombuffer(b"To be\\nor not\\nto BE!\\n", np.uint8)
    >>> texts = Texts(data, np.array([0]), np.array([len(data)]), np.array([0]), ascii=True)
    >>> units = text_units(texts, True, True, False, 1)
    >>> units.first.tolist(), units.sizes.tolist(), units.hashes[0] == units.hashes[2]
    ([0, 2, 4], [2, 2, 2], np.True_)
    """
    lengths = texts.ends - texts.starts
    _scratch.fit(int(lengths.max(initial=0)))
    room = int((lengths // _MOST_WORDS).sum()) + len(lengths) + 5
    words = np.empty(int(lengths.max(initial=0)) // _MOST_WORDS + 6, np.uint64)
    hashes, counts = np.empty(room, np.uint64), np.empty(len(lengths), np.uint32)
    rows, first, sizes = (np.empty(room, np.uint32) for _ in range(3))
    count = units_kernels.unit_hashes(
        texts.data, texts.starts, texts.ends, texts.ascii, lowercase, split, paragraphs, least, classes(), BIT_PLACES,
        _scratch.text, _scratch.borders, _scratch.high, words, hashes, rows, first, sizes, counts,
    )  # fmt: skip
    return TextUnits(
        hashes[:count].copy(), texts.rows[rows[:count]], first[:count].copy(), sizes[:count].copy(), texts.rows, counts
    )


def byte_borders(text: bytes, ascii_only: bool, split: bool) -> npt.NDArray[np.int32]:
    """Return the byte offsets at which the words of a text (valid UTF-8) start and end, alternating.

    Examples
    --------
    >>> byte_borders("über das Haus".encode(), False, True).tolist()
    [0, 5, 6, 9, 10, 14]
    """
    _scratch.fit(len(text))
    data = np.frombuffer(text, np.uint8)
    count = kernels.word_borders(data, ascii_only, split, classes(), BIT_PLACES, _scratch.text, _scratch.borders)
    return _scratch.borders[:count].copy()


def code_points_at(text: bytes, places: Places) -> Places:
    """Return the number of code points before each of some ascending byte offsets.

    Examples
    --------
    >>> code_points_at("über".encode(), np.array([0, 2, 5])).tolist()
    [0, 1, 4]
    """
    points = np.empty(len(places), np.int64)
    kernels.code_points_before(np.frombuffer(text, np.uint8), places.astype(np.int32), points)
    return points


def place_words(
    texts: Texts, split: bool, ask_starts: Places, first: Numbers, last: Numbers
) -> tuple[Places, Places]:
    """Return the code points at which spans of words start and end.

    Spans ask_starts[i] to ask_starts[i+1] are those of text i: words first[j] to last[j] (exclusive).

    Examples
    --------
    >>> import numpy as np
    >>> data = np.frombuffer("über das Haus".encode(), np.uint8)
    >>> texts = Texts(data, np.array([0]), np.array([14]), np.array([0]), ascii=False)
    >>> place_words(texts, True, np.array([0, 1]), np.array([1], np.uint32), np.array([3], np.uint32))
    (array([5]), array([13]))
    """
    lengths = texts.ends - texts.starts
    _scratch.fit(int(lengths.max(initial=0)))
    starts, ends = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    kernels.place_words(
        texts.data, texts.starts, texts.ends, texts.ascii, split, classes(), BIT_PLACES, _scratch.text,
        _scratch.borders, ask_starts, first, last, starts, ends,
    )  # fmt: skip
    return starts, ends
