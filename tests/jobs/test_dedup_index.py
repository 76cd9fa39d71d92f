"""New arrivals against an index: who is removed because of which earlier document, who is kept, and who is added."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles
from tests.arrivals import CERTAIN, expected, ids_in, new_index, split, table_of
from tests.jobs.test_dedup import LINE, SPEC, THRESHOLD, clusters_of, methods, policies, same, table_of_families

TABLES = ("kept", "removed", "clusters", "pairs", "empty", "unreadable")


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address for an index that is not there yet, in each back end."""
    if request.param == "sqlite":
        return str(tmp_path / "news.twinset")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "news.twinset")


def check(result: Any, old: dict[str, str], arrivals: pa.Table, keep: str, method: str) -> None:
    """Hold a result against the textbook, to the last digit."""
    texts = dict(zip(arrivals["id"].to_pylist(), arrivals["text"].to_pylist(), strict=True))
    wanted = expected(old, arrivals, keep, method)
    assert clusters_of(result) == wanted.clusters
    assert result.kept["id"].to_pylist() == wanted.kept
    assert [row["id"] for row in result.clusters.to_pylist() if row["kept"]] == wanted.kept
    every = {**old, **texts}
    for row in result.removed.to_pylist():
        if row["id"] in wanted.matched:
            because, scores = wanted.matched[row["id"]]
            assert row["because_of"] == because
        else:
            ours, theirs = (oracles.shingle_set(every[row[name]], SPEC) for name in ("id", "because_of"))
            scores = oracles.scores(ours, theirs)
        assert oracles.scores_in(row, "removed") == pytest.approx(scores, abs=1e-12, rel=0)
    summary = result.summary
    assert summary["documents"] == len(texts) == summary["kept"] + summary["removed"] + summary["unreadable"]
    assert (summary["kept"], summary["removed"]) == (len(wanted.kept), result.removed.num_rows)
    assert summary["clusters"] == len(set(result.removed["because_of"].to_pylist()))
    assert summary["index"]["matched"] == len(wanted.matched)


# The textbook


@methods
@policies
def test_what_is_removed_kept_and_added_is_what_the_textbook_says(file: str, method: str, keep: str) -> None:
    old, arrivals = split(table_of_families(), 0.4)
    new_index(file, old)
    result = twinset.dedup(arrivals, index=file, keep=keep, cluster=method)
    check(result, old, arrivals, keep, method)
    assert 20 < result.summary["index"]["matched"] < result.summary["removed"], "both kinds are there"
    assert ids_in(file) == [*old, *result.kept["id"].to_pylist()]


@methods
def test_both_homes_give_the_same(where: str, method: str) -> None:
    old, arrivals = split(table_of_families(seed=2), 0.3)
    new_index(where, old)
    result = twinset.dedup(arrivals, index=where, cluster=method)
    check(result, old, arrivals, "first", method)
    index = result.summary["index"]
    assert (index["documents"], index["added"], index["there"]) == (len(old), result.summary["kept"], 0)
    assert 0.9999 < index["recall"] < 1
    assert ids_in(where) == [*old, *result.kept["id"].to_pylist()]


@methods
@policies
def test_the_same_again_gives_the_same_and_adds_nothing(file: str, method: str, keep: str) -> None:
    old, arrivals = split(table_of_families(seed=3), 0.3)
    new_index(file, old)
    first = twinset.dedup(arrivals, index=file, keep=keep, cluster=method)
    there = ids_in(file)
    for _ in range(2):
        again = twinset.dedup(arrivals, index=file, keep=keep, cluster=method)
        for name in TABLES:
            assert same(getattr(again, name), getattr(first, name)), name
        assert (again.summary["index"]["added"], again.summary["index"]["there"]) == (0, first.summary["kept"])
        assert again.summary["index"]["documents"] == len(old)
        assert ids_in(file) == there


