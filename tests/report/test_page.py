"""The report as a file: its numbers, what it holds, what it must not hold."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests.report.results import families, made, near, text, write
from twinset.errors import OptionError, OutputError, SourceError, StateError
from twinset.report import excerpts
from twinset.report.html_file import as_json, filled
from twinset.report.numbers import Numbers
from twinset.results.stored import StoredResult


def page_of(out: Path, **words: Any) -> str:
    return twinset.open_result(out).report(out.parent / "report.html", force=True, **words).read_text("utf-8")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def words_of(page: str) -> str:
    """What a reader sees without scripts."""
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


hostile = st.sampled_from(["</script>", "<!--", "]]>", "\u2028\u2029", "&lt;"])


@given(st.dictionaries(st.text() | hostile, json_values | hostile, max_size=4))
def test_data_cannot_end_its_element(values: dict[str, Any]) -> None:
    written = as_json(values)
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == values


def test_what_fills_a_place_is_not_looked_at_again() -> None:
    assert filled("{{a}}{{b}}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}}{{a}}"
    with pytest.raises(KeyError):
        filled("{{unknown}}", {})


def test_the_counts_are_those_of_the_tables(tmp_path: Path) -> None:
    out = made(tmp_path)
    result = twinset.open_result(out)
    numbers = Numbers(StoredResult(out))
    removed = result.removed.to_pylist()
    clusters = sorted({row["because_of"] for row in removed})
    assert sorted(numbers.kept_ids.to_pylist()) == clusters
    for place, id in enumerate(numbers.kept_ids.to_pylist()):
        mine = [row["similarity"] for row in removed if row["because_of"] == id]
        assert numbers.sizes[place] == len(mine) + 1
        assert numbers.least[place] == min(mine)
    classes = [(one.label, one.clusters, one.removed) for one in numbers.size_classes]
    assert classes == [("2", 1, 1), ("3", 1, 2), ("4", 1, 3)]
    similarities = result.pairs["similarity"].to_pylist()
    assert numbers.identical == sum(one == 1 for one in similarities) == 1
    assert sum(one.count for one in numbers.histogram) == len(similarities) - 1
    for one in numbers.histogram:
        assert one.count == sum(one.low <= s < one.high for s in similarities if s < 1)


@pytest.mark.parametrize("similarity", [0.8, 0.81, 0.9, 0.95, 0.99, 0.29 / 0.3])
def test_a_pair_at_a_border_is_counted_above_it(tmp_path: Path, similarity: float) -> None:
    numbers = Numbers(StoredResult(made(tmp_path, threshold=0.8)))
    numbers.pair_similarities = np.array([similarity])
    [one] = [one for one in numbers.histogram if one.count]
    assert one.low <= similarity < one.high


def test_expected_misses_follow_the_plan(tmp_path: Path) -> None:
    numbers = Numbers(StoredResult(made(tmp_path, threshold=0.8)))
    numbers.pair_similarities = np.full(1000, 0.805)
    [one] = [one for one in numbers.histogram if one.count]
    assert numbers.expected_missed == pytest.approx(1000 * (1 / numbers.plan.p_found(one.middle) - 1))
    numbers = Numbers(StoredResult(tmp_path / "OUT"))
    numbers.pair_similarities = np.ones(1000)
    assert numbers.expected_missed == 0


def test_the_page_says_what_was_done(tmp_path: Path) -> None:
    out = made(tmp_path, recall=0.95)
    page = page_of(out)
    told = words_of(page)
    for words in (
        "Of 13 documents, 7 are kept and 6 removed as near-duplicates: each is at least 0.6 similar",
        "How sure is this?",
        "Every document was compared exactly with all others, so this is not an estimate.",
        "A cluster is a kept document",
        "recall 0.95",
        "threshold 0.6",
        "identical copies 1 of an earlier document",
        "texts.jsonl source jsonl 13",
    ):
        assert words in told
    data = data_of(page)
    assert data["clusters"]["id"] == ["a", "b", "c"]
    assert data["clusters"]["size"] == [4, 3, 2]
    assert data["removed"]["id"] == ["a-copy", "a-near", "a-far", "b-near", "b-edge", "c-near"]
    assert data["removed"]["cluster"] == [0, 0, 0, 1, 1, 2]
    parts = [part for hunk in data["differences"]["1"]["hunks"] for part in hunk[1] if not part[0]]
    assert parts == [[0, text(1).split()[30] + " ", "altered "]]
    assert data["differences"]["0"]["equal"] is True


def test_nothing_is_loaded_and_nothing_else_may_run(tmp_path: Path) -> None:
    page = page_of(made(tmp_path))
    assert not re.search(r"(?i)\b(src|href)\s*=(?!\"#)", page.split("<script", 1)[0])
    assert not re.search(r"(?i)<[^>]*\son\w+\s*=", page.split("<script", 1)[0])
    assert not re.search(r"(?i)url\(|@import|https?://", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    out = made(tmp_path)
    assert page_of(out) == page_of(out)


def test_texts_can_be_left_out(tmp_path: Path) -> None:
    page = page_of(made(tmp_path), texts=False)
    assert "Texts were left out" in page
    assert not any(word in page for word in text(1).split()[:5])
    data = data_of(page)
    assert data["differences"] == {}
    assert data["excerpts"] == {"kept": {}, "removed": {}}
    assert len(data["removed"]["id"]) == 6


def test_lists_that_are_cut_say_how_much_is_missing(tmp_path: Path) -> None:
    out = made(tmp_path)
    data = data_of(page_of(out, rows=2, clusters=0))
    assert (data["removed"]["id"], data["removed"]["total"]) == (["a-copy", "a-near"], 6)
    assert (data["clusters"]["id"], data["clusters"]["total"]) == (["a", "b"], 3)
    data = data_of(page_of(out, rows=0, clusters=1))
    assert data["removed"]["id"] == ["a-copy", "a-near", "a-far"], "what is shown with its difference is always listed"
    assert data["clusters"]["id"] == ["a"]
    assert sorted(data["differences"]) == ["0", "1", "2"]
    data = data_of(page_of(out, rows=5, clusters=0))
    assert data["removed"]["cluster"] == [0, 0, 0, 1, 1]


def test_a_removed_document_of_an_unlisted_cluster_names_its_kept_one(tmp_path: Path) -> None:
    # The cluster that comes first is the smallest: it is not among the two that are listed, its document is.
    texts = {"small": text(9), "small-near": near(9, 3), **families()}
    data = data_of(page_of(made(tmp_path, texts), rows=2, clusters=0))
    assert data["removed"]["id"][0] == "small-near"
    assert data["removed"]["cluster"][0] == -1
    assert data["removed"]["kept"] == {"0": "small"}


def test_long_texts_are_cut_and_very_long_ones_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MOST", 20)
    out = made(tmp_path)
    found = data_of(page_of(out))["differences"]["2"]
    assert found["cut"] is True
    assert sum(len(side) for hunk in found["hunks"] for part in hunk[1] for side in part[1:]) <= 2 * 20
    monkeypatch.setattr(excerpts, "LONGEST", 50)
    assert data_of(page_of(out))["differences"] == {}
    monkeypatch.setattr(excerpts, "READ", 50)
    assert data_of(page_of(out))["excerpts"] == {"kept": {}, "removed": {}}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"flag": True}, "7 are kept and 6 flagged as near-duplicates"),
        ({"cluster": "components"}, "they are connected to a kept one through pairs"),
        ({"cluster": "complete"}, "all its documents are near each other"),
        ({"threshold": 0.999}, "12 are kept and 1 removed as a near-duplicate: it is at least 0.999 similar to one"),
        ({"floor": 0.3}, "The search went down to 0.3; pairs below 0.6 remove nothing."),
        ({"audit": 0}, "This run was not audited"),
        ({"include": ["<b>&\"'"]}, "include <b>&\"'"),
    ],
)
def test_other_kinds_of_runs(tmp_path: Path, words: dict[str, Any], told: str) -> None:
    assert told in words_of(page_of(made(tmp_path, **words)))


def test_one_document_is_kept_and_one_removed(tmp_path: Path) -> None:
    for words, told in (
        ({}, "1 is kept and 1 removed as a near-duplicate: it is at least 0.6 similar to one that is kept."),
        ({"cluster": "components"}, "1 is kept and 1 removed because it is connected to a kept one through pairs at"),
        ({"contained": 0.6}, "1 is kept and 1 removed because a kept one contains at least 0.6 of it."),
    ):
        folder = tmp_path / "-".join(["made", *words])
        folder.mkdir()
        out = made(folder, {"a": text(1), "b": near(1, 30, "x")}, **words)
        assert f"Of 2 documents, {told}" in words_of(page_of(out))


@pytest.mark.parametrize("texts", [{}, {"one": "a lonely text of a few words"}, {"none": "", "nothing": "…"}])
def test_results_without_anything(tmp_path: Path, texts: dict[str, str]) -> None:
    told = words_of(page_of(made(tmp_path, texts)))
    assert "There are no clusters: nothing was removed." in told
    assert "Nothing was removed." in told


def test_documents_removed_because_of_another_source(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", {"a": near(1, 30, "older"), "z": text(8)})
    new = write(tmp_path / "new.jsonl", {"a": text(1), "b": text(2)})
    twinset.dedup(new, against=[old], output=tmp_path / "OUT")
    data = data_of(page_of(tmp_path / "OUT"))
    assert (data["removed"]["id"], data["clusters"]["id"]) == (["a"], ["a"])
    changes = [part for hunk in data["differences"]["0"]["hunks"] for part in hunk[1] if not part[0]]
    assert changes == [[0, "older ", text(1).split()[30] + " "]], "left is the kept one, of the other source"


def test_a_result_in_memory_has_a_report(tmp_path: Path) -> None:
    done = twinset.dedup(families(), threshold=0.6)
    data = data_of(done.report(tmp_path / "page.html").read_text("utf-8"))
    assert len(data["differences"]) == 6


def test_a_source_that_moved_or_changed(tmp_path: Path) -> None:
    out = made(tmp_path)
    there = (tmp_path / "texts.jsonl").rename(tmp_path / "elsewhere.jsonl")
    with pytest.raises(SourceError, match=r"texts\.jsonl"):
        page_of(out)
    assert not (tmp_path / "report.html").exists()
    assert data_of(page_of(out, source=[str(there)]))["differences"]
    assert data_of(page_of(out, texts=False))["removed"]["total"] == 6
    there.write_text(there.read_text("utf-8").replace("altered", "changed"), "utf-8")
    with pytest.raises(SourceError):
        page_of(out, source=[str(there)])


def test_what_is_wrong_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    out = made(tmp_path)
    result = twinset.open_result(out)
    with pytest.raises(OptionError, match=r"ends in \.html or \.htm"):
        result.report(tmp_path / "page.pdf")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        result.report(tmp_path / "folder.html")
    with pytest.raises(OutputError, match="cannot write"):
        result.report(tmp_path / "nowhere" / "page.html")
    with pytest.raises(OptionError, match="clusters is -1"):
        result.report(tmp_path / "page.html", clusters=-1)
    damaged = out / "removed.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    with pytest.raises(StateError, match=r"removed\.parquet"):
        twinset.open_result(out).report(tmp_path / "page.html")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["OUT", "folder.html", "texts.jsonl"]


def test_a_report_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    out = made(tmp_path)
    (tmp_path / "report.html").write_text("old")
    assert "Twinset report" in page_of(out)
    assert (tmp_path / "report.html").stat().st_mode & 0o077 == (tmp_path / "texts.jsonl").stat().st_mode & 0o077
