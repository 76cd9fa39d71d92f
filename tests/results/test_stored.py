"""A result folder read again: documents by number, their texts, and what becomes of a damaged folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles
from twinset.engines.local.copies import SAME
from twinset.engines.local.threads import Threads
from twinset.engines.local.write.summary import sha256_of, summary_check
from twinset.results.recut_limits import limit_for_rows
from twinset.results.stored import StoredResult
from twinset.results.stored_corpus import StoredCorpus, StoredPairs

LINE = " ".join(f"word{i}" for i in range(30))
TEXTS = {"a": LINE, "b": LINE + " é", "c": "other words here", "d": LINE, "e": "", "f": "ünïcode " * 9}
WORDS: dict[str, Any] = {"shingle": "word:2", "threshold": 0.8, "floor": 0.5}


def folder_of(tmp_path: Path, **words: Any) -> Path:
    """A result of two files, one of them JSON lines and one Parquet."""
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items())
    (tmp_path / "one.jsonl").write_text(lines, "utf-8")
    pq.write_table(pa.table({"id": [f"{id}2" for id in TEXTS], "text": [*TEXTS.values()]}), tmp_path / "two.parquet")
    sources = [str(tmp_path / "one.jsonl"), str(tmp_path / "two.parquet")]
    twinset.dedup(*sources, output=tmp_path / "out", **{**WORDS, **words})
    return tmp_path / "out"


def test_documents_by_number(tmp_path: Path) -> None:
    recorded = StoredResult(folder_of(tmp_path))
    rows = recorded.documents.to_pylist()
    ids = [*TEXTS, *(f"{id}2" for id in TEXTS)]
    assert [row["id"] for row in rows] == ids
    assert [(row["part"], row["source"], row["row"]) for row in rows] == [(n // 6, n // 6, n % 6) for n in range(12)]
    assert [row["content"] for row in rows] == [0, 1, 2, 0, 4, 5, 0, 1, 2, 0, 10, 5]
    assert [row["status"] for row in rows] == [0, 0, 0, 0, 1, 0] * 2
    assert [row["length"] for row in rows] == [len(text) for text in TEXTS.values()] * 2
    assert [row["shingles"] for row in rows][:6] == [29, 30, 2, 29, 0, 8]
    assert [recorded.find(id) for id in ids] == list(range(12))
    assert recorded.plan == twinset.plan(0.5)
    assert (recorded.options.threshold, recorded.options.least) == (0.8, 0.5)
    assert recorded.clusters.equals(pq.read_table(tmp_path / "out/clusters.parquet"))


def test_texts_are_those_of_the_sources(tmp_path: Path) -> None:
    recorded = StoredResult(folder_of(tmp_path))
    wanted = [11, 0, 5, 4, 7, 0]
    every = [*TEXTS.values(), *TEXTS.values()]
    assert recorded.texts(wanted) == [every[number] for number in wanted]
    assert recorded.texts([]) == []


def test_bytes_that_are_no_text_and_rows_that_have_none(tmp_path: Path) -> None:
    lines = [
        b'{"id": "x", "text": "caf\xe9 one"}',
        b'{"id": "y", "text": null}',
        b"{broken",
        b'{"id": "z", "text": "t"}',
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    twinset.dedup(str(tmp_path / "in.jsonl"), output=tmp_path / "out", on_error="skip")
    recorded = StoredResult(tmp_path / "out")
    assert recorded.texts([0, 1, 2, 3]) == ["caf\ufffd one", None, None, "t"]
    assert recorded.documents["status"].to_pylist() == [0, 1, 2, 0]


def test_an_unknown_id_is_answered_with_those_that_look_alike(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"id": f"report-{i}", "text": f"t {i}"}) + "\n" for i in range(300))
    (tmp_path / "in.jsonl").write_text(lines, "utf-8")
    twinset.dedup(str(tmp_path / "in.jsonl"), output=tmp_path / "out")
    recorded = StoredResult(tmp_path / "out")
    for wrong, near in (("repotr-7", "report-7"), ("PORT-29", "report-29"), ("report 12", "report-12")):
        with pytest.raises(twinset.OptionError, match=f"{wrong!r}.*did you mean.*{near}"):
            recorded.find(wrong)
    with pytest.raises(twinset.OptionError, match=r"documents\.parquet"):
        recorded.find("zzz")


def test_against_documents_come_last_and_ids_may_be_those_of_the_others(tmp_path: Path) -> None:
    for name, end in (("ours", ""), ("theirs", " more")):
        lines = "".join(json.dumps({"id": id, "text": text + end}) + "\n" for id, text in TEXTS.items())
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    sources = {name: str(tmp_path / f"{name}.jsonl") for name in ("ours", "theirs")}
    twinset.dedup(sources["ours"], against=[sources["theirs"]], output=tmp_path / "out", **WORDS)
    recorded = StoredResult(tmp_path / "out")
    assert (recorded.own, recorded.documents.num_rows) == (6, 12)
    assert recorded.find("c") == 2
    assert recorded.numbers_of(pa.array(["c", "a"]), 6).tolist() == [8, 6]
    assert recorded.texts([2, 8]) == [TEXTS["c"], TEXTS["c"] + " more"]
    assert [row["role"] for row in recorded.table("sources").to_pylist()] == ["source", "against"]


def test_files_given_one_by_one_and_sources_that_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x", "y", "z"):
        Path(f"{name}.txt").write_text(f"the text of {name}", "utf-8")
    twinset.dedup("x.txt", "y.txt", "z.txt", output="out")
    assert StoredResult("out").texts([2, 0]) == ["the text of z", "the text of x"]
    Path("moved").mkdir()
    for name in ("x", "y", "z"):
        Path(f"{name}.txt").rename(f"moved/{name}.txt")
    with pytest.raises(twinset.SourceError, match="no longer exists"):
        StoredResult("out").texts([0])
    moved = [f"moved/{name}.txt" for name in ("x", "y", "z")]
    assert StoredResult("out", moved).texts([2, 0]) == ["the text of z", "the text of x"]
    Path("moved/y.txt").write_text("the tixt of y", "utf-8")
    with pytest.raises(twinset.SourceError, match="changed"):
        StoredResult("out", moved).texts([2])


def test_only_the_part_that_is_needed_must_be_unchanged(tmp_path: Path) -> None:
    out = folder_of(tmp_path)
    (tmp_path / "one.jsonl").write_text((tmp_path / "one.jsonl").read_text("utf-8").replace("other", "ather"), "utf-8")
    assert StoredResult(out).texts([8]) == [TEXTS["c"]]
    with pytest.raises(twinset.SourceError, match=r"one\.jsonl: was changed"):
        StoredResult(out).texts([8, 2])


def test_what_was_only_in_memory_is_stored(tmp_path: Path) -> None:
    twinset.dedup(TEXTS, output=tmp_path / "out", **WORDS)
    assert StoredResult(tmp_path / "out").texts([0]) == [TEXTS["a"]]
    shutil.rmtree(tmp_path / "out/sources")
    with pytest.raises(twinset.StateError, match=r"mapping\.arrows: there is no such file"):
        StoredResult(tmp_path / "out").texts([0])
    assert StoredResult(tmp_path / "out", [TEXTS]).texts([2]) == [TEXTS["c"]]
    with pytest.raises(twinset.SourceError, match="changed"):
        StoredResult(tmp_path / "out", [{**TEXTS, "c": "changed words"}]).texts([2])


# Damage


def test_a_folder_that_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(twinset.StateError, match=r"summary\.json: there is no such file; name a folder"):
        StoredResult(tmp_path)
    for content in ("", "{}", "[]", "null", '{"options": {}}', "\x00"):
        (tmp_path / "summary.json").write_text(content, "utf-8")
        with pytest.raises(twinset.StateError, match=r"summary\.json"):
            StoredResult(tmp_path)


@pytest.mark.parametrize("name", ["documents", "pairs", "sources", "empty", "unreadable"])
def test_no_damage_to_a_table_goes_unseen(tmp_path: Path, name: str) -> None:
    out = folder_of(tmp_path)
    path = out / f"{name}.parquet"
    good = path.read_bytes()
    steps = range(0, len(good), max(1, len(good) // 40))
    wrecks = [good[:at] for at in steps] + [good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :] for at in steps]
    for wreck in [*wrecks, good + b"x"]:
        path.write_bytes(wreck)
        with pytest.raises(twinset.StateError, match=rf"{name}\.parquet"):
            twinset.open_result(out).rethreshold(0.9, output=tmp_path / "new")
    path.unlink()
    with pytest.raises(twinset.StateError, match=rf"{name}\.parquet: there is no such file"):
        twinset.open_result(out).rethreshold(0.9, output=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob("*.twinset-state"))


@pytest.mark.parametrize(("name", "column"), [("pairs", "right_in_left"), ("removed", "of_kept")])
def test_a_result_of_another_version_lacks_a_column(tmp_path: Path, name: str, column: str) -> None:
    out = folder_of(tmp_path)
    path, summary = out / f"{name}.parquet", json.loads((out / "summary.json").read_text("utf-8"))
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    summary["files"][path.name] = sha256_of(path)
    summary["check"] = summary_check(summary)
    (out / "summary.json").write_text(json.dumps(summary), "utf-8")
    removed = pq.read_table(out / "removed.parquet")["id"][0].as_py()
    uses = {
        "recut": lambda: twinset.open_result(out).rethreshold(0.9, output=tmp_path / "new"),
        "report": lambda: twinset.open_result(out).report(tmp_path / "report.html"),
        "explain": lambda: twinset.open_result(out).explain(removed),
    }
    said = rf"{name}\.parquet: the result was written by another version.*it has no column '{column}'.*; run"
    for use in ("recut", "report") if name == "pairs" else ("report", "explain"):
        with pytest.raises(twinset.StateError, match=said):
            uses[use]()
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "report.html").exists()


def cut_or_refused(out: Path) -> Any:
    """A cut, or the words in which it was refused."""
    try:
        return twinset.open_result(out).rethreshold(0.9)
    except twinset.StateError as error:
        return str(error)


def test_no_damage_to_the_summary_changes_an_answer(tmp_path: Path) -> None:
    out = folder_of(tmp_path)
    path = out / "summary.json"
    good = path.read_bytes()
    expected = twinset.open_result(out).rethreshold(0.9)
    refused = 0
    for at in range(0, len(good), 7):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        answer = cut_or_refused(out)
        if isinstance(answer, str):
            refused += 1
            assert "summary.json" in answer
        else:
            assert answer.removed.equals(expected.removed)
            assert {**answer.summary, "timings": 0} == {**expected.summary, "timings": 0}
    assert refused > len(good) // 7 // 2


def test_tables_of_another_result_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    out, other = folder_of(tmp_path), folder_of(tmp_path / "other", threshold=0.6)
    shutil.copyfile(other / "documents.parquet", out / "documents.parquet")  # equal bytes are as good
    assert twinset.open_result(out).rethreshold(0.9).summary["kept"] > 0
    shutil.copyfile(other / "sources.parquet", out / "sources.parquet")
    with pytest.raises(twinset.StateError, match=r"sources\.parquet is damaged"):
        StoredResult(out).texts([0])


# The parts of a cut


def test_scored_pairs_do_not_depend_on_what_is_held_in_memory(tmp_path: Path) -> None:
    recorded = StoredResult(folder_of(tmp_path))
    threads = Threads(1)
    corpus = StoredCorpus(recorded, threads, 1 << 16)
    found = []
    for limit in (0, 1 << 30):
        folder = tmp_path / str(limit)
        folder.mkdir()
        scored = StoredPairs(recorded, corpus.copies(), folder, limit)
        near = scored.near(0.8).all().tolist()
        found.append((near, scored.steps.tolist(), scored.rows.all().tolist()))
        places = scored.rows_of(np.array([0, 0], np.uint32), np.array([1, 5], np.uint32))
        assert places[1] == SAME
        scores = {name: values.tolist() for name, values in scored.scores(places[:1]).items()}
        assert scores == {**scores, "similarity": [29 / 30], "left_in_right": [1.0], "right_in_left": [29 / 30]}
        assert list(scores) == oracles.columns()
    threads.close()
    assert found[0] == found[1]
    assert len(found[0][0]) == 1, "copies are no pairs of their own"


def test_the_nearest_number_of_rows_wins_and_the_threshold_is_short() -> None:
    levels = np.array([0.5, 0.5001, 0.58823529, 0.7, 0.93333333333, 1.0])
    counts = dict(zip(levels.tolist(), [10, 20, 40, 41, 80, 90], strict=True))
    asked = {10: 0.5, 14: 0.5, 16: 0.5001, 20: 0.5001, 31: 0.55, 41: 0.6, 60: 0.6, 62: 0.8, 90: 1.0}
    found = {rows: limit_for_rows(rows, levels, counts.__getitem__) for rows in asked}
    assert {rows: counts[min(level for level in levels if level >= found[rows])] for rows in asked} == {
        10: 10, 14: 10, 16: 20, 20: 20, 31: 40, 41: 41, 60: 41, 62: 80, 90: 90
    }  # fmt: skip
    assert all(len(str(threshold)) <= 6 for threshold in found.values())
    for rows in (9, 91):
        with pytest.raises(twinset.OptionError, match="leave 10 to 90"):
            limit_for_rows(rows, levels, counts.__getitem__)
