"""rapidfuzz: each result against those that are shown, by the similarity of their characters (fuzz.ratio)."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rapidfuzz import fuzz, process

from benchmarks.peers.contest import THRESHOLD, Pairs, run


def find(texts: list[str], folder: Path, processes: int) -> Callable[[], Pairs]:
    heads: list[tuple[int, str]] = []
    folds: list[tuple[int, int]] = []
    for place, text in enumerate(text.lower() for text in texts):
        choices = (head for _, head in heads)
        near = next(process.extract_iter(text, choices, scorer=fuzz.ratio, score_cutoff=100 * THRESHOLD), None)
        if near is not None:
            folds.append((heads[near[2]][0], place))
        else:
            heads.append((place, text))
    return lambda: folds


if __name__ == "__main__":
    run(find)
