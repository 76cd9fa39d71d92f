"""Another threshold out of the same scored pairs: equal, file by file, to a fresh run with the same plan."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import twinset

WORDS = {"shingle": "word:2", "floor": 0.4, "recall": 0.999}
METHODS = ("leader", "complete", "components")
POLICIES = ("first", "longest", "source,longest", "newest:day", "highest:score,longest", "source")


def rows_of(seed: int = 1, families: int = 12, members: int = 7) -> list[dict[str, Any]]:
    """Versions of texts with copies, empty ones and ties; some letters are more than a byte."""
    rng = random.Random(seed)
    rows = []
    for family in range(families):
        text = [f"f{family}é{i}" for i in range(30)]
        for _ in range(members):
            for _ in range(rng.randrange(4)):
                text[rng.randrange(len(text))] = f"n{rng.randrange(10**6)}"
            rows.append({"text": " ".join(text)})
    rows += [{"text": text} for text in ("", " ... ", "short", "short", "Short!")]
    rng.shuffle(rows)
    for number, row in enumerate(rows):
        row.update(
            id=f"{rng.randrange(10**6):06}-{number}",
            day=rng.choice(["2024-01-01", "2024-05-05", "2023-12-31"]),
            score=rng.choice([None, 1.5, 2.0, -3.0]),
            side=rng.choice(["a", "b"]),
        )
    return rows


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = [("id", "string"), ("text", "string"), ("day", "string"), ("score", "float64"), ("side", "string")]
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def tree(folder: Path) -> dict[str, Any]:
    """Every file of a result with its bytes; of summary.json all but the timings."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "summary.json":
            summary = json.loads(path.read_text("utf-8"))
            summary.pop("timings")
            found[path.name] = summary
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def equal_to_fresh(tmp_path: Path, *sources: object, cut: dict[str, Any], **words: Any) -> Path:
    """Run at one threshold, cut at another, and run afresh at that: the two last must be the same."""
    words = {**WORDS, **words}
    first = {name: value for name, value in words.items() if name not in ("keep", "cluster")}
    twinset.dedup(*sources, output=tmp_path / "out", threshold=0.5, **first)
    before = tree(tmp_path / "out")
    done = twinset.open_result(tmp_path / "out").rethreshold(output=tmp_path / "new", **cut)
    twinset.dedup(*sources, output=tmp_path / "fresh", **{**words, **cut})
    fresh, new = tree(tmp_path / "fresh"), tree(tmp_path / "new")
    assert list(new) == list(fresh)
    for name, content in fresh.items():
        assert new[name] == content, name
    assert tree(tmp_path / "out") == before
    assert json.loads((tmp_path / "new/summary.json").read_text("utf-8")) == json.loads(json.dumps(done.summary))
    assert not list(tmp_path.glob("*.twinset-state"))
    return tmp_path / "new"


# Clusters and policies


@pytest.mark.parametrize("cluster", METHODS)
@pytest.mark.parametrize("keep", POLICIES)
def test_every_method_and_policy(tmp_path: Path, cluster: str, keep: str) -> None:
    table = table_of(rows_of())
    pq.write_table(table.slice(0, 30), tmp_path / "a.parquet")
    pq.write_table(table.slice(30), tmp_path / "b.parquet")
    sources = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    new = equal_to_fresh(tmp_path, *sources, cut={"threshold": 0.75, "cluster": cluster, "keep": keep})
    summary = json.loads((new / "summary.json").read_text("utf-8"))
    assert 0 < summary["removed"] < json.loads((tmp_path / "out/summary.json").read_text("utf-8"))["removed"]


@pytest.mark.parametrize("threshold", [0.4, 0.5, 0.6666666666666666, 0.9, 1.0])
def test_any_threshold_down_to_the_floor(tmp_path: Path, threshold: float) -> None:
    pq.write_table(table_of(rows_of(2)), tmp_path / "in.parquet")
    equal_to_fresh(tmp_path, str(tmp_path / "in.parquet"), cut={"threshold": threshold})


