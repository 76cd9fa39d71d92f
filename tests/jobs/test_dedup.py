"""Clean data, end to end: who is kept, who is removed, because of whom, and that nobody is lost."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles

SPEC, THRESHOLD = "word:2", 0.6
SHINGLING = {"shingle": SPEC, "threshold": THRESHOLD}
LINE = " ".join(f"word{i}" for i in range(40))

methods = pytest.mark.parametrize("method", ["leader", "complete", "components"])
policies = pytest.mark.parametrize(
    "keep",
    ["first", "longest", "newest:day", "highest:score", "source,longest", "highest:score,newest:day,first", "source"],
)


def table_of_families(seed: int = 1, families: int = 15, members: int = 9) -> pa.Table:
    """Versions of texts, each made from the one before it: chains, with copies, empty texts, ties and nulls."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for family in range(families):
        text = [f"f{family}w{i}" for i in range(30)]
        for _ in range(members):
            text = list(text)
            for _ in range(rng.randrange(3)):  # none at all: an identical copy
                text[rng.randrange(len(text))] = f"n{rng.randrange(10**6)}"
            if rng.random() < 0.2:
                text.append("tail")
            rows.append({"text": " ".join(text)})
    rows += [{"text": ""}, {"text": None}, {"text": " ... "}, {"text": "short"}, {"text": "short"}]
    rng.shuffle(rows)
    for row in rows:
        row["id"] = f"{rng.randrange(10**9):09}"
        row["day"] = rng.choice([None, "2024-01-01", "2024-05-05", "2023-12-31"])
        row["score"] = rng.choice([None, 1.5, 2.0, float("nan"), -3.0])
    return pa.Table.from_pylist(
        rows, pa.schema([("id", "string"), ("text", "string"), ("day", "string"), ("score", "float64")])
    )


def sort_key(row: dict[str, Any], number: int, keep: str) -> tuple[Any, ...]:
    """Where a row stands in the order of a policy, all rows being of one source."""
    key: list[Any] = []
    for rule in keep.split(","):
        if rule == "first":
            return (*key, number)
        if rule == "longest":
            key.append(-len(row["text"] or ""))
        elif rule == "newest:day":
            key.append([-int(part) for part in (row["day"] or "0-0-0").split("-")])
        elif rule == "highest:score":
            missing = row["score"] is None or row["score"] != row["score"]
            key.append((missing, 0 if missing else -row["score"]))
    return (*key, row["id"])


def expected_clusters(table: pa.Table, keep: str, method: str) -> dict[str, str]:
    """The kept document of each, by the oracle, over all pairs that there are."""
    rows = table.to_pylist()
    order = sorted(range(len(rows)), key=lambda number: sort_key(rows[number], number, keep))
    rank = {rows[number]["id"]: place for place, number in enumerate(order)}
    pairs = oracles.pairs({row["id"]: row["text"] for row in rows}, THRESHOLD, shingle=SPEC)
    edges = sorted((max(rank[a], rank[b]), min(rank[a], rank[b])) for a, b in pairs)
    oracle = {"leader": oracles.leaders, "complete": oracles.complete, "components": oracles.components}[method]
    leader = oracle(len(rows), edges)
    return {name: rows[order[leader[place]]]["id"] for name, place in rank.items()}


def same(one: pa.Table, other: pa.Table) -> bool:
    """Equal to the last value; Arrow would tell NaN from NaN."""
    return bool(one.schema.equals(other.schema)) and repr(one.to_pylist()) == repr(other.to_pylist())


def clusters_of(result: Any) -> dict[str, str]:
    return dict(zip(result.clusters["id"].to_pylist(), result.clusters["cluster"].to_pylist(), strict=True))


def run(*sources: object, **words: Any) -> Any:
    """Found with near certainty, so that clusters can be held against those over all true pairs."""
    return twinset.dedup(*sources, **{**SHINGLING, "recall": 0.99999, **words})


@methods
@policies
def test_clusters_equal_the_oracles(method: str, keep: str) -> None:
    table = table_of_families()
    assert clusters_of(run(table, keep=keep, cluster=method)) == expected_clusters(table, keep, method)


