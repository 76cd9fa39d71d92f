"""Results in Python: rows of frames, masks, flags, and what can be asked of a result afterwards."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from twinset.engines import progress as progress_of

ROSE = "a rose is a rose is a rose in any garden of the town"
TEXTS = [ROSE, "something else", ROSE + " hall", "", ROSE]
KEPT = [True, True, False, True, False]
WORDS: dict[str, Any] = {"shingle": "word:3", "threshold": 0.7}
FLAGS = ["cluster", "duplicate_of", "similarity"]


def pandas_frame() -> pd.DataFrame:
    scores = pd.Series([1, None, 3, 4, 5], dtype="Int64")
    frame = pd.DataFrame({"text": TEXTS, "score": scores, "kind": pd.Categorical([*"abaab"])})
    frame.index = pd.Index([10, 20, 30, 40, 50], name="number")
    return frame


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame({"text": TEXTS, "score": [1, None, 3, 4, 5]})


def lines(folder: Path) -> str:
    rows = [{"id": f"n{at}", "text": text, "meta": {"at": at}, "tag": None} for at, text in enumerate(TEXTS)]
    rows[4]["late"] = "é"
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def sources(folder: Path) -> dict[str, Any]:
    """Every source that can be read once, or is an object."""
    table = pa.table({"text": TEXTS})
    return {
        "list": TEXTS,
        "mapping": {f"m{at}": text for at, text in enumerate(TEXTS)},
        "pandas": pandas_frame(),
        "polars": polars_frame(),
        "pandas series": pandas_frame()["text"],
        "polars series": polars_frame()["text"],
        "table": table,
        "reader": table.to_reader(),
        "path": lines(folder),
    }


NAMES = ("list", "mapping", "pandas", "polars", "pandas series", "polars series", "table", "reader", "path")


# Afterwards


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", [False, True])
def test_any_source_is_explained_reported_and_recut(tmp_path: Path, name: str, folder: bool) -> None:
    output = tmp_path / "out" if folder else None
    result = twinset.dedup(sources(tmp_path)[name], output=output, floor=0.5, **WORDS)
    ids = result.clusters["id"].to_pylist()
    assert result.explain(ids[2]).explanation.left_only == ("the town hall",)
    if not folder or name in ("list", "reader"):
        assert "town hall" in result.report(tmp_path / "page.html").read_text("utf-8")
    assert result.recut(0.99).mask.tolist() == [True, True, True, True, False]
    again = result.recut(0.99, output=tmp_path / "new")
    assert again.kept.shape[0] == 4
    assert again.explain(ids[4]).cluster == ids[0]
    if folder:
        opened = twinset.open_result(tmp_path / "out")
        assert opened.explain(ids[2]).explanation.left_only == ("the town hall",)
        assert opened.recut(0.99, output=tmp_path / "newer").mask.tolist() == again.mask.tolist()


def test_a_row_number_of_a_frame_is_answered_with_the_id() -> None:
    result = twinset.dedup(pd.DataFrame({"text": [f"text number {at}" for at in range(12)]}))
    with pytest.raises(
        twinset.OptionError, match=r"^there is no document '1' in this result; did you mean 'table:1'\?$"
    ):
        result.explain(1)


def test_a_column_that_arrow_cannot_hold_is_kept_by_the_frame_itself(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": TEXTS, "price": [1, "n/a", 2, 3, 4], "n": range(5)}, index=[*"abcde"])
    result = twinset.dedup(frame, keep="highest:n", **WORDS)
    assert result.kept.equals(frame[result.mask])
    assert result.kept["price"].tolist() == ["n/a", 3, 4]
    assert result.explain("table:2").explanation is not None
    assert result.recut(0.99).kept.equals(frame[[False, True, True, True, True]])
    flagged = twinset.dedup(frame, flag=True, **WORDS).kept
    assert flagged["price"].tolist() == frame["price"].tolist()


def test_a_column_that_arrow_cannot_hold_is_named_where_it_must_be_read_or_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": TEXTS, "price": [1, "n/a", 2, 3, 4]})
    why = r"the column 'price' has values of several types, .*frame\[\['text'\]\], and choose rows with the"
    calls: list[Any] = [
        lambda: twinset.dedup(frame, output=tmp_path / "out", **WORDS),
        lambda: twinset.dedup(frame, keep="highest:price", **WORDS),
        lambda: twinset.dedup(frame, ["another text"], **WORDS),
        lambda: twinset.dedup(iter([frame]), **WORDS),
        lambda: twinset.dedup(frame, **WORDS).recut(0.9, output=tmp_path / "recut"),
    ]
    for call in calls:
        with pytest.raises(twinset.SourceError, match=why):
            call()
    assert not list(tmp_path.iterdir())


def test_two_columns_of_one_name_are_named() -> None:
    twins = pd.DataFrame([[text, text] for text in TEXTS], columns=["text", "text"])
    with pytest.raises(twinset.SourceError, match=r"two columns have the same name .*; rename one, or give only"):
        twinset.dedup(twins, **WORDS)


def test_stdin_is_stored_with_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path(lines(tmp_path)).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
    twinset.dedup("-", output=tmp_path / "out", **WORDS)
    assert (tmp_path / "out/sources/stdin.jsonl").read_bytes() == data
    result = twinset.open_result(tmp_path / "out")
    assert result.explain("n2").explanation.left_only == ("the town hall",)
    cut = result.recut(0.99, output=tmp_path / "new")
    assert cut.kept["id"].to_pylist() == ["n0", "n1", "n2", "n3"]
    assert twinset.open_result(tmp_path / "new").explain("n2").state == "kept"


def test_paths_are_not_stored(tmp_path: Path) -> None:
    twinset.dedup(lines(tmp_path), output=tmp_path / "out", **WORDS)
    assert not (tmp_path / "out/sources").exists()


def test_damage_to_a_stored_source_is_noticed(tmp_path: Path) -> None:
    twinset.dedup(TEXTS, output=tmp_path / "out", **WORDS)
    stored = tmp_path / "out/sources/list.arrows"
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    with pytest.raises(twinset.StateError, match=r"list\.arrows is damaged"):
        twinset.open_result(tmp_path / "out").explain("2")


def test_against_and_long_tables_in_memory_are_stored(tmp_path: Path) -> None:
    twinset.dedup(TEXTS[2:3], against=[pandas_frame()], output=tmp_path / "out", **WORDS)
    assert twinset.open_result(tmp_path / "out").explain("0").cluster == "against-table:0"
    frame = pd.DataFrame({"user": [*"aaabbbc"], "song": [1, 2, 3, 1, 2, 3, 9]})
    twinset.dedup(frame, group="user", item="song", output=tmp_path / "groups")
    opened = twinset.open_result(tmp_path / "groups")
    assert opened.explain("b").explanation.shared == ("1", "2", "3")
    assert opened.mask.tolist() == [True, True, True, False, False, False, True]


def test_ids_may_be_whole_numbers() -> None:
    result = twinset.dedup(TEXTS, **WORDS)
    assert result.explain(2, 1) == result.explain("2", "1")
    assert result.explain(np.int64(2)).cluster == "0"
    for wrong in (2.0, None, b"2", True):
        with pytest.raises(twinset.OptionError, match="allowed: a string or a whole number"):
            result.explain(wrong)  # type: ignore[arg-type]


# Rows


def test_a_mask_selects_the_rows_of_a_frame() -> None:
    frame, other = pandas_frame(), polars_frame()
    result = twinset.dedup(frame, **WORDS)
    assert result.mask.dtype == np.bool_
    assert result.mask.tolist() == KEPT
    pd.testing.assert_frame_equal(frame[result.mask], result.kept)
    assert result.kept.index.tolist() == [10, 20, 40]
    assert result.kept.index.name == "number"
    assert result.kept.dtypes.equals(frame.dtypes)
    assert twinset.dedup(other, **WORDS).kept.equals(other.filter(result.mask))


def test_a_series_stays_a_series() -> None:
    one, other = pandas_frame()["text"], polars_frame()["text"]
    pd.testing.assert_series_equal(twinset.dedup(one, **WORDS).kept, one[KEPT])
    assert twinset.dedup(other, **WORDS).kept.to_list() == [TEXTS[0], TEXTS[1], TEXTS[3]]


def test_a_mask_covers_all_sources_but_not_those_compared_against() -> None:
    result = twinset.dedup(TEXTS[:2], pandas_frame(), against=[["another"]], **WORDS)
    assert len(result.mask) == 7
    assert isinstance(twinset.dedup(pandas_frame(), ["another"], **WORDS).kept, pa.Table)


def test_unreadable_rows_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "one"}\n{broken\n{"text": "two"}\n', "utf-8")
    result = twinset.dedup(path, on_error="skip")
    assert result.mask.tolist() == [True, False, True]
    assert result.kept["text"].to_pylist() == ["one", "two"]


def test_a_frame_of_another_length_is_refused() -> None:
    frame = pandas_frame()
    result = twinset.dedup(frame, **WORDS)
    frame.loc[60] = frame.loc[10]
    with pytest.raises(twinset.SourceError, match="the frame was changed"):
        _ = result.kept


def test_rows_of_a_grouped_frame() -> None:
    frame = pd.DataFrame({"user": [*"abaabbc"], "song": [1, 1, 2, 3, 2, 3, 9]})
    result = twinset.dedup(frame, group="user", item="song")
    assert result.kept["user"].tolist() == [*"aaac"]
    pd.testing.assert_frame_equal(frame[result.mask], result.kept)


@pytest.mark.parametrize("folder", [False, True])
def test_kept_rows_of_json_lines_have_all_columns(tmp_path: Path, folder: bool) -> None:
    kept = twinset.dedup(lines(tmp_path), output=tmp_path / "out" if folder else None, **WORDS).kept
    assert kept.column_names == ["id", "text", "meta", "tag"]
    assert kept["meta"].to_pylist() == [{"at": 0}, {"at": 1}, {"at": 3}]


def test_columns_of_json_lines_do_not_depend_on_batches(tmp_path: Path) -> None:
    values: list[Any] = [1, 2.5, None, "x", [1], {"a": 1}, {"b": None}, True, 2**70, "é"]
    columns = {"same": [*range(10)], "mixed": values, "number": [1, 2.5] * 5, "nested": [[at] for at in range(10)]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {at}", **row}) + "\n" for at, row in enumerate(rows)), "utf-8")
    whole, split = (twinset.dedup(path, batch_bytes=size).kept for size in ("1MiB", "1KiB"))
    assert whole.equals(split.combine_chunks())
    assert whole["same"].type == pa.int64()
    assert whole["number"].to_pylist() == columns["number"]
    assert whole["nested"].to_pylist() == columns["nested"]
    assert whole["mixed"].to_pylist()[:5] == ["1", "2.5", None, "x", "[1]"]


@pytest.mark.parametrize("name", ["in.parquet", "in.csv", "in.jsonl", "nameless.jsonl", "lines.txt", "folder"])
def test_kept_rows_of_a_folder_are_those_of_memory(tmp_path: Path, name: str) -> None:
    table = pa.table({"id": [f"n{at}" for at in range(5)], "text": TEXTS, "n": [*range(5)]})
    words = {**WORDS, "lines": True} if name == "lines.txt" else WORDS
    path = tmp_path / name
    if name == "in.parquet":
        pq.write_table(table, path)
    elif name == "in.csv":
        table.to_pandas().to_csv(path, index=False)
    elif name == "in.jsonl":
        lines(tmp_path)
    elif name == "nameless.jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), "utf-8")
    elif name == "folder":
        path.mkdir()
        for at, text in enumerate(TEXTS):
            (path / f"{at}.txt").write_text(text, "utf-8")
    else:
        path.write_text("\n".join(text or "x" for text in TEXTS), "utf-8")
    held = twinset.dedup(path, **words).kept
    assert held.num_rows == 3
    assert twinset.dedup(path, output=tmp_path / "out", **words).kept.equals(held)
    assert twinset.open_result(tmp_path / "out").kept.equals(held)


# Flags


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("name", ["pandas", "polars", "table", "list", "path", "polars series"])
def test_flagged_rows_are_all_there(tmp_path: Path, name: str, folder: bool) -> None:
    output = tmp_path / "out" if folder else None
    result = twinset.dedup(sources(tmp_path)[name], flag=True, output=output, **WORDS)
    kept = result.kept
    if isinstance(kept, pd.DataFrame):
        assert kept.index.tolist() == [10, 20, 30, 40, 50]
        kept = pa.Table.from_pandas(kept, preserve_index=False)
    kept = pa.table(kept)
    ids = result.clusters["id"].to_pylist()
    assert kept.column_names[-3:] == FLAGS
    assert kept["cluster"].to_pylist() == [ids[0], ids[1], ids[0], ids[3], ids[0]]
    assert kept["duplicate_of"].to_pylist() == [None, None, ids[0], None, ids[0]]
    assert [value is None for value in kept["similarity"].to_pylist()] == KEPT
    assert result.mask.tolist() == KEPT
    cut = pa.table(result.recut(0.99, output=tmp_path / "cut").kept)
    assert cut["duplicate_of"].to_pylist() == [None, None, None, None, ids[0]]


def test_a_flagged_result_in_memory_is_recut() -> None:
    cut = twinset.dedup(pa.table({"text": TEXTS}), flag=True, **WORDS).recut(0.99)
    assert cut.kept["duplicate_of"].to_pylist() == [None] * 4 + ["table:0"]


# What is shown


def test_a_result_tells_its_counts_and_recall() -> None:
    result = twinset.dedup(TEXTS, **WORDS)
    assert repr(result).startswith("<DedupResult: 3 of 5 documents kept, 2 removed in 1 cluster; recall 1.0000")
    assert repr(twinset.find_pairs(TEXTS, **WORDS)).startswith("<PairsResult: 3 pairs of 5 documents; recall 1.0000")
    page = twinset.dedup({"<b>": ROSE, "c": ROSE + " hall"}, **WORDS)._repr_html_()
    assert "1 of 2 documents kept" in page
    assert "<td>&lt;b&gt;</td>" in page
    assert "left_in_right" in twinset.find_pairs(TEXTS, **WORDS)._repr_html_()


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_appears_only_where_somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_of, "_DELAY", 0.0)
    for stream, given, shown in (
        (io.StringIO(), None, False),
        (Terminal(), None, True),
        (Terminal(), False, False),
        (io.StringIO(), True, True),
    ):
        monkeypatch.setattr("sys.stderr", stream)
        twinset.dedup(TEXTS, progress=given, **WORDS)
        assert ("reading" in stream.getvalue()) == shown, (type(stream), given)


def test_a_short_run_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress_of, "_DELAY", 60.0)
    twinset.dedup([ROSE, ROSE + " hall"], **WORDS)
    assert not stream.getvalue()


def test_notes_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, data in (("a.txt", (ROSE * 3).encode()), ("b.txt", b"\x00\x01binary")):
        (tmp_path / name).write_bytes(data)
    with caplog.at_level(logging.INFO, "twinset"):
        twinset.dedup(tmp_path)
    assert [record.name for record in caplog.records] == ["twinset"]
    assert "b.txt" in caplog.text
    caplog.clear()
    with pytest.warns(twinset.PlanWarning):
        twinset.dedup(TEXTS, threshold=0.5, n_bands=2, rows_per_band=20)
    assert {(record.name, record.levelname) for record in caplog.records} == {("twinset", "WARNING")}
    handlers = logging.getLogger("twinset").handlers
    assert all(isinstance(one, logging.NullHandler) for one in handlers)


# Names


def test_functions_have_the_names_of_commands(tmp_path: Path) -> None:
    done = twinset.dedup(TEXTS, output=tmp_path / "out", **WORDS)
    assert twinset.recut(done, 0.99).summary["kept"] == 4
    assert twinset.recut(tmp_path / "out", 0.99).summary["kept"] == done.rethreshold(0.99).summary["kept"]
    assert twinset.explain(done, "2").cluster == "0"
    assert twinset.explain(tmp_path / "out", 2, other="1").other == "1"
    with pytest.raises(twinset.OptionError, match="shingle does not apply to a result"):
        twinset.explain(done, "2", shingle="word:1")
