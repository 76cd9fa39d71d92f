"""Find reports of the same event in different words: embeddings of texts, and Twinset for the vectors.

Shingles find the same text, not the same story. Here the embedding is made on the spot: latent semantic analysis, a
singular value decomposition of the words of the texts themselves. It is small and knows no language, so it only finds
what shares rare words with the same neighbours. A model that was trained on much text takes its place in one line:

    vectors = model.encode(texts)       # any model that gives a vector per text

Usage: python same_story.py [FILE.npy]      also writes the vectors, for twinset pairs FILE.npy --vectors
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import twinset
from twinset.textbook import tokens

DIMENSIONS, THRESHOLD = 6, 0.8
REPORTS = [json.loads(line) for line in (Path(__file__).parent / "same_story.jsonl").read_text("utf-8").splitlines()]
NAMES = [row["id"] for row in REPORTS]
TEXTS = [f"{row['headline']}. {row['text']}" for row in REPORTS]


def embeddings(texts: list[str], dimensions: int) -> np.ndarray:
    """Return a vector of length 1 for each text: counts of words, weighted by rarity, reduced by an SVD."""
    counts = [Counter(tokens(text.lower())) for text in texts]
    documents = Counter(word for one in counts for word in one)
    words = [word for word, number in documents.items() if 2 <= number <= len(texts) / 3]
    weights = np.log(len(texts) / np.array([documents[word] for word in words]))
    matrix = np.array([[np.log1p(one[word]) for word in words] for one in counts]) * weights
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    vectors = left[:, :dimensions] * sizes[:dimensions]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def told(pairs: set[tuple[str, str]]) -> str:
    """Compare pairs with the truth: reports of one event have the same name before the number."""
    same = {(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :] if a.split("-")[0] == b.split("-")[0]}
    return f"{len(pairs & same)} of {len(same)} pairs of the same event, {len(pairs - same)} others"


def main() -> None:
    """Compare shingles with embeddings."""
    for shingle in ("word:3", "word:1"):
        found = twinset.find_pairs(dict(zip(NAMES, TEXTS, strict=True)), shingle=shingle, threshold=0.3)
        print(f"{shingle} at 0.3: {told({(row['left'], row['right']) for row in found.pairs.to_pylist()})}")

    vectors = embeddings(TEXTS, DIMENSIONS)
    found = twinset.find_pairs(vectors, vectors=True, threshold=THRESHOLD)
    pairs = {(NAMES[int(row["left"])], NAMES[int(row["right"])]) for row in found.pairs.to_pylist()}
    print(f"embeddings at {THRESHOLD}: {told(pairs)}")

    done = twinset.dedup(vectors, vectors=True, threshold=THRESHOLD, cluster="components")
    removed = {row["id"]: row["because_of"] for row in done.removed.to_pylist()}
    for number, name in enumerate(NAMES):
        if str(number) not in removed:
            others = ", ".join(NAMES[int(one)] for one, kept in removed.items() if kept == str(number))
            print(f"{name}: {REPORTS[number]['headline']} (also: {others or 'none'})")
    if len(sys.argv) > 1:
        np.save(sys.argv[1], vectors)


if __name__ == "__main__":
    main()
