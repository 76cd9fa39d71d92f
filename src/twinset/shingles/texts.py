"""Shingle texts, in portions.

`word:5` (runs of five words) is the default, `char:9` is runs of nine code points. A document with fewer tokens has one
shingle, all of it; a document without tokens has none.
"""

import threading
from collections.abc import Iterator

import numpy as np

from twinset.options import ShingleOptions
from twinset.schema import Bytes, Hashes, Numbers, Shingles, Texts
from twinset.shingles.texts_kernels import DROP, KEEP, SHORT, SQUEEZE, count_repeats, shingle_hashes
from twinset.shingles.words_kernels import AT_ONCE
from twinset.unicode import classes

PORTION = 512 * 1024
"""Bytes of text shingled at once, twice that for words, of which there are fewer: their hashes stay in the processor's
cache until they are used."""

_REMEMBERED = 1 << 14  # shingles: they fit the core's own cache
_FEW_CHARACTERS = 4  # longer shingles, or those of two words, seldom repeat in a text


def _bit_places(byte: int) -> int:
    """Positions of the set bits of a byte, lowest first, one per byte."""
    return sum(place << (8 * at) for at, place in enumerate(bit for bit in range(8) if byte >> bit & 1))


BIT_PLACES = np.array([_bit_places(byte) for byte in range(256)], np.uint64)


class _ShingleScratch(threading.local):
    """Working memory of one thread; grows for longer texts, and shrinks after exceptional ones."""

    text: Bytes = np.empty(0, np.uint8)
    borders: "np.ndarray[tuple[int], np.dtype[np.int32]]" = np.empty(0, np.int32)
    keys: Hashes = np.empty(0, np.uint64)
    counts: "np.ndarray[tuple[int], np.dtype[np.int32]]" = np.empty(0, np.int32)
    hashes: Hashes = np.empty(0, np.uint64)

    def __init__(self) -> None:
        self.high, self.listed = np.empty(AT_ONCE, np.uint64), np.empty(SHORT, np.uint64)
        self.spaces = np.empty(SHORT, np.uint8)

    def fit(self, longest: int, total: int, bag: bool) -> None:
        if len(self.text) < longest + 80 or len(self.text) > 64 * (longest + PORTION):
            self.text = np.empty(longest + 80, np.uint8)
            self.borders = np.empty(2 * longest + 80, np.int32)
        if len(self.hashes) < total + 5 or len(self.hashes) > 64 * (total + PORTION):
            self.hashes = np.empty(total + 5, np.uint64)
        places = 1 << max(3, (2 * longest).bit_length())
        if bag and len(self.keys) < places:
            self.keys = np.empty(places, np.uint64)
            self.counts = np.empty(places, np.int32)


_scratch = _ShingleScratch()


def shingle(texts: Texts, options: ShingleOptions, seed: int) -> Iterator[Shingles]:
    """Yield shingle hashes of the texts, in portions. The next portion overwrites the buffers: copy what must last.

    Examples
    --------
    >>> import numpy as np
    >>> data = np.frombuffer(b"a rose is a rose is a rose", np.uint8)
    >>> texts = Texts(data, np.array([0]), np.array([len(data)]), np.array([0]), ascii=True)
    >>> [portion] = shingle(texts, ShingleOptions.of(shingle="word:4"), seed=1)
    >>> len(portion.hashes), len(set(portion.hashes.tolist()))
    (5, 3)
    """
    lengths = texts.ends - texts.starts
    reach = np.cumsum(lengths)
    first, count = 0, len(lengths)
    portion = PORTION << (options.kind == "word")
    spacing = (SQUEEZE if options.squeeze else KEEP) if options.spaces else DROP
    while first < count:
        done = int(reach[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(reach, done + portion, side="right")))
        total = int(reach[last - 1]) - done
        _scratch.fit(int(lengths[first:last].max()), total, options.bag)
        offsets = np.empty(last - first + 1, np.int64)
        shingle_hashes(
            texts.data, texts.starts[first:last], texts.ends[first:last],
            options.kind == "word", texts.ascii, options.lowercase, options.split, spacing, options.bag,
            options.size, np.uint64(seed), classes(), BIT_PLACES,
            _scratch.text, _scratch.borders, _scratch.high, _scratch.listed, _scratch.spaces,
            _scratch.keys, _scratch.counts, _scratch.hashes, offsets,
        )  # fmt: skip
        yield Shingles(texts.rows[first:last], offsets, _scratch.hashes[: offsets[-1]])
        first = last


def repeat_often(options: ShingleOptions) -> bool:
    """Whether shingles are so short that texts repeat many of them, which are then counted."""
    return options.size <= (_FEW_CHARACTERS if options.kind == "char" else 1) and not options.bag


def repeats(shingles: Shingles) -> Numbers:
    """Number of repeated shingles of each row: nearly all of them, never more.

    Examples
    --------
    >>> import numpy as np
    >>> repeats(Shingles(np.arange(2), np.array([0, 4, 6]), np.array([7, 8, 7, 7, 7, 9], np.uint64))).tolist()
    [2, 0]
    """
    counts = np.empty(len(shingles.rows), np.uint32)
    count_repeats(shingles.hashes, shingles.offsets, np.zeros(_REMEMBERED, np.uint64), counts)
    return counts
