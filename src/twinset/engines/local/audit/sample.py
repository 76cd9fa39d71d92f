"""Which documents an audit looks at, and how many: drawn by content and seed, counted by work, never by the clock."""

import numpy as np
import numpy.typing as npt

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.steps.sketch import READ
from twinset.schema import Numbers

MOST_DOCUMENTS = 2**32 - 1
PILOT = 256
"""Documents that are tried first, to see how much work a document is."""

_FEW = 1 << 19  # shingles: a corpus of no more is looked at whole, and of a larger one at least as many
_MANY = 1 << 22  # a table of more leaves the processor's cache, and a small memory budget
_PART = 64
_ENTRIES = 1 << 22  # looked at in a fortieth of a second: little beside what a run needs to start
_ENTRIES_A_SHINGLE = 4  # at about a nanosecond each, where all the rest of a run takes some fifty for a shingle
_MOST_PAIRS = 1 << 22
_LEAST_DOCUMENTS = 64
_MOST_CROWDED = 96
_NEARLY_ALL = 0.95
_MARGIN = 0.07  # of a text beyond what a pair leaves it, that may be looked at to tell it apart


def eligible(corpus: Corpus, copies: Copies) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Distinct contents that may be drawn, and those they are compared with.

    Without a border the same; with one, documents of the sources are compared with those of the other side.
    """
    distinct = (copies.first == np.arange(corpus.documents, dtype=np.uint32)) & (corpus.status == READ)
    if corpus.border is None:
        return distinct, distinct
    own = np.arange(corpus.documents) < corpus.border
    return distinct & own, distinct & ~own


def drawn(corpus: Corpus, numbers: Numbers, count: int, seed: int) -> Numbers:
    """`count` of the documents at random, in a random order of which any beginning is a fair sample itself.

    The lot of a document falls by its content, so that the order of the rows and the cut of the files do not matter.
    """
    digests = corpus.digests[numbers]
    lots = _mixed(digests[:, 0] ^ _mixed(digests[:, 1] ^ np.uint64(seed)))
    if count < len(lots):
        chosen = np.flatnonzero(lots <= np.partition(lots, count - 1)[count - 1])
    else:
        chosen = np.arange(len(lots))
    order = chosen[np.argsort(lots[chosen], kind="stable")][:count]
    return np.ascontiguousarray(numbers[order])


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def most(counts: Numbers, work: int, characters: bool = False) -> int:
    """How many documents to draw at most: about a part of the shingles there are, and all of a small corpus.

    `counts` are the shingles of the documents that may be drawn, `work` of those they are compared with. Shingles of
    `characters` are several times as many for the same text, and a run takes less time for each.
    """
    total = int(counts.sum(dtype=np.int64))
    if total <= _FEW:
        return len(counts)
    target = min(max(work // _PART, _FEW), _MANY // 2 if characters else _MANY)
    return max(1, target * len(counts) // total)


def crowd(known: float, threshold: float) -> int:
    """How many documents a sample may have, where a few documents have the share `known` of the shingles of others.

    Where that is much, as with those of a few characters, no document is done with soon, and the sample is kept small.

    Examples
    --------
    >>> [crowd(known, 0.8) for known in (0.1, 0.5, 0.99)]
    [4294967295, 96, 64]
    """
    if known <= _MARGIN / (1.0 - threshold + _MARGIN):
        return MOST_DOCUMENTS
    return _MOST_CROWDED if known <= _NEARLY_ALL else _LEAST_DOCUMENTS


def affordable(count: int, looked: float, partners: int, work: int, own_work: int, pairs: float, most: int) -> int:
    """How many of `count` documents to keep, where one compared with one other has cost `looked` entries.

    `work` is the shingles of all partners, `own_work` those that the run itself has compared, `pairs` how many pairs a
    document has. No more than `most`, unless the corpus is small.
    """
    entries = _ENTRIES + _ENTRIES_A_SHINGLE * work + own_work // 4
    many = min(count, entries / max(1e-9, looked * partners), _MOST_PAIRS / max(1e-9, pairs))
    cap = most if work > _FEW else count
    return min(count, cap, max(_LEAST_DOCUMENTS, int(many)))