def test_day_by_day_no_two_kept_stories_are_near(where: str) -> None:
    """The promise to whoever reads all that was ever kept; and every arrival has a reason or is there."""
    table = table_of_families(seed=4, families=20)
    days = [table.slice(start, 40) for start in range(0, len(table), 40)]
    new_index(where, {})
    kept: dict[str, str] = {}
    for number, day in enumerate(days):
        result = twinset.dedup(day, index=where, keep="longest")
        check(result, kept, day, "longest", "leader")
        texts = dict(zip(day["id"].to_pylist(), day["text"].to_pylist(), strict=True))
        kept |= {name: texts[name] or "" for name in result.kept["id"].to_pylist()}
        assert number == 0 or result.summary["index"]["matched"] > 5
    assert ids_in(where) == list(kept)
    assert not oracles.pairs(kept, THRESHOLD, shingle=SPEC)
    assert len(kept) < len(table) / 2


def test_threads_batches_and_memory_change_nothing(file: str, tmp_path: Path) -> None:
    old, arrivals = split(table_of_families(seed=5), 0.3)
    new_index(file, old)
    shutil.copy(file, tmp_path / "before")
    first = twinset.dedup(arrivals, index=file)
    there = ids_in(file)
    for how in ({"threads": 1}, {"batch_bytes": 1024}, {"threads": 4, "batch_bytes": 2048, "memory": "512MB"}):
        shutil.copy(tmp_path / "before", file)
        again = twinset.dedup(arrivals, index=file, **how)
        for name in TABLES:
            assert same(getattr(again, name), getattr(first, name)), (how, name)
        assert ids_in(file) == there


def test_shingles_will_do(file: str) -> None:
    old, arrivals = split(table_of_families(seed=6), 0.3)
    new_index(file, old, store="shingles")
    result = twinset.dedup(arrivals, index=file)
    check(result, old, arrivals, "first", "leader")
    assert ids_in(file) == [*old, *result.kept["id"].to_pylist()]


def test_an_empty_index_is_no_different_from_none(file: str) -> None:
    arrivals = table_of_families(seed=7)
    new_index(file, {})
    alone = twinset.dedup(arrivals, **{**CERTAIN, "seed": 1})
    for name in TABLES:
        assert same(getattr(twinset.dedup(arrivals, index=file), name), getattr(alone, name)), name


# Which earlier document


def test_the_most_similar_one_is_named_and_of_equal_ones_the_first_added(file: str) -> None:
    new_index(file, {"z": LINE + " x y", "b": LINE + " x", "a": LINE + " x", "far": "something else"})
    result = twinset.dedup({"new": LINE + " x", "near": LINE}, index=file)
    assert result.removed.select(["because_of", "similarity"]).to_pylist() == [
        {"because_of": "b", "similarity": 1.0},
        {"because_of": "b", "similarity": 39 / 40},
    ]
    assert result.clusters.to_pylist() == [
        {"id": "new", "cluster": "b", "kept": False},
        {"id": "near", "cluster": "b", "kept": False},
    ]
    assert (result.summary["kept"], result.summary["clusters"]) == (0, 1)


def test_earlier_documents_have_a_table_of_their_own(file: str) -> None:
    """pairs.parquet is of arrivals, all of them; earlier.parquet has the earlier document as left."""
    new_index(file, {"old": LINE})
    arrivals = {"a": LINE + " x", "b": LINE + " x", "c": LINE + " y", "d": "alone"}
    result = twinset.dedup(arrivals, index=file)
    pairs = {(row["left"], row["right"]) for row in result.pairs.to_pylist()}
    assert pairs == {("a", "b"), ("a", "c")}
    earlier = result.recorded.table("earlier").to_pylist()
    scores = {"similarity": 39 / 40, "left_in_right": 1.0, "right_in_left": 39 / 40}
    assert earlier == [{**row, "left": "old", "right": id, **scores} for row, id in zip(earlier, "abc", strict=True)]
    again = twinset.dedup(arrivals, index=file).recorded.table("earlier").to_pylist()
    itself = {"similarity": 1.0, "left_in_right": 1.0, "right_in_left": 1.0}
    assert again == [*earlier, {**again[-1], "left": "d", "right": "d", **itself}]


