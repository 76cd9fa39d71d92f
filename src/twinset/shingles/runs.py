"""Word hashes of texts in their order, and the places of words in the texts as they came."""

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.schema import Bytes, Hashes, Places, Texts
from twinset.shingles import runs_kernels as kernels
from twinset.shingles.texts import BIT_PLACES
from twinset.shingles.words_kernels import AT_ONCE
from twinset.unicode import classes

_MOST_WORDS = 2  # bytes per word at least, the last excepted: a word and a separator, or one character of two bytes


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


def word_places(text: bytes, ascii_only: bool, split: bool) -> tuple[Places, Places]:
    """Return the first and the last code point (exclusive) of each word of a text that is valid UTF-8.

    Examples
    --------
    >>> starts, ends = word_places("über das Haus".encode(), False, True)
    >>> starts.tolist(), ends.tolist()
    ([0, 5, 9], [4, 8, 13])
    """
    _scratch.fit(len(text))
    data = np.frombuffer(text, np.uint8)
    count = kernels.word_borders(data, ascii_only, split, classes(), BIT_PLACES, _scratch.text, _scratch.borders)
    borders = _scratch.borders[:count]
    if ascii_only:
        points = borders.astype(np.int64)
    else:
        points = np.empty(count, np.int64)
        kernels.code_points_before(data, borders, points)
    return points[0::2], points[1::2]
