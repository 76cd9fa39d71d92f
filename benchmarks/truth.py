"""Exact truth: every pair of a corpus with Jaccard similarity of at least 0.8, found by brute force.

One definition for every contestant: the set of 5-word shingles of `re.findall(r"\\w+", text.lower())`.
Pairs inside the planted families are compared one by one. Whether any other pair reaches the threshold is
checked over the whole corpus with a prefix filter, which is exact: order all shingles by how rare they are;
two sets of similarity >= t must share one of their first |A| - ceil(t |A|) + 1.
Nothing here is taken from Twinset: it shares neither the tokeniser nor the hash with what it judges.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpus import families_path
from benchmarks.writing import kernel

THRESHOLD = 0.8
SHINGLE = 5
_WORD = re.compile(r"\w+")

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ShingleSets:
    """Sorted distinct shingle hashes of every row; those of row i are hashes[starts[i]:starts[i + 1]]."""

    hashes: Hashes
    starts: Rows


def truth_path(corpus: Path) -> Path:
    return corpus.with_suffix(".truth.parquet")


def load_truth(corpus: Path) -> pa.Table:
    """The truth of a corpus (`left`, `right`, `similarity`; rows from 0), computed at the first call."""
    path = truth_path(corpus)
    if not path.exists():
        partial = path.with_suffix(".partial")
        pq.write_table(find_truth(corpus), partial)
        partial.rename(path)
    return pq.read_table(path)


def find_truth(corpus: Path) -> pa.Table:
    sets = read_sets(corpus)
    families = pq.read_table(families_path(corpus))
    n = len(sets.starts) - 1
    family = -1 - np.arange(n)  # a document without copies is a family of its own
    family[families["row"].to_numpy()] = families["family"].to_numpy()
    order = np.argsort(family, kind="stable")
    left, right, similarity = compare_within(sets.hashes, sets.starts, order, family[order], THRESHOLD)
    stray = find_unplanted(sets, family)
    if len(stray):
        left, right = np.append(left, stray[:, 0]), np.append(right, stray[:, 1])
        alike = [jaccard(sets.hashes, sets.starts, int(a), int(b)) for a, b in stray]
        similarity = np.append(similarity, alike)
    by_place = np.lexsort((right, left))
    columns = {"left": left[by_place], "right": right[by_place], "similarity": similarity[by_place]}
    return pa.table(columns)


class _WordHashes(dict[str, int]):
    """Each word hashed once, at its first appearance."""

    def __missing__(self, word: str) -> int:
        value = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        self[word] = value
        return value


def read_sets(corpus: Path) -> ShingleSets:
    words = _WordHashes()
    kept: list[Hashes] = []
    sizes: list[npt.NDArray[np.int64]] = []
    for texts in read_texts(corpus):
        found = [_WORD.findall(text.lower()) for text in texts]
        counts = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        flat = (words[word] for tokens in found for word in tokens)
        tokens = np.fromiter(flat, dtype=np.uint64, count=int(counts.sum()))
        hashes, size = shingle_sets(tokens, counts)
        kept.append(hashes)
        sizes.append(size)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    return ShingleSets(np.concatenate(kept), starts)


def read_texts(corpus: Path) -> Iterator[list[str]]:
    for batch in pq.ParquetFile(corpus).iter_batches(10_000, columns=["text"]):
        yield batch["text"].to_pylist()


@kernel
def mix(x: np.uint64) -> np.uint64:
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@kernel
def shingle_sets(words: Hashes, counts: Rows) -> tuple[Hashes, Rows]:
    """Sorted distinct hashes of the 5-grams of each run of words; a short document is one shingle."""
    out = np.empty(len(words), dtype=np.uint64)
    sizes = np.empty(len(counts), dtype=np.int64)
    at, start = 0, 0
    for document in range(len(counts)):
        n = counts[document]
        grams = max(1, n - SHINGLE + 1) if n else 0
        found = np.empty(grams, dtype=np.uint64)
        for i in range(grams):
            h = np.uint64(0)
            for j in range(min(n, SHINGLE)):
                h = mix(h * np.uint64(0x9E3779B97F4A7C15) + words[start + i + j])
            found[i] = h
        found.sort()
        size = 0
        for i in range(grams):
            if i == 0 or found[i] != found[i - 1]:
                out[at + size] = found[i]
                size += 1
        sizes[document] = size
        at += size
        start += n
    return out[:at].copy(), sizes


@kernel
def jaccard(hashes: Hashes, starts: Rows, a: int, b: int) -> float:
    i, end_i, j, end_j = starts[a], starts[a + 1], starts[b], starts[b + 1]
    total = end_i - i + end_j - j
    shared = 0
    while i < end_i and j < end_j:
        if hashes[i] == hashes[j]:
            shared += 1
            i += 1
            j += 1
        elif hashes[i] < hashes[j]:
            i += 1
        else:
            j += 1
    return shared / (total - shared) if total else 0.0


@kernel
def compare_within(
    hashes: Hashes, starts: Rows, order: Rows, family: Rows, threshold: float
) -> tuple[Rows, Rows, npt.NDArray[np.float64]]:
    """Every pair inside a run of equal `family` values, kept when alike enough."""
    room = 0
    for keeping in range(2):
        left = np.empty(room, dtype=np.int64)
        right = np.empty(room, dtype=np.int64)
        similarity = np.empty(room, dtype=np.float64)
        at = 0
        for i in range(len(order)):
            j = i + 1
            while j < len(order) and family[j] == family[i]:
                alike = jaccard(hashes, starts, order[i], order[j])
                if alike >= threshold:
                    if keeping:
                        left[at] = min(order[i], order[j])
                        right[at] = max(order[i], order[j])
                        similarity[at] = alike
                    at += 1
                j += 1
        room = at
    return left, right, similarity


def find_unplanted(sets: ShingleSets, family: Rows) -> Rows:
    """Pairs of different families that reach the threshold all the same, by a prefix filter."""
    rarity = np.bincount((sets.hashes >> np.uint64(40)).astype(np.int64), minlength=1 << 24)
    keys, rows = rare_prefixes(sets.hashes, sets.starts, rarity, THRESHOLD)
    order = np.argsort(keys, kind="stable")
    suspects = meet(keys[order], rows[order], family)
    pairs = np.unique(np.sort(suspects, axis=1), axis=0)
    alike = [jaccard(sets.hashes, sets.starts, int(a), int(b)) >= THRESHOLD for a, b in pairs]
    return np.asarray(pairs[np.array(alike, dtype=bool)])


@kernel
def rare_prefixes(hashes: Hashes, starts: Rows, rarity: Rows, threshold: float) -> tuple[Hashes, Rows]:
    """The rarest shingles of each row, as many as the filter needs, with their row."""
    room = 0
    for row in range(len(starts) - 1):
        size = starts[row + 1] - starts[row]
        room += size - np.int64(np.ceil(threshold * size)) + 1 if size else 0
    keys = np.empty(room, dtype=np.uint64)
    rows = np.empty(room, dtype=np.int64)
    at = 0
    for row in range(len(starts) - 1):
        size = starts[row + 1] - starts[row]
        if not size:
            continue
        found = np.empty(size, dtype=np.uint64)
        for i in range(size):
            h = hashes[starts[row] + i]
            often = min(rarity[np.int64(h >> np.uint64(40))], 0xFFFF)
            found[i] = (np.uint64(often) << np.uint64(48)) | (h & np.uint64(0xFFFFFFFFFFFF))
        found.sort()
        for i in range(size - np.int64(np.ceil(threshold * size)) + 1):
            keys[at] = found[i]
            rows[at] = row
            at += 1
    return keys, rows


@kernel
def meet(keys: Hashes, rows: Rows, family: Rows) -> Rows:
    """Pairs of rows of different families under one key; keys are sorted."""
    room = 0
    for keeping in range(2):
        found = np.empty((room, 2), dtype=np.int64)
        at = 0
        for i in range(len(keys)):
            j = i + 1
            while j < len(keys) and keys[j] == keys[i]:
                if family[rows[i]] != family[rows[j]]:
                    if keeping:
                        found[at, 0] = rows[i]
                        found[at, 1] = rows[j]
                    at += 1
                j += 1
        room = at
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Compute the truth of a generated corpus.")
    parser.add_argument("corpus", type=Path)
    truth = load_truth(parser.parse_args().corpus)
    print(f"{len(truth):,} pairs at Jaccard >= {THRESHOLD}")


if __name__ == "__main__":
    main()