@methods
def test_what_an_earlier_document_removes_ties_nothing_together(file: str, method: str) -> None:
    """b is near the old one and near c, which is not: c stays, whatever the way of clustering."""
    words = [f"w{number}" for number in range(41)]
    texts = {"old": words, "b": [*words[7:], *"tuvwxyz"], "c": [*words[14:], *"tuvwxyz", *"hijklmn"]}
    lines = {name: " ".join(text) for name, text in texts.items()}
    sets = {name: oracles.shingle_set(text, SPEC) for name, text in lines.items()}
    assert set(oracles.pairs_of_sets(sets, THRESHOLD)) == {("old", "b"), ("b", "c")}
    new_index(file, {"old": lines.pop("old")})
    result = twinset.dedup(lines, index=file, cluster=method)
    assert result.removed.select(["id", "because_of"]).to_pylist() == [{"id": "b", "because_of": "old"}]
    assert result.kept["id"].to_pylist() == ["c"]


@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("method", ["leader", "components"])
def test_what_the_index_has_comes_before_what_it_has_not(file: str, keep: str, method: str) -> None:
    """A feed that repeats a part of yesterday's, its newest story first and longest."""
    new_index(file, {})
    twinset.dedup(table_of([("60", LINE), ("61", "another story")]), index=file)
    today = table_of([("120", LINE + " and more"), ("61", "another story"), ("60", LINE), ("121", "a new one")])
    result = twinset.dedup(today, index=file, keep=keep, cluster=method)
    assert result.kept["id"].to_pylist() == ["61", "60", "121"]
    assert result.removed.select(["id", "because_of"]).to_pylist() == [{"id": "120", "because_of": "60"}]
    assert (result.summary["index"]["added"], result.summary["index"]["there"]) == (1, 2)
    assert ids_in(file) == ["60", "61", "121"]
    check(result, {"60": LINE, "61": "another story"}, today, keep, method)


def test_documents_that_were_added_without_dedup_are_compared_as_arrivals(file: str) -> None:
    table = table_of_families(seed=8)
    texts = [text or "" for text in table["text"].to_pylist()]
    new_index(file, dict(zip(table["id"].to_pylist(), texts, strict=True)))
    alone = twinset.dedup(table, **{**CERTAIN, "seed": 1}, keep="longest")
    result = twinset.dedup(table, index=file, keep="longest")
    for name in TABLES:
        assert same(getattr(result, name), getattr(alone, name)), name
    assert result.summary["index"]["documents"] == result.summary["index"]["added"] == 0


def test_copies_stand_or_fall_together(file: str) -> None:
    new_index(file, {"old": LINE})
    result = twinset.dedup({"a": LINE, "b": LINE, "c": "other", "d": "other"}, index=file)
    assert clusters_of(result) == {"a": "old", "b": "old", "c": "c", "d": "c"}
    assert (result.summary["index"]["matched"], result.summary["removed"]) == (2, 3)


def test_empty_documents_are_kept_and_added(file: str) -> None:
    new_index(file, {"nothing": "", "dots": "..."})
    result = twinset.dedup({"a": "", "b": " … ", "c": LINE}, index=file)
    assert (result.summary["kept"], result.summary["empty"], result.summary["index"]["added"]) == (3, 2, 3)
    assert ids_in(file) == ["nothing", "dots", "a", "b", "c"]
    assert twinset.dedup({"a": "", "b": " … ", "c": LINE}, index=file).summary["index"]["there"] == 3


def test_rows_that_cannot_be_read_are_counted_and_named_and_not_added(file: str) -> None:
    new_index(file, {"old": LINE})
    texts = {"a": LINE + " x", "b": "half \ud83d", "c": "fresh"}
    result = twinset.dedup(texts, index=file, on_error="skip")
    summary = result.summary
    assert [summary[name] for name in ("documents", "kept", "removed", "unreadable")] == [3, 1, 1, 1]
    assert result.unreadable["id"].to_pylist() == ["b"]
    assert ids_in(file) == ["old", "c"]


@pytest.mark.parametrize("arrivals", [{}, {"a": ""}, {"a": LINE}], ids=["none", "empty", "one"])
def test_few_documents(file: str, arrivals: dict[str, str]) -> None:
    new_index(file, {"old": LINE})
    result = twinset.dedup(arrivals, index=file)
    assert result.summary["removed"] == (arrivals.get("a") == LINE)


