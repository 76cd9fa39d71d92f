"""Reference definitions in plain Python, written to be read.

Everything follows the textbook, and nothing is fast. The tests compare the kernels with it. In the order of the story:

    words          text, normalised and split into words
    shingling      runs of words or characters
    sets           Jaccard similarity, of sets, bags and weighted sets; the characteristic matrix
    search         the naive search: all pairs compared
    hash_families  hash functions, good and bad
    minhash        by permutation, by hashing rows, by the k smallest values of one hash
    traces         the same step by step, each state of the table
    banding        candidates, and the probability that a pair becomes one
    codes          bit codes: Hamming distance, SimHash, probing
    vectors        cosine, hyperplanes, distance
    vector_hashes  p-stable strips, cross-polytopes, the order of probing
    learned_codes  spectral hashing and ITQ (with NumPy)
    grouping       leaders and connected components

The page docs/textbook.md explains the steps with them.
"""

from twinset.textbook import (
    banding,
    codes,
    grouping,
    hash_families,
    learned_codes,
    minhash,
    search,
    sets,
    shingling,
    traces,
    vector_hashes,
    vectors,
    words,
)
from twinset.textbook.banding import *  # noqa: F403
from twinset.textbook.codes import *  # noqa: F403
from twinset.textbook.grouping import *  # noqa: F403
from twinset.textbook.hash_families import *  # noqa: F403
from twinset.textbook.learned_codes import *  # noqa: F403
from twinset.textbook.minhash import *  # noqa: F403
from twinset.textbook.search import *  # noqa: F403
from twinset.textbook.sets import *  # noqa: F403
from twinset.textbook.shingling import *  # noqa: F403
from twinset.textbook.traces import *  # noqa: F403
from twinset.textbook.vector_hashes import *  # noqa: F403
from twinset.textbook.vectors import *  # noqa: F403
from twinset.textbook.words import *  # noqa: F403

_CHAPTERS = (
    *(words, shingling, sets, search, hash_families, minhash, traces, banding, codes, vectors),
    *(vector_hashes, learned_codes, grouping),
)
__all__ = [name for chapter in _CHAPTERS for name in chapter.__all__]
