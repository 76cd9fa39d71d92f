"""Reference definitions in plain Python, written to be read.

Everything follows the textbook, and nothing is fast. The tests compare the kernels with it. In the order of the story:

    words          text, normalised and split into words
    shingling      runs of words or characters
    sets           Jaccard similarity, of sets, bags and weighted sets; the characteristic matrix
    search         the naive search: all pairs compared
    hash_families  hash functions, good and bad
    minhash        by permutation, by hashing rows, by the k smallest values of one hash
    banding        candidates, and the probability that a pair becomes one
    codes          bit codes: Hamming distance, SimHash, probing
    vectors        cosine, hyperplanes, distance
    grouping       leaders and connected components

The page docs/textbook.md tells the story with them.
"""

from twinset.textbook.banding import band_probability, band_step, bands_by_step, candidates, table_probability
from twinset.textbook.codes import hamming_distance, pairs_within, probe_probability, probes, simhash
from twinset.textbook.grouping import complete_clusters, connected_components, leader_clusters
from twinset.textbook.hash_families import collision_probability, hashed, universal_hash, xor_chances, xor_hashes
from twinset.textbook.minhash import (
    bottom_k,
    bottom_k_similarity,
    minhash_by_permutation,
    minhash_by_row_hashing,
    minhash_signature,
    signature_error,
    signature_similarity,
)
from twinset.textbook.search import all_pairs, most_similar
from twinset.textbook.sets import characteristic_matrix, containment, jaccard, jaccard_distance, weighted_jaccard
from twinset.textbook.shingling import Shingle, bag_as_set, shingle_list, shingles
from twinset.textbook.vectors import (
    angle,
    cosine,
    cosine_of_distance,
    euclidean_distance,
    hyperplane_agreement,
    hyperplane_bit,
    hyperplane_bits,
    near_or_far,
)
from twinset.textbook.words import is_single, is_word_character, normalize, squeeze, tokens

__all__ = [
    "Shingle",
    "all_pairs",
    "angle",
    "bag_as_set",
    "band_probability",
    "band_step",
    "bands_by_step",
    "bottom_k",
    "bottom_k_similarity",
    "candidates",
    "characteristic_matrix",
    "collision_probability",
    "complete_clusters",
    "connected_components",
    "containment",
    "cosine",
    "cosine_of_distance",
    "euclidean_distance",
    "hamming_distance",
    "hashed",
    "hyperplane_agreement",
    "hyperplane_bit",
    "hyperplane_bits",
    "is_single",
    "is_word_character",
    "jaccard",
    "jaccard_distance",
    "leader_clusters",
    "minhash_by_permutation",
    "minhash_by_row_hashing",
    "minhash_signature",
    "most_similar",
    "near_or_far",
    "normalize",
    "pairs_within",
    "probe_probability",
    "probes",
    "shingle_list",
    "shingles",
    "signature_error",
    "signature_similarity",
    "simhash",
    "squeeze",
    "table_probability",
    "tokens",
    "universal_hash",
    "weighted_jaccard",
    "xor_chances",
    "xor_hashes",
]
