"""The text of web pages: what is main content, encodings, hostile pages, and the processes that extract it."""

from __future__ import annotations

import io
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.documents.reading import opened, read_all
from tests.web_pages import page, words
from twinset.documents.pages import extract, worker
from twinset.documents.pages.extract import MOST_BYTES, page_texts
from twinset.errors import OptionError, RowError, SourceError
from twinset.options import ReadOptions

ARTICLE = words(1, 120)


def text_of(data: bytes, charset: str = "") -> str | None:
    text: str | None = page_texts([data], [charset]).texts[0].as_py()
    return text


def test_the_article_without_navigation() -> None:
    for site in ("one", "another"):
        text = text_of(page(ARTICLE, site=site).encode())
        assert text is not None
        assert text.split() == ARTICLE.split()


def test_blocks_are_apart_and_inline_elements_are_not() -> None:
    data = f"<main><h1>Tit<b>le</b></h1><p>one<p>two &amp; {ARTICLE}<script>no()</script><!-- no --></main>".encode()
    text = text_of(data)
    assert text is not None
    assert text.split()[:5] == ["Title", "one", "two", "&", ARTICLE.split()[0]]
    assert "no" not in text.split()


def test_comments_are_no_content() -> None:
    data = f'<article><p>{ARTICLE}</p></article><div id="comments"><p>First to say {words(2, 20)}</p></div>'.encode()
    assert "First" not in str(text_of(data))


def test_a_page_of_links_alone_has_all_its_text() -> None:
    """A page without main content must not be empty: it has words."""
    data = b"<body><nav><a href=/a>Alpha</a> <a href=/b>Beta</a></nav></body>"
    assert "Alpha" in str(text_of(data))
    assert text_of(b"<body><nav></nav><script>x</script></body>") == ""
    assert text_of(b"  \n ") == ""


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("shift_jis", "日本語のページ、本文です。"),
        ("windows-1251", "русский текст этой страницы"),
        ("gb18030", "中文网页的内容在这里"),
        ("iso-8859-1", "café crème brûlée — “quoted”"),
        ("utf-8", "žluťoučký kůň"),
    ],
)
def test_encodings_that_are_declared(charset: str, text: str) -> None:
    codec = "cp1252" if charset == "iso-8859-1" else charset  # as browsers read it
    shown = text_of(page(text, charset=charset).encode(codec))
    assert shown == text
    bare = f"<p>{text}</p>".encode(codec)
    assert text_of(bare, charset) == text  # as the HTTP header declares
    assert text_of(page(text, charset="utf-7").encode(codec), charset) == text  # before what the page declares


def test_a_byte_order_mark_is_stronger_than_a_declaration() -> None:
    for codec in ("utf-8-sig", "utf-16"):
        assert text_of(page("café", charset="koi8-r").encode(codec), "koi8-r") == "café"


def test_bytes_that_are_not_what_the_page_declares_are_replaced_and_counted() -> None:
    done = page_texts([b'<meta charset="utf-8"><p>caf\xe9 noir', b"<p>fine"])
    assert done.texts.to_pylist() == ["caf\ufffd noir", "fine"]
    assert (done.replaced, done.unreadable) == ([0], [])
    assert text_of(b"<p>one &#xD800; two") is not None  # half a surrogate pair


@pytest.mark.parametrize("label", ["nonsense", "", "x" * 300, "ut\u0131f"])
def test_unknown_labels_are_ignored(label: str) -> None:
    assert text_of("<meta charset=utf-8><p>café".encode(), label) == "café"


DEEP = f"not a readable page: its elements are nested deeper than {worker.DEEPEST} levels, the maximum"


@pytest.mark.parametrize("tag", ["div", "b", "table", "ul", "span", "font", "blockquote"])
def test_deep_nesting_is_named(tag: str) -> None:
    for more in ("", "</x>"):
        hostile = f"<p>before {f'<{tag}>{more}' * 5_000} deep".encode()
        done = page_texts([b"<p>first", hostile, b"<p>last"])
        assert done.texts.to_pylist()[::2] == ["first", "last"]
        assert done.unreadable == ([] if tag == "table" else [(1, DEEP)])  # tables in each other are beside each other


@pytest.mark.parametrize("tag", ["div", "span"])
def test_a_hundred_thousand_nested_elements_end_nothing(tag: str) -> None:
    """The parser takes a time that grows with the square of some depths, up to the bound for a page."""
    done = page_texts([b"<p>first", f"<{tag}>".encode() * 100_000, b"<p>last"])
    assert done.texts.to_pylist() == ["first", None, "last"]
    assert done.unreadable[0][1] in (DEEP, "not a readable page: to parse it takes too long")


