"""SimHash against MinHash at equal bits: how well codes tell near-copies from all other pairs of a corpus.

The truth is exact and shares no code with Twinset (`truth.py`). A code of k bits is SimHash by count, SimHash by
tf-idf, or the lowest bit of each of k MinHash slots (Li, König: b-Bit Minwise Hashing, WWW 2010), which differs with
probability (1 - J) / 2. All are compared by Hamming distance, over all pairs of the corpus.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

import twinset
from benchmarks import truth
from benchmarks.corpus import families_path
from twinset.candidates.hamming.join import Join
from twinset.documents.normalize import normalize
from twinset.options import ShingleOptions
from twinset.schema import Codes, Shingles
from twinset.shingles.texts import shingle
from twinset.sketches.minhash import sketch

SEED = 1
EDGES = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)

Places = npt.NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    corpus = parser.parse_args().corpus
    left, right, similarity = _known(corpus)
    documents = pq.read_metadata(corpus).num_rows
    true = similarity >= truth.THRESHOLD
    within_bins = [_bin(similarity, number) for number in range(len(EDGES))]
    methods = []
    for name, codes in _codes(corpus, documents):
        bits = 64 * codes.shape[1]
        distances = _ones(codes[left] ^ codes[right])
        every = np.zeros(bits * 3 // 8 + 1, np.int64)  # unrelated pairs differ in half of the bits
        for portion in Join.within(codes, len(every) - 1).pairs():
            every += np.bincount(portion.distances, minlength=len(every))
        found = np.array([np.count_nonzero(true & (distances <= d)) for d in range(len(every))])
        recall, precision = found / np.count_nonzero(true), found / np.maximum(1, np.cumsum(every))
        methods.append(
            {
                "name": name,
                "recall": recall.tolist(),
                "precision": precision.tolist(),
                "r90": _best(recall, precision >= 0.9),
                "r99": _best(recall, precision >= 0.99),
                "p90": _best(precision, recall >= 0.9),
                "p99": _best(precision, recall >= 0.99),
                "within3": float(recall[3]),
                "by_similarity": [float(np.mean(distances[chosen] <= 3)) for chosen in within_bins],
            }
        )
    bins = [
        (low, high, int(np.count_nonzero(chosen)))
        for (low, high), chosen in zip(zip(EDGES, (*EDGES[1:], 1.0), strict=True), within_bins, strict=True)
    ]
    counts = {"documents": documents, "true": int(true.sum()), "threshold": truth.THRESHOLD, "bins": bins}
    print(json.dumps({**counts, "methods": methods}))


def _known(corpus: Path) -> tuple[Places, Places, npt.NDArray[np.float64]]:
    """Every pair of the planted families with its exact similarity, and whatever else reaches the threshold."""
    sets = truth.read_sets(corpus)
    families = pq.read_table(families_path(corpus))
    family = -1 - np.arange(len(sets.starts) - 1)
    family[families["row"].to_numpy()] = families["family"].to_numpy()
    order = np.argsort(family, kind="stable")
    left, right, similarity = truth.compare_within(sets.hashes, sets.starts, order, family[order], 0.0)
    listed = truth.load_truth(corpus)
    stray = family[listed["left"].to_numpy()] != family[listed["right"].to_numpy()]
    return (
        np.append(left, listed["left"].to_numpy()[stray]),
        np.append(right, listed["right"].to_numpy()[stray]),
        np.append(similarity, listed["similarity"].to_numpy()[stray]),
    )


def _bin(similarity: npt.NDArray[np.float64], number: int) -> npt.NDArray[np.bool_]:
    """Similarities from an edge to below the next; the last is 1 alone."""
    low = EDGES[number]
    high = EDGES[number + 1] if number + 1 < len(EDGES) else 2.0
    return np.asarray((similarity >= low) & (similarity < high))


def _codes(corpus: Path, documents: int) -> Iterator[tuple[str, Codes]]:
    for bits in (64, 128):
        slots = np.empty((documents, bits // 64), np.uint64)
        for rows, shingles in _shingled(corpus):
            lowest = (sketch(shingles, "fss", bits, SEED) & 1).astype(np.uint8)
            slots[rows] = np.packbits(lowest, axis=1).view(np.uint64)
        yield f"SimHash, {bits} bits", _simhash(corpus, bits, "count")
        yield f"SimHash by tf-idf, {bits} bits", _simhash(corpus, bits, "tf-idf")
        yield f"MinHash, {bits} slots of one bit", slots


def _simhash(corpus: Path, bits: int, weights: str) -> Codes:
    """What `twinset sketch --sketch simhash` writes; no document of the corpus is empty."""
    found = twinset.sketch(corpus, sketch="simhash", bits=bits, weights=weights, seed=SEED).table["code"]
    if bits == 64:
        return found.to_numpy().astype(np.uint64).reshape(-1, 1)
    return np.frombuffer(b"".join(found.to_pylist()), ">u8").astype(np.uint64).reshape(-1, bits // 64)


def _shingled(corpus: Path) -> Iterator[tuple[Places, Shingles]]:
    """The shingles of a corpus, with the rows of the file that they are of."""
    first = 0
    for batch in pq.ParquetFile(corpus).iter_batches(5_000, columns=["text"]):
        for texts in normalize(batch["text"]).texts:
            for portion in shingle(texts, ShingleOptions.of(shingle="word:5"), SEED):
                yield first + portion.rows, portion
        first += len(batch)


def _ones(codes: Codes) -> Places:
    bits = np.unpackbits(np.ascontiguousarray(codes).view(np.uint8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.int64))


def _best(values: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_]) -> float:
    return float(values[allowed].max(initial=0.0))


if __name__ == "__main__":
    main()