# Ids that stand for another text


def test_a_kept_document_whose_id_stands_for_another_text_is_refused_before_anything_is_written(
    where: str, tmp_path: Path
) -> None:
    new_index(where, {"7": LINE, "8": "something else"})
    words = {"index": where, "output": tmp_path / "out"}
    for text in (LINE + " and more", "quite another"):
        message = r"'7' and another text \(and 1 more such ids\); remove the old text with twinset index remove"
        with pytest.raises(twinset.DuplicateIdError, match=message):
            twinset.dedup({"7": text, "8": "unlike", "9": "fresh"}, **words)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob("out*")) == []
    assert ids_in(where) == ["7", "8"]


def test_a_removed_document_may_have_an_id_that_stands_for_another_text(file: str) -> None:
    """An edited story is no reason to remove itself; that it is like another one is."""
    old = {"7": LINE + " one", "8": LINE + " one two three four"}
    new_index(file, old)
    arrivals = table_of([("9", LINE + " one"), ("7", LINE + " one two three four"), ("x", "new")])
    result = twinset.dedup(arrivals, index=file)
    check(result, old, arrivals, "first", "leader")
    assert clusters_of(result) == {"9": "7", "7": "8", "x": "x"}
    assert ids_in(file) == ["7", "8", "x"]


@pytest.mark.parametrize("ids", ["79", "97"])
def test_an_edited_story_is_not_removed_because_of_its_own_earlier_text(file: str, ids: str) -> None:
    """Nor does a copy of it, which stands or falls with it, slip past that text."""
    new_index(file, {"7": LINE})
    with pytest.raises(twinset.DuplicateIdError, match="'7' and another text; remove the old text with twinset index"):
        twinset.dedup(dict.fromkeys(ids, LINE + " more"), index=file)
    assert ids_in(file) == ["7"]
    assert twinset.dedup({"9": LINE + " more"}, index=file).removed["because_of"].to_pylist() == ["7"]


def test_an_index_can_be_passed_open_and_stays_open(where: str) -> None:
    with twinset.Index.create(where, **CERTAIN) as index:
        index.add(["old"], [LINE])
        result = twinset.dedup({"a": LINE + " x", "b": "fresh"}, index=index)
        assert result.removed["because_of"].to_pylist() == ["old"]
        assert list(index) == ["old", "b"]
        index.add(["c"], ["one more"])
        assert twinset.dedup({"d": "one more"}, index=index).removed["because_of"].to_pylist() == ["c"]
    with twinset.Index.open(where, read_only=True) as index, pytest.raises(twinset.StateError, match="read-only"):
        twinset.dedup({"a": LINE}, index=index)


# Options


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"shingle": "word:5"}, r"shingle is 'word:5', but the index was made with 'word:2'"),
        ({"lowercase": False}, r"lowercase is False, but the index was made with True"),
        ({"bag": True}, r"bag is True, but the index was made with False"),
        ({"n_hashes": 64}, r"n_hashes is 64, but the index was made with"),
        ({"sketch": "kperm"}, r"sketch is 'kperm', but the index was made with 'fss'"),
        ({"recall": 0.9}, r"recall is 0.9, but the index was made with 0.99999"),
        ({"seed": 8}, r"seed is 8, but the index was made with another one"),
        ({"threshold": 0.3}, r"threshold is 0.3, and the index .* planned for 0.6.* only with probability 0\.\d{4}"),
        ({"floor": 0.5, "threshold": 0.7}, r"floor is 0.5, and the index .* was planned for 0.6"),
        ({"floor": 0.8}, r"floor is 0.8, above the threshold, 0.6"),
        ({"against": [{"b": "b"}]}, r"against cannot be used with index="),
        ({"by": "day"}, r"by cannot be used with index="),
        ({"index": 7}, r"index is a int; allowed: the path of an index"),
        ({"index": ""}, r"index is ''; allowed: the path of an index"),
        ({"timeout": -1}, r"timeout is -1; allowed:"),
        ({"index": "nowhere.twinset"}, r"nowhere.twinset: there is no such index"),
        ({"index": "http://here"}, r"an index is in a file or at postgresql://"),
        ({"indx": "news"}, r"unknown option 'indx'; did you mean 'index'"),
    ],
)
def test_words_that_the_index_was_not_made_with_are_refused(file: str, words: dict[str, Any], message: str) -> None:
    new_index(file, {"old": LINE})
    with pytest.raises(twinset.TwinsetError, match=message):
        twinset.dedup({"a": LINE, "b": "fresh"}, **{"index": file, **words})
    assert ids_in(file) == ["old"]


