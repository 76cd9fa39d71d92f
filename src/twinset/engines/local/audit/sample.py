"""Choose the audit sample: by content hash and seed, sized by work, so that it is deterministic."""

import numpy as np

from twinset.compiled.bytes_kernels import splitmix64
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.steps.candidates import distinct_contents
from twinset.engines.local.steps.sketch import WorkOptions
from twinset.schema import Flags, Hashes, Numbers

MOST_DOCUMENTS = 2**32 - 1
PILOT = 256
"""Documents compared first, to estimate the work per document."""

_SMALL_CORPUS = 1 << 19  # shingles: a smaller corpus is audited whole, a larger one by at least as many
_MAX_SHINGLES = 1 << 22  # a larger table exceeds the processor's cache and a small memory budget
_SHARE = 64
_ENTRIES = 1 << 22  # read in about 25 ms, less than a run needs to start
_ENTRIES_A_SHINGLE = 4  # at about 1 ns each; the rest of a run takes about 50 ns per shingle
_MAX_PAIRS = 1 << 22
_MIN_DOCUMENTS = 64
_MAX_CROWDED = 96
_NEARLY_ALL = 0.95
_MARGIN = 0.07  # share of a text, beyond what a pair may differ in, that screening may read


def eligible(corpus: Corpus, copies: Copies) -> tuple[Flags, Flags]:
    """Mark the distinct contents that may be drawn, and those they are compared with: with a border, the other side."""
    distinct = distinct_contents(corpus, copies.first)
    if corpus.border is None:
        return distinct, distinct
    own = np.arange(corpus.documents) < corpus.border
    return distinct & own, distinct & ~own


def drawn(corpus: Corpus, numbers: Numbers, count: int, seed: int) -> Numbers:
    """Draw `count` documents in random order; every prefix of the result is a random sample too.

    The order depends on contents and seed only, not on the order of rows or files.
    """
    keys = draw_keys(corpus.digests[numbers], seed)
    if count < len(keys):
        chosen = np.flatnonzero(keys <= np.partition(keys, count - 1)[count - 1])
    else:
        chosen = np.arange(len(keys))
    order = chosen[np.argsort(keys[chosen], kind="stable")][:count]
    return np.ascontiguousarray(numbers[order])


def most(documents: int, shingles: int, work: int, options: WorkOptions) -> int:
    """Return the maximum sample size: a fixed share of all shingles, or all of a small corpus.

    `shingles` are those of the eligible documents, `work` those of their partners.
    """
    if shingles <= _SMALL_CORPUS:
        return documents
    # A text has several times as many character shingles, and a run takes less time for each.
    characters = options.item_kind == "text" and options.kind == "char"
    target = min(max(work // _SHARE, _SMALL_CORPUS), _MAX_SHINGLES // 2 if characters else _MAX_SHINGLES)
    return max(1, target * documents // shingles)


def draw_keys(digests: Hashes, seed: int) -> Hashes:
    """Return the keys by which documents are drawn, the least first, from their content digests."""
    keys: Hashes = splitmix64(digests[:, 0] ^ splitmix64(digests[:, 1] ^ np.uint64(seed)))
    return keys


def pilot_size(sample: int, documents: int) -> int:
    """Return how many documents of the sample are compared with as many others first."""
    return PILOT if sample == documents else min(PILOT, sample // 2)


def crowd(known: float, threshold: float) -> int:
    """Limit the sample where a few documents share a large part (`known`) of their shingles with others.

    Then screening rules out few documents, as with shingles of a few characters.

    Examples
    --------
    >>> [crowd(known, 0.8) for known in (0.1, 0.5, 0.99)]
    [4294967295, 96, 64]
    """
    if known <= _MARGIN / (1.0 - threshold + _MARGIN):
        return MOST_DOCUMENTS
    return _MAX_CROWDED if known <= _NEARLY_ALL else _MIN_DOCUMENTS


def affordable(count: int, looked: float, partners: int, work: int, own_work: int, pairs: float, most: int) -> int:
    """Return the affordable sample size up to `count`, where comparing two documents reads `looked` entries.

    `work` are the shingles of all partners, `own_work` those the run has compared, `pairs` the pairs per document. The
    result is at most `most`, unless the corpus is small.
    """
    entries = _ENTRIES + _ENTRIES_A_SHINGLE * work + own_work // 4
    many = min(count, entries / max(1e-9, looked * partners), _MAX_PAIRS / max(1e-9, pairs))
    cap = most if work > _SMALL_CORPUS else count
    return min(count, cap, max(_MIN_DOCUMENTS, int(many)))
