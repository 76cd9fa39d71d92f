"""Sources without a file of their own: stdin, pipes and the web, in any format and compression; and ZIP files."""

from __future__ import annotations

import functools
import gc
import http.server
import io
import json
import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.documents.reading import ENDINGS, opened, packed, read_all, unpacked, write_all
from tests.web_pages import record
from twinset.errors import OptionError, SourceError
from twinset.options import formats
from twinset.options.formats import DELIMITERS
from twinset.system import batch_sizes
from twinset.wording import either

LINES = b'{"text":"one"}\n{"text":"two"}\n'


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["one", "two"]}), sink)
    return sink.getvalue()


def arrow() -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, pa.schema([("text", pa.string())])) as file:
        file.write(pa.record_batch({"text": ["one", "two"]}))
    return sink.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return sink.getvalue()


FORMATS = {
    "jsonl": LINES,
    "json": b'[{"text": "one"},\n {"text": "two"}]',
    **{name: b"n,text\n1,one\n2,two\n".replace(b",", one.encode()) for name, one in DELIMITERS.items()},
    "parquet": parquet(),
    "arrow": arrow(),
    "warc": b"".join(record(f"http://a/{one}", one.encode(), type="text/plain") for one in ("one", "two")),
}


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_every_format_of_texts_has_a_sample() -> None:
    assert set(FORMATS) == {one.name for one in formats.formats_for("text")}


@pytest.mark.parametrize("format", FORMATS)
def test_stdin_of_any_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    give(monkeypatch, FORMATS[format])
    sources = opened("-", scratch=tmp_path / "scratch", format=format, no_id=True)
    rows = read_all(sources)
    assert (rows.texts, rows.ids) == ([b"one", b"two"], ["stdin:0", "stdin:1"])
    write_all(sources, tmp_path / "out", lambda part, row: row == 0)
    assert read_all(opened(tmp_path / f"out/kept/stdin.{format}")).texts == [b"one"]


@pytest.mark.parametrize("ending", [*ENDINGS, ".zip"])
def test_compressed_stdin_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    give(monkeypatch, zipped(("a", LINES)) if ending == ".zip" else packed(LINES, ending))
    sources = opened("-", scratch=tmp_path)
    assert read_all(sources).texts == [b"one", b"two"]
    assert str(sources.parts[0].kept_name) == f"stdin.jsonl{ending}"


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_binary_formats_on_stdin_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    give(monkeypatch, FORMATS[format])
    assert read_all(opened("-", scratch=tmp_path)).texts == [b"one", b"two"]


def test_lines_and_one_text_on_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"one\ntwo\n")
    assert read_all(opened("-", scratch=tmp_path, lines=True)).texts == [b"one", b"two"]
    give(monkeypatch, b"one\ntwo\n")
    rows = read_all(opened("-", scratch=tmp_path, format="text"))
    assert (rows.texts, rows.ids) == ([b"one\ntwo\n"], ["stdin"])


