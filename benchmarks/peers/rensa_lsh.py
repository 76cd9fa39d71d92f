"""rensa: full-set RMinHash through its batch calls, then RMinHashLSH; shingled in Python."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rensa import RMinHash, RMinHashLSH

from benchmarks.peers.contest import N_BANDS, N_HASHES, THRESHOLD, Pairs, run, shingles

BATCH = 1_000


def find(texts: list[str], folder: Path, processes: int) -> Callable[[], Pairs]:
    index = RMinHashLSH(THRESHOLD, N_HASHES, N_BANDS)
    sketches: list[RMinHash] = []
    for start in range(0, len(texts), BATCH):
        tokens = [shingles(text) for text in texts[start : start + BATCH]]
        sketches.extend(RMinHash.from_token_sets(tokens, N_HASHES, 42))
    index.insert_many(sketches)
    found = index.query_all(sketches)
    return lambda: ((row, other) for row, others in enumerate(found) for other in others)


if __name__ == "__main__":
    run(find)
