"""Rows for both engines, and what the definitions say of them."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tests import oracles

Row = dict[str, Any]
Sets = dict[str, frozenset[Any]]

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("title", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("lang", pa.string()),
        ("stars", pa.int32()),
        ("score", pa.float64()),
        ("day", pa.date32()),
        ("seen", pa.timestamp("us", "UTC")),
    ]
)
_DAYS = [None, *(datetime.date(2024, month, 3) for month in (1, 2, 7)), datetime.date(1931, 5, 5)]
_SEEN = [None, *(datetime.datetime(2024, 3, 1, hour, tzinfo=datetime.UTC) for hour in (1, 9))]


def families(seed: int, count: int = 12, members: int = 5) -> pa.Table:
    """Families of near copies, some identical, with empty texts, nulls and ties in every column of a keep policy."""
    rng = random.Random(seed)
    texts: list[str | None] = ["", "   ", None, " … ", "one", "one", "One"]
    for family in range(count):
        words = [f"w{rng.randrange(400)}" for _ in range(rng.randrange(6, 40))]
        for _ in range(members):
            copy = list(words)
            for _ in range(rng.randrange(4)):
                copy[rng.randrange(len(copy))] = f"f{family}n{rng.randrange(99)}"
            texts.append(" ".join(copy))
    return table_of(texts, rng)


def table_of(texts: list[str | None], rng: random.Random) -> pa.Table:
    """Rows of texts, sorted by ids that were drawn."""
    ids = sorted(f"d{number:06}" for number in rng.sample(range(10**6), len(texts)))
    rng.shuffle(texts)
    return pa.Table.from_pylist([_row(id, text, rng) for id, text in zip(ids, texts, strict=True)], SCHEMA)


def _row(id: str, text: str | None, rng: random.Random) -> Row:
    words = (text or "").split()
    return {
        "id": id,
        "text": text,
        "title": " ".join(words[:6]),
        "tags": None if text is None else words[:12],
        "lang": rng.choice(["de", "en", None]),
        "stars": rng.choice([None, 1, 2, 2, 3]),
        "score": rng.choice([None, float("nan"), -0.5, 2.5, 2.5]),
        "day": rng.choice(_DAYS),
        "seen": rng.choice(_SEEN),
    }


def chains(seed: int) -> pa.Table:
    """A chain, each near the next one only and each better than it, beside families that one round decides."""
    rng = random.Random(seed)
    words = [f"c{number}" for number in range(200)]
    texts: list[str | None] = [" ".join(words[4 * place : 4 * place + 24]) for place in range(30)]
    ids = [f"a{place:03}" for place in range(len(texts))]
    for family in range(15):
        base = [f"f{family}w{number}" for number in range(30)]
        for member in range(6):
            texts.append(" ".join([*base, f"end{member}"]))
            ids.append(f"b{family:02}{member}")
    return pa.Table.from_pylist([_row(id, text, rng) for id, text in zip(ids, texts, strict=True)], SCHEMA)


def templates(seed: int) -> list[str | None]:
    """Texts that share a form of half their words, so that all are about half alike."""
    rng = random.Random(seed)
    form = [f"form{number}" for number in range(40)]
    return [" ".join([*form, *(f"x{rng.randrange(10**6)}" for _ in range(rng.randrange(16, 24)))]) for _ in range(50)]


def long_table(table: pa.Table) -> pa.Table:
    """The tags of some rows, one in each row."""
    rows = [{"user": row["id"], "movie": tag} for row in table.to_pylist() for tag in row["tags"] or []]
    return pa.Table.from_pylist(rows, pa.schema([("user", pa.string()), ("movie", pa.string())]))


# What the rows are by the definitions


def text_sets(table: pa.Table, **words: Any) -> Sets:
    return {row["id"]: oracles.shingle_set(row["text"], **words) for row in table.to_pylist()}


def record_sets(table: pa.Table) -> Sets:
    """The shingles of the columns title (words) and text (three words, twice the weight)."""
    return {row["id"]: frozenset(_of_record(row)) for row in table.to_pylist()}


def _of_record(row: Row) -> Iterator[Any]:
    for column, shingle, weight in (("title", "word:1", 1), ("text", "word:3", 2)):
        for one in oracles.shingle_set(row[column], shingle):
            yield from ((column, copy, one) for copy in range(weight))


def tag_sets(table: pa.Table) -> Sets:
    return {row["id"]: frozenset(row["tags"] or ()) for row in table.to_pylist()}


def group_sets(table: pa.Table) -> Sets:
    found: dict[str, set[str]] = {}
    for row in table.to_pylist():
        found.setdefault(row["user"], set()).add(row["movie"])
    return {user: frozenset(found[user]) for user in sorted(found)}