def test_format_decides_whatever_the_name(tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_bytes(FORMATS["csv"])
    (tmp_path / "README").write_bytes(b"about")
    for source in (tmp_path / "table.txt", f"{tmp_path}/*.txt", tmp_path):
        assert read_all(opened(source, format="csv")).texts == [b"one", b"two"]
    assert read_all(opened(tmp_path / "table.txt")).texts == [FORMATS["csv"]]
    (tmp_path / "a.csv").write_bytes(b"text\na\n")
    assert read_all(opened(tmp_path / "a.csv", format="text")).texts == [b"text\na\n"]
    with pytest.raises(OptionError, match=f"'xls'; allowed: {either([*formats.FORMATS, 'text'])}"):
        opened(tmp_path, format="xls")


def feed(path: Path, data: bytes) -> threading.Thread:
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    return writer


def test_pipes(tmp_path: Path) -> None:
    writers = [feed(tmp_path / "63", LINES), feed(tmp_path / "b.csv", packed(FORMATS["csv"], ".gz"))]
    sources = opened(tmp_path / "63", tmp_path / "b.csv", scratch=tmp_path / "scratch")
    for writer in writers:
        writer.join()
    rows = read_all(sources)
    assert rows.texts == [b"one", b"two"] * 2
    assert rows.ids == [f"{tmp_path}/{name}:{row}" for name in ("63", "b.csv") for row in (0, 1)]
    assert [str(part.kept_name) for part in sources.parts] == ["63.jsonl", "b.csv.gz"]


def test_a_run_from_a_pipe_says_that_it_cannot_be_read_again(tmp_path: Path) -> None:
    writer = feed(tmp_path / "pipe", LINES)
    result = twinset.dedup(str(tmp_path / "pipe"))
    writer.join()
    assert result.summary["input"]["sources"] == [None]


@pytest.mark.parametrize(("name", "member"), [("a.csv.zip", "other.bin"), ("a.zip", "inside/data.csv")])
def test_zip_files(tmp_path: Path, name: str, member: str) -> None:
    junk = ("__MACOSX/._data.csv", b"\0")
    (tmp_path / name).write_bytes(zipped(("inside/", b""), (member, FORMATS["csv"]), junk))
    sources = opened(tmp_path / name)
    assert read_all(sources).texts == [b"one", b"two"]
    write_all(sources, tmp_path / "out", lambda part, row: row == 1)
    with zipfile.ZipFile(tmp_path / "out/kept/a.csv.zip") as archive:
        assert {one: archive.read(one) for one in archive.namelist()} == {"a.csv": b"n,text\n2,two\n"}
    assert read_all(opened(tmp_path / "out/kept/a.csv.zip")).texts == [b"two"]


def test_zip_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.zip"
    path.write_bytes(zipped(("a.csv", b"text\na\n"), ("b.csv", b"text\nb\n")))
    with pytest.raises(SourceError, match=r"a\.csv\.zip: the ZIP file has 2 files, and only one can be read"):
        opened(path)
    path.write_bytes(FORMATS["csv"])
    with pytest.raises(SourceError, match="damaged"):
        opened(path)
    whole = bytearray(zipped(("a.csv", b"text\n" + os.urandom(5000).hex().encode())))
    whole[300:320] = bytes(20)
    path.write_bytes(whole)
    with pytest.raises(SourceError, match=r"a\.csv\.zip: .*damaged"):
        read_all(opened(path))


def test_zip_files_among_texts(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a note")
    (tmp_path / "two.zip").write_bytes(zipped(("a", b"a"), ("b", b"b")))
    (tmp_path / "one.zip").write_bytes(zipped(("a.txt", b"packed")))
    sources = opened(tmp_path)
    assert read_all(sources).texts == [b"a note", b"packed"]
    ((_, reason),) = sources.skipped
    assert reason == "the ZIP file has 2 files, and only one can be read; unpack it first"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self.path == "/short.jsonl":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(LINES)
        else:
            super().do_GET()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "site"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_files_on_the_web(tmp_path: Path, site: str) -> None:
    (tmp_path / "site/a b.jsonl.gz").write_bytes(packed(LINES, ".gz"))
    (tmp_path / "site/t.parquet").write_bytes(FORMATS["parquet"])
    sources = opened(f"{site}/a%20b.jsonl.gz?v=1", f"{site}/t.parquet", scratch=tmp_path / "scratch")
    assert [part.format for part in sources.parts] == ["jsonl", "parquet"]
    rows = read_all(sources)
    assert rows.texts == [b"one", b"two"] * 2
    assert rows.ids[0] == f"{site}/a%20b.jsonl.gz?…:0"
    write_all(sources, tmp_path / "out")
    assert unpacked(tmp_path / "out/kept/a b.jsonl.gz") == LINES


def test_a_run_from_the_web_can_be_explained_later(tmp_path: Path, site: str) -> None:
    line = "some words that are the same in every one of these rows of the table"
    rows = [{"id": "a", "text": line}, {"id": "b", "text": line + " again"}]
    (tmp_path / "site/a.json").write_text(json.dumps(rows))
    result = twinset.dedup(f"{site}/a.json", output=tmp_path / "out")
    assert result.summary["input"]["sources"] == [f"{site}/a.json"]
    explanation = twinset.open_result(tmp_path / "out").explain("b", source=[f"{site}/a.json"]).explanation
    assert explanation is not None
    assert "again" in str(explanation.to_dict())
    gc.collect()  # removes the copy of the file


def test_an_address_is_not_fetched_for_its_result_alone(tmp_path: Path, site: str) -> None:
    line = "some words that are the same in every one of these rows of the table"
    rows = [{"id": "a", "text": line}, {"id": "b", "text": line + " again"}]
    (tmp_path / "site/a.json").write_text(json.dumps(rows))
    done = twinset.dedup(f"{site}/a.json", output=tmp_path / "out")
    assert done.explain("b").explanation is not None, "the program has named the address"
    with pytest.raises(SourceError, match=rf"^{site}/a\.json: the summary .* name it with source"):
        twinset.open_result(tmp_path / "out").explain("b")


@pytest.mark.parametrize(
    ("path", "says"),
    [("none.jsonl", "the server answers 404 File not found"), ("short.jsonl", "broke after 30 of 1,000 bytes")],
)
def test_what_the_web_does_not_give(
    tmp_path: Path, site: str, path: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_sizes, "FETCH_PAUSE", 0.01)
    with pytest.raises(SourceError, match=f"{site}/{path}: .*{says}"):
        opened(f"{site}/{path}", scratch=tmp_path)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^http://127\.0\.0\.1:1/a\.csv: cannot be fetched: Connection refused$"):
        opened("http://127.0.0.1:1/a.csv", scratch=tmp_path)
