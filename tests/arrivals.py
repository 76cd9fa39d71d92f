"""What must come of arrivals before an index, by the textbook: every two documents compared, nothing sketched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

import twinset
from tests import oracles
from tests.jobs.test_dedup import SPEC, THRESHOLD, sort_key

CERTAIN = {"shingle": SPEC, "threshold": THRESHOLD, "recall": 0.99999, "seed": 7}
"""An index that finds everything, as good as: so what it finds can be held against all that there is."""


class Expected(NamedTuple):
    """The kept document of each arrival, and those that were removed because of an earlier one with their scores."""

    clusters: dict[str, str]
    matched: dict[str, tuple[str, oracles.Scores]]

    @property
    def kept(self) -> list[str]:
        return [name for name, cluster in self.clusters.items() if name == cluster and name not in self.matched]


def expected(
    old: Mapping[str, str],
    arrivals: pa.Table,
    keep: str = "first",
    method: str = "leader",
    threshold: float = THRESHOLD,
) -> Expected:
    """Compare arrivals with the old documents, given in the order in which they were added, and with each other."""
    rows = arrivals.to_pylist()
    sets = {row["id"]: oracles.shingle_set(row["text"], SPEC) for row in rows}
    held = {row["id"] for row in rows if old.get(row["id"]) == (row["text"] or "")}
    theirs = {name: oracles.shingle_set(text, SPEC) for name, text in old.items() if name not in held}
    matched: dict[str, tuple[str, oracles.Scores]] = {}
    for name, ours in sets.items():
        best: tuple[str, oracles.Scores] | None = None
        for other, their in theirs.items():
            if not ours or not their:
                continue
            found = oracles.scores(ours, their)
            if other != name and found[0] >= threshold and (best is None or found[0] > best[1][0]):
                best = other, found
        if best is not None:
            matched[name] = best
    rest = [(number, row) for number, row in enumerate(rows) if row["id"] not in matched]
    order = sorted(rest, key=lambda one: sort_key(one[1], one[0], keep))
    if method != "complete":
        order.sort(key=lambda one: one[1]["id"] not in held)
    rank = {row["id"]: place for place, (_, row) in enumerate(order)}
    pairs = oracles.pairs({row["id"]: row["text"] for _, row in rest}, threshold, shingle=SPEC)
    edges = sorted((max(rank[a], rank[b]), min(rank[a], rank[b])) for a, b in pairs)
    oracle = {"leader": oracles.leaders, "complete": oracles.complete, "components": oracles.components}[method]
    leader = oracle(len(order), edges)
    clusters = {}
    for row in rows:
        name = row["id"]
        clusters[name] = matched[name][0] if name in matched else order[leader[rank[name]]][1]["id"]
    return Expected(clusters, matched)


def split(table: pa.Table, share: float) -> tuple[dict[str, str], pa.Table]:
    """Part of a table as documents of an index, and the rest as arrivals."""
    count = round(len(table) * share)
    old = table.slice(0, count)
    texts = [text or "" for text in old["text"].to_pylist()]
    return dict(zip(old["id"].to_pylist(), texts, strict=True)), table.slice(count)


def new_index(where: str | Path, old: Mapping[str, str], **words: Any) -> str:
    """Make an index of old documents, and close it."""
    with twinset.Index.create(where, **{**CERTAIN, **words}) as index:
        index.add(list(old), list(old.values()))
    return str(where)


def ids_in(where: str | Path) -> list[str]:
    """The ids of an index in the order of adding, once it was found to be sound."""
    with twinset.Index.open(where, read_only=True) as index:
        assert index.verify() == []
        return list(index)


def table_of(rows: Iterable[tuple[str, str | None]]) -> pa.Table:
    """A table of ids and texts."""
    return pa.Table.from_pylist(
        [{"id": id, "text": text} for id, text in rows], pa.schema([("id", pa.string()), ("text", pa.string())])
    )
