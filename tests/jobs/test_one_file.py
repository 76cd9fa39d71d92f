"""The kept rows in one file: its format is that of its name, and everything else is beside it."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import twinset
from twinset.documents.compressed import open_reader, split_codec
from twinset.errors import OptionError, OutputError, StateError
from twinset.options.formats import CODECS, FORMATS, ROW_ENDINGS, format_by_ending

LONG = "the river rose in the night and the lower town was under water by the morning of the third day"
TEXTS = [LONG, "a quite different text about the price of bread in the towns along the coast", LONG + " again"]
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": TEXTS[0], "n": 1, "tags": ["x"], "meta": {"k": 1}},
    {"id": "b", "text": TEXTS[1], "n": 2.5, "tags": [], "odd": "é"},
    {"id": "c", "text": TEXTS[2], "n": None, "odd": 7},
]
KEPT = ["a", "b"]
WORDS: dict[str, Any] = {"threshold": 0.7}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of any format."""
    name, codec = split_codec(path.name)
    if name.endswith(".parquet"):
        return list(pq.read_table(path).to_pylist())
    if name.endswith((".arrow", ".feather")):
        return list(pa.feather.read_table(path).to_pylist())
    with open_reader(path, codec, path.name) as stream:
        text = b"".join(iter(lambda: stream.read(2**20), b"")).decode()
    format = format_by_ending(name)
    if format is not None and format.delimiter is not None:
        return list(csv.DictReader(text.splitlines(), delimiter=format.delimiter))
    return [json.loads(line) for line in text.splitlines()]


PACKED = [
    f"{format.endings[0]}{codec}"
    for format in FORMATS.values()
    if format.rows and format.compressible
    for codec in CODECS
    if codec != ".zip"
]


@pytest.mark.parametrize("ending", [*ROW_ENDINGS, *PACKED, ".JSONL.xz"])
def test_every_format_holds_the_kept_rows(tmp_path: Path, lines: Path, ending: str) -> None:
    out = tmp_path / f"clean{ending}"
    done = twinset.dedup(lines, output=out, **WORDS)
    rows = read(out)
    assert [row["id"] for row in rows] == KEPT
    assert [row["text"] for row in rows] == TEXTS[:2]
    details = tmp_path / f"clean{ending}.details"
    assert {"removed.parquet", "clusters.parquet", "summary.json"} <= {path.name for path in details.iterdir()}
    assert not (details / "kept").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([out.name, details.name, "in.jsonl"])
    assert done.removed["because_of"].to_pylist() == ["a"]


def test_values_are_converted_without_a_loss(tmp_path: Path, lines: Path) -> None:
    twinset.dedup(lines, output=tmp_path / "clean.parquet", **WORDS)
    table = pq.read_table(tmp_path / "clean.parquet")
    assert table.column_names == ["id", "text", "n", "tags", "meta", "odd"]
    assert table.to_pylist() == [
        {"odd": None, **ROWS[0]},
        {"meta": None, **ROWS[1]},
    ]
    twinset.dedup(lines, output=tmp_path / "clean.csv", **WORDS)
    assert read(tmp_path / "clean.csv")[0] == {
        "id": "a", "text": LONG, "n": "1", "tags": '["x"]', "meta": '{"k":1}', "odd": "",
    }  # fmt: skip
    twinset.dedup(tmp_path / "clean.parquet", output=tmp_path / "back.jsonl", **WORDS)
    assert read(tmp_path / "back.jsonl") == table.to_pylist()


def test_a_key_with_values_of_several_kinds_becomes_text(tmp_path: Path, lines: Path) -> None:
    twinset.dedup(lines, output=tmp_path / "all.parquet", flag=True, **WORDS)
    assert pq.read_table(tmp_path / "all.parquet")["odd"].to_pylist() == [None, "é", "7"]


def test_rows_keep_their_bytes_where_the_format_is_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl.gz", tmp_path / "2.jsonl"
    first.write_bytes(gzip.compress(b'{"text":  "%s", "n": 1.50}' % TEXTS[0].encode()))  # no line end
    second.write_bytes(b'\xef\xbb\xbf{"n": 2, "text": "%s"}\r\n' % TEXTS[1].encode())
    twinset.dedup(first, second, output=tmp_path / "clean.jsonl", **WORDS)
    assert (tmp_path / "clean.jsonl").read_bytes() == (
        b'{"text":  "%s", "n": 1.50}\n{"n": 2, "text": "%s"}\r\n' % (TEXTS[0].encode(), TEXTS[1].encode())
    )
    for name, text in zip("12", TEXTS, strict=False):
        (tmp_path / f"{name}.csv").write_text(f"text,'n'\n\"{text}\",007")
    twinset.dedup(tmp_path / "1.csv", tmp_path / "2.csv", output=tmp_path / "clean.csv", **WORDS)
    assert (tmp_path / "clean.csv").read_text().splitlines() == [
        "text,'n'", f'"{TEXTS[0]}",007', f'"{TEXTS[1]}",007',
    ]  # fmt: skip


