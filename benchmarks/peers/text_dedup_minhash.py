"""text-dedup: the fingerprinting and clustering steps of its `minhash` command.

The command itself reads and writes Hugging Face datasets on disk; its two steps are run here as it runs them,
from a data set in memory to hash tables and union-find, with its default hash.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import datasets
import numpy as np
from text_dedup.minhash import INDEX_COLUMN, SEED, SIGNATURE_COLUMN, embed_func
from text_dedup.utils import UnionFind, optimal_param, sha1_hash

from benchmarks.peers.contest import N_HASHES, THRESHOLD, Pairs, pairs_of_groups, run


def find(
    texts: list[str], folder: Path, processes: int, hash_func: Callable[..., int] = sha1_hash
) -> Callable[[], Pairs]:
    bands, rows = optimal_param(THRESHOLD, N_HASHES, false_positive_weight=0.5, false_negative_weight=0.5)
    prime = np.uint64((1 << 61) - 1)
    random = np.random.RandomState(SEED)  # as its command draws them
    permutations = (
        random.randint(1, prime, size=(N_HASHES,), dtype=np.uint64),
        random.randint(0, prime, size=(N_HASHES,), dtype=np.uint64),
    )
    documents = datasets.Dataset.from_dict({"text": texts, INDEX_COLUMN: range(len(texts))})
    embedded = documents.map(
        function=embed_func,
        fn_kwargs={
            "num_perm": N_HASHES,
            "hashranges": [(band * rows, (band + 1) * rows) for band in range(bands)],
            "ngram_size": 5,
            "min_length": 5,
            "permutations": permutations,
            "hash_func": hash_func,
            "dtype": np.uint64,
            "max_hash": np.uint32((1 << 32) - 1),
            "modulo_prime": prime,
        },
        input_columns=["text", INDEX_COLUMN],
        remove_columns=["text"],
        num_proc=processes,
    )
    tables: list[dict[bytes, set[int]]] = [defaultdict(set) for _ in range(bands)]
    for key, signature in zip(embedded[INDEX_COLUMN], embedded[SIGNATURE_COLUMN], strict=True):
        for table, band in zip(tables, signature, strict=True):
            table[band].add(key)
    clusters = UnionFind()
    for table in tables:
        for group in table.values():
            if len(group) > 1:
                first = min(group)
                for member in group:
                    clusters.union(member, first)
    return lambda: pairs_of_groups(group for table in tables for group in table.values())


if __name__ == "__main__":
    datasets.disable_progress_bars()
    run(find)
