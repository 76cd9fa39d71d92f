"""Without a script: links and forms do everything, and every kind of item can be reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinset
from tests.pictures import EDITS, encoded, scene
from tests.report.results import families, made, near, text, write
from tests.web.review.reviewing import Review


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return unescape(found[1])


def form(page: str, **more: Any) -> dict[str, Any]:
    """The fields of the form for a verdict."""
    return {**{name: field(page, name) for name in ("list", "item", "pair", "seen", "choice")}, **more}


def judge(review: Review, path: str, who: str = "", **more: Any) -> str:
    """Judge as a form does; the address that the answer leads to."""
    answer = review.ask("/verdicts", form(review.ask(path).text, **more), who=who)
    assert answer.status == 303, answer.text
    return answer.headers["location"]


def test_a_review_by_links_and_forms_alone(review: Review) -> None:
    assert review.ask("/").headers["location"] == "/clusters"
    page = review.ask("/clusters").text.partition("</ol>")[0]
    assert re.findall(r'<bdi class="id">(\w+)</bdi>\s*<bdi class="beginning">', page) == ["a", "b", "c"]
    where = judge(review, "/clusters/0?pair=1", verdict="duplicate", on=1)
    assert where == "/clusters/0?pair=2"
    assert judge(review, where, verdict="different", on=1, note="not the same") == "/clusters/1?pair=3"
    assert judge(review, "/clusters/2", verdict="unsure", on=0) == "/clusters/2?pair=5"
    assert review.verdicts() == {
        ("a", "a-near"): "duplicate",
        ("a", "a-far"): "different",
        ("c", "c-near"): "unsure",
    } | {("a", "a-far"): "different"}
    assert "not the same" in review.ask("/clusters/0?pair=2").text
    back = review.ask("/undo", form(review.ask("/clusters/0?pair=2").text))
    assert back.headers["location"] == "/clusters/2?pair=5"
    assert ("c", "c-near") not in review.verdicts()
    review.ask("/redo", form(review.ask("/clusters/0").text))
    assert review.verdicts()["c", "c-near"] == "unsure"


def test_a_later_verdict_of_another_is_not_overwritten_silently(review: Review) -> None:
    page = form(review.ask("/clusters/0?pair=1").text, verdict="duplicate")
    assert judge(review, "/clusters/0?pair=1", who="Bob", verdict="different") == "/clusters/0?pair=1"
    answer = review.ask("/verdicts", page)
    assert answer.status == 409
    assert "Bob has judged it different" in unescape(answer.text)
    assert set(review.verdicts().values()) == {"different"}
    again = {**form(answer.text), "verdict": "duplicate"}
    assert review.ask("/verdicts", again).status == 303
    assert set(review.verdicts().values()) == {"duplicate"}
    # A verdict on another pair is no reason to ask.
    assert review.ask("/verdicts", {**page, "pair": 2}).status == 303


def test_a_principal_replaces_the_one_named_before(review: Review) -> None:
    judge(review, "/clusters/0?pair=1", verdict="principal", side="right")
    assert review.verdicts() == {("a-near",): "principal"}
    judge(review, "/clusters/0?pair=2", verdict="principal", side="right")
    assert review.verdicts() == {("a-far",): "principal"}
    judge(review, "/clusters/0?pair=2", verdict="no_principal", side="right")
    assert review.verdicts() == {}


def test_taken_out_is_no_duplicate_of_any_other_member(review: Review) -> None:
    judge(review, "/clusters/0?pair=2", verdict="take_out")
    assert review.verdicts() == {("a", "a-far"): "different", ("a-far", "a-near"): "different"}
    review.ask("/undo", form(review.ask("/clusters/0").text))
    assert review.verdicts() == {}


def test_statements_of_a_conflict_can_be_changed(review: Review) -> None:
    for pair, verdict in ((1, "duplicate"), (2, "duplicate")):
        judge(review, f"/clusters/0?pair={pair}", verdict=verdict)
    title = re.compile(r"<bdi>([^<]+)</bdi> and <bdi>([^<]+)</bdi></h2>")
    titles = [title.findall(review.ask(f"/pairs/{number}", part="detail").text)[0] for number in range(8)]
    between = titles.index(("a-near", "a-far"))
    judge(review, f"/pairs/{between}", verdict="different")
    page = review.ask("/conflicts").text
    assert page.count("These cannot all be true") == 1
    assert "in conflict" in review.ask("/clusters?state=conflict").text
    assert "1 to 1 of 1 cluster" in review.ask("/clusters?state=conflict").text
    names = ("left", "right", "seen", "back")
    answer = review.ask("/statements", {**{name: field(page, name) for name in names}, "verdict": "undecided"})
    assert answer.headers["location"] == "/conflicts"
    assert "No verdicts contradict each other" in review.ask("/conflicts").text


def test_filters_follow_verdicts(review: Review) -> None:
    def listed(query: str) -> list[str]:
        page = review.ask(f"/clusters?{query}", part="list").text
        return re.findall(r'<bdi class="id">(\w+)</bdi>\s*<bdi class="beginning">', page)

    assert listed("state=open") == ["a", "b", "c"]
    judge(review, "/clusters/2", verdict="different")
    assert listed("state=open") == ["a", "b"]
    assert listed("state=done") == ["c"] == listed("state=different")
    assert listed("small=3&order=size") == ["a", "b"]
    assert listed("order=loss") == ["a", "b", "c"]
    assert listed("low=0.99&high=1") == ["a"]


def test_verdicts_of_another_program_are_seen(review: Review) -> None:
    from twinset.verdicts import VerdictStore

    digests = {one["id"]: one["digest"] for one in twinset.open_result(review.folder).recorded.documents.to_pylist()}
    from twinset.verdicts import Content

    with VerdictStore(review.file) as store:
        store.judge("unsure", Content(digests["c"], "c"), Content(digests["c-near"], "c-near"), who="Cleo")
    assert "said Cleo" in review.ask("/clusters/2").text
    assert "1 of 1 decided" in review.ask("/clusters").text


def test_a_sample_is_labelled_with_hidden_scores(review: Review) -> None:
    assert review.ask("/sample", {"pairs": 7, "seed": 7}).status == 303
    page = review.ask("/sample").text
    assert "0 of 7 labelled" in page
    where = unescape(re.findall(r'class="action" href="([^"]+)"', page)[0])
    for number in range(7):
        shown = review.ask(where)
        assert shown.status == 200
        assert "0.8" not in shown.text.partition("<main")[2]
        where = judge(review, where, verdict="different" if number == 2 else "duplicate", on=1)
        assert "sample=1" in where
    assert "All are labelled" in review.ask(where).text
    page = review.ask("/sample?precision=0.2").text
    assert "7 of 7 labelled" in page
    assert "6 duplicates, 1 not" in page
    assert "is the least threshold at which the precision is at least 0.2" in page
    assert "allowed: above 0 and up to 1" in review.ask("/sample?precision=2").text


def _people(folder: Path) -> Path:
    rows = [
        {"id": "1", "name": "Ann Hill", "city": "York on the Ouse"},
        {"id": "2", "name": "Ann Hall", "city": "York on the Ouse"},
    ]
    twinset.dedup(rows, text=("name,char:2", "city,word:1"), threshold=0.5, output=folder / "OUT")
    return folder / "OUT"


def _weighted(folder: Path) -> Path:
    basket = {"milk": 1.0, "salt": 0.5, "rye": 2.0}
    twinset.dedup([basket, {**basket, "salt": 0.7}], items="i", weight="w", threshold=0.5, output=folder / "OUT")
    return folder / "OUT"


def _sets(folder: Path) -> Path:
    twinset.dedup([["a", "b", "c", "d"], ["a", "b", "c", "e"]], items="i", threshold=0.5, output=folder / "OUT")
    return folder / "OUT"


def _codes(folder: Path) -> Path:
    twinset.dedup(np.array([0b1111, 0b1110], np.uint64), codes="code", distance=3, output=folder / "OUT")
    return folder / "OUT"


def _vectors(folder: Path) -> Path:
    twinset.dedup(np.array([[1, 0.0], [0.99, 0.01]], np.float32), vectors=True, threshold=0.9, output=folder / "OUT")
    return folder / "OUT"


def _pictures(folder: Path) -> Path:
    photos = folder / "photos"
    photos.mkdir()
    (photos / "whole.png").write_bytes(encoded(scene(1)))
    for name in ("with a watermark", "cropped by 2 %"):
        (photos / f"{name}.png").write_bytes(EDITS[name](scene(1)))
    twinset.dedup(photos, images=True, output=folder / "OUT")
    return folder / "OUT"


def _against(folder: Path) -> Path:
    own, other = write(folder / "own.jsonl", {"new": near(1, 30)}), write(folder / "other.jsonl", {"old": text(1)})
    twinset.dedup(own, against=other, threshold=0.6, output=folder / "OUT")
    return folder / "OUT"


def _one_file(folder: Path) -> Path:
    twinset.dedup(write(folder / "texts.jsonl", families()), threshold=0.6, output=folder / "clean.jsonl")
    return folder / "clean.jsonl"


def _contained(folder: Path) -> Path:
    source = write(folder / "texts.jsonl", {"long": f"{text(1)} {text(2)}", "short": text(1)})
    twinset.dedup(source, contained=0.8, output=folder / "OUT")
    return folder / "OUT"


def _pairs(folder: Path) -> Path:
    twinset.find_pairs(write(folder / "texts.jsonl", families()), threshold=0.6, output=folder / "OUT")
    return folder / "OUT"


def _passages(folder: Path) -> Path:
    twinset.find_passages(write(folder / "texts.jsonl", families()), least=10, output=folder / "OUT")
    return folder / "OUT"


def _recut(folder: Path) -> Path:
    twinset.recut(made(folder), 0.8, output=folder / "OUT2")
    return folder / "OUT2"


KINDS = {
    "records": (_people, "clusters", 'class="columns"'),
    "weighted": (_weighted, "clusters", "in both: "),
    "sets": (_sets, "clusters", "a, b, c<ins> e</ins>"),
    "codes": (_codes, "clusters", 'class="pair mono"'),
    "vectors": (_vectors, "clusters", "cosine 0.999"),
    "pictures": (_pictures, "clusters", 'src="/pictures/0"'),
    "against": (_against, "clusters", "<ins>altered</ins>"),
    "one file": (_one_file, "clusters", "<ins>altered</ins>"),
    "contained": (_contained, "clusters", "of it is in the kept document"),
    "pairs": (_pairs, "pairs", "of left is in right"),
    "passages": (_passages, "passages", 'class="badge c0"'),
    "recut": (_recut, "clusters", "<ins>altered</ins>"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_result_can_be_judged(kind: str, tmp_path: Path) -> None:
    make, name, expected = KINDS[kind]
    with Review(make(tmp_path), who="Ann") as review:
        assert review.ask("/").headers["location"] == f"/{name}"
        assert review.ask(f"/{name}").status == 200
        page = review.ask(f"/{name}/0?whole=1").text
        pages = [review.ask(f"/{name}/{item}").text for item in range(min(3, page.count("<li id=")))]
        assert any(expected in one for one in pages), pages[0].partition("<main")[2][-6000:]
        item = next(number for number, one in enumerate(pages) if "v-duplicate" in one)
        there = judge(review, f"/{name}/{item}", verdict="duplicate")
        assert list(review.verdicts().values()) == ["duplicate"]
        assert "said Ann" in review.ask(there).text
        if kind == "pictures":
            answer = review.ask("/pictures/1")
            assert answer.headers["content-type"] == "image/jpeg"


def test_verdicts_lie_beside_the_result(tmp_path: Path) -> None:
    with Review(_one_file(tmp_path)) as review:
        assert review.file == tmp_path / "clean.jsonl.verdicts"


def test_a_source_that_has_changed_is_told_and_ids_are_shown(tmp_path: Path) -> None:
    out = made(tmp_path)
    write(tmp_path / "texts.jsonl", {"a": "changed"})
    with Review(out, who="Ann") as review:
        page = review.ask("/clusters/0?pair=1").text
        assert "The texts cannot be shown" in page
        assert "was changed since that run" in page
        judge(review, "/clusters/0?pair=1", verdict="duplicate")
        assert review.verdicts() == {("a", "a-near"): "duplicate"}
    moved = write(tmp_path / "elsewhere.jsonl", families())
    with Review(out, source=(str(moved),)) as review:
        assert "altered" in review.ask("/clusters/0?pair=1").text


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Review]:
    with Review(made(tmp_path, {"a": text(1), "b": text(2)})) as review:
        yield review


def test_a_result_without_pairs_says_so(empty: Review) -> None:
    for path in ("/clusters", "/pairs", "/conflicts", "/sample"):
        assert empty.ask(path).status == 200
    assert "The list is empty." in empty.ask("/clusters").text
    assert empty.ask("/clusters/0").status == 404
    assert empty.ask("/sample", {"pairs": 5, "seed": 1}).status == 422


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(twinset.StateError, match=r"a file of rows that dedup, recut, pairs or passages wrote$"):
        Review(tmp_path)
    with pytest.raises(twinset.StateError, match=r"wrote with the folder x\.csv\.details beside it$"):
        Review(tmp_path / "x.csv")
    out = made(tmp_path)
    (tmp_path / "OUT" / "removed.parquet").write_bytes(b"nonsense")
    with pytest.raises(twinset.StateError, match=r"removed\.parquet is damaged"):
        Review(out)


def test_looking_leaves_no_file_of_verdicts(tmp_path: Path) -> None:
    out = made(tmp_path)
    with Review(out) as review:
        assert review.ask("/clusters").status == 200
        assert not review.file.exists()
        judge(review, "/clusters/0?pair=1", verdict="duplicate")
        assert review.verdicts() == {("a", "a-near"): "duplicate"}


def test_the_first_verdict_of_another_program_is_seen(tmp_path: Path) -> None:
    out = made(tmp_path)
    with Review(out) as first, Review(out) as second:
        assert "1 of 2 decided" not in first.ask("/clusters").text
        judge(second, "/clusters/0?pair=1", verdict="duplicate")
        assert "1 of 2 decided" in first.ask("/clusters").text
        judge(first, "/clusters/0?pair=2", verdict="different")
        assert len(second.verdicts()) == 2


def test_a_result_that_is_written_again_is_noticed(tmp_path: Path) -> None:
    out = made(tmp_path)
    with Review(out) as review:
        assert "shows an earlier state" not in review.ask("/clusters").text
        text = (out / "summary.json").read_bytes()
        (out / "summary.json").unlink()
        assert "shows an earlier state" in review.ask("/clusters").text
        (out / "new").write_bytes(text)
        (out / "new").rename(out / "summary.json")
        assert "shows an earlier state" in review.ask("/pairs").text


def test_a_source_that_is_named_and_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(twinset.SourceError, match="nope"):
        Review(made(tmp_path), source=(str(tmp_path / "nope"),))


def test_a_cluster_of_identical_copies_needs_no_verdict(tmp_path: Path) -> None:
    with Review(made(tmp_path, dict.fromkeys("abc", text(1)))) as review:
        page = review.ask("/clusters").text
        assert '<span class="state done">identical</span>' in page
        assert "Nothing is found." in review.ask("/clusters?state=done").text
        assert "Nothing is found." in review.ask("/clusters?state=open").text