def test_the_deepest_page_that_is_read() -> None:
    inner = worker.DEEPEST - 2  # html and body
    filler = "<br>" * worker.DEEPEST
    assert page_texts([f"{filler}{'<div>' * inner}deep words".encode()]).unreadable == []
    assert page_texts([f"{filler}{'<div>' * (inner + 1)}deep words".encode()]).unreadable == [(0, DEEP)]


@pytest.mark.parametrize(
    "data",
    [
        b"<", b"<!", b"<![CDATA[", b"<p", b"</", b"&#99999999999;", b"<p><table><p><td></p></table>", b"\0<p>\0x",
        b"<a " + b"x" * 100_000, b"<!--" + b"-" * 100_000, b"<svg><math><p>x", b"\xff\xfe", b"\xef\xbb\xbf",
    ],
)  # fmt: skip
def test_broken_pages_are_read(data: bytes) -> None:
    done = page_texts([data, b"<p>next"])
    assert done.unreadable == []
    assert done.texts.to_pylist()[1] == "next"


def test_a_page_that_is_too_long() -> None:
    done = page_texts([b"<p>short", b"<p>" + b"x" * MOST_BYTES])
    assert done.texts.to_pylist() == ["short", None]
    assert done.unreadable == [(1, "the page is longer than 16 MiB, the maximum")]


def test_null_rows_and_requests_of_many_pages() -> None:
    pages = [None if at % 7 == 3 else f"<p>page {at} {'x' * (at % 5) * 100_000}".encode() for at in range(60)]
    found = page_texts(pages).texts.to_pylist()
    assert [text if text is None else text.split()[1] for text in found] == [
        None if at % 7 == 3 else str(at) for at in range(60)
    ]


def failing_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str) -> None:
    """Let processes end as `end` says when they see a page that holds the word END."""
    program = tmp_path / "failing.py"
    program.write_text(
        "import os, signal, sys\n"
        f"sys.path.append({str(Path(worker.__file__).parent)!r})\n"
        "import worker\n"
        "sys.path.append(sys.argv[1])\n"
        "whole = worker.page_text\n"
        "def page_text(page, charset):\n"
        f"    if b'END' in page: {end}\n"
        "    return whole(page, charset)\n"
        "worker.page_text = page_text\n"
        "try: worker.main(sys.stdin.buffer, sys.stdout.buffer)\n"
        "except EOFError: pass\n"
    )
    monkeypatch.setattr(extract, "_PROGRAM", str(program))
    monkeypatch.setattr(extract, "_POOL", extract._Pool())


def test_a_page_is_tried_again_if_somebody_ended_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    marker = tmp_path / "ended"
    end = f"os.path.exists({str(marker)!r}) or (open({str(marker)!r}, 'w').close(), os.kill(os.getpid(), 9))"
    failing_process(monkeypatch, tmp_path, end)
    done = page_texts([b"<p>one", b"<p>END", b"<p>two"])
    assert (done.texts.to_pylist(), done.unreadable) == (["one", "END", "two"], [])
    assert marker.exists()
    for waiting in list(extract._POOL._waiting):  # between two requests nobody notices
        os.kill(waiting._process.pid, signal.SIGKILL)
        waiting._process.wait()
    assert text_of(b"<p>again") == "again"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the parser failed (SIGSEGV)"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", "to parse it takes too long"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the parser failed (SIGKILL)"),
        ("os._exit(3)", "the parser failed (exit code 3)"),
        ("raise MemoryError", "to parse it takes more than 1,536 MiB of memory"),
        ("raise ValueError('odd')", "it cannot be parsed: odd"),
    ],
)
def test_a_page_with_which_the_parser_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str, reason: str
) -> None:
    failing_process(monkeypatch, tmp_path, end)
    done = page_texts([b"<p>one", b"<p>END", b"<p>two", b"<p>END", b"<p>three"])
    assert done.texts.to_pylist() == ["one", None, "two", None, "three"]
    assert done.unreadable == [(row, f"not a readable page: {reason}") for row in (1, 3)]


def test_the_time_for_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing_process(monkeypatch, tmp_path, "\n        while True: pass")
    program = Path(extract._PROGRAM)
    program.write_text(program.read_text().replace("stdout.buffer)", "stdout.buffer, seconds=1)"))
    done = page_texts([b"<p>one", b"<p>END", b"<p>two"])
    assert done.texts.to_pylist() == ["one", None, "two"]
    assert done.unreadable == [(1, "not a readable page: to parse it takes too long")]


def test_an_extractor_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "broken.py"
    program.write_text("import not_there")
    monkeypatch.setattr(extract, "_PROGRAM", str(program))
    monkeypatch.setattr(extract, "_POOL", extract._Pool())
    with pytest.raises(SourceError, match=r"the extractor cannot be loaded \(exit code 1\); reinstall resiliparse"):
        text_of(b"<p>x")


