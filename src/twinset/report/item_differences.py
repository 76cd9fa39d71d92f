"""Two items that are no texts, side by side for the page: sets, weighted sets, codes, vectors."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import orjson

from twinset.pairs.explain.codes_and_vectors import CodeDifference, VectorDifference
from twinset.pairs.explain.shared import explain_sets, explain_weighted
from twinset.wording import share

MOST = 8_000
"""Characters of a difference that is shown."""

ELEMENTS, NAME, BITS = 40, 200, 512
"""Elements of a weighted set that are shown of each group, characters of their names, and bits of a code."""

_GROUPS = {(True, True): "in both", (True, False): "in the kept one only", (False, True): "in the removed one only"}


def listed(text: str, kind: str) -> str:
    """What an item holds, which comes as JSON, to be read: of a weighted set what counts most comes first.

    Examples
    --------
    >>> listed('["milk","salt"]', "items"), listed('{"milk":0.5,"salt":2}', "weighted")
    ('milk, salt', 'salt 2, milk 0.5')
    """
    found = orjson.loads(text)
    if kind == "records":
        return " · ".join(found.values())
    if kind == "weighted":
        return ", ".join(f"{name} {weight:g}" for name, weight in sorted(found.items(), key=lambda one: -one[1]))
    return ", ".join(found)


def lines(record: str) -> str:
    """The columns of a record, which comes as JSON, a line each.

    Examples
    --------
    >>> lines('{"name":"Ann Hill","city":"York"}')
    'name: Ann Hill\\ncity: York'
    """
    return "\n".join(f"{name}: {value}" for name, value in orjson.loads(record or "{}").items())


def sets_apart(left: str, right: str, bag: bool) -> dict[str, Any]:
    """What two sets share, and then what either has alone, in the form of a difference."""
    found = explain_sets(orjson.loads(left or "[]"), orjson.loads(right or "[]"), bag=bag)
    shared, ours, theirs = (", ".join(one) for one in (found.shared, found.left_only, found.right_only))
    cut = max(map(len, (shared, ours, theirs))) > MOST
    parts: list[list[Any]] = [[1, shared[:MOST]]] if shared else []
    same = not ours and not theirs
    return {
        "hunks": [[0, parts if same else [*parts, [0, f" {ours[:MOST]}", f" {theirs[:MOST]}"]]]],
        "same": same,
        "equal": same,
        "cut": cut,
    }


def weights_apart(left: str, right: str) -> dict[str, Any]:
    """The elements of two weighted sets, group by group: name, weight in the kept one, weight in the other.

    Examples
    --------
    >>> weights_apart('{"milk":1}', '{"milk":2,"salt":0.5}')["elements"]
    [['in both', [['milk', '1', '2']], 0], ['in the removed one only', [['salt', '', '0.5']], 0]]
    """
    found = explain_weighted(orjson.loads(left or "{}"), orjson.loads(right or "{}"))
    groups: list[list[Any]] = []
    for sides, some in groupby(found.weights, key=lambda one: (one[1] > 0, one[2] > 0)):
        rows = list(some)
        shown = [[name[:NAME], *(f"{one:g}" if one else "" for one in weights)] for name, *weights in rows[:ELEMENTS]]
        groups.append([_GROUPS[sides], shown, len(rows) - len(shown)])
    same = all(ours == theirs for _, ours, theirs in found.weights)
    return {"elements": groups, "same": same, "equal": same, "items": True}


def codes_apart(found: CodeDifference) -> dict[str, Any]:
    """The bits of two codes, those that differ apart."""
    parts = [[1, ours] if equal else [0, ours, theirs] for equal, ours, theirs in found.parts(BITS, row=4)]
    same = found.left == found.right
    return {
        "hunks": [[0, parts]], "same": same, "equal": same, "items": True, "mono": True, "cut": found.bits > BITS,
    }  # fmt: skip


def vectors_apart(found: VectorDifference) -> dict[str, Any]:
    """What there is to tell of two vectors, in a line."""
    told = [f"distance {found.distance:.4g}"]
    if found.cosine is not None and found.angle is not None:
        told += [f"cosine {share(found.cosine)}", f"an angle of {found.angle:.3g} degrees"]
    told.append(f"length {found.left_length:.4g} (kept) and {found.right_length:.4g}")
    return {"facts": " · ".join(told)}


def apart(found: CodeDifference | VectorDifference) -> dict[str, Any]:
    """Two codes or vectors, side by side."""
    return codes_apart(found) if isinstance(found, CodeDifference) else vectors_apart(found)
