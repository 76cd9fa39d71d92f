"""Document contents for a report: lists of ids, excerpts, and differences of selected clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.options.items import VECTORS
from twinset.options.results import ReportOptions
from twinset.pairs.explain.words import Difference, Stretch
from twinset.report import item_differences
from twinset.report.item_differences import MOST
from twinset.report.numbers import Numbers, Whole, scaled
from twinset.results.explain import apart_of, kept_numbers
from twinset.results.stored import StoredResult
from twinset.schema import SCORES, ScoreColumn

MEMBERS = 6
"""Removed documents per cluster shown with their difference: the least similar ones."""

EXCERPTS, EXCERPT = 20_000, 160
"""Documents listed with an excerpt, and characters of an excerpt."""

READ = 200_000_000
"""Characters of texts read for excerpts; documents beyond are listed without one."""

LONGEST, COMPARED = 500_000, 20_000_000
"""Maximum characters of a compared text, and of all compared texts."""

CONTEXT = 10


def lists(numbers: Numbers, options: ReportOptions) -> dict[str, Any]:
    """The data of the page: clusters, removed documents, excerpts and differences."""
    recorded = numbers.recorded
    largest, doubtful = numbers.largest(options.clusters), numbers.doubtful(options.clusters)
    chosen = sorted({*largest, *doubtful})
    members = {cluster: _least_similar(numbers, cluster) for cluster in chosen}
    rows = _rows(numbers, options.rows, [row for listed in members.values() for row in listed])
    clusters = _clusters(numbers, options.rows, chosen)
    place_of_cluster = np.full(numbers.clusters, -1, np.int64)
    place_of_cluster[clusters] = np.arange(len(clusters))
    removed = recorded.removed.take(pa.array(rows))
    columns, limit = SCORES[recorded.options.measure], recorded.options.threshold
    data: dict[str, Any] = {
        "clusters": {
            "id": numbers.kept_ids.take(pa.array(clusters)).to_pylist(),
            "size": numbers.sizes[clusters].tolist(),
            "least": scaled(numbers.least[clusters], limit),
            **({"distance": numbers.farthest[clusters].tolist()} if numbers.by_distance else {}),
            "total": numbers.clusters,
        },
        "removed": {
            "id": removed["id"].to_pylist(),
            "cluster": place_of_cluster[numbers.cluster_of[rows]].tolist(),
            "similarity": scaled(numbers.similarity[rows], limit),
            **{column.removed: _values(removed, column) for column in columns},
            "columns": [[column.removed, column.shown, column.caption] for column in columns],
            "total": len(numbers.cluster_of),
        },
        "excerpts": {"kept": {}, "removed": {}},
        "differences": {},
    }
    # A removed document whose cluster is not listed still names the kept one.
    unlisted = [place for place, cluster in enumerate(data["removed"]["cluster"]) if cluster < 0]
    names = recorded.removed["because_of"].take(pa.array(rows[unlisted])) if unlisted else pa.array([], pa.string())
    data["removed"]["kept"] = dict(zip(map(str, unlisted), names.to_pylist(), strict=True))
    if options.texts and recorded.options.images:
        from twinset.report.thumbnails import add_pictures  # loads kernels, so only where needed

        add_pictures(data, numbers, rows, clusters, members)
    elif options.texts and recorded.options.item_kind in ("text", "records", "items", "groups", "weighted"):
        _add_texts(data, numbers, rows, clusters, members)
    elif options.texts and recorded.options.item_kind in ("codes", *VECTORS) and recorded.sources.lasting:
        _add_items(data, numbers, rows, members)
    return data


def _values(removed: pa.Table, column: ScoreColumn) -> list[Any]:
    """The values of a score column, shares as the page expects them."""
    values = removed[column.removed]
    return scaled(np.asarray(values)) if column.shown == "share" else values.to_pylist()


def _least_similar(numbers: Numbers, cluster: int) -> list[int]:
    inside = np.flatnonzero(numbers.cluster_of == cluster)
    rows: list[int] = inside[np.argsort(numbers.similarity[inside], kind="stable")[:MEMBERS]].tolist()
    return rows


def _rows(numbers: Numbers, most: int, needed: list[int]) -> Whole:
    """The removed documents to list: the first ones, and those shown with their difference."""
    first = np.arange(min(most, len(numbers.cluster_of)))
    return np.union1d(first, np.array(needed, np.int64))


def _clusters(numbers: Numbers, most: int, needed: list[int]) -> Whole:
    """The clusters to list: the largest ones, and those shown with differences; in their own order."""
    return np.union1d(np.array(numbers.largest(most), np.int64), np.array(needed, np.int64))


def _add_texts(
    data: dict[str, Any], numbers: Numbers, rows: Whole, clusters: Whole, members: dict[int, list[int]]
) -> None:
    """Add excerpts and differences. All texts are read at once, because each read scans the sources."""
    recorded = numbers.recorded
    compared = np.array([row for found in members.values() for row in found], np.int64)
    owners = np.array([cluster for cluster, found in members.items() for _ in found], np.int64)
    gone, kept = _removed_numbers(numbers, compared), _kept_numbers(numbers, owners)
    short = _short_enough(np.maximum(_lengths(recorded, gone), _lengths(recorded, kept)))
    compared, gone, kept = compared[short], gone[short], kept[short]
    # Excerpts go to the first removed documents and the largest clusters.
    listed = np.union1d(rows[:EXCERPTS], compared)
    led = np.union1d(np.array(numbers.largest(EXCERPTS), np.int64), owners)
    led = led[np.isin(led, clusters)]
    ends = _removed_numbers(numbers, listed), _kept_numbers(numbers, led)
    wanted = np.unique(np.concatenate([gone, kept, *(_within(recorded, one) for one in ends)]))
    texts = dict(zip(wanted.tolist(), recorded.texts(wanted.tolist()), strict=True))
    kind = recorded.options.item_kind
    for name, places, found in (
        ("removed", np.searchsorted(rows, listed), ends[0]),
        ("kept", np.searchsorted(clusters, led), ends[1]),
    ):
        both = zip(places.tolist(), found.tolist(), strict=True)
        data["excerpts"][name] = {
            str(place): _excerpt(text if kind == "text" else item_differences.listed(text, kind))
            for place, number in both
            if (text := texts.get(number))
        }
    for place, ours, theirs in zip(np.searchsorted(rows, compared).tolist(), kept.tolist(), gone.tolist(), strict=True):
        if texts[ours] is not None or ours < len(recorded.ids):  # an index need not have the text
            data["differences"][str(place)] = pair_difference(kind, texts[ours] or "", texts[theirs] or "", recorded)


def pair_difference(
    kind: str, left: str, right: str, recorded: StoredResult, context: int | None = CONTEXT, most: int | None = None,
    names: item_differences.Sides = item_differences.KEPT_AND_REMOVED,
) -> dict[str, Any]:  # fmt: skip
    """The difference of two items of a kind, for a page: up to `context` equal words around a change, None for all."""
    if kind == "text":
        return text_difference(left, right, recorded, context, most)
    if kind == "records":
        lines = item_differences.lines
        return text_difference(lines(left), lines(right), recorded, context, most)
    if kind == "weighted":
        return item_differences.weighted_difference(left, right, names)
    return item_differences.set_difference(left, right, recorded.options.bag)


def _add_items(data: dict[str, Any], numbers: Numbers, rows: Whole, members: dict[int, list[int]]) -> None:
    """Add the differences of codes and vectors, all read at once."""
    recorded = numbers.recorded
    compared = np.array([row for difference in members.values() for row in difference], np.int64)
    owners = np.array([cluster for cluster, difference in members.items() for _ in difference], np.int64)
    gone, kept = _removed_numbers(numbers, compared), _kept_numbers(numbers, owners)
    wanted = np.unique(np.concatenate([gone, kept])).tolist()
    items = dict(zip(wanted, recorded.packed(wanted), strict=True))
    for place, ours, theirs in zip(np.searchsorted(rows, compared).tolist(), kept.tolist(), gone.tolist(), strict=True):
        difference = apart_of(recorded.options.item_kind, items[ours], items[theirs])
        if difference is not None:
            data["differences"][str(place)] = item_differences.item_difference(difference)


def _removed_numbers(numbers: Numbers, rows: Whole) -> Whole:
    removed: Whole = numbers.recorded.numbers_of(numbers.recorded.removed["id"].take(pa.array(rows)))
    return removed


def _kept_numbers(numbers: Numbers, clusters: Whole) -> Whole:
    names = pa.chunked_array([numbers.kept_ids.take(pa.array(clusters))])
    kept: Whole = kept_numbers(numbers.recorded, names)
    return kept


def _short_enough(lengths: Whole) -> npt.NDArray[np.bool_]:
    """Select the texts to compare: none too long, and up to a total length."""
    short = lengths <= LONGEST
    short[short] = np.cumsum(lengths[short]) <= COMPARED
    return short


def _within(recorded: StoredResult, wanted: Whole) -> Whole:
    """Limit the documents to those that may be read."""
    return wanted[: int(np.searchsorted(np.cumsum(_lengths(recorded, wanted)), READ, side="right"))]


def _lengths(recorded: StoredResult, wanted: Whole) -> Whole:
    lengths = np.asarray(recorded.documents["length"]).astype(np.int64)
    # Lengths of texts in an index are unknown; they are similar to those removed because of them.
    beyond = np.full(len(recorded.earlier_ids), int(lengths.mean()) if len(lengths) else 0)
    selected: Whole = np.concatenate([lengths, beyond])[wanted]
    return selected


def _excerpt(text: str) -> str:
    squeezed = " ".join(text[: 4 * EXCERPT].split())
    return squeezed if len(squeezed) <= EXCERPT else squeezed[:EXCERPT] + "…"


def text_difference(
    left: str, right: str, recorded: StoredResult, context: int | None = CONTEXT, most: int | None = None
) -> dict[str, Any]:
    """The hunks of a difference: folded words, then stretches, up to `most` characters (8,000 by default)."""
    difference = Difference(left, right, recorded.options)
    hunks: list[list[Any]] = []
    room = MOST if most is None else most
    every = difference.hunks(context)
    for hunk in every:
        if room <= 0:
            break
        parts = []
        for part in hunk.parts:
            parts.append(_plain(part, max(room, 0)))
            room -= len(part.left) + (len(part.right) if part.left != part.right else 0)
        hunks.append([hunk.folded, parts])
    return {
        "hunks": hunks,
        "same": all(part.words for hunk in every for part in hunk.parts),
        "equal": left == right,
        "cut": room < 0 or len(hunks) < len(every),
    }


def _plain(part: Stretch, room: int) -> list[Any]:
    left, right = part.left[:room], part.right[:room]
    if part.words:
        return [1, left] if left == right else [1, left, right]
    return [0, left, right, part.moved] if part.moved else [0, left, right]
