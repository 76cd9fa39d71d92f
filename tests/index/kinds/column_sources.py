"""Records and weighted sets in files, and how similar they are by their definitions."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tests import oracles
from twinset import textbook

Weights = dict[Any, float]


class Columns(NamedTuple):
    """A kind of documents of several columns: the options of its index, and what makes a source of documents."""

    options: dict[str, Any]
    write: Callable[[Path, Mapping[str, Any]], Path]
    documents: dict[str, Any]
    weights: Callable[[Any], Weights]


def _users() -> dict[str, Weights]:
    """Sets whose weights are no sums of powers of two; copies, empty ones, and ids in another order than the rows."""
    dice = random.Random(6)
    found: dict[str, Weights] = {}
    for number in random.Random(2).sample(range(60), 60):
        if number % 3 == 0 or not found:
            found[f"user {number}"] = {f"e{dice.randrange(40)}": round(dice.uniform(0.1, 5), 2) for _ in range(12)}
        else:
            base, more = dice.choice(list(found.values())), 0.1 * (number % 4)
            found[f"user {number}"] = {element: weight + more for element, weight in base.items()}
    found |= {"empty": {}, "é": {"e1": 0.1, "e2": 1e-3}, "Z": {"e1": 0.1, "e2": 1e-3}}
    # As similar as can be, and of very different numbers of elements.
    return {**found, "one": {"e3": 90.0}, "many": {"e3": 90.0, **{f"t{number}": 0.01 for number in range(30)}}}


def write_long(path: Path, documents: Mapping[str, Weights]) -> Path:
    """Write a long table: weights in ten rows each, of which one may be 0, so that they are added up."""
    rows = [
        (id, element, part)
        for id, weights in documents.items()
        for element, weight in (weights or {"e1": 0.0}).items()
        for part in [round(weight / 10, 5)] * 10
    ]
    random.Random(4).shuffle(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("user", "movie", "rating"), *rows])
    return path


def write_lists(path: Path, documents: Mapping[str, Weights]) -> Path:
    """Write lists of elements and of weights: each element three times, the heaviest first, and one of weight 0."""
    rows = (
        {
            "id": id,
            "tags": [*[element for element in weights for _ in range(3)], "zero"],
            "counts": [*[weight * share for weight in weights.values() for share in (0.7, 0.1, 0.2)], 0],
        }
        for id, weights in documents.items()
    )
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return path


def _people() -> dict[str, dict[str, str]]:
    dice = random.Random(9)
    names = ["Anna Meier", "Robert Okafor", "Jun Watanabe", "María del Carmen Ruiz", "Sofía Lindqvist", "李小龍"]
    streets = ["Mill Street 5", "Old Harbour Road 17", "Lindenallee 3", ""]
    found = {}
    for number in random.Random(3).sample(range(60), 60):
        name = list(dice.choice(names))
        for _ in range(dice.randrange(3)):
            name[dice.randrange(len(name))] = dice.choice("aeiou ")
        found[f"p{number}"] = {"name": "".join(name), "street": dice.choice(streets)}
    return {**found, "nobody": {"name": "", "street": " "}}


def write_records(path: Path, documents: Mapping[str, Mapping[str, str]]) -> Path:
    """Write records with a column that is not compared."""
    rows = ({"id": id, "age": number, **record} for number, (id, record) in enumerate(documents.items()))
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return path


def _record_weights(record: Mapping[str, str]) -> Weights:
    found: Weights = {}
    for column, shingle, weight in (("name", "char:2", 2), ("street", "word:1", 1)):
        if record[column].strip():
            found.update({(column, one): weight for one in textbook.shingles(record[column], shingle)})
    return found


KINDS = {
    "long table": Columns(
        {"group": "user", "item": "movie", "weight": "rating"},
        lambda folder, some: write_long(folder / "ratings.csv", some), _users(), dict,
    ),
    "lists": Columns(
        {"items": "tags", "weight": "counts"}, lambda folder, some: write_lists(folder / "tags.jsonl", some), _users(),
        dict,
    ),
    "records": Columns(
        {"text": ("name,char:2,2", "street"), "shingle": "word:1"},
        lambda folder, some: write_records(folder / "people.jsonl", some), _people(), _record_weights,
    ),
}  # fmt: skip


def nearest(kind: Columns, id: str) -> dict[str, float]:
    """How similar all documents are that share something with one."""
    weights = {one: kind.weights(document) for one, document in kind.documents.items()}
    return {
        other: oracles.weighted_jaccard(weights[id], weights[other])
        for other in weights
        if other != id and weights[id].keys() & weights[other].keys()
    }
