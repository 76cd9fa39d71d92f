"""WARC files: which records are documents, their columns, damaged files, and kept records as they were."""

from __future__ import annotations

import bz2
import gzip
import io
import subprocess
import sys
import zlib
from pathlib import Path

import brotli
import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.reading import ENDINGS, opened, packed, read_all, write_all
from tests.web_pages import INFO, page, record, words
from twinset.documents.pages import warc, warc_records
from twinset.errors import ColumnError, OptionError, RowError, SourceError

ONE, TWO = words(1, 40), words(2, 40)


def write(place: Path, *records: bytes) -> Path:
    place.write_bytes(packed(b"".join(records), "" if place.suffix in (".warc", ".wet") else place.suffix))
    return place


def crawl() -> list[bytes]:
    return [
        INFO,
        record("http://a.org/1", b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record("http://a.org/1", page(ONE).encode()),
        record("http://a.org/1", b"fetch: 3", kind="metadata", type="application/warc-fields"),
        record("http://B.org:80/2", page(TWO).encode(), status="404 Not Found"),
        record("http://a.org/1", b"", kind="revisit", type="application/http"),
        record("http://c.org/text", b"plain words", kind="conversion", type="text/plain"),
        record("http://c.org/page", page(TWO).encode(), kind="resource", type="text/html; charset=utf-8"),
    ]


@pytest.mark.parametrize("ending", ENDINGS)
def test_records_with_documents(tmp_path: Path, ending: str) -> None:
    rows = read_all(opened(write(tmp_path / f"crawl.warc{ending}", *crawl()), html=True))
    assert rows.ids == ["http://a.org/1", "http://B.org:80/2", "http://c.org/text", "http://c.org/page"]
    assert rows.texts == [ONE.encode(), TWO.encode(), b"plain words", TWO.encode()]
    assert rows.unreadable == []


def test_columns(tmp_path: Path) -> None:
    (part,) = opened(write(tmp_path / "a.warc", *crawl()), html=True).parts
    names = ("url", "host", "date", "type", "status", "record")
    part.wanted = frozenset(names)
    columns = read_all([part]).columns
    assert columns["host"] == ["a.org", "b.org", "c.org", "c.org"]
    assert columns["status"] == [200, 404, None, None]
    assert columns["type"] == ["text/html", "text/html", "text/plain", "text/html"]
    assert columns["date"] == 4 * ["2026-01-01T00:00:00Z"]
    assert columns["record"][0] == "<urn:test:http://a.org/1>"
    assert part.column_names == list(names)
    rows = read_all(opened(tmp_path / "a.warc", html=True, id="record", by="host"))
    assert rows.ids[1] == "<urn:test:http://B.org:80/2>"
    assert rows.by == columns["host"]
    assert read_all(opened(tmp_path / "a.warc", html=True, no_id=True)).ids[1] == f"{tmp_path}/a.warc:1"


def test_options_that_name_no_column(tmp_path: Path) -> None:
    place = write(tmp_path / "a.warc", *crawl())
    with pytest.raises(ColumnError, match=r"no column of texts but its pages: there is no column 'body'"):
        opened(place, text="body")
    with pytest.raises(ColumnError, match=r"there is no column 'nothing'; the columns are 'url', 'host'"):
        opened(place, id="nothing")
    (part,) = opened(place).parts
    with pytest.raises(OptionError, match="flag adds columns, but WARC records have none"):
        part.check_flag()


def test_without_html_the_source_of_a_page_is_its_text(tmp_path: Path) -> None:
    declared = record("http://a/1", "<p>café".encode("latin-1"), type="text/html; charset=latin-1")
    place = write(tmp_path / "a.warc", declared)
    assert read_all(opened(place)).texts == ["<p>café".encode()]
    bare = write(tmp_path / "b.warc", record("http://a/1", "<p>café".encode("latin-1")))
    rows = read_all(opened(bare))
    assert (rows.texts, rows.replaced) == (["<p>caf\ufffd".encode()], 1)


@pytest.mark.parametrize("charset", ["latin-1", "shift_jis", "nonsense"])
def test_the_charset_of_the_header(tmp_path: Path, charset: str) -> None:
    text = "日本" if charset == "shift_jis" else "café"
    codec = "utf-8" if charset == "nonsense" else charset
    body = f"<p>{text} {text}</p>".encode(codec)
    place = write(tmp_path / "a.warc", record("http://a/1", body, type=f"text/html; charset={charset}"))
    assert read_all(opened(place, html=True)).texts == [f"{text} {text}".encode()]


def test_a_named_encoding_is_for_pages_without_one(tmp_path: Path) -> None:
    bare, declared = "<p>café".encode("cp1250"), "<p>да".encode("koi8-r")
    records = [record("http://a/1", bare), record("http://a/2", declared, type="text/html; charset=koi8-r")]
    rows = read_all(opened(write(tmp_path / "a.warc", *records), html=True, encoding="cp1250"))
    assert rows.texts == ["café".encode(), "да".encode()]


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("chunked", [False, True])
def test_encodings_of_contents(tmp_path: Path, name: str, chunked: bool) -> None:
    body, more = PACKERS[name](page(ONE).encode()), f"Content-Encoding: {name}\r\n"
    if chunked:
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:50], body[50:])) + b"0\r\n\r\n"
        more += "Transfer-Encoding: chunked\r\n"
    place = write(tmp_path / "a.warc", record("http://a/1", body, more=more))
    assert read_all(opened(place, html=True)).texts == [ONE.encode()]


