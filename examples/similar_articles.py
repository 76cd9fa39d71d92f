"""Find articles with similar words by tf-idf: a sparse matrix of terms and documents, all pairs and the nearest.

With scikit-learn the matrix is TfidfVectorizer().fit_transform(texts). Here it is made with NumPy and SciPy from texts
that are generated: a twentieth of them are rewritten copies of others, with one word in six replaced.
"""

import numpy as np
from scipy import sparse

import twinset

COUNT, TERMS, COPIED = 20_000, 10_000, 20


def articles(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Make articles of numbered words with Zipf's frequencies: the article and the word of each place in a text."""
    copies = count // COPIED
    generator = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, TERMS + 1))
    lengths = generator.integers(60, 200, count)
    lengths[-copies:] = lengths[:copies]
    words = np.searchsorted(shares / shares[-1], generator.random(lengths.sum()))
    copied = words[: lengths[:copies].sum()].copy()
    replaced = generator.random(len(copied)) < 1 / 6
    copied[replaced] = generator.integers(0, TERMS, int(replaced.sum()))
    words[-len(copied) :] = copied
    return np.repeat(np.arange(count), lengths), words


def weighted(count: int) -> sparse.csr_matrix:
    """Count the words of each article, and weight them by their rarity: tf-idf."""
    owners, words = articles(count)
    weights = sparse.csr_matrix((np.ones(len(words)), (owners, words)), shape=(count, TERMS))
    weights.sum_duplicates()
    frequencies = np.bincount(weights.indices, minlength=TERMS)
    weights.data *= np.log(count / frequencies[weights.indices])
    return weights


def main() -> None:
    """Find pairs of articles, and the nearest of a few."""
    weights = weighted(COUNT)
    print(f"{COUNT:,} articles, {TERMS:,} terms, {weights.nnz / COUNT:.0f} of them in an article")

    found = twinset.find_pairs(weights, threshold=0.6)
    print(found.plan)
    copies = sum(int(row["right"]) - int(row["left"]) == COUNT - COUNT // COPIED for row in found.pairs.to_pylist())
    print(f"{found.summary['pairs']:,} pairs, {copies:,} of them a copy and its original")

    nearest = twinset.find_pairs(weights[:3], against=[weights[3:]], top=2)
    for row in nearest.pairs.to_pylist():
        print(f"near {row['left']}: {row['right']} at {row['similarity']:.2f}")


if __name__ == "__main__":
    main()