def test_words_that_the_index_was_made_with_may_be_repeated(file: str) -> None:
    new_index(file, {"old": LINE})
    result = twinset.dedup({"a": LINE}, index=file, **CERTAIN, lowercase=True, n_hashes=None)
    assert result.summary["removed"] == 1


def test_a_higher_threshold_may_be_asked_for(file: str) -> None:
    old, arrivals = split(table_of_families(seed=9), 0.3)
    new_index(file, old)
    wanted = expected(old, arrivals, threshold=0.85)
    result = twinset.dedup(arrivals, index=file, threshold=0.85)
    assert clusters_of(result) == wanted.clusters
    assert result.plan.threshold == result.summary["options"]["threshold"] == 0.85
    assert result.summary["index"]["matched"] == len(wanted.matched) < len(expected(old, arrivals).matched)


def test_an_index_that_can_only_estimate_is_refused(file: str) -> None:
    new_index(file, {"old": LINE}, store="none")
    with pytest.raises(twinset.OptionError, match=r"stores only sketches .* estimates, which do not justify"):
        twinset.dedup({"a": LINE}, index=file)


def test_the_seed_of_an_index_is_not_told(tmp_path: Path, file: str) -> None:
    seed = 8_765_432_109_876_543_210 % 2**63
    with twinset.Index.create(file, shingle=SPEC, seed=seed) as index:
        index.add(["old"], [LINE])
    result = twinset.dedup({"a": LINE, "b": "fresh"}, index=file, output=tmp_path / "out")
    assert "seed" not in result.summary["options"]
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or str(seed).encode() not in path.read_bytes()


def test_the_password_of_a_database_is_not_told(tmp_path: Path, postgres_url: str) -> None:
    secret = "hunter2" + "x" * 12
    url = postgres_url + ("&" if "?" in postgres_url else "?") + f"password={secret}"
    new_index(url, {"old": LINE})
    result = twinset.dedup({"a": LINE, "b": "fresh"}, index=url, output=tmp_path / "out")
    assert result.removed["because_of"].to_pylist() == ["old"]
    assert secret not in json.dumps(result.summary)
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()


# Sources and results on disk


def test_a_result_on_disk_says_the_same_as_one_in_memory(tmp_path: Path, file: str) -> None:
    old, arrivals = split(table_of_families(seed=10), 0.3)
    new_index(file, old)
    shutil.copy(file, tmp_path / "before")
    held = twinset.dedup(arrivals, index=file)
    pq.write_table(arrivals, tmp_path / "in.parquet")
    shutil.copy(tmp_path / "before", file)
    laid = twinset.dedup(str(tmp_path / "in.parquet"), index=file, output=tmp_path / "out")
    for name in ("removed", "clusters", "pairs", "empty", "unreadable"):
        assert same(pq.read_table(tmp_path / "out" / f"{name}.parquet"), getattr(held, name)), name
    assert same(pq.read_table(tmp_path / "out" / "kept" / "in.parquet"), held.kept)
    written = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert written["index"] == laid.summary["index"] == held.summary["index"]
    assert written["options"]["index"] == file
    assert "index" in twinset.dedup(arrivals, **CERTAIN).summary