def test_a_pair_exactly_at_the_threshold_stays(tmp_path: Path) -> None:
    pq.write_table(table_of(rows_of(3)), tmp_path / "in.parquet")
    twinset.dedup(str(tmp_path / "in.parquet"), output=tmp_path / "first", threshold=0.5, **WORDS)
    steps = sorted(set(twinset.open_result(tmp_path / "first").pairs["similarity"].to_pylist()))
    assert len(steps) > 10
    for number, threshold in enumerate(steps[3:-1:2]):
        (tmp_path / str(number)).mkdir()
        equal_to_fresh(tmp_path / str(number), str(tmp_path / "in.parquet"), cut={"threshold": threshold})


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=0, max_size=12).map(" ".join), max_size=25),
    floor=st.sampled_from([0.2, 0.5]),
    threshold=st.sampled_from([0.5, 0.6, 0.75, 1.0]),
    cluster=st.sampled_from(METHODS),
    keep=st.sampled_from(["first", "longest"]),
)
def test_cuts_in_memory_equal_fresh_runs(
    texts: list[str], floor: float, threshold: float, cluster: str, keep: str
) -> None:
    words = {"shingle": "word:2", "floor": floor, "recall": 0.999}
    cut = twinset.dedup(texts, threshold=0.5, **words).rethreshold(threshold, cluster=cluster, keep=keep)
    fresh = twinset.dedup(texts, threshold=threshold, cluster=cluster, keep=keep, **words)
    for name in ("pairs", "removed", "clusters", "kept", "empty", "unreadable"):
        assert getattr(cut, name).equals(getattr(fresh, name)), name
    assert {**cut.summary, "timings": 0} == {**fresh.summary, "timings": 0}


# Ways in


