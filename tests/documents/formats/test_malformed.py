"""Input of every wrong kind is refused with its place, or counted and named; nothing is lost or crashes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import opened, packed, read_all, write_all
from twinset.errors import ColumnError, OptionError, RowError, SourceError

GOOD = b'{"text":"fine"}\n'
BAD_ROWS = {
    "not_json": (b"{oops\n", "not JSON"),
    "cut_off": (b'{"text":"abc\n', "not JSON"),
    "two_objects": (b'{"text":"a"}{"text":"b"}\n', "not JSON"),
    "deep": (b'{"text":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "not JSON"),
    "deep_and_not_utf8": (b'{"text":"\xff","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "not JSON"),
    "lone_surrogate": (b'{"text":"\\ud800"}\n', "not JSON"),
    "lone_surrogate_and_not_utf8": (b'{"text":"\\ud800 \xff"}\n', "surrogate"),
    "nan": (b'{"text":"a","x":NaN}\n', "not JSON"),
    "list": (b"[1]\n", "each line must hold an object"),
    "string": (b'"text"\n', "each line must hold an object"),
    "number_text": (b'{"text":3}\n', "must be a string, not a number"),
    "list_text": (b'{"text":["a"]}\n', "must be a string, not a list"),
    "missing": (b'{"txt":"a"}\n', "no key 'text'; the keys are 'txt'"),
}


def refusal(path: Path) -> SourceError | None:
    try:
        read_all(opened(path))
    except SourceError as error:
        return error
    return None


@pytest.mark.parametrize("batch", [64, 2**20])
@pytest.mark.parametrize("case", BAD_ROWS)
def test_json_rows(tmp_path: Path, case: str, batch: int) -> None:
    line, reason = BAD_ROWS[case]
    path = tmp_path / "in.jsonl"
    path.write_bytes(GOOD + b"\n" + line + GOOD)
    half = case.startswith("lone_surrogate")  # replaced as bytes that are not UTF-8 are
    for on_error in ("stop",) if half else ("replace", "stop"):
        with pytest.raises(RowError, match=reason) as error:
            read_all(opened(path, on_error=on_error), batch)
        assert error.value.where == f"{path.as_posix()}, line 3"
        assert "\n" not in str(error.value)
    sources = opened(path, on_error="skip")
    rows = read_all(sources, batch)
    assert rows.texts == [b"fine", None, b"fine"]
    assert [row for row, _ in rows.unreadable] == [1]
    assert rows.unreadable[0][1].startswith("line 3: ")
    write_all(sources, tmp_path / "out", lambda part, row: row != 1, batch)
    assert (tmp_path / "out/kept/in.jsonl").read_bytes() == GOOD + GOOD


def test_bytes_that_are_not_utf8_are_carried_through(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text":"a\xff\xfe \xc3\xa9","id":"x"}\n{"text":"b\\u0000","id":"y"}\n')
    rows = read_all(opened(path))
    assert rows.texts == [b"a\xff\xfe \xc3\xa9", b"b\0"]
    assert rows.ids == ["x", "y"]
    path.write_bytes(b'{"text":"a","id":"x\xff"}\n')
    with pytest.raises(RowError, match="not UTF-8"):
        read_all(opened(path))


def test_null_texts_are_no_error(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text":null}\n')
    rows = read_all(opened(path))
    assert (rows.texts, rows.unreadable) == ([None], [])


@pytest.mark.parametrize("value", ["null", "1.5", "true", "[]"])
def test_json_ids(tmp_path: Path, value: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"id":1,"text":"a"}}\n{{"id":{value},"text":"b"}}\n{{"text":"c","id":"z"}}\n')
    with pytest.raises(RowError, match="must be a string or a whole number"):
        read_all(opened(path))
    rows = read_all(opened(path, on_error="skip"))
    assert rows.texts == [b"a", None, b"c"]
    assert len(rows.unreadable) == 1


@pytest.mark.parametrize("batch", [64, 2**20])
def test_ragged_rows(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'id,text\na,"x\ny"\nb\nc,z,1\nd,end\n')
    with pytest.raises(RowError, match="has 1 field, the header has 2") as error:
        read_all(opened(path), batch)
    assert error.value.where == f"{path.as_posix()}, line 4"
    sources = opened(path, on_error="skip")
    rows = read_all(sources, batch)
    assert rows.texts == [b"x\ny", None, None, b"end"]
    assert [row for row, _ in rows.unreadable] == [1, 2]
    assert rows.unreadable[1][1].startswith("line 5: the row has 3 fields")
    write_all(sources, tmp_path / "out", lambda part, row: row in (0, 3), batch)
    assert (tmp_path / "out/kept/in.csv").read_bytes() == b'id,text\na,"x\ny"\nd,end\n'


def test_a_quote_never_closed(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'id,text\na,b\nc,"d\ne,f\n')
    with pytest.raises(RowError, match="never closed") as error:
        read_all(opened(path))
    assert error.value.where == f"{path.as_posix()}, line 3"
    assert read_all(opened(path, on_error="skip")).texts == [b"b", None]


@pytest.mark.parametrize("ending", [".gz", ".zst", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "plain", "tail"])
def test_damaged_compressed_files(tmp_path: Path, ending: str, damage: str) -> None:
    rows = b"".join(json.dumps({"text": f"some text {row * 7919 % 10007}"}).encode() + b"\n" for row in range(20_000))
    data = bytearray(packed(rows, ending))
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[len(data) // 2] ^= 0x10
    elif damage == "empty":
        data = bytearray()
    elif damage == "plain":
        data = bytearray(rows)
    elif damage == "tail":
        data = data[:-3]
    path = tmp_path / f"in.jsonl{ending}"
    path.write_bytes(data)
    error = refusal(path)
    if error is None:
        assert (damage, ending) == ("flip", ".zst")  # Arrow writes Zstandard without checksums
    else:
        assert error.where.startswith(path.as_posix())
        assert "\n" not in str(error)


def test_gzip_with_a_wrong_checksum(tmp_path: Path) -> None:
    data = bytearray(packed(GOOD * 1000, ".gz"))
    data[-6] ^= 1
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="CRC") as error:
        read_all(opened(path))
    assert error.value.where == path.as_posix()


def test_a_damaged_text_is_one_unreadable_document(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(packed(b"words " * 10_000, ".gz")[:-20])
    (tmp_path / "b.txt").write_bytes(b"fine")
    with pytest.raises(SourceError, match="damaged"):
        read_all(opened(tmp_path))
    rows = read_all(opened(tmp_path, on_error="skip"))
    assert rows.texts == [None, b"fine"]
    assert len(rows.unreadable) == 1


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"not parquet at all, but some text", b"PAR1" + b"\0" * 60 + b"PAR1"]
)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_files_that_are_not_what_their_name_says(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"in.{ending}"
    path.write_bytes(content)
    with pytest.raises(SourceError) as error:
        read_all(opened(path))
    assert error.value.where == path.as_posix()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_every_truncation_and_many_flips(tmp_path: Path, ending: str) -> None:
    table = pa.table({"id": [f"i{row}" for row in range(300)], "text": [f"text number {row}" for row in range(300)]})
    path = tmp_path / f"in.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, write_page_checksum=True)
    elif ending == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        pa.feather.write_feather(table, path, compression="lz4")
    data = path.read_bytes()
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        with pytest.raises(SourceError):
            read_all(opened(path))
    for at in range(0, len(data), 41):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        error = refusal(path)  # without checksums a flip inside a text cannot be seen
        assert error is None or error.where.startswith(path.as_posix())


def test_a_flip_in_a_parquet_page_with_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    texts = [f"unmistakable {row}" for row in range(500)]
    pq.write_table(pa.table({"text": texts}), path, write_page_checksum=True, compression="none", use_dictionary=False)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"unmistakable 77", b"unmistakeble 77"))
    with pytest.raises(SourceError, match=r"CRC|checksum"):
        read_all(opened(path))


def test_empty_files(tmp_path: Path) -> None:
    for name in ("a.jsonl", "c.csv", "d.txt"):
        (tmp_path / name).write_bytes(b"")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "b.parquet")
    assert read_all(opened(tmp_path / "a.jsonl")).texts == []
    assert read_all(opened(tmp_path / "b.parquet")).texts == []
    assert read_all(opened(tmp_path / "d.txt")).texts == [b""]
    assert read_all(opened(tmp_path / "d.txt", lines=True)).texts == []
    with pytest.raises(SourceError, match="header row is expected"):
        opened(tmp_path / "c.csv")
    write_all(opened(tmp_path / "a.jsonl", tmp_path / "b.parquet"), tmp_path / "out")
    assert (tmp_path / "out/kept/a.jsonl").read_bytes() == b""
    assert pq.read_table(tmp_path / "out/kept/b.parquet").num_rows == 0


@pytest.mark.parametrize("words", [{"text": "body"}, {"id": "key"}, {"by": "lang"}])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "feather"])
def test_missing_columns(tmp_path: Path, kind: str, words: dict[str, Any]) -> None:
    path = tmp_path / f"in.{kind}"
    table = pa.table({"text": ["a"], "other": ["b"]})
    if kind == "jsonl":
        path.write_bytes(b'{"text":"a","other":"b"}\n')
    elif kind == "csv":
        path.write_bytes(b"text,other\na,b\n")
    elif kind == "parquet":
        pq.write_table(table, path)
    else:
        pa.feather.write_feather(table, path)
    ((option, name),) = words.items()
    columns = f"no column '{name}'; the columns are 'text', 'other'.*{option}=\"NAME\""
    with pytest.raises(ColumnError, match=columns) as error:
        opened(path, **words)
    assert error.value.where == path.as_posix()
    part = opened(path).parts[0]
    with pytest.raises(ColumnError, match="no column 'score'"):
        part.wanted = frozenset(["score"])


def test_columns_of_a_wrong_type(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": [1, 2], "x": [[1], [2]], "id": [0.5, 1.5]}), path)
    with pytest.raises(ColumnError, match="must hold text, not int64"):
        opened(path)
    pq.write_table(pa.table({"text": ["a"], "x": [[1]], "id": [0.5]}), path)
    with pytest.raises(ColumnError, match="strings or whole numbers"):
        opened(path, id="id")
    with pytest.raises(ColumnError, match="nested"):
        opened(path, by="x")
    assert read_all(opened(path)).ids == [f"{path.as_posix()}:0"]


def test_null_ids_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "id": [1, None]}), path)
    with pytest.raises(RowError, match="every row needs an id") as error:
        read_all(opened(path))
    assert error.value.where == f"{path.as_posix()}, row 1, counted from 0"
    rows = read_all(opened(path, on_error="skip"))
    assert (rows.texts, [row for row, _ in rows.unreadable]) == ([b"a", None], [1])
    assert rows.unreadable[0][1].startswith("row 1, counted from 0: the id 'id' is null")


def test_mixed_schemas_are_fine(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "n": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": ["x"], "text": pa.array(["b"], pa.large_string())}), tmp_path / "b.parquet")
    (tmp_path / "c.jsonl").write_bytes(b'{"text":"c"}\n{"more":1,"text":"d"}\n')
    assert read_all(opened(tmp_path)).texts == [b"a", b"b", b"c", b"d"]


def test_wrong_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text\na\n".encode("utf-16"))
    with pytest.raises(OptionError, match="encoding"):
        opened(tmp_path / "a.csv", encoding="klingon")
    with pytest.raises(OptionError, match="whole text files only"):
        opened(tmp_path / "a.csv", encoding="utf-16")
    (tmp_path / "b.txt").write_bytes(b"a\x81")
    with pytest.raises(RowError, match="not cp1252"):
        read_all(opened(tmp_path / "b.txt", encoding="cp1252", on_error="stop"))


def test_mixed_kinds_in_a_wanted_column(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text":"a","n":1}\n{"text":"b","n":null}\n{"text":"c","n":2.5}\n{"text":"d"}\n')
    sources = opened(path)
    sources.parts[0].wanted = frozenset(["n"])
    assert read_all(sources).columns == {"n": [1, None, 2.5, None]}
    path.write_bytes(b'{"text":"a","n":1}\n{"text":"b","n":"2"}\n')
    for batch in (64, 2**20):
        sources = opened(path)
        sources.parts[0].wanted = frozenset(["n"])
        assert list(map(str, read_all(sources, batch).columns["n"])) == ["1", "2"]
    path.write_bytes(b'{"text":"a","n":1}\n{"text":"b","n":true}\n')
    sources = opened(path)
    sources.parts[0].wanted = frozenset(["n"])
    with pytest.raises(ColumnError, match="'n' holds a true or false; it must hold numbers or strings"):
        read_all(sources)
