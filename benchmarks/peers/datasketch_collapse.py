"""datasketch: each result asks MinHashLSH for those that are shown, and goes under the first that it names."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from datasketch import MinHash, MinHashLSH

from benchmarks.peers.contest import N_HASHES, THRESHOLD, Pairs, run, shingles


def find(texts: list[str], folder: Path, processes: int) -> Callable[[], Pairs]:
    index = MinHashLSH(threshold=THRESHOLD, num_perm=N_HASHES)
    tokens = ([token.encode() for token in shingles(text)] for text in texts)
    folds: list[tuple[int, int]] = []
    for place, sketch in enumerate(MinHash.generator(tokens, num_perm=N_HASHES)):
        near = index.query(sketch)
        if near:
            folds.append((min(near), place))
        else:
            index.insert(place, sketch, check_duplication=False)
    return lambda: folds


if __name__ == "__main__":
    run(find)