def written(rows: list[dict[str, Any]], folder: Path, kind: str) -> list[str]:
    """The same rows in one of the formats."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path = folder / f"in.{kind}"
    if kind == "jsonl":
        path.write_bytes(lines)
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress(lines))
    elif kind == "csv":
        header = "id,text,day,side\r\n"
        body = "".join(f'{row["id"]},"{row["text"]}",{row["day"]},{row["side"]}\r\n' for row in rows)
        path.write_text(header + body, "utf-8", newline="")
    elif kind == "arrow":
        pa.feather.write_feather(table_of(rows), path)
    elif kind == "txt":
        path.write_text("".join(row["text"] + "\n" for row in rows), "utf-8")
    return [str(path)]


FORMATS = [(kind, flag) for kind in ("jsonl", "jsonl.gz", "csv", "arrow") for flag in (False, True)]


@pytest.mark.parametrize(("kind", "flag"), [*FORMATS, ("txt", False)])  # lines have no columns to add to
def test_every_format(tmp_path: Path, kind: str, flag: bool) -> None:
    sources = written(rows_of(4), tmp_path, kind)
    equal_to_fresh(tmp_path, *sources, cut={"threshold": 0.8}, flag=flag, lines=kind == "txt")


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("singly", [False, True])
@pytest.mark.parametrize("cluster", ["leader", "components"])
def test_folders_of_texts(tmp_path: Path, copy: bool, singly: bool, cluster: str) -> None:
    folder = tmp_path / "texts"
    for number, row in enumerate(rows_of(5)):
        path = folder / ("below" if number % 3 else ".") / f"{row['id']}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row["text"], "utf-8")
    sources = [str(path) for path in sorted(folder.rglob("*.txt"))] if singly else [str(folder)]
    cut = {"threshold": 0.8, "cluster": cluster, "keep": "longest"}
    new = equal_to_fresh(tmp_path, *sources, cut=cut, copy=copy)
    assert (new / "kept.txt").read_text("utf-8").count("\n") == twinset.open_result(new).summary["kept"]


def test_a_folder_of_tables_and_its_outputs_inside(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for at in range(0, 80, 20):
        pq.write_table(table_of(rows_of(6)).slice(at, 20), data / f"{at:02}.parquet")
    twinset.dedup(str(data), output=data / "out", threshold=0.5, **WORDS)
    cut = twinset.open_result(data / "out").rethreshold(0.8, output=data / "new")
    again = twinset.open_result(data / "new").rethreshold(0.5, output=tmp_path / "again")
    assert cut.summary["kept"] > again.summary["kept"]
    third = twinset.open_result(data / "out").rethreshold(0.8, output=data / "third")
    assert third.removed.equals(cut.removed), "other results in the folder are no sources"
    pq.write_table(table_of(rows_of(7)), data / "99.parquet")
    with pytest.raises(twinset.SourceError, match="changed since that run"):
        twinset.open_result(data / "out").rethreshold(0.8, output=data / "fourth")
    assert again.removed.equals(twinset.open_result(data / "out").removed)


def test_only_rows_of_one_column_value_are_compared(tmp_path: Path) -> None:
    pq.write_table(table_of(rows_of(7)), tmp_path / "in.parquet")
    equal_to_fresh(tmp_path, str(tmp_path / "in.parquet"), cut={"threshold": 0.8, "keep": "longest"}, by="side")


@pytest.mark.parametrize("flag", [False, True])
def test_against_another_source(tmp_path: Path, flag: bool) -> None:
    rows = rows_of(8)
    twice = [{**row, "id": f"again-{number}"} for number, row in enumerate(rows[:20])]
    pq.write_table(table_of(rows[:50] + twice), tmp_path / "ours.parquet")
    pq.write_table(table_of(rows[30:]), tmp_path / "theirs.parquet")
    theirs = str(tmp_path / "theirs.parquet")
    new = equal_to_fresh(tmp_path, str(tmp_path / "ours.parquet"), cut={"threshold": 0.8}, against=[theirs], flag=flag)
    assert pq.read_table(new / "removed.parquet").num_rows > 20
    with pytest.raises(twinset.OptionError, match="cannot be used with against="):
        twinset.open_result(new).rethreshold(0.9, keep="longest")


def test_rows_that_cannot_be_read_and_share_an_id(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in rows_of(9)]
    named = json.loads(lines[5])["id"]
    lines[2:2] = ["{broken", json.dumps({"id": named, "text": 7})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    new = equal_to_fresh(tmp_path, str(tmp_path / "in.jsonl"), cut={"threshold": 0.8}, on_error="skip")
    assert pq.read_table(new / "unreadable.parquet").num_rows == 2


@pytest.mark.parametrize("texts", [[], ["", ""], ["one"], ["same here", "same here"]])
@pytest.mark.parametrize("cluster", METHODS)
def test_few_documents(tmp_path: Path, texts: list[str], cluster: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    equal_to_fresh(tmp_path, str(source), cut={"threshold": 0.9, "cluster": cluster})


# Cuts of cuts, in memory, in place


def test_a_cut_can_be_cut_again_down_to_the_floor(tmp_path: Path) -> None:
    pq.write_table(table_of(rows_of(10)), tmp_path / "in.parquet")
    first = twinset.dedup(str(tmp_path / "in.parquet"), output=tmp_path / "0", threshold=0.6, **WORDS)
    first.rethreshold(0.9, output=tmp_path / "1", keep="longest")
    twinset.open_result(tmp_path / "1").rethreshold(0.6, output=tmp_path / "2", keep="first")
    assert tree(tmp_path / "2") == tree(tmp_path / "0")
    told = json.loads((tmp_path / "1/summary.json").read_text("utf-8"))["timings"]["cut_from"]
    assert (told["folder"], told["threshold"], told["keep"]) == (str(tmp_path / "0"), 0.6, "first")
    assert told["check"] == first.summary["check"]


def test_a_result_can_be_replaced_by_its_own_cut(tmp_path: Path) -> None:
    pq.write_table(table_of(rows_of(10)), tmp_path / "in.parquet")
    out = tmp_path / "out"
    twinset.dedup(str(tmp_path / "in.parquet"), output=out, threshold=0.6, **WORDS)
    twinset.open_result(out).rethreshold(0.8, output=tmp_path / "apart")
    with pytest.raises(twinset.OutputError, match="force=True"):
        twinset.open_result(out).rethreshold(0.8, output=out)
    twinset.open_result(out).rethreshold(0.8, output=out, force=True)
    assert tree(out) == tree(tmp_path / "apart")


def test_without_a_folder_the_tables_are_new_and_the_rows_are_read_when_asked_for(tmp_path: Path) -> None:
    table = table_of(rows_of(11))
    pq.write_table(table, tmp_path / "in.parquet")
    fresh = twinset.dedup(table, threshold=0.8, keep="newest:day", **WORDS)
    held = twinset.dedup(table, threshold=0.5, **WORDS).rethreshold(0.8, keep="newest:day")
    laid = twinset.dedup(str(tmp_path / "in.parquet"), output=tmp_path / "out", threshold=0.5, **WORDS)
    (tmp_path / "in.parquet").rename(tmp_path / "gone.parquet")
    again = laid.rethreshold(0.8)
    assert again.kept["id"].to_pylist() == twinset.dedup(table, threshold=0.8, **WORDS).kept["id"].to_pylist()
    assert again.kept.column_names == ["id"]
    assert held.kept.equals(fresh.kept)
    assert held.rethreshold(0.5).rethreshold(0.8, keep="newest:day").removed.equals(fresh.removed)
    with pytest.raises(twinset.SourceError, match="no longer exists"):
        laid.rethreshold(0.8, keep="newest:day")


def test_a_result_in_memory_goes_into_a_folder(tmp_path: Path) -> None:
    pq.write_table(table_of(rows_of(11)), tmp_path / "in.parquet")
    source = str(tmp_path / "in.parquet")
    twinset.dedup(source, threshold=0.5, **WORDS).rethreshold(0.8, output=tmp_path / "new")
    twinset.dedup(source, threshold=0.8, output=tmp_path / "fresh", **WORDS)
    assert tree(tmp_path / "new") == tree(tmp_path / "fresh")
    table = table_of(rows_of(11))
    twinset.dedup(table, threshold=0.5, **WORDS).rethreshold(0.8, output=tmp_path / "table")
    assert pq.read_table(tmp_path / "table/kept/table.parquet").equals(pq.read_table(tmp_path / "new/kept/in.parquet"))


def test_a_list_that_was_changed_is_refused_and_a_reader_is_held() -> None:
    texts = [row["text"] for row in rows_of(12)]
    result = twinset.dedup(texts, threshold=0.5, **WORDS)
    texts[3] += " more"
    with pytest.raises(twinset.SourceError, match="changed"):
        _ = result.rethreshold(0.8).kept
    texts.pop()
    with pytest.raises(twinset.SourceError, match="documents that it had"):
        _ = result.rethreshold(0.8).kept
    table = table_of(rows_of(12))
    assert twinset.dedup(table.to_reader(), threshold=0.5, **WORDS).rethreshold(0.8).kept.equals(
        twinset.dedup(table, threshold=0.8, **WORDS).kept
    )


# So many rows


@pytest.mark.parametrize("cluster", METHODS)
def test_the_threshold_that_leaves_so_many_rows(tmp_path: Path, cluster: str) -> None:
    pq.write_table(table_of(rows_of(13, families=20)), tmp_path / "in.parquet")
    result = twinset.dedup(
        str(tmp_path / "in.parquet"), output=tmp_path / "out", threshold=0.6, cluster=cluster, **WORDS
    )
    steps = sorted({0.4, 1.0, *result.pairs["similarity"].to_pylist()})
    kept = [result.rethreshold(step).summary["kept"] for step in steps[:: max(1, len(steps) // 12)]]
    for rows in (kept[0], kept[len(kept) // 2], kept[-1], (kept[1] + kept[-1]) // 2):
        found = result.rethreshold(rows=rows)
        threshold = found.summary["options"]["threshold"]
        assert found.summary["kept"] == result.rethreshold(threshold).summary["kept"]
        assert abs(found.summary["kept"] - rows) <= min(abs(count - rows) for count in kept)
        assert len(repr(threshold)) <= 8, "a short number"
    for rows in (kept[0] - 1, 10**6):
        with pytest.raises(twinset.OptionError, match=f"rows is {rows:,}.*leave {kept[0]} to"):
            result.rethreshold(rows=rows)
    with pytest.raises(twinset.OptionError, match="leave one of them out"):
        result.rethreshold(0.8, rows=100)


# Refusals


def test_below_the_floor_nothing_is_known(tmp_path: Path) -> None:
    texts = [row["text"] for row in rows_of(14)]
    with pytest.raises(twinset.OptionError, match=r"threshold is 0.3, and pairs below 0.4.*floor=0.3"):
        twinset.dedup(texts, threshold=0.5, **WORDS).rethreshold(0.3)
    with pytest.raises(twinset.OptionError, match=r"pairs below 0.8"):
        twinset.dedup(texts, shingle="word:2").rethreshold(0.7)
    with pytest.raises(twinset.OptionError, match=r"floor is 0.9, above the threshold, 0.8"):
        twinset.dedup(texts, floor=0.9)
    for wrong in (0, 1.5, float("nan"), "0.9"):
        with pytest.raises(twinset.OptionError, match="threshold is"):
            twinset.dedup(texts).rethreshold(wrong)


def test_a_floor_changes_the_plan_and_the_pairs_and_no_cluster(tmp_path: Path) -> None:
    texts = [row["text"] for row in rows_of(15)]
    plain = twinset.dedup(texts, threshold=0.8, shingle="word:2", recall=0.99999)
    low = twinset.dedup(texts, threshold=0.8, floor=0.5, shingle="word:2", recall=0.99999)
    assert low.plan == twinset.plan(0.5, 0.99999) != plain.plan
    assert low.pairs.num_rows > plain.pairs.num_rows
    assert low.removed.equals(plain.removed)
    assert min(low.pairs["similarity"].to_pylist()) < 0.6


@pytest.mark.parametrize("how", ["edited", "longer", "gone", "another"])
def test_a_source_that_was_changed_is_refused(tmp_path: Path, how: str) -> None:
    source = tmp_path / "in.jsonl"
    rows = rows_of(16)
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    twinset.dedup(str(source), output=tmp_path / "out", threshold=0.5, **WORDS)
    text = source.read_text("utf-8")
    if how == "edited":
        source.write_text(text.replace('"side": "a"', '"side": "z"', 1), "utf-8")
    elif how == "longer":
        source.write_text(text + json.dumps(rows[0]) + "\n", "utf-8")
    elif how == "gone":
        source.unlink()
    else:
        shutil.rmtree(source, ignore_errors=True)
        source.unlink()
        source.mkdir()
        (source / "a.txt").write_text("hello", "utf-8")
    with pytest.raises(twinset.SourceError, match=r"in\.jsonl"):
        twinset.open_result(tmp_path / "out").rethreshold(0.8, output=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob("*.twinset-state"))
    assert twinset.open_result(tmp_path / "out").rethreshold(0.8).summary["kept"] > 0, "no text is needed for tables"


def test_moved_sources_are_named(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "elsewhere"
    old.mkdir()
    table = table_of(rows_of(17))
    for name, start in (("a", 0), ("b", 30), ("c", 60)):
        pq.write_table(table.slice(start, 30), old / f"{name}.parquet")
    ours, theirs = [str(old / "a.parquet"), str(old / "b.parquet")], str(old / "c.parquet")
    twinset.dedup(*ours, against=[theirs], output=tmp_path / "out", threshold=0.5, **WORDS)
    twinset.open_result(tmp_path / "out").rethreshold(0.8, output=tmp_path / "before")
    old.rename(new)
    moved = [str(new / f"{name}.parquet") for name in "abc"]
    result = twinset.open_result(tmp_path / "out")
    with pytest.raises(twinset.SourceError, match="no longer exists"):
        result.rethreshold(0.8, output=tmp_path / "new")
    with pytest.raises(twinset.OptionError, match=r"source= names 1 source, but that run was given 2"):
        result.rethreshold(0.8, output=tmp_path / "new", source=moved[:1])
    with pytest.raises(twinset.SourceError, match="changed"):
        result.rethreshold(0.8, output=tmp_path / "new", source=[moved[1], moved[0], moved[2]])
    result.rethreshold(0.8, output=tmp_path / "new", source=moved)
    before, after = tree(tmp_path / "before"), tree(tmp_path / "new")
    for name in before:
        assert before[name] == after[name] or name in ("sources.parquet", "summary.json"), name
    assert pq.read_table(tmp_path / "new/sources.parquet")["path"].to_pylist() == moved
    twinset.open_result(tmp_path / "new").rethreshold(0.8, output=tmp_path / "newer")
    assert tree(tmp_path / "newer") == after
    opened = twinset.open_result(tmp_path / "out", source=moved)
    assert opened.rethreshold(0.8, output=tmp_path / "again").summary["check"] == after["summary.json"]["check"]


def test_relative_sources_are_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there, third = tmp_path / "here", tmp_path / "there", tmp_path / "third"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    pq.write_table(table_of(rows_of(18)), "in.parquet")
    twinset.dedup("in.parquet", output="out", threshold=0.5, **WORDS)
    monkeypatch.chdir(there)
    twinset.open_result(here / "out").rethreshold(0.8, output="new")
    here.rename(third)  # the folder moves with all that is in it
    monkeypatch.chdir(third)
    twinset.open_result("out").rethreshold(0.8, output="new")
    left, right = tree(there / "new"), tree(third / "new")
    assert left["kept/in.parquet"] == right["kept/in.parquet"]
    assert left["removed.parquet"] == right["removed.parquet"]


def test_what_was_in_memory_only_is_stored_and_may_be_given_again(tmp_path: Path) -> None:
    table = table_of(rows_of(19))
    twinset.dedup(table, output=tmp_path / "out", threshold=0.5, **WORDS)
    result = twinset.open_result(tmp_path / "out")
    result.rethreshold(0.8, output=tmp_path / "stored")
    result.rethreshold(0.8, output=tmp_path / "new", source=[table])
    fresh = twinset.dedup(table, output=tmp_path / "fresh", threshold=0.8, **WORDS)
    assert tree(tmp_path / "new") == tree(tmp_path / "fresh") == tree(tmp_path / "stored")
    assert fresh.summary["kept"] > result.summary["kept"]