def test_flags_name_the_earlier_document(tmp_path: Path, file: str) -> None:
    old, arrivals = split(table_of_families(seed=11), 0.3)
    new_index(file, old)
    wanted = expected(old, arrivals)
    pq.write_table(arrivals, tmp_path / "in.parquet")
    result = twinset.dedup(str(tmp_path / "in.parquet"), index=file, flag=True, output=tmp_path / "out")
    removed = {row["id"]: row for row in result.removed.to_pylist()}
    flagged = pq.read_table(tmp_path / "out" / "kept" / "in.parquet")
    assert same(flagged.select(arrivals.column_names), arrivals)
    for row in flagged.to_pylist():
        reason = removed.get(row["id"])
        assert row["cluster"] == wanted.clusters[row["id"]]
        assert row["duplicate_of"] == (reason["because_of"] if reason else None)
        assert row["similarity"] == (reason["similarity"] if reason else None)
    assert ids_in(file) == [*old, *wanted.kept], "what would be kept is added, though nothing is removed"


def test_a_folder_of_files_with_the_index_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    new_index(folder / "news.twinset", {"old.txt": LINE})
    (folder / "a.txt").write_text(LINE + " x")
    (folder / "b.txt").write_text("fresh")
    for again in (False, True):  # the second time there is a lock file too
        result = twinset.dedup(str(folder), index=folder / "news.twinset", output=tmp_path / "out", force=again)
        assert result.removed.select(["id", "because_of"]).to_pylist() == [{"id": "a.txt", "because_of": "old.txt"}]
        assert (result.summary["documents"], result.summary["skipped"]) == (2, [])
        assert (tmp_path / "out" / "kept.txt").read_text() == "b.txt\n"
        assert not (folder / "news.twinset-lock").exists()
        (folder / "news.twinset-lock").touch()
    assert ids_in(folder / "news.twinset") == ["old.txt", "b.txt"]
    assert twinset.open_result(tmp_path / "out").rethreshold(0.99, output=tmp_path / "cut").summary["removed"] == 0


def test_an_output_that_would_bury_the_index_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    twinset.dedup({"a": "fresh"}, output=out)
    new_index(out / "news.twinset", {"old": LINE})
    with pytest.raises(twinset.OutputError, match=r"news.twinset is in it; choose another output"):
        twinset.dedup({"b": LINE}, index=out / "news.twinset", output=out, force=True)
    assert ids_in(out / "news.twinset") == ["old"]


def test_hostile_ids_are_added_and_named(where: str, tmp_path: Path) -> None:
    ids = ["'; DROP TABLE documents; --", "\x00", "..", "\uffff\x00", "💥" * 200, " ", "", "á", "a\u0301"]
    texts = [f"{LINE} {' '.join(f'own{place}x{step}' for step in range(60))}" for place in range(len(ids))]
    new_index(where, {})
    first = twinset.dedup(dict(zip(ids, texts, strict=True)), index=where)
    assert first.kept["id"].to_pylist() == ids == ids_in(where)
    second = twinset.dedup(texts, index=where, output=tmp_path / "out")
    assert second.removed["because_of"].to_pylist() == ids
    with pytest.raises(twinset.SourceError, match="the maximum is 1024"):
        twinset.dedup({"x" * 1025: "fresh"}, index=where, output=tmp_path / "more")
    assert not (tmp_path / "more").exists()


def test_the_audit_is_of_arrivals_among_each_other(file: str) -> None:
    """Bands too few on purpose: what they miss among arrivals the audit says, what they miss in the index the plan."""
    dice = random.Random(1)
    rows = []
    for family in range(60):
        words = [f"f{family}w{step}" for step in range(60)]
        for member in range(4):
            changed = [f"{word}x{member}" if dice.random() < 0.05 else word for word in words]
            rows.append((f"{family}-{member}", " ".join(changed)))
    with pytest.warns(twinset.PlanWarning):
        twinset.Index.create(file, shingle=SPEC, threshold=THRESHOLD, n_bands=2, rows_per_band=8, seed=1).close()
    result = twinset.dedup(table_of(rows), index=file)
    audit, index = result.summary["audit"], result.summary["index"]
    assert audit["found"] < audit["pairs"]
    assert index["recall"] < 0.1
    every = oracles.pairs(dict(rows), THRESHOLD, shingle=SPEC)
    assert audit["pairs"] == len(every)
    assert audit["found"] == result.summary["pairs"]