def test_records_that_are_no_pages_are_named(tmp_path: Path) -> None:
    records = [
        record("http://a/picture", b"\x89PNG", type="image/png"),
        record("http://a/binary", b"\x7fELF\0\0"),
        record("http://a/packed", b"not gzip", more="Content-Encoding: gzip\r\n"),
        record("http://a/empty", b""),
        record("http://a/untyped", page(ONE).encode(), type=None),
        record("http://a/deep", b"<div>" * 2000),
        record(None, page(ONE).encode()),
        record("http://a/good", page(ONE).encode()),
    ]
    place = write(tmp_path / "a.warc", *records)
    rows = read_all(opened(place, html=True))
    assert rows.texts == [None, None, None, b"", ONE.encode(), None, None, ONE.encode()]
    reasons = dict(rows.unreadable)
    assert reasons[0] == "not a web page: its content type is image/png"
    assert reasons[1] == "not a web page: binary content of type text/html"
    assert reasons[2].startswith("the record cannot be read: ")
    assert reasons[5].endswith("nested deeper than 512 levels, the maximum")
    assert reasons[6] == "the record has no url"
    assert set(reasons) == {0, 1, 2, 5, 6}
    assert rows.ids[:3] == ["http://a/picture", "http://a/binary", "http://a/packed"]
    with pytest.raises(RowError, match=r"row 0, counted from 0: not a web page: its content type is image/png"):
        read_all(opened(place, html=True, on_error="stop"))


def test_what_expands_as_no_page_does_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "_MOST_PAGE", 2**20)
    bomb = gzip.compress(b"<p>" + b"x" * 10_000_000)
    large = page(words(3, 200_000)).encode()
    assert len(large) > 2**20
    more = "Content-Encoding: gzip\r\n"
    records = [record("http://a/1", bomb, more=more), record("http://a/2", gzip.compress(large), more=more)]
    records += [record("http://a/3", large), record("http://a/4", page(ONE).encode())]
    rows = read_all(opened(write(tmp_path / "a.warc", *records), html=True))
    long = "the page is longer than 1 MiB, the maximum"
    assert rows.unreadable == [
        (0, "the page is compressed to less than one 100th of its size, as no page is"), (1, long), (2, long),
    ]  # fmt: skip
    assert rows.texts[3] == ONE.encode()


def test_a_record_that_is_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc_records, "MAX_ROW_BYTES", 2000)
    records = [record("http://a/1", b"x" * 5000), record("http://a/2", b"<p>short")]
    rows = read_all(opened(write(tmp_path / "a.warc", *records), html=True))
    assert rows.texts == [None, b"short"]
    assert rows.unreadable[0][1].startswith("the record is longer than")
    assert rows.ids == ["http://a/1", "http://a/2"]


def test_a_crowd_of_small_bombs_is_read_in_small_chunks(tmp_path: Path) -> None:
    body = gzip.compress(b"<p>" + b"word " * 10_000)
    records = [record(f"http://a/{at}", body, more="Content-Encoding: gzip\r\n") for at in range(100)]
    (part,) = opened(write(tmp_path / "a.warc", *records), html=True).parts
    assert max(chunk.rows for chunk in part.chunks(2**18)) <= 16