@methods
@policies
def test_everything_adds_up(method: str, keep: str) -> None:
    table = table_of_families(seed=2)
    texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
    result = run(table, keep=keep, cluster=method)
    summary = result.summary
    assert summary["documents"] == len(texts) == summary["kept"] + summary["removed"] + summary["unreadable"]
    kept = result.kept["id"].to_pylist()
    assert kept == [name for name in texts if name in set(kept)], "kept rows stay in input order"
    removed = {row["id"]: row for row in result.removed.to_pylist()}
    assert set(kept) | set(removed) == set(texts)
    assert (len(kept), len(removed)) == (summary["kept"], summary["removed"])
    clusters = result.clusters.to_pylist()
    assert [row["id"] for row in clusters] == list(texts)
    for row in clusters:
        assert row["kept"] == (row["id"] == row["cluster"]) == (row["id"] not in removed)
    assert summary["clusters"] == len({row["because_of"] for row in removed.values()})
    assert (summary["empty"], result.empty.num_rows) == (3, 3)
    assert set(result.empty["id"].to_pylist()) <= set(kept)
    for name, row in removed.items():
        assert row["because_of"] in kept
        one, other = (oracles.shingle_set(texts[which], SPEC) for which in (name, row["because_of"]))
        assert oracles.scores_in(row, "removed") == pytest.approx(oracles.scores(one, other), abs=1e-12, rel=0)
        assert row["similarity"] >= THRESHOLD or method == "components"
    if method == "components":
        assert min(row["similarity"] for row in removed.values()) < THRESHOLD, "chains were asked for"
    if method == "leader":
        pairs = oracles.pairs({name: texts[name] for name in kept}, THRESHOLD, shingle=SPEC)
        assert not pairs, "no two kept documents are near"


@methods
def test_pairs_are_those_of_distinct_contents_and_a_link_for_each_copy(method: str) -> None:
    table = table_of_families(seed=3)
    texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
    result = run(table, cluster=method)
    first: dict[Any, str] = {}
    for name, text in texts.items():
        first.setdefault(tuple(oracles.shingle_list(text, SPEC)), name)
    every = oracles.pairs(texts, THRESHOLD, shingle=SPEC)
    distinct = {pair for pair in every if set(pair) <= set(first.values())}
    links = {
        (first[tuple(oracles.shingle_list(text, SPEC))], name)
        for name, text in texts.items()
        if text and name not in first.values()
    }
    links = {pair for pair in links if oracles.shingle_list(texts[pair[1]], SPEC)}
    assert (
        set(zip(result.pairs["left"].to_pylist(), result.pairs["right"].to_pylist(), strict=True)) == distinct | links
    )
    assert result.summary["identical"] == len(links) > 5


# The same, whatever the way in


@methods
@pytest.mark.parametrize("keep", ["longest", "newest:day", "highest:score", "highest:score,longest"])
def test_shuffled_rows_keep_the_same(method: str, keep: str) -> None:
    table = table_of_families(seed=4)
    first = run(table, keep=keep, cluster=method)
    for seed in range(3):
        order = list(range(len(table)))
        random.Random(seed).shuffle(order)
        again = run(table.take(order), keep=keep, cluster=method)
        assert clusters_of(again) == clusters_of(first)
        assert set(again.kept["id"].to_pylist()) == set(first.kept["id"].to_pylist())


