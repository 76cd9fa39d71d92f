"""What is read is what was written, and what is kept is written as it was read, in every format."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import ENDINGS, opened, packed, read_all, unpacked, write_all
from twinset.documents.files import format_of
from twinset.options.formats import DELIMITERS

TEXTS = [
    "plain words",
    "",
    'quotes " and "" more, commas',
    "line\nbreaks\r\nof both kinds",
    "日本語 ünïcödé 😀",
    "tab\there",
    " spaces at both ends ",
    "nul \x00 inside",
] * 40
IDS = [f"r{row}" for row in range(len(TEXTS))]
BATCHES = [64, 1000, 2**20]


def jsonl() -> bytes:
    rows = [
        json.dumps({"id": id, "n": 1.50, "text": text}, ensure_ascii=False) for id, text in zip(IDS, TEXTS, strict=True)
    ]
    return "".join(f"  {row} \n" if at % 3 else f"{row}\r\n\n" for at, row in enumerate(rows)).encode()


def separated(delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(["id", "n", "text"])
    writer.writerows([[id, "01.50", text_] for id, text_ in zip(IDS, TEXTS, strict=True)])
    return text.getvalue().encode()


def table() -> pa.Table:
    return pa.table({"id": IDS, "n": range(len(IDS)), "text": TEXTS})


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["jsonl", "ndjson", *DELIMITERS])
def test_rows_of_bytes(tmp_path: Path, kind: str, ending: str, batch: int) -> None:
    data = jsonl() if kind in ("jsonl", "ndjson") else separated(DELIMITERS[kind])
    path = tmp_path / f"in.{kind}{ending}"
    path.write_bytes(packed(data, ending))
    sources = opened(path)
    assert sources.parts[0].format == format_of(path.name)[0]
    rows = read_all(sources, batch)
    assert rows.ids == IDS
    assert rows.texts == [text.encode() for text in TEXTS]
    write_all(sources, tmp_path / "out", batch_bytes=batch)
    kept = unpacked(tmp_path / "out" / "kept" / path.name)
    assert kept == (data.replace(b"\n\n", b"\n") if kind in ("jsonl", "ndjson") else data)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_kept_rows_are_the_inputs_own_bytes(tmp_path: Path, kind: str, ending: str) -> None:
    path = tmp_path / f"in.{kind}{ending}"
    path.write_bytes(packed(jsonl() if kind == "jsonl" else separated(","), ending))
    files = []
    for batch in BATCHES:
        out = tmp_path / f"out{batch}"
        write_all(opened(path), out, lambda part, row: row % 7 not in (0, 3), batch)
        files.append((out / "kept" / path.name).read_bytes())
    assert files[0] == files[1] == files[2]
    again = read_all(opened(tmp_path / "out64" / "kept" / path.name))
    assert again.ids == [id for row, id in enumerate(IDS) if row % 7 not in (0, 3)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_lines(tmp_path: Path, ending: str) -> None:
    data = b"\xef\xbb\xbfone\r\n\ntwo \xff\nlast"
    path = tmp_path / f"in.txt{ending}"
    path.write_bytes(packed(data, ending))
    sources = opened(path, lines=True)
    assert sources.parts[0].format == "lines"
    assert read_all(sources).texts == [b"one", b"", b"two \xff", b"last"]
    write_all(sources, tmp_path / "out", lambda part, row: row != 0)
    assert unpacked(tmp_path / "out" / "kept" / path.name) == b"\xef\xbb\xbf\ntwo \xff\nlast"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_text_file_is_one_document(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"note.md{ending}"
    path.write_bytes(packed(b"\xef\xbb\xbfall of it\r\n", ending))
    sources = opened(path)
    rows = read_all(sources)
    assert rows.texts == [b"all of it\r\n"]
    assert rows.ids == [path.as_posix()]
    write_all(sources, tmp_path / "out", copy=True)
    assert (tmp_path / "out" / "kept" / path.name).read_bytes() == path.read_bytes()
    assert (tmp_path / "out" / "kept.txt").read_text() == f"{path.as_posix()}\n"


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("form", ["parquet", "file", "stream", "lz4.feather", "zstd"])
def test_tables(tmp_path: Path, form: str, batch: int) -> None:
    path = tmp_path / ("in.parquet" if form == "parquet" else "in.feather")
    if form == "parquet":
        pq.write_table(table(), path, row_group_size=50)
    elif form in ("file", "stream"):
        make = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
        with make(str(path), table().schema) as writer:
            writer.write_table(table(), max_chunksize=100)
    else:
        pa.feather.write_feather(table(), path, compression=form.split(".")[0], chunksize=70)
    sources = opened(path)
    rows = read_all(sources, batch)
    assert rows.ids == IDS
    assert rows.texts == [text.encode() for text in TEXTS]
    assert read_all(sources, batch, texts_only=True).texts == rows.texts
    write_all(sources, tmp_path / "out", lambda part, row: row % 2 == 0, batch)
    kept = tmp_path / "out" / "kept" / path.name
    back = pq.read_table(kept) if form == "parquet" else _read_arrow(kept, form)
    assert back.equals(table().take(list(range(0, len(IDS), 2))))


def _read_arrow(path: Path, form: str) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_stream(file) if form == "stream" else pa.ipc.open_file(file)
        return reader.read_all()


def test_the_last_line_keeps_its_missing_end(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text":"a"}\n{"text":"b"}')
    write_all(opened(path), tmp_path / "all")
    write_all(opened(path), tmp_path / "first", lambda part, row: row == 0)
    assert (tmp_path / "all/kept/in.jsonl").read_bytes() == path.read_bytes()
    assert (tmp_path / "first/kept/in.jsonl").read_bytes() == b'{"text":"a"}\n'


def test_a_byte_order_mark_stays_at_the_head_of_the_kept_file(tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_bytes(b'\xef\xbb\xbf{"text":"a"}\n{"text":"b"}\n')
    values = tmp_path / "in.csv"
    values.write_bytes(b"\xef\xbb\xbftext,x\na,1\nb,2\n")
    sources = opened(lines, values)
    assert read_all(sources).texts == [b"a", b"b", b"a", b"b"]
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    assert (tmp_path / "out/kept/in.jsonl").read_bytes() == b'\xef\xbb\xbf{"text":"b"}\n'
    assert (tmp_path / "out/kept/in.csv").read_bytes() == b"\xef\xbb\xbftext,x\nb,2\n"


def test_nothing_kept(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"a"}\n')
    (tmp_path / "b.csv").write_bytes(b"text\na\n")
    pq.write_table(table(), tmp_path / "c.parquet")
    write_all(opened(tmp_path), tmp_path / "out", lambda part, row: False)
    assert (tmp_path / "out/kept/a.jsonl").read_bytes() == b""
    assert (tmp_path / "out/kept/b.csv").read_bytes() == b"text\n"
    assert pq.read_table(tmp_path / "out/kept/c.parquet").equals(table().slice(0, 0))


def test_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(jsonl())

    monkeypatch.setattr(sys, "stdin", Stdin)
    sources = opened("-", scratch=tmp_path / "scratch")
    assert read_all(sources).ids == read_all(sources).ids == IDS
    assert sources.parts[0].name == "stdin"
    write_all(sources, tmp_path / "out")
    assert (tmp_path / "out/kept/stdin.jsonl").read_bytes() == jsonl().replace(b"\n\n", b"\n")


def test_several_sources_of_different_formats(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"a","id":7}\n')
    (tmp_path / "b.csv").write_bytes(b"text\nb\n")
    pq.write_table(pa.table({"text": ["c"]}), tmp_path / "c.parquet")
    sources = opened(tmp_path / "c.parquet", tmp_path / "a.jsonl", tmp_path / "b.csv", ["d"])
    rows = read_all(sources)
    assert rows.texts == [b"c", b"a", b"b", b"d"]
    assert rows.ids == [
        f"{(tmp_path / 'c.parquet').as_posix()}:0",
        "7",
        f"{(tmp_path / 'b.csv').as_posix()}:0",
        "0",
    ]
    assert [part.source for part in sources.parts] == [0, 1, 2, 3]


def test_digest_and_change(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    (tmp_path / "b.jsonl").write_bytes(b'{"text":"a"}\n')
    folder, lines = opened(tmp_path / "a.txt").parts[0], opened(tmp_path / "b.jsonl").parts[0]
    assert len(folder.digest()) == len(lines.digest()) == 64
    before = folder.digest()
    folder.check_unchanged()
    path.write_text("two!")
    with pytest.raises(Exception, match=r"a\.txt: the file was changed"):
        folder.check_unchanged()
    assert opened(path).parts[0].digest() != before


def test_legacy_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("déjà".encode("latin-1"))
    (tmp_path / "b.csv").write_bytes("id,text\né,çà\n".encode("latin-1"))
    sources = opened(tmp_path / "a.txt", tmp_path / "b.csv", encoding="latin-1")
    rows = read_all(sources)
    assert rows.texts == ["déjà".encode(), "çà".encode()]
    assert rows.ids[1] == "é"
    write_all(sources, tmp_path / "out", copy=True)
    assert (tmp_path / "out/kept/b.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    (tmp_path / "c.txt").write_bytes("wide".encode("utf-16"))
    assert read_all(opened(tmp_path / "c.txt", encoding="utf-16")).texts == [b"wide"]
    (tmp_path / "d.txt").write_bytes(b"a\x81\n")
    odd = read_all(opened(tmp_path / "d.txt", encoding="cp1252"))
    assert (odd.texts, odd.replaced) == (["a\ufffd\n".encode()], 1)
