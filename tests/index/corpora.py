"""Texts of known similarity, and texts of every kind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from tests import oracles

Row = tuple[Any, ...]


def words(count: int, name: str) -> list[str]:
    """So many words that no other name gives."""
    return [f"{name}{number}" for number in range(count)]


def at(similarity: float, size: int, name: str) -> tuple[str, str]:
    """Two texts of `size` distinct words each whose Jaccard similarity in ``word:1`` is as near as can be."""
    shared = round(2 * size * similarity / (1 + similarity))
    both = words(shared, name)
    return tuple(" ".join([*both, *words(size - shared, f"{name}{side}")]) for side in "lr")  # type: ignore[return-value]


def families(count: int, seed: int = 1, size: int = 5) -> dict[str, str]:
    """Families of texts that differ in a word here and there, of several scripts; some are the same, some are empty."""
    dice = random.Random(seed)
    found: dict[str, str] = {}
    latin, han, marked = ["Rose", "is", "a", "GARDEN", "of", "the"], [*"東京大学日本語"], ["Cafe\u0301", "ΣΑΣ"]
    for number in range(count):
        if number % size == 0:
            chosen = dice.choice((latin, latin, han, marked))
            base = [dice.choice(chosen) + (str(dice.randrange(90)) if dice.random() < 0.7 else "") for _ in range(40)]
        copy = list(base)
        for _ in range(dice.choice((0, 1, 1, 2, 4))):
            copy[dice.randrange(len(copy))] = f"other{dice.randrange(9)}"
        joined = dice.choice((" ", " ", "  ", "\n")).join(copy[: dice.choice((40, 40, 40, 30, 3))])
        found[f"d{number}"] = "" if number % 23 == 22 else joined
    return found


def rows(table: pa.Table) -> list[Row]:
    """The answers to one query: id and scores."""
    return [(row["id"], *oracles.scores_in(row, "answer")) for row in table.to_pylist()]


def rows_by_query(table: pa.Table) -> dict[str, list[Row]]:
    """The answers to many."""
    found: dict[str, list[Row]] = {}
    for query, row in zip(table.column("query").to_pylist(), rows(table), strict=True):
        found.setdefault(query, []).append(row)
    return found


def same(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether answers are the same, in the same order, their scores to the last digits."""
    return [row[0] for row in found] == [row[0] for row in expected] and all(
        abs(one - other) <= 1e-12
        for left, right in zip(found, expected, strict=True)
        for one, other in zip(left[1:], right[1:], strict=True)
    )


@cache
def _set(text: str, shingle: str, steps: tuple[tuple[str, bool], ...]) -> frozenset[Any]:
    return oracles.shingle_set(text, shingle, **dict(steps))


@cache
def _slots(
    text: str, shingle: str, steps: tuple[tuple[str, bool], ...], sketch: str, n_hashes: int, seed: int
) -> list[int]:
    hashes = oracles.shingle_hashes(text, seed, shingle, **dict(steps))
    return oracles.kperm(hashes, n_hashes, seed) if sketch == "kperm" else oracles.fss(hashes, n_hashes)


class Model:
    """What an index of these texts has to answer, worked out in plain Python; `options` are those of its settings."""

    def __init__(self, texts: dict[str, str], options: Any) -> None:
        self.options, self.texts = options, texts
        names = ("bag", "lowercase", "nfc", "squeeze", "spaces", "split")
        self.steps = tuple((name, getattr(options, name)) for name in names)
        self.sets = {id: self.set(text) for id, text in texts.items()}
        self.keys = {id: self.stored_keys(text) for id, text in texts.items()}

    def set(self, text: str) -> frozenset[Any]:
        return _set(text, self.options.shingle, self.steps)

    def slots(self, text: str) -> list[int]:
        chosen = self.options
        return _slots(text, chosen.shingle, self.steps, chosen.sketch, chosen.n_hashes, chosen.seed)

    def stored_keys(self, text: str) -> list[int]:
        return oracles.stored_keys(self.slots(text), self.options.n_bands, self.options.rows_per_band)

    def candidates(self, text: str) -> set[str]:
        """The documents that share a key with a text; one without shingles has none."""
        asked = set(self.stored_keys(text)) if self.set(text) else set()
        return {id for id, keys in self.keys.items() if self.sets[id] and asked & set(keys)}

    def answers(
        self, text: str, threshold: float = 0.0, k: int | None = None, *, among: set[str] | None = None
    ) -> list[Row]:
        """The true answers, or those `among` some documents."""
        sets = {id: one for id, one in self.sets.items() if among is None or id in among}
        return oracles.answers(sets, self.set(text), threshold, k)

    def nearest(self, text: str, k: int, without: str | None = None) -> list[Row]:
        """The k nearest documents: of those that share a key, else of those that share a slot, else of all."""
        slots, others = self.slots(text), set(self.sets) - {without}
        alike = {id for id in others if self.sets[id] and any(map(int.__eq__, slots, self._slots_of(id)))}
        sure = 1 - 0.01 ** (1 / self.options.n_hashes)
        for among, least in ((self.candidates(text) & others, self.options.threshold), (alike, sure)):
            found = self.answers(text, k=k, among=among)
            if len(found) == k and found[-1][1] >= least:
                return found
        return self.answers(text, k=k, among=others)

    def _slots_of(self, id: str) -> list[int]:
        return self.slots(self.texts[id])