def test_shards_of_parquet_become_one_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for at, text in enumerate(TEXTS):
        table = pa.table({"text": [text], "at": pa.array([at], pa.int16())})
        pq.write_table(table, tmp_path / "in" / f"{at}.parquet", compression="zstd")
    twinset.dedup(tmp_path / "in", output=tmp_path / "clean.parquet", **WORDS)
    with pq.ParquetFile(tmp_path / "clean.parquet") as file:
        assert file.schema_arrow.field("at").type == pa.int16()
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        assert file.read()["at"].to_pylist() == [0, 1]


def test_sources_of_several_kinds_have_the_columns_of_all(tmp_path: Path, lines: Path) -> None:
    (tmp_path / "more.csv").write_text("id,text,year,n\nd,one two three four five six seven,1999,4\n")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "e.txt").write_bytes(b"a caf\xe9 in the old town, and nothing else to be seen there")
    table = pa.table({"id": ["f"], "text": ["yet another text of more than five words"], "n": [9]})
    sources = [lines, tmp_path / "more.csv", tmp_path / "texts", table]
    twinset.dedup(*sources, output=tmp_path / "clean.parquet", **WORDS)
    found = pq.read_table(tmp_path / "clean.parquet")
    assert found.column_names == ["id", "text", "n", "tags", "meta", "odd", "year"]
    assert found["id"].to_pylist() == ["a", "b", "d", "e.txt", "f"]
    assert found["n"].to_pylist() == ["1", "2.5", "4", None, "9"]
    assert found["year"].to_pylist() == [None, None, "1999", None, None]
    assert found["text"][3].as_py().startswith("a caf\ufffd in")
    twinset.dedup(*sources, output=tmp_path / "clean.jsonl", **WORDS)
    assert [sorted(row) for row in read(tmp_path / "clean.jsonl")][2:4] == [["id", "n", "text", "year"], ["id", "text"]]


def test_the_file_does_not_depend_on_batches(tmp_path: Path) -> None:
    rows = [{"text": f"{number} " * 12 + TEXTS[number % 2], "n": number if number % 5 else 0.5} for number in range(90)]
    rows[70]["n"] = "x"
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, batch in (("1", 1024), ("2", 2**24)):
        for ending in ("parquet", "csv", "arrow"):
            twinset.dedup(path, output=tmp_path / f"{name}.{ending}", batch_bytes=batch, threshold=0.9)
    for ending in ("parquet", "csv", "arrow"):
        assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes()


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_flags_are_columns_of_the_file(tmp_path: Path, lines: Path, ending: str) -> None:
    (tmp_path / "texts").mkdir()
    for at, text in enumerate(TEXTS):
        (tmp_path / "texts" / f"{at}.txt").write_text(text)
    for source, ids in ((lines, ["a", "b", "c"]), (tmp_path / "texts", ["0.txt", "1.txt", "2.txt"])):
        out = tmp_path / f"{source.name}-flagged.{ending}"
        twinset.dedup(source, output=out, flag=True, **WORDS)
        rows = read(out)
        assert [row["id"] for row in rows] == ids
        assert [row["duplicate_of"] or None for row in rows] == [None, None, ids[0]]
        assert [row["cluster"] for row in rows] == [ids[0], ids[1], ids[0]]


