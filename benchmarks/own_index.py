"""One step of an index's life, measured in a process of its own; prints one JSON line.

add HOME SOURCE STORE [FEATURE]   an index is made and the source is added to it, portion by portion
query HOME SOURCE                 texts of the source are asked for, one by one and all together
ask HOME SOURCE FEATURE COUNT     long texts that stand in the source are asked for, one by one

A feature is `plain`, or what the index stores for other questions than similarity: `contained` or `passages`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import twinset

SEED = 1
ALONE, TOGETHER, WARM = 4_000, 10_000, 2_000
QUERY_WORDS, PASSAGE_WORDS, SHARE, WARM_ASKED = 1_000, 30, 0.8, 50
FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "contained": {"contained": True},
    "passages": {"passages": PASSAGE_WORDS},
}


class Clock:
    """A progress that notes when each portion was committed."""

    def __init__(self) -> None:
        self.marks = [(0, time.perf_counter())]

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self.marks = [(0, time.perf_counter())]

    def advance(self, n: int) -> None:
        self.marks.append((self.marks[-1][0] + n, time.perf_counter()))

    def note(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def rate(self, first: float, last: float) -> float:
        """Documents a second between two shares of the whole."""
        total = self.marks[-1][0]
        inside = [mark for mark in self.marks if first * total <= mark[0] <= last * total]
        if len(inside) < 2:
            inside = [self.marks[0], self.marks[-1]]
        return (inside[-1][0] - inside[0][0]) / (inside[-1][1] - inside[0][1])


def add(home: str, source: str, store: str, feature: str = "plain") -> dict[str, Any]:
    clock, more = Clock(), FEATURES[feature]
    with twinset.Index.create(home, threshold=0.8, recall=0.99, store=store, seed=SEED, **more) as index:
        changed = index.add(source, progress=clock)
        facts = index.stats()
    return {
        "documents": changed.added,
        "rate": clock.rate(0.0, 1.0),
        "first": clock.rate(0.0, 0.1),
        "last": clock.rate(0.9, 1.0),
        "bytes": facts["bytes"],
        "bytes_per_document": facts["bytes_per_document"],
    }


def some_texts(source: str) -> list[str]:
    """The texts of two row groups, in random order."""
    rng = np.random.default_rng(SEED)
    with pq.ParquetFile(source) as file:
        groups = rng.choice(file.num_row_groups, min(2, file.num_row_groups), replace=False)
        texts: list[str] = file.read_row_groups(groups.tolist(), columns=["text"])["text"].to_pylist()
    rng.shuffle(texts)
    return texts


def query(home: str, source: str) -> dict[str, Any]:
    texts = some_texts(source)
    chosen = texts[: ALONE + WARM]
    with twinset.Index.open(home, read_only=True) as index:
        for text in chosen[:WARM]:
            index.query(text)
        times, answers = [], 0
        for text in chosen[WARM:]:
            since = time.perf_counter()
            answers += index.query(text).num_rows
            times.append(time.perf_counter() - since)
        many = texts[:TOGETHER]
        rates = []
        for _ in range(3):
            since = time.perf_counter()
            index.query(many)
            rates.append(len(many) / (time.perf_counter() - since))
    return {
        "queries": len(times),
        "answers": answers / len(times),
        "p50": float(np.percentile(times, 50)),
        "p99": float(np.percentile(times, 99)),
        "batch": max(rates),
    }


def ask(home: str, source: str, feature: str, count: str) -> dict[str, Any]:
    chosen = long_queries(some_texts(source), int(count) + WARM_ASKED)
    times, answers = [], []
    with twinset.Index.open(home, read_only=True) as opened:
        index: Any = opened
        find = index.passages if feature == "passages" else partial(index.query, contained=SHARE)
        for text in chosen:
            since = time.perf_counter()
            found = find(text)
            times.append(time.perf_counter() - since)
            answers.append(found.num_rows)
    times, answers = times[WARM_ASKED:], answers[WARM_ASKED:]
    return {
        "queries": len(times),
        "answers": sum(answers) / len(times),
        "answered": sum(rows > 0 for rows in answers),
        "p50": float(np.percentile(times, 50)),
        "p99": float(np.percentile(times, 99)),
    }


def long_queries(texts: list[str], count: int) -> list[str]:
    """Texts of 1,000 words: every second one a part of one text, the others several texts in a row."""
    wanted = (count + 1) // 2
    long: list[str] = []
    several: list[str] = []
    row: list[str] = []
    for text in texts:
        words = text.split()
        if len(words) >= QUERY_WORDS and len(long) < wanted:
            middle = (len(words) - QUERY_WORDS) // 2
            long.append(" ".join(words[middle : middle + QUERY_WORDS]))
        elif len(words) < QUERY_WORDS and len(several) < wanted:
            row += words
            if len(row) >= QUERY_WORDS:
                several.append(" ".join(row[:QUERY_WORDS]))
                row = []
    return [text for both in zip(long, several, strict=False) for text in both][:count]


def peak() -> int:
    """The most memory that this program has held: what getrusage says counts the one that started it, too."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def main() -> None:
    step, *words = sys.argv[1:]
    steps: dict[str, Callable[..., dict[str, Any]]] = {"add": add, "query": query, "ask": ask}
    found = steps[step](*words)
    found["peak"] = peak()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
