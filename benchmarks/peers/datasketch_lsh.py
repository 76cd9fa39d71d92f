"""datasketch: MinHash.update_batch (through its generator), then MinHashLSH with bands of its choice."""

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
    found: list[tuple[int, int]] = []
    for row, sketch in enumerate(MinHash.generator(tokens, num_perm=N_HASHES)):
        found.extend((row, other) for other in index.query(sketch))
        index.insert(row, sketch, check_duplication=False)
    return lambda: found


if __name__ == "__main__":
    run(find)