@methods
def test_files_split_in_another_way_keep_the_same(tmp_path: Path, method: str) -> None:
    table = table_of_families(seed=5)
    first = run(table, keep="longest", cluster=method)
    for number, size in enumerate((40, 61)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for start in range(0, len(table), size):
            pq.write_table(table.slice(start, size), folder / f"{start:05}.parquet")
        again = run(str(folder), keep="longest", cluster=method)
        assert clusters_of(again) == clusters_of(first)
        assert again.kept.select(["id", "text"]).to_pylist() == first.kept.select(["id", "text"]).to_pylist()
    frame = run(polars.from_arrow(table), keep="longest", cluster=method)
    assert clusters_of(frame) == clusters_of(first)


def test_threads_batches_and_memory_change_nothing() -> None:
    table = table_of_families(seed=6)
    first = run(table)
    for how in ({"threads": 1}, {"batch_bytes": 1024}, {"threads": 4, "batch_bytes": 2048, "memory": "512MB"}):
        again = run(table, **how)
        for name in ("kept", "removed", "clusters", "pairs", "empty"):
            assert same(getattr(again, name), getattr(first, name)), (how, name)


# Policies over several sources


def test_earlier_sources_win() -> None:
    old = pa.table({"id": ["o1", "o2"], "text": [LINE, "alone"]})
    new = pa.table({"id": ["n1", "n2", "n3"], "text": [LINE + " and much more", LINE + " x", "only here"]})
    assert run(old, new, keep="longest").kept["id"].to_pylist() == ["o2", "n1", "n3"]
    assert run(old, new, keep="source,longest").kept["id"].to_pylist() == ["o1", "o2", "n3"]
    assert run(new, old, keep="source,longest").kept["id"].to_pylist() == ["n1", "n3", "o2"]
    assert run(new, old, keep="source").kept["id"].to_pylist() == ["n1", "n3", "o2"]


def test_without_ids_the_last_tie_goes_to_the_earlier_row() -> None:
    result = run([LINE + " a", LINE + " b", LINE + " c"], keep="longest")
    assert result.removed["because_of"].to_pylist() == ["0", "0"]
    by_id = run({"z": LINE + " a", "y": LINE + " b", "x": LINE + " c"}, keep="longest")
    assert by_id.removed["because_of"].to_pylist() == ["x", "x"]


def test_numbers_in_a_csv_file_are_numbers(tmp_path: Path) -> None:
    rows = [f"{name},{LINE} {name},{score}" for name, score in (("a", 9), ("b", 100), ("c", ""), ("d", -5))]
    (tmp_path / "in.csv").write_text("id,text,score\n" + "\n".join(rows) + "\n", "utf-8")
    assert run(str(tmp_path / "in.csv"), keep="highest:score").kept["id"].to_pylist() == ["b"]


def test_categories_of_a_frame_can_be_ordered() -> None:
    frame = polars.DataFrame(
        {"id": ["a", "b", "c"], "text": [f"{LINE} {i}" for i in range(3)], "day": ["2020", "2022", "2021"]}
    )
    for kind in (polars.String, polars.Categorical, polars.Enum(["2022", "2021", "2020"])):
        result = run(frame.with_columns(polars.col("day").cast(kind)), keep="newest:day")
        assert result.kept["id"].to_list() == ["b"]


# Against another source


def test_against_removes_what_the_other_source_has_and_nothing_else() -> None:
    ours = {
        "a": LINE + " x",
        "b": LINE + " y",
        "c": LINE + " x",
        "d": "alone here",
        "e": "twice here",
        "f": "twice here",
        "g": "",
    }
    theirs = {"a": LINE, "far": "something else", "g": ""}
    result = run(ours, against=[theirs])
    assert result.kept["id"].to_pylist() == ["d", "e", "f", "g"]
    assert result.removed["because_of"].to_pylist() == ["a", "a", "a"]
    assert result.removed["similarity"].to_pylist() == [39 / 40] * 3
    assert (result.summary["documents"], result.summary["against"]) == (7, 3)
    assert set(clusters_of(result)) == set(ours)
    nothing = run(ours, against=[{"far": "something else"}])
    assert nothing.summary["removed"] == 0


@pytest.mark.parametrize("words", [{"keep": "longest"}, {"cluster": "complete"}, {"cluster": "components"}])
def test_options_that_would_do_nothing_with_against_are_refused(words: dict[str, str]) -> None:
    with pytest.raises(twinset.OptionError, match="cannot be used with against="):
        run({"a": LINE}, against=[{"b": LINE}], **words)


# Rows that cannot be read, flags, results on disk


def test_unreadable_rows_are_counted_and_named() -> None:
    texts = {"a": LINE, "b": "half \ud83d", "c": LINE + " x", "d": ""}
    result = run(texts, on_error="skip")
    summary = result.summary
    assert [summary[name] for name in ("documents", "kept", "removed", "unreadable", "empty")] == [4, 2, 1, 1, 1]
    assert [(row["id"], "surrogate" in row["reason"]) for row in result.unreadable.to_pylist()] == [("b", True)]
    assert "b" not in clusters_of(result)
    with pytest.raises(twinset.RowError, match="surrogate"):
        run(texts)


@methods
def test_flags_say_what_would_be_removed(tmp_path: Path, method: str) -> None:
    table = table_of_families(seed=7)
    pq.write_table(table, tmp_path / "in.parquet")
    source = str(tmp_path / "in.parquet")
    plain = run(source, cluster=method, output=tmp_path / "plain")
    run(source, cluster=method, flag=True, output=tmp_path / "flagged")
    [file] = (tmp_path / "flagged" / "kept").rglob("*.parquet")
    flagged = pq.read_table(file)
    assert same(flagged.select(table.column_names), table)
    removed = {row["id"]: row for row in plain.removed.to_pylist()}
    for row in flagged.to_pylist():
        reason = removed.get(row["id"])
        assert row["cluster"] == clusters_of(plain)[row["id"]]
        assert row["duplicate_of"] == (reason["because_of"] if reason else None)
        assert row["similarity"] == (reason["similarity"] if reason else None)


def test_a_result_on_disk_answers_as_one_in_memory(tmp_path: Path) -> None:
    table = table_of_families(seed=8)
    pq.write_table(table, tmp_path / "in.parquet")
    held = run(table)
    laid = run(str(tmp_path / "in.parquet"), output=tmp_path / "out")
    for name in ("removed", "clusters", "pairs", "empty", "unreadable"):
        assert same(getattr(laid, name), getattr(held, name)), name
        assert same(pq.read_table(tmp_path / "out" / f"{name}.parquet"), getattr(held, name)), name
    assert laid.kept["id"].to_pylist() == held.kept["id"].to_pylist()
    assert same(pq.read_table(tmp_path / "out" / "kept" / "in.parquet"), held.kept)
    written = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    for name in ("documents", "kept", "removed", "empty", "unreadable", "pairs", "clusters", "plan"):
        assert written[name] == laid.summary[name] == held.summary[name], name
    assert f"{held.summary['kept']} of {held.summary['documents']}" in repr(held)
    assert laid.plan == held.plan == twinset.plan(THRESHOLD, 0.99999)


@methods
@pytest.mark.parametrize("texts", [[], [""], ["one"], ["same text here", "same text here"]])
def test_few_documents(method: str, texts: list[str]) -> None:
    result = twinset.dedup(texts, cluster=method)
    assert result.summary["kept"] == len(set(texts))
    assert result.removed.num_rows == len(texts) - len(set(texts))


def test_many_identical_documents() -> None:
    """15,000 copies would be 112 million pairs; dedup links each to the first and never makes them."""
    result = twinset.dedup([LINE] * 15_000 + ["other"])
    assert (result.summary["kept"], result.summary["pairs"]) == (2, 14_999)
    assert set(result.removed["because_of"].to_pylist()) == {"0"}
    assert set(result.removed["similarity"].to_pylist()) == {1.0}


def test_a_template_does_not_melt_into_one() -> None:
    """Forty texts that share half their shingles are no duplicates of each other at 0.8, chained or not."""
    texts = {str(i): LINE + " " + " ".join(f"own{i}x{j}" for j in range(14)) for i in range(40)}
    near = [textbook_similarity(texts[a], texts[b]) for a, b in combinations(list(texts)[:5], 2)]
    assert all(0.5 < similarity < 0.65 for similarity in near)
    for method in ("leader", "complete", "components"):
        assert twinset.dedup(texts, cluster=method, shingle=SPEC).summary["removed"] == 0


def textbook_similarity(left: str, right: str) -> float:
    return oracles.scores(oracles.shingle_set(left, SPEC), oracles.shingle_set(right, SPEC))[0]
