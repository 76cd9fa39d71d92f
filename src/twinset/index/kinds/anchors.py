"""Anchors of texts: an index stores some grams of words of each document as keys, for queries by passages.

Anchors are chosen by winnowing (`sketches/winnowing.py`): two texts that share a run of the minimum length have an
anchor in common. The table `anchors` has the key of each anchor of a document once, and not its place: the places
follow from the text, which is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.compiled.bytes_kernels import splitmix64
from twinset.documents.parts import Block
from twinset.engines.local.passages.words import block_words
from twinset.index.settings import Settings
from twinset.options.passages import PassagesOptions
from twinset.schema import Hashes, Numbers, Places
from twinset.sketches.winnowing import Anchors, Winnow, winnow
from twinset.system.arrays import offsets_of


@dataclass(frozen=True)
class AnchoredTexts:
    """Texts, their words and their anchors.

    The words of text i are words[starts[i]:starts[i]+lengths[i]]. The anchors are in the order of the texts; their
    `documents` are positions of texts. `replaced` are texts with invalid UTF-8.
    """

    texts: pa.Array
    words: Hashes
    starts: Places
    lengths: Numbers
    anchors: Anchors
    replaced: Places

    def __len__(self) -> int:
        return len(self.lengths)

    def anchors_of(self, row: int) -> Anchors:
        """Return the anchors of one text."""
        some = slice(*np.searchsorted(self.anchors.documents, [row, row + 1]).tolist())
        return Anchors(self.anchors.hashes[some], self.anchors.documents[some], self.anchors.places[some])

    def words_of(self, row: int) -> Hashes:
        """Return the words of one text."""
        first = int(self.starts[row])
        return self.words[first : first + int(self.lengths[row])]

    @property
    def block(self) -> Block:
        """The texts in the form in which sources are read."""
        return Block(len(self), 0, self.texts)


@lru_cache(maxsize=8)
def word_options(settings: Settings) -> PassagesOptions:
    """Return options under which words are equal as they are in the index."""
    options = settings.options
    return PassagesOptions(lowercase=options.lowercase, nfc=options.nfc, split=options.split)


def winnow_sizes(settings: Settings) -> Winnow:
    """Return the lengths of winnowing in an index with passages."""
    return Winnow.of(settings.options.passages or 1)


def anchored(texts: pa.Array, settings: Settings) -> AnchoredTexts:
    """Find the words and the anchors of texts; thread-safe."""
    found = block_words(Block(len(texts), 0, texts), word_options(settings), part=0)
    starts, lengths = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint32)
    starts[found.rows], lengths[found.rows] = found.offsets[:-1], np.diff(found.offsets)
    anchors = winnow(found.hashes, found.offsets, winnow_sizes(settings))
    rows = found.rows.astype(np.uint32)[anchors.documents]
    return AnchoredTexts(
        texts, found.hashes, starts, lengths, Anchors(anchors.hashes, rows, anchors.places), found.replaced
    )


def anchor_keys(hashes: Hashes, settings: Settings) -> npt.NDArray[np.int32]:
    """Return the keys of anchors in the table `anchors`: nobody who does not know the seed can choose them."""
    mixed = splitmix64(hashes ^ splitmix64(np.array([settings.seed], np.uint64)))
    return (mixed >> np.uint64(32)).astype(np.uint32).view(np.int32)


def keys_of_texts(texts: pa.Array, settings: Settings) -> tuple[Places, npt.NDArray[np.int32]]:
    """Return the keys of texts: those of text i are keys[offsets[i]:offsets[i+1]]; some may be there twice.

    Examples
    --------
    >>> from twinset.options.index import IndexOptions
    >>> settings = Settings.create(IndexOptions.of(passages=3, seed=1))
    >>> offsets, keys = keys_of_texts(pa.array(["a rose is a rose", "two words", "So, is a ROSE!"]), settings)
    >>> offsets.tolist(), len(np.intersect1d(keys[:offsets[1]], keys[offsets[2]:]))
    ([0, 2, 2, 3], 1)
    """
    anchors = anchored(texts, settings).anchors
    counts = np.bincount(anchors.documents, minlength=len(texts))
    return offsets_of(counts), anchor_keys(anchors.hashes, settings)
