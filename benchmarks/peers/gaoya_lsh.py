"""gaoya: its own word analyzer, parallel insertion, then a parallel query with every document."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gaoya.minhash import MinHashStringIndex

from benchmarks.peers.contest import N_BANDS, ROWS_PER_BAND, THRESHOLD, Pairs, run


def find(texts: list[str], folder: Path, processes: int) -> Callable[[], Pairs]:
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=N_BANDS,
        band_size=ROWS_PER_BAND,
        analyzer="word",
        lowercase=True,
        ngram_range=(5, 5),
        id_container="vec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    found = index.par_bulk_query(texts)
    return lambda: ((row, other) for row, others in enumerate(found) for other in others)


if __name__ == "__main__":
    run(find)
