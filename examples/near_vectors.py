"""Find near-duplicates among embeddings: all pairs above a cosine with a known recall, and the nearest of each.

The vectors are generated: random directions, some of them with a near-copy. Any .npy file, or a column of lists in a
table, is read in the same way: twinset.find_pairs("embeddings.npy", vectors=True, threshold=0.9).
"""

import math
import tempfile
from pathlib import Path

import numpy as np

import twinset

COUNT, DIMENSIONS, COPIES = 20_000, 64, 500


def embeddings() -> np.ndarray:
    """Make vectors whose last 500 have a cosine of 0.95 with the first 500."""
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(COUNT, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    first = vectors[:COPIES]
    aside = generator.normal(size=first.shape)
    aside -= (aside * first).sum(axis=1, keepdims=True) * first
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    vectors[-COPIES:] = 0.95 * first + math.sqrt(1 - 0.95**2) * aside
    return vectors.astype(np.float32)


def main() -> None:
    """Find pairs, keep one of each, and find the nearest of a few."""
    vectors = embeddings()
    found = twinset.find_pairs(vectors, vectors=True, threshold=0.9, recall=0.95)
    print(found.plan)
    print(f"{found.summary['pairs'] / COPIES:.0%} of the copies found, at cosines from "
          f"{min(found.pairs['similarity'].to_pylist()):.3f}")  # fmt: skip
    audit = found.summary["audit"]
    if audit["recall"] is not None:
        print(f"an audit of {audit['documents']} vectors says: recall {audit['low']:.2f} to {audit['high']:.2f}")

    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "vectors.npy"), vectors)
        done = twinset.dedup(Path(folder, "vectors.npy"), vectors=True, threshold=0.9, output=Path(folder, "clean"))
        kept = np.load(Path(folder, "clean", "kept", "vectors.npy"))
        print(f"{done.summary['kept']:,} of {COUNT:,} kept, as an array of {kept.shape[1]} columns of {kept.dtype}")

    nearest = twinset.find_pairs(vectors[:3], vectors=True, against=[vectors[3:]], top=2)
    for row in nearest.pairs.to_pylist():
        print(f"near {row['left']}: {row['right']} at {row['similarity']:.2f}")


if __name__ == "__main__":
    main()
