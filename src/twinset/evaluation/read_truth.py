"""Read the truth: a list of pairs, or the cluster of each document.

    left,right            a pair a line; also id1,id2 · id_1,id_2 · left_id,right_id · id_left,id_right
    id,cluster            the cluster of a document a line; also cluster_id · group · group_id · family

Other columns are ignored, so the `pairs.parquet` and `clusters.parquet` of an earlier result can be the truth.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import ColumnError, RowError, SourceError
from twinset.evaluation.true_pairs import LinkedClusters, ListedClusters, ListedPairs, TruePairs, each_once
from twinset.evaluation.truth_files import as_text, columns_by_name, read_columns, text_table
from twinset.schema import Flags, Numbers
from twinset.wording import at_row

PAIR_COLUMNS = (
    ("left", "right"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("left_id", "right_id"),
    ("id_left", "id_right"),
)
CLUSTER_COLUMNS = ("cluster", "cluster_id", "group", "group_id", "family")
VERDICTS = ("label", "match", "is_match", "duplicate", "is_duplicate")
ALLOWED = "the columns left and right (one pair per row), or id and cluster (one document per row)"
MOST_NAMED = 1000
_KNOWN = frozenset({*(name for pair in PAIR_COLUMNS for name in pair), "id", *CLUSTER_COLUMNS, *VERDICTS})


@dataclass(frozen=True)
class Truth:
    """The truth by id: pairs (`first` with `second`), or the cluster (`second`, may be null) of each `first`."""

    kind: str
    name: str
    first: Any
    second: Any


def read_truth(given: object) -> Truth:
    """Read the truth from a file or an object.

    given: a path, a mapping from id to cluster, a list of pairs, or a table with Arrow's stream interface.

    Examples
    --------
    >>> read_truth([("a", "b")]).kind, read_truth({"a": 1, "b": 1, "c": None}).kind
    ('pairs', 'clusters')
    """
    if isinstance(given, (str, os.PathLike)):
        name = os.fsdecode(given)
        return _truth_of_table(read_columns(name, _named_columns, "--truth names a file of pairs or of clusters"), name)
    if isinstance(given, Mapping):
        rows = list(given.items())
        columns = {"id": [key for key, _ in rows], "cluster": [value for _, value in rows]}
        return _truth_of_table(text_table(columns, "the truth"), "the truth")
    if hasattr(given, "__arrow_c_stream__"):
        return _truth_of_table(pa.table(given), "the truth")
    if isinstance(given, (list, tuple)):
        return _truth_of_table(text_table(_halves(given), "the truth"), "the truth")
    raise SourceError(
        f"a {type(given).__name__} is not a truth: give a path, a list of pairs of ids, a mapping from id to cluster, "
        f"or a table with {ALLOWED}"
    )


def _halves(rows: Iterable[Any]) -> dict[str, list[Any]]:
    left, right = [], []
    for number, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            raise RowError(f"not a pair: {str(row)[:60]!r}; allowed: two ids", where=at_row("the truth", number))
        left.append(row[0])
        right.append(row[1])
    return {"left": left, "right": right}


def _named_columns(names: list[str], where: str) -> list[str]:
    """Return the two columns of the truth, or raise an error that explains what is missing."""
    at = columns_by_name(names, _KNOWN, where)
    pairs = [pair for pair in PAIR_COLUMNS if pair[0] in at and pair[1] in at]
    clusters = [("id", name) for name in CLUSTER_COLUMNS if name in at and "id" in at]
    matches = pairs + clusters
    if len(matches) != 1:
        why = f"it has {', '.join(map(repr, names)) or 'none'}"
        if len(matches) > 1:
            why = "it has " + " and ".join(f"{one!r}, {other!r}" for one, other in matches)
        raise ColumnError(f"the truth must have {ALLOWED}, once; {why}: rename or leave out columns", where=where)
    if pairs and (verdict := next((at[name] for name in VERDICTS if name in at), None)):
        raise ColumnError(
            f"the truth has the column {verdict!r}, so some of its rows may not be pairs; every row counts as a true "
            "pair: leave out those that are not, and the column",
            where=where,
        )
    return [at[name] for name in matches[0]]


def _truth_of_table(table: pa.Table, name: str) -> Truth:
    """Decide between pairs and clusters by the column names."""
    first, second = _named_columns(table.column_names, name)
    kind = "clusters" if first.strip().lower() == "id" else "pairs"
    values = [as_text(table.column(column), column, name) for column in (first, second)]
    for column, array in zip((first, second), values, strict=True):
        if array.null_count and (kind == "pairs" or column == first):
            row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            have = "it has" if array.null_count == 1 else f"{array.null_count:,} have"
            raise RowError(f"{column} is empty; every row needs one ({have} none)", where=at_row(name, row))
    if kind == "clusters":
        _refuse_two_clusters(values[0], values[1], name)
    return Truth(kind, name, values[0], values[1])


def _refuse_two_clusters(ids: Any, clusters: Any, name: str) -> None:
    ids, clusters = ids.filter(clusters.is_valid()), clusters.filter(clusters.is_valid())
    rows = pa.table({"id": ids, "cluster": clusters}).group_by("id").aggregate([("cluster", "min"), ("cluster", "max")])
    twice = rows.filter(pc.not_equal(rows["cluster_min"], rows["cluster_max"]))
    if twice.num_rows:
        id, one, other = (twice[column][0].as_py() for column in ("id", "cluster_min", "cluster_max"))
        raise SourceError(
            f"the id {id!r} is in two clusters, {one!r} and {other!r}; a document can be in one", where=name
        )


def resolved(truth: Truth, ids: Any, readable: Flags, border: int | None = None) -> tuple[TruePairs, dict[str, Any]]:
    """Convert ids to document numbers; unknown ids are counted, reported and dropped.

    ids, readable: the id of every document, by number, and whether it could be read.
    border: the first document of the source compared against; then the true pairs are those between the two sides.
    Returns the truth by number, and a report for the summary.
    """
    ids = ids.cast(pa.large_string())
    named = pa.concat_arrays([truth.first, truth.second]) if truth.kind == "pairs" else truth.first
    numbers = _numbers(named, ids)
    first, second = numbers[: len(truth.first)], numbers[-len(truth.first) :] if len(truth.first) else numbers
    unknown = pc.unique(named.filter(pa.array(numbers < 0)))
    if len(truth.first) and (first < 0).all() and (second < 0).all():
        raise SourceError(
            f"none of its ids is the id of a document: it has {truth.first[0].as_py()!r}, and the documents have ids "
            f"such as {ids[0].as_py() if len(ids) else None!r}; name the column of ids with --id",
            where=truth.name,
        )
    known = (first >= 0) & (second >= 0)
    linked = known
    if border is not None and truth.kind == "pairs":
        first, second, linked = _across(truth, ids, border)
    elif border is not None:
        _refuse_two_sides(truth, ids, border)
    facts = {
        "kind": truth.kind,
        "name": truth.name,
        "rows": len(first),
        "unknown_ids": len(unknown),
        "unknown": unknown.slice(0, MOST_NAMED).to_pylist(),
        "rows_left_out": int(np.count_nonzero(~known)),
    }
    if truth.kind == "clusters":
        label, named = _labels(truth, first, known, len(readable))
        facts["unnamed_documents"] = int(np.count_nonzero(readable & ~named))
        return (ListedClusters(label) if border is None else LinkedClusters(label, border)), facts
    if border is not None:
        facts["within_one_side"] = int(np.count_nonzero(known & ~linked))
    left, right = (side[linked].astype(np.uint32) for side in (first, second))
    keys = each_once(left, right)
    facts["with_itself"] = int(np.count_nonzero(left == right))
    facts["repeated"] = len(left) - facts["with_itself"] - len(keys)
    return ListedPairs(len(readable), keys), facts


def _numbers(values: Any, ids: Any) -> Any:
    """Document number of each id, or -1."""
    numbers = pc.fill_null(pc.index_in(values, value_set=ids), -1)
    return numbers.to_numpy(zero_copy_only=False).astype(np.int64)


def _across(truth: Truth, ids: Any, border: int) -> tuple[Any, Any, Flags]:
    """Return the documents of each true pair, and whether they are on two sides.

    The first id names a document of the sources and the second one of the other source, as in a table of pairs; where
    there are none of these ids, the other way round.
    """
    own, other = ids.slice(0, border), ids.slice(border)
    left, right = _numbers(truth.first, own), _numbers(truth.second, other)
    left_swapped, right_swapped = _numbers(truth.second, own), _numbers(truth.first, other)
    straight = (left >= 0) & (right >= 0)
    linked = straight | ((left_swapped >= 0) & (right_swapped >= 0))
    return np.where(straight, left, left_swapped), np.where(straight, right, right_swapped) + border, linked


def _refuse_two_sides(truth: Truth, ids: Any, border: int) -> None:
    """Raise if a truth of clusters names documents of both sides by one id."""
    both = truth.first.filter(pc.is_in(truth.first, value_set=ids.slice(0, border)))
    both = both.filter(pc.is_in(both, value_set=ids.slice(border)))
    if len(both):
        raise SourceError(
            f"{both[0].as_py()!r} is the id of documents on both sides, so its cluster is unclear; list the true "
            "pairs: left is an id of the sources, right one of --against",
            where=truth.name,
        )


def _labels(truth: Truth, first: Any, known: Flags, documents: int) -> tuple[Numbers, Flags]:
    """Cluster of each document as a number, and which documents the truth names; the others are singletons."""
    label: Numbers = np.arange(documents, dtype=np.uint32)
    named = np.zeros(documents, np.bool_)
    named[first[known]] = True
    inside = known & truth.second.is_valid().to_numpy(zero_copy_only=False)
    codes = pc.dictionary_encode(truth.second.filter(pa.array(inside))).indices.to_numpy()
    numbers = first[inside].astype(np.uint32)
    least = np.full(int(codes.max()) + 1 if len(codes) else 0, documents, np.uint32)
    np.minimum.at(least, codes, numbers)
    label[numbers] = least[codes]
    return label, named
