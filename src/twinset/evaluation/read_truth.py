"""Read the truth: a list of pairs, or the cluster of each document.

    left,right            a pair a line; also id1,id2 · id_1,id_2 · left_id,right_id · id_left,id_right
    id,cluster            the cluster of a document a line; also cluster_id · group · group_id · family

Other columns are ignored, so the `pairs.parquet` and `clusters.parquet` of an earlier result can be the truth.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from twinset.errors import ColumnError, RowError, SourceError
from twinset.evaluation.true_pairs import LinkedClusters, ListedClusters, ListedPairs, TruePairs, each_once
from twinset.options.formats import TRUTH_ENDINGS, format_by_ending
from twinset.schema import Flags, Numbers
from twinset.wording import at_line, at_row

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
        return _truth_of_table(_from_file(Path(name), name), name)
    if isinstance(given, Mapping):
        rows = list(given.items())
        columns = {"id": [key for key, _ in rows], "cluster": [value for _, value in rows]}
        return _truth_of_table(_table(columns, "the truth"), "the truth")
    if hasattr(given, "__arrow_c_stream__"):
        return _truth_of_table(pa.table(given), "the truth")
    if isinstance(given, (list, tuple)):
        return _truth_of_table(_table(_halves(given), "the truth"), "the truth")
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


def _table(columns: Mapping[str, list[Any]], name: str) -> pa.Table:
    return pa.table({key: _strings(values, key, name) for key, values in columns.items()})


def _strings(values: list[Any], column: str, name: str) -> Any:
    """Convert values to strings; only strings and integers are ids."""
    texts: list[str | None] = []
    for number, value in enumerate(values):
        if value is None or isinstance(value, str):
            texts.append(value)
        elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            texts.append(str(value))
        else:
            raise RowError(
                f"{column} is {str(value)[:60]!r}, a {type(value).__name__}; allowed: strings and whole numbers",
                where=at_row(name, number),
            )
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        raise SourceError(f"{column} contains an unpaired surrogate, which UTF-8 cannot encode", where=name) from error


def _from_file(path: Path, name: str) -> pa.Table:
    ending = path.suffix.lower()
    format = format_by_ending(path.name)
    if format is None or ending not in TRUTH_ENDINGS:
        raise SourceError(f"cannot tell the format of the truth; allowed: {', '.join(TRUTH_ENDINGS)}", where=name)
    if not path.exists():
        raise SourceError("there is no such file; --truth names a file of pairs or of clusters", where=name)
    try:
        if ending == ".parquet":
            return _parquet(path)
        if format.delimiter is not None:
            return _separated(path, format.delimiter)
        return _json_lines(path, name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(f"the truth cannot be read: {reason}", where=name) from error
    except pa.ArrowException as error:
        kind = ending[1:].upper() if ending != ".parquet" else "Parquet"
        raise SourceError(f"the truth cannot be read as {kind}: {str(error).splitlines()[0]}", where=name) from error


def _parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        known = {*(name for pair in PAIR_COLUMNS for name in pair), "id", *CLUSTER_COLUMNS, *VERDICTS}
        wanted = [name for name in names if name.strip().lower() in known]
        if not wanted:  # the error message lists the columns of the file
            return file.schema_arrow.empty_table()
        return file.read(columns=wanted)


def _separated(path: Path, delimiter: str) -> pa.Table:
    """Read every value as text: ids such as 007 and 1e5 are not numbers."""
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    reading = pa.csv.ReadOptions(block_size=1 << 26)
    with pa.csv.open_csv(path, read_options=reading, parse_options=parsing) as opened:
        names = opened.schema.names
    kinds = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=True, null_values=[""]
    )
    return pa.csv.read_csv(path, read_options=reading, parse_options=parsing, convert_options=kinds)


def _json_lines(path: Path, name: str) -> pa.Table:
    columns: dict[str, list[Any]] = {}
    with open(path, "rb") as file:
        rows = 0
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise RowError(f"not JSON: {error.msg}", where=at_line(name, number)) from error
            if not isinstance(row, dict):
                raise RowError('a line must be an object such as {"left": …, "right": …}', where=at_line(name, number))
            for key in row.keys() - columns.keys():
                columns[key] = [None] * rows
            rows += 1
            for key, values in columns.items():
                values.append(row.get(key))
    wanted = _named_columns(list(columns), name) if rows else []
    return _table({key: columns[key] for key in wanted}, name)


def _named_columns(names: list[str], where: str) -> list[str]:
    """Return the two columns of the truth, or raise an error that explains what is missing."""
    lower = [name.strip().lower() for name in names]
    for name in lower:
        if lower.count(name) > 1:
            raise ColumnError(f"there is more than one column {name!r}; rename one", where=where)
    at = dict(zip(lower, names, strict=True))
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
    values = [_as_text(table.column(column), column, name) for column in (first, second)]
    for column, array in zip((first, second), values, strict=True):
        if array.null_count and (kind == "pairs" or column == first):
            row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            have = "it has" if array.null_count == 1 else f"{array.null_count:,} have"
            raise RowError(f"{column} is empty; every row needs one ({have} none)", where=at_row(name, row))
    if kind == "clusters":
        _refuse_two_clusters(values[0], values[1], name)
    return Truth(kind, name, values[0], values[1])


def _as_text(column: Any, label: str, name: str) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer)
    if not (pa.types.is_null(kind) or any(is_kind(kind) for is_kind in texts)):
        raise ColumnError(f"{label!r} holds {kind}; allowed: strings and whole numbers", where=name)
    if isinstance(column, pa.Array):
        return column.cast(pa.large_string())
    return pa.concat_arrays(
        [chunk.cast(pa.large_string()) for chunk in column.chunks] or [pa.array([], pa.large_string())]
    )


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