@pytest.mark.parametrize("cut", [1, 3, 5, 100])
def test_a_file_that_is_cut_is_refused(tmp_path: Path, cut: int) -> None:
    whole = b"".join(crawl())
    place = tmp_path / "a.warc"
    place.write_bytes(whole[: -cut - 4])
    with pytest.raises(SourceError, match=r"a\.warc: .* or a damaged one, at byte [\d,]+: the file ends"):
        read_all(opened(place, html=True))
    members = b"".join(map(gzip.compress, crawl()))
    for damaged in (members[:-cut], members[:-200] + bytes([members[-200] ^ 255]) + members[-199:]):
        packed_place = tmp_path / "a.warc.gz"
        packed_place.write_bytes(damaged)
        with pytest.raises(SourceError, match=r"a\.warc\.gz: the gzip is damaged"):
            read_all(opened(packed_place, html=True))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no WARC at all", "at byte 0: it does not begin with WARC/"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", "at byte 0: it has no Content-Length"),
        (b"WARC/1.0\r\nContent-Length: -5\r\n\r\n", "at byte 0: it has no Content-Length"),
        (b"WARC/1.0\r\nContent-Length: 9999999999999\r\n\r\nx", "the file ends after 1 of its 9,999,999,999,999 bytes"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n", "the file ends within its header"),
        (b"WARC/1.0\r\n" + b"X: y\r\n" * 300_000, "its header has no end"),
        (INFO + b"garbage\r\n\r\n" + INFO, f"at byte {len(INFO)}: it does not begin with WARC/"),
    ],
)
def test_what_is_no_warc_file(tmp_path: Path, data: bytes, message: str) -> None:
    place = tmp_path / "a.warc"
    place.write_bytes(data)
    with pytest.raises(SourceError, match=message):
        read_all(opened(place, html=True))


def test_a_file_without_records(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"")
    assert read_all(opened(tmp_path / "a.warc", html=True)).texts == []
    assert read_all(opened(write(tmp_path / "b.warc", INFO), html=True)).texts == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_kept_records_are_the_bytes_of_the_input(tmp_path: Path, ending: str) -> None:
    place = write(tmp_path / f"crawl.warc{ending}", *crawl())
    write_all(opened(place, html=True), tmp_path / "out", lambda part, row: row in (1, 3), batch_bytes=1000)
    kept = tmp_path / "out/kept" / f"crawl.warc{ending}"
    records = crawl()
    expected = records[0] + records[4] + records[7]
    (again,) = opened(kept, html=True).parts
    assert read_all([again]).ids == ["http://B.org:80/2", "http://c.org/page"]
    if ending == "":
        assert kept.read_bytes() == expected
    if ending == ".gz":  # each record is a member, so that its place can be looked up
        assert gzip.decompress(kept.read_bytes()) == expected
        each = (records[0], records[4], records[7])
        assert kept.read_bytes() == b"".join(gzip.compress(one, 6, mtime=0) for one in each)
        found = [one.headers.get("WARC-Target-URI") for one in ArchiveIterator(io.BytesIO(kept.read_bytes()))]
        assert found == [None, "http://B.org:80/2", "http://c.org/page"]
    if ending == ".bz2":
        assert bz2.decompress(kept.read_bytes()) == expected


def test_rows_with_columns(tmp_path: Path) -> None:
    (part,) = opened(write(tmp_path / "a.warc", *crawl()), html=True).parts
    collector = part.collector()
    for chunk in part.chunks(2**20):
        block = chunk.read(whole=True)
        collector.write(block, np.array([True, False, True, False]))
    (table,) = collector.tables()
    assert table.column_names == ["url", "host", "date", "type", "status", "record", "text"]
    assert table["text"].to_pylist() == [ONE, "plain words"]


contents = st.lists(
    st.tuples(st.sampled_from(["response", "resource", "request", "conversion"]), st.binary(max_size=300)), max_size=8
)


@given(contents, st.integers(1, 5000), st.sampled_from([1, 7, 64, 2**20]))
def test_records_are_split_whatever_they_contain(contents: list[tuple[str, bytes]], batch: int, piece: int) -> None:
    """Contents may look like records; pieces of the stream end anywhere."""
    records = [record(f"http://a/{at}", body, kind=kind) for at, (kind, body) in enumerate(contents)]

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or piece, piece))

    found = list(warc_records.Splitter(Slow(b"".join(records)), "a").records())
    assert [one.data for one in found if one.is_whole] == [
        one for one, (kind, _) in zip(records, contents, strict=True) if kind != "request"
    ]
    assert len(found) == len(records)


def test_addresses_in_angle_brackets(tmp_path: Path) -> None:
    place = write(tmp_path / "a.warc", record("<http://a.org/1>", page(ONE).encode()))
    assert read_all(opened(place, html=True)).ids == ["http://a.org/1"]


def test_without_the_package(tmp_path: Path) -> None:
    write(tmp_path / "a.warc", *crawl())
    program = (
        "import sys; sys.modules['fastwarc'] = None; import twinset\n"
        "try: twinset.find_pairs(sys.argv[1], html=True)\n"
        "except twinset.MissingError as error: print(error)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.warc")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 'pip install "fastwarc", or reinstall Twinset with the extra [html]' in done.stdout