def test_rows_of_kept_groups(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("user,movie\na,x\na,y\nb,x\nb,y\nc,z\n")
    for ending in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"clean.{ending}"
        twinset.dedup(path, group="user", item="movie", output=out)
        assert [(row["user"], row["movie"]) for row in read(out)] == [("a", "x"), ("a", "y"), ("c", "z")]


def test_the_name_of_the_file_is_the_name_of_the_result(tmp_path: Path, lines: Path) -> None:
    out = tmp_path / "clean.parquet"
    twinset.dedup(lines, output=out, floor=0.5, **WORDS)
    result = twinset.open_result(str(out))
    assert result.explain("c").cluster == "a"
    assert result.report(tmp_path / "report.html").exists()
    result.rethreshold(0.99, output=tmp_path / "all.jsonl.gz")
    assert [row["id"] for row in read(tmp_path / "all.jsonl.gz")] == ["a", "b", "c"]
    twinset.open_result(tmp_path / "all.jsonl.gz").rethreshold(0.7, output=tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == out.read_bytes()
    out.unlink()
    assert twinset.open_result(out).summary["kept"] == 2
    with pytest.raises(StateError, match=r"other.csv.details/summary.json: there is no such file; name a folder"):
        twinset.open_result(tmp_path / "other.csv")


def test_what_exists_is_replaced_only_when_asked(tmp_path: Path, lines: Path) -> None:
    out = tmp_path / "clean.csv"
    twinset.dedup(lines, output=out, **WORDS)
    before = out.read_bytes()
    with pytest.raises(OutputError, match=r"clean.csv exists; choose another output, or replace it with force=True"):
        twinset.dedup(lines, output=out, threshold=1.0)
    assert out.read_bytes() == before
    twinset.dedup(lines, output=out, threshold=1.0, force=True)
    assert len(read(out)) == 3
    out.unlink()
    with pytest.raises(OutputError, match=r"clean.csv.details exists; .*force=True"):
        twinset.dedup(lines, output=out, **WORDS)
    twinset.dedup(lines, output=f"{out}/", **WORDS)
    assert (out / "kept" / "in.jsonl").exists()
    with pytest.raises(OutputError, match=r"clean.csv is a folder, but its name is that of a file"):
        twinset.dedup(lines, output=out, force=True, **WORDS)
    with pytest.raises(OutputError, match=r"in.jsonl would be replaced, and .*in.jsonl is read from there"):
        twinset.dedup(lines, output=lines, **WORDS)


def test_names_that_cannot_be(tmp_path: Path, lines: Path) -> None:
    with pytest.raises(OptionError, match=r"Parquet is compressed inside the file; leave out .gz"):
        twinset.dedup(lines, output=tmp_path / "clean.parquet.gz")
    with pytest.raises(OptionError, match=r"copy cannot be used with the file .*: kept files are copied into a folder"):
        twinset.dedup(lines, output=tmp_path / "clean.jsonl", copy=True)
    (tmp_path / "twice.csv").write_text("text,n,n\nsome words,1,2\n")
    with pytest.raises(OptionError, match=r"more than one column 'n', which clean.parquet cannot have"):
        twinset.dedup(tmp_path / "twice.csv", output=tmp_path / "clean.parquet")
    assert not list(tmp_path.glob("clean*"))


def test_a_file_inside_its_source_is_not_read_again(tmp_path: Path, lines: Path) -> None:
    out = tmp_path / "clean.jsonl"
    for force in (False, True):
        assert twinset.dedup(tmp_path, output=out, force=force, **WORDS).summary["documents"] == 3
    assert twinset.open_result(out).explain("c").explanation is not None
    for source in (tmp_path, f"{tmp_path}/*.jsonl"):
        later = twinset.dedup(source, output=tmp_path / "later.jsonl", force=True, **WORDS).summary
        assert later["documents"] == 3
        assert [out.as_posix(), "the kept rows of an earlier run; to read them, name the file"] in later["skipped"]
    assert twinset.dedup(out, **WORDS).summary["documents"] == 2


def test_tables_as_csv(tmp_path: Path, lines: Path) -> None:
    twinset.dedup(lines, output=tmp_path / "out", details_format="csv", **WORDS)
    with open(tmp_path / "out" / "removed.csv") as file:
        [row] = csv.DictReader(file)
    assert (row["id"], row["because_of"]) == ("c", "a")
    result = twinset.open_result(tmp_path / "out")
    assert result.explain("c").cluster == "a"
    result.rethreshold(0.9, output=tmp_path / "new.csv", details_format="csv")
    names = {path.stem for path in (tmp_path / "new.csv.details").glob("*.parquet")}
    assert {path.stem for path in (tmp_path / "new.csv.details").glob("*.csv")} == names
    with pytest.raises(OptionError, match=r"details_format is 'xls'; allowed: parquet or csv"):
        twinset.dedup(lines, details_format="xls")


def test_pairs_in_a_folder(tmp_path: Path, lines: Path) -> None:
    for output in (tmp_path / "found", f"{tmp_path}/v1.csv/"):
        done = twinset.find_pairs(lines, output=output, **WORDS)
        assert done.pairs["left"].to_pylist() == ["a"]
        names = sorted(path.name for path in Path(output).iterdir())
        assert names == ["documents.parquet", "pairs.parquet", "sources.parquet", "summary.json"]
        assert json.loads((Path(output) / "summary.json").read_text())["pairs"] == 1
    with pytest.raises(OutputError, match=r"found exists; .*force=True"):
        twinset.find_pairs(lines, output=tmp_path / "found", **WORDS)
    twinset.find_pairs(lines, output=tmp_path / "found", force=True, **WORDS)
    with pytest.raises(OptionError, match=r"the output is .*; its name must end in"):
        twinset.find_pairs(lines, output=tmp_path / "pairs.txt")
