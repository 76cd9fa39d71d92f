"""A result of arrivals, looked at again: recut, explain and report know the documents of the index."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import twinset
from tests.arrivals import expected, ids_in, new_index, split, table_of
from tests.jobs.test_dedup import LINE, clusters_of, methods, same, table_of_families

FILES = ("removed", "clusters", "pairs", "earlier", "documents", "empty", "unreadable")


class Made:
    """A result folder, what it was made from, and the index as it was before."""

    def __init__(self, folder: Path, seed: int = 1, **words: Any) -> None:
        self.folder = folder
        self.old, self.arrivals = split(table_of_families(seed=seed), 0.3)
        self.source = folder / "in.parquet"
        pq.write_table(self.arrivals, self.source)
        new_index(folder / "before.twinset", self.old)
        self.result = self.run("out", **words)

    def run(self, name: str, **words: Any) -> Any:
        """Run against the index as it was before."""
        shutil.copy(self.folder / "before.twinset", self.folder / "news.twinset")
        index, output = self.folder / "news.twinset", self.folder / name
        return twinset.dedup(str(self.source), index=index, output=output, **words)


def tables_of(folder: Path) -> dict[str, Any]:
    """Every table of a result, and its kept rows."""
    found = {name: pq.read_table(folder / f"{name}.parquet") for name in FILES}
    return {**found, "kept": pq.read_table(folder / "kept" / "in.parquet")}


# Another threshold, another policy


@methods
@pytest.mark.parametrize(
    "cut", [{"threshold": 0.6}, {"threshold": 0.75}, {"threshold": 0.9, "keep": "longest"}, {"keep": "newest:day"}]
)
def test_a_cut_is_what_a_fresh_run_gives(tmp_path: Path, method: str, cut: dict[str, Any]) -> None:
    made = Made(tmp_path, threshold=0.7, floor=0.6)
    there = ids_in(tmp_path / "news.twinset")
    again = twinset.open_result(tmp_path / "out").rethreshold(output=tmp_path / "cut", cluster=method, **cut)
    assert ids_in(tmp_path / "news.twinset") == there, "a cut changes no index"
    fresh = made.run("fresh", floor=0.6, cluster=method, **{"threshold": 0.7, **cut})
    cut_tables, fresh_tables = tables_of(tmp_path / "cut"), tables_of(tmp_path / "fresh")
    for name, table in fresh_tables.items():
        assert same(cut_tables[name], table), name
    skipped = ("timings", "check", "index")
    told = {name: value for name, value in again.summary.items() if name not in skipped}
    assert told == {name: fresh.summary[name] for name in told}
    for name, value in again.summary["index"].items():
        assert fresh.summary["index"][name] == value
    assert {"added", "there"}.isdisjoint(again.summary["index"])
    wanted = expected(made.old, made.arrivals, cut.get("keep", "first"), method, cut.get("threshold", 0.7))
    assert clusters_of(again) == wanted.clusters


def test_a_cut_of_a_result_in_memory(tmp_path: Path) -> None:
    old, arrivals = split(table_of_families(seed=2), 0.3)
    new_index(tmp_path / "news.twinset", old)
    result = twinset.dedup(arrivals, index=tmp_path / "news.twinset")
    for threshold in (0.6, 0.8, 1.0):
        cut = result.rethreshold(threshold)
        wanted = expected(old, arrivals, threshold=threshold)
        assert clusters_of(cut) == wanted.clusters
        assert cut.kept["id"].to_pylist() == wanted.kept
        assert cut.kept.column_names == arrivals.column_names
    with pytest.raises(twinset.OptionError, match=r"pairs below 0.6, the floor"):
        result.rethreshold(0.5)


def test_a_cut_that_leaves_so_many_rows(tmp_path: Path) -> None:
    Made(tmp_path)
    result = twinset.open_result(tmp_path / "out")
    rows = result.summary["kept"] + 15
    cut = result.rethreshold(rows=rows)
    assert abs(cut.summary["kept"] - rows) <= 3
    assert cut.summary["index"]["matched"] < result.summary["index"]["matched"]


def test_a_cut_of_a_cut_and_of_a_repeated_run(tmp_path: Path) -> None:
    """What the index had already comes first in every cut, as it did in the run."""
    new_index(tmp_path / "news.twinset", {"60": LINE, "far": "something else"})
    arrivals = table_of([("120", LINE + " and more"), ("60", LINE), ("121", "a new one")])
    result = twinset.dedup(arrivals, index=tmp_path / "news.twinset", output=tmp_path / "out")
    assert clusters_of(result) == {"120": "60", "60": "60", "121": "121"}
    for cut in (result.rethreshold(), result.rethreshold(0.7).rethreshold(0.9), result.rethreshold(keep="longest")):
        assert clusters_of(cut) == clusters_of(result)
    assert result.rethreshold(0.99).summary["removed"] == 0


def test_a_cut_that_would_keep_a_document_with_the_id_of_an_earlier_one_is_refused(tmp_path: Path) -> None:
    new_index(tmp_path / "news.twinset", {"7": LINE + " one", "8": LINE + " one two three four"})
    arrivals = {"9": LINE + " one", "7": LINE + " one two three", "x": "new"}
    result = twinset.dedup(arrivals, index=tmp_path / "news.twinset")
    assert clusters_of(result) == {"9": "7", "7": "8", "x": "x"}
    with pytest.raises(twinset.DuplicateIdError, match=r"'7' belongs to a document that would be kept and to another"):
        result.rethreshold(0.99)


# Explanations


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """A result in which one document was removed because of an earlier one, and one because of an arrival."""
    new_index(tmp_path / "news.twinset", {"old": LINE + " harbour"})
    arrivals = {"a": LINE + " station", "b": "one two three four five", "c": "one two three four five", "d": ""}
    twinset.dedup(arrivals, index=tmp_path / "news.twinset", output=tmp_path / "out")
    (tmp_path / "in.jsonl").write_text("")
    return tmp_path


def explained(folder: Path, id: str, *other: str) -> Any:
    arrivals = {"a": LINE + " station", "b": "one two three four five", "c": "one two three four five", "d": ""}
    return twinset.open_result(folder / "out").explain(id, *other, source=[arrivals])


def test_a_removal_is_explained_with_the_text_of_the_index(told: Path) -> None:
    found = explained(told, "a")
    assert (found.state, found.cluster, found.other) == ("removed", "old", "old")
    assert found.members["id"].to_pylist() == ["a"]
    assert found.explanation.similarity == found.members["similarity"][0].as_py() == 39 / 41
    assert (found.explanation.left_only, found.explanation.right_only) == (("word39 station",), ("word39 harbour",))
    other = explained(told, "c")
    assert (other.state, other.cluster, other.explanation.similarity) == ("removed", "b", 1.0)


def test_an_earlier_document_can_be_asked_for(told: Path) -> None:
    found = explained(told, "old")
    assert (found.state, found.cluster, found.other) == ("earlier", "old", "a")
    assert found.explanation.left_only == ("word39 harbour",)
    both = explained(told, "b", "old")
    assert (both.state, both.explanation.similarity) == ("kept", 0.0)
    with pytest.raises(twinset.OptionError, match="there is no document 'older'"):
        explained(told, "older")


def test_an_earlier_document_that_was_changed_or_is_gone(told: Path) -> None:
    with twinset.Index.open(told / "news.twinset") as index:
        index.update(["old"], [LINE + " airport and more"])
    with pytest.raises(twinset.SourceError, match=r"news.twinset: the document 'old' was changed in the index"):
        explained(told, "a")
    with twinset.Index.open(told / "news.twinset") as index:
        index.remove("old")
    gone = explained(told, "a")
    assert (gone.state, gone.other, gone.explanation) == ("removed", "old", None)
    (told / "news.twinset").unlink()
    with pytest.raises(twinset.StateError, match=r"news.twinset: there is no such index"):
        explained(told, "a")
    assert explained(told, "c").cluster == "b", "others need no index"


def test_an_index_that_keeps_no_texts_explains_as_far_as_it_can(tmp_path: Path) -> None:
    new_index(tmp_path / "news.twinset", {"old": LINE}, store="shingles")
    result = twinset.dedup({"a": LINE + " x"}, index=tmp_path / "news.twinset")
    found = result.explain("a")
    assert (found.state, found.cluster, found.explanation) == ("removed", "old", None)
    assert found.members["similarity"].to_pylist() == [39 / 40]
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert '"kept":{}' in page


# The report


def test_a_report_shows_documents_of_the_index(tmp_path: Path) -> None:
    made = Made(tmp_path, seed=3)
    page = made.result.report(tmp_path / "page.html").read_text("utf-8")
    index = made.result.summary["index"]
    assert f"<dt>in the index</dt><dd>{index['documents']:,}" in page
    assert f"<dt>removed because of these</dt><dd>{index['matched']:,}" in page
    because = {row["because_of"] for row in made.result.removed.to_pylist()} & set(made.old)
    assert len(because) > 10
    for name in because:
        assert f'"{name}"' in page
        assert made.old[name][:60] in page, "an excerpt of the earlier text"
    assert len(re.findall(r'"hunks":', page)) > 10
    assert made.old[next(iter(because))] not in made.result.report(tmp_path / "bare.html", texts=False).read_text()


def test_a_report_without_texts_needs_no_index(tmp_path: Path) -> None:
    made = Made(tmp_path, seed=4)
    (tmp_path / "news.twinset").unlink()
    assert made.result.report(tmp_path / "bare.html", texts=False).exists()
    with pytest.raises(twinset.StateError, match="there is no such index"):
        made.result.report(tmp_path / "page.html")
