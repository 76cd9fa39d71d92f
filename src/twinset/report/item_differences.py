"""Differences of two items other than texts, for the page: sets, weighted sets, codes, vectors."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import orjson

from twinset.pairs.explain.codes_and_vectors import CodeDifference, VectorDifference
from twinset.pairs.explain.shared import explain_sets, explain_weighted
from twinset.wording import share

MOST = 8_000
"""Characters of a difference shown."""

ELEMENTS, NAME, BITS = 40, 200, 512
"""Elements shown of each group of a weighted set, characters of their names, and bits of a code."""

_GROUPS = {(True, True): "in both", (True, False): "in the {} one only", (False, True): "in the {} one only"}

Sides = tuple[str, str]
KEPT_AND_REMOVED: Sides = ("kept", "removed")
"""What the two items are called."""


def listed(text: str, kind: str) -> str:
    """Format an item given as JSON for reading; a weighted set by descending weight.

    Examples
    --------
    >>> listed('["milk","salt"]', "items"), listed('{"milk":0.5,"salt":2}', "weighted")
    ('milk, salt', 'salt 2, milk 0.5')
    """
    values = orjson.loads(text)
    if kind == "records":
        return " · ".join(values.values())
    if kind == "weighted":
        return ", ".join(f"{name} {weight:g}" for name, weight in sorted(values.items(), key=lambda one: -one[1]))
    return ", ".join(values)


def lines(record: str) -> str:
    """Format a record given as JSON, one column per line.

    Examples
    --------
    >>> lines('{"name":"Ann Hill","city":"York"}')
    'name: Ann Hill\\ncity: York'
    """
    return "\n".join(f"{name}: {value}" for name, value in orjson.loads(record or "{}").items())


def set_difference(left: str, right: str, bag: bool) -> dict[str, Any]:
    """Shared elements of two sets, then those of only one, in the form of a difference."""
    explanation = explain_sets(orjson.loads(left or "[]"), orjson.loads(right or "[]"), bag=bag)
    shared, ours, theirs = (
        ", ".join(one) for one in (explanation.shared, explanation.left_only, explanation.right_only)
    )
    cut = max(map(len, (shared, ours, theirs))) > MOST
    parts: list[list[Any]] = [[1, shared[:MOST]]] if shared else []
    same = not ours and not theirs
    return {
        "hunks": [[0, parts if same else [*parts, [0, f" {ours[:MOST]}", f" {theirs[:MOST]}"]]]],
        "same": same,
        "equal": same,
        "items": True,
        "cut": cut,
    }


def weighted_difference(left: str, right: str, names: Sides = KEPT_AND_REMOVED) -> dict[str, Any]:
    """Elements of two weighted sets, group by group: name, weight in the first one, weight in the other.

    Examples
    --------
    >>> weighted_difference('{"milk":1}', '{"milk":2,"salt":0.5}')["elements"]
    [['in both', [['milk', '1', '2']], 0], ['in the removed one only', [['salt', '', '0.5']], 0]]
    """
    explanation = explain_weighted(orjson.loads(left or "{}"), orjson.loads(right or "{}"))
    groups: list[list[Any]] = []
    for sides, some in groupby(explanation.weights, key=lambda one: (one[1] > 0, one[2] > 0)):
        rows = list(some)
        shown = [[name[:NAME], *(f"{one:g}" if one else "" for one in weights)] for name, *weights in rows[:ELEMENTS]]
        groups.append([_GROUPS[sides].format(names[not sides[0]]), shown, len(rows) - len(shown)])
    same = all(ours == theirs for _, ours, theirs in explanation.weights)
    return {"elements": groups, "same": same, "equal": same, "items": True}


def code_difference(difference: CodeDifference) -> dict[str, Any]:
    """Bits of two codes, with the differing ones marked."""
    parts = [[1, ours] if equal else [0, ours, theirs] for equal, ours, theirs in difference.parts(BITS, row=4)]
    same = difference.left == difference.right
    return {
        "hunks": [[0, parts]], "same": same, "equal": same, "items": True, "mono": True, "cut": difference.bits > BITS,
    }  # fmt: skip


def vector_difference(difference: VectorDifference, names: Sides = KEPT_AND_REMOVED) -> dict[str, Any]:
    """Distance, angle and lengths of two vectors, in one line."""
    facts = [f"distance {difference.distance:.4g}"]
    if difference.cosine is not None and difference.angle is not None:
        facts += [f"cosine {share(difference.cosine)}", f"an angle of {difference.angle:.3g} degrees"]
    facts.append(f"length {difference.left_length:.4g} ({names[0]}) and {difference.right_length:.4g}")
    return {"facts": " · ".join(facts)}


def item_difference(
    difference: CodeDifference | VectorDifference, names: Sides = KEPT_AND_REMOVED
) -> dict[str, Any]:
    """Difference of two codes or vectors."""
    if isinstance(difference, CodeDifference):
        return code_difference(difference)
    return vector_difference(difference, names)