def test_without_the_package(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>x")
    program = (
        "import importlib.util, sys; find = importlib.util.find_spec; "
        "importlib.util.find_spec = lambda name, *more: None if name == 'resiliparse' else find(name, *more); "
        "import twinset\n"
        "try: twinset.find_pairs(sys.argv[1], html=True)\n"
        "except twinset.MissingError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert 'pip install "resiliparse", or reinstall Twinset with the extra [html]' in done.stdout


def test_threads_ask_processes_of_their_own() -> None:
    found: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        found[number] = page_texts([page(words(number * 100 + at, 50)).encode() for at in range(30)]).texts.to_pylist()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [words(number * 100 + at, 50) for at in range(30)] for number in range(4)}


def test_a_process_ends_when_nobody_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing_process(monkeypatch, tmp_path, "pass")
    program = Path(extract._PROGRAM)
    program.write_text(program.read_text().replace("stdout.buffer)", "stdout.buffer, 1)"))
    assert text_of(b"<p>one") == "one"
    (process,) = extract._POOL._waiting
    assert process._process.wait(30) == -signal.SIGALRM
    assert text_of(b"<p>two") == "two"


def test_the_protocol_in_this_process() -> None:
    limit = resource.getrlimit(resource.RLIMIT_CPU)
    label, data = b"koi8-r", "<p>да".encode("koi8-r")
    request = struct.pack("<IHI", 1, len(label), len(data)) + label + data
    answers = io.BytesIO()
    with pytest.raises(EOFError):
        worker.main(io.BytesIO(request), answers)
    raw = answers.getvalue()
    assert raw[:1] == b"\x01"
    assert struct.unpack("<BI", raw[1:6]) == (worker.READ, 4)
    assert raw[6:].decode() == "да"
    assert resource.getrlimit(resource.RLIMIT_CPU) == limit, "this process would be ended by it"


def fill(folder: Path) -> None:
    for name in ("a.html", "b/c.HTM", "d.xhtml"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(page(words(len(name), 30)))
    (folder / "style.css").write_text("p {}")
    (folder / "notes.txt").write_text("no page")


def test_a_folder_of_pages(tmp_path: Path) -> None:
    fill(tmp_path)
    sources = opened(tmp_path, html=True)
    rows = read_all(sources)
    assert rows.ids == ["a.html", "b/c.HTM", "d.xhtml"]
    assert rows.texts == [words(len(name), 30).encode() for name in rows.ids]
    why = "not a web page, judging by its extension; --include selects files of other names"
    assert [(Path(name).name, reason) for name, reason in sources.skipped] == [("notes.txt", why), ("style.css", why)]
    assert read_all(opened(tmp_path, html=True, include=("*.txt",))).texts == [b"no page"]
    assert read_all(opened(tmp_path / "notes.txt", html=True)).texts == [b"no page"]
    assert read_all(opened(str(tmp_path / "*"), html=True)).ids == [str(tmp_path / "a.html"), str(tmp_path / "d.xhtml")]


def test_a_page_in_utf_16_and_pages_in_a_named_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(page("žluťoučký kůň").encode("utf-16"))
    assert read_all(opened(tmp_path, html=True)).texts == ["žluťoučký kůň".encode()]
    (tmp_path / "a.html").write_bytes(page("café", charset="koi8-r").encode("latin-1"))
    assert read_all(opened(tmp_path, html=True, encoding="latin-1")).texts == ["café".encode()]


def test_a_folder_without_pages(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no page")
    looked = r"no documents in this folder: looked for \.html, \.htm, \.xhtml, \.shtml, or what include= selects, "
    with pytest.raises(SourceError, match=looked):
        opened(tmp_path, html=True)


def test_pages_that_cannot_be_parsed_are_named_and_stop_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<div>" * 1000)
    (tmp_path / "b.html").write_text("<p>fine")
    rows = read_all(opened(tmp_path, html=True))
    assert rows.texts == [None, b"fine"]
    assert [row for row, _ in rows.unreadable] == [0]
    with pytest.raises(RowError, match="nested deeper than 512 levels, the maximum; use on_error=\"skip\""):
        read_all(opened(tmp_path, html=True, on_error="stop"))


def test_what_does_not_go_with_pages() -> None:
    with pytest.raises(OptionError, match="html reads a web page as one document, lines=True each line"):
        ReadOptions.of(html=True, lines=True)
    with pytest.raises(OptionError, match="html does not apply to sets"):
        ReadOptions.of(html=True, items="tags")
    with pytest.raises(OptionError, match="html does not apply to records"):
        ReadOptions.of(html=True, text=("a", "b"))
