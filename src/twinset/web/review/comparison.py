"""What two documents have in common and where they differ, as values for the page."""

from __future__ import annotations

from typing import Any

import orjson

from twinset.engines.local.steps.shingle import column_options
from twinset.options.items import VECTORS
from twinset.pairs.explain.words import Difference, Stretch
from twinset.report.excerpts import CONTEXT, pair_difference
from twinset.report.item_differences import MOST, Sides, item_difference
from twinset.report.passage_views import PassageTables, passage_pair, segments
from twinset.results.explain import apart_of
from twinset.results.stored import StoredResult
from twinset.web.review.shown import ShownDocuments

LONGEST = 200_000
"""Characters of a text that are compared; of a longer one its beginning."""

PASSAGES = 300
"""Passages of a pair that are shown."""

_COLOURS = 8


def compare(
    recorded: StoredResult, shown: ShownDocuments, left: int, right: int, names: Sides, whole: bool
) -> dict[str, Any]:
    """Compare two documents by place; `whole` shows all equal words too.

    The value of `form` says which other values there are: ``words``, ``columns``, ``elements``, ``facts``,
    ``pictures`` or ``none``.
    """
    kind = recorded.options.item_kind
    if kind == "images":
        return {"form": "pictures"}
    if shown.without_texts:
        return {"form": "none", "why": shown.without_texts}
    if kind in ("codes", *VECTORS):
        difference = apart_of(kind, shown.texts.bytes_of(left), shown.texts.bytes_of(right))
        if difference is None:
            return {"form": "none", "why": "One of the two cannot be read."}
        found = item_difference(difference, names)
        return {"form": "facts" if "facts" in found else "words", **found}
    ours, theirs = shown.texts.text(left), shown.texts.text(right)
    if ours is None or theirs is None:
        return {"form": "none", "why": "There is no text of one of the two."}
    context, most = (None, LONGEST) if whole else (CONTEXT, MOST)
    if kind == "records":
        return {"form": "columns", "columns": _columns(recorded, ours, theirs)}
    shortened = kind == "text" and max(len(ours), len(theirs)) > LONGEST
    if shortened:
        ours, theirs = ours[:LONGEST], theirs[:LONGEST]
    found = pair_difference(kind, ours, theirs, recorded, context, most, names)
    text = theirs[:MOST] if found["same"] and kind == "text" else ""
    return {"form": "elements" if "elements" in found else "words", "shortened": shortened, "text": text, **found}


def _columns(recorded: StoredResult, left: str, right: str) -> list[dict[str, Any]]:
    """The columns of two records, each with its differing words."""
    ours, theirs = orjson.loads(left or "{}"), orjson.loads(right or "{}")
    columns = []
    for column in recorded.options.text_columns:
        one, other = (str(record.get(column.name, ""))[:MOST] for record in (ours, theirs))
        difference = Difference(one, other, column_options(recorded.options, column.shingle))
        parts = [] if one == other else [_part(part) for part in difference.parts()]
        columns.append({"name": column.name, "same": one == other, "value": one, "parts": parts})
    return columns


def _part(part: Stretch) -> list[Any]:
    """A stretch as the page expects it: equal (1) or not (0), both sides, and the number of moved words."""
    return [int(part.words > 0), part.left, part.right, part.moved]


def passages(tables: PassageTables, shown: ShownDocuments, number: int, left: int, right: int) -> dict[str, Any]:
    """The texts of two documents by place, cut at the passages that they share; `number` is the row of their pair."""
    if shown.without_texts:
        return {"form": "none", "why": shown.without_texts}
    ends = int(tables.left[number]), int(tables.right[number])
    read = {ends[0]: shown.texts.text(left), ends[1]: shown.texts.text(right)}
    if None in read.values():
        return {"form": "none", "why": "There is no text of one of the two."}
    pair = passage_pair(tables, number, read, PASSAGES)
    listed = [
        {
            "words": row["words"], "shared": row["shared"], "documents": row["documents"],
            "crowded": bool(row["crowded"]), "colour": "grey" if row["crowded"] else f"c{place % _COLOURS}",
        }
        for place, row in enumerate(pair.rows)
    ]  # fmt: skip
    sides = [
        segments(read[end] or "", spans, folds) for end, spans, folds in zip(ends, pair.spans, pair.folds, strict=True)
    ]
    return {"form": "passages", "passages": listed, "sides": sides, "left_out": pair.left_out}
