"""Web pages, WARC files and hosts on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.web_pages import page, record, words
from twinset.cli.screen import pairs_table

SITES = {"a.example": range(4), "b.example": range(3), "c.example": range(9, 10)}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    pages = [(f"http://{site}/{at}", page(words(at, 60), site=site)) for site, many in SITES.items() for at in many]
    records = [record(url, text.encode()) for url, text in pages]
    records.append(record("http://a.example/logo.png", b"\x89PNG", type="image/png"))
    (tmp_path / "crawl.warc").write_bytes(b"".join(records))
    return tmp_path / "crawl.warc"


def test_hosts(call: Call, crawl: Path) -> None:
    done = call("pairs", crawl, "--html", "--hosts")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        '"left","right","left_pages","right_pages","pairs","left_matched","right_matched","share"',
        '"a.example","b.example",4,3,3,3,3,1',
    ]
    last = done.err.splitlines()
    assert "1 pair of 3 hosts" in last
    assert any(line.startswith("3 pairs of 9 documents") for line in last)
    reason = "not a web page: its content type is image/png"
    assert f"1 unreadable: skipped, such as http://a.example/logo.png ({reason})" in last


def test_hosts_as_json(call: Call, crawl: Path) -> None:
    found = call("pairs", crawl, "--html", "--hosts", "url", "--json").json
    assert [(row["left"], row["right"], row["share"]) for row in found["found"]] == [("a.example", "b.example", 1.0)]
    assert (found["pairs"], found["hosts"]["pairs"]) == (3, 1)
    nothing = call("pairs", crawl, "--html", "--hosts", "--by", "url", "--json").json
    assert (nothing["found"], nothing["hosts"]) == ([], {"hosts": 3, "pairs": 0, "pages_without_host": 0})


def test_hosts_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"left": "a.example", "right": "b.example", "left_pages": 4000, "right_pages": 3, "pairs": 3}
        | {"left_matched": 3, "right_matched": 2, "share": 2 / 3}
    ]
    pairs_table.print_rows(rows, 9, sort=False, what="pairs of hosts")
    out = capsys.readouterr().out
    assert "4,000" in out
    assert "the first 1 of 9 pairs of hosts; -o FILE writes all" in out


def test_pages_without_a_host_are_counted(call: Call, tmp_path: Path) -> None:
    text = words(1, 40)
    (tmp_path / "rows.csv").write_text(f"id,url,text\n1,http://a.b/,{text}\n2,http://c.d/,{text}\n3,,{text}\n")
    done = call("pairs", "rows.csv", "--hosts", "url")
    assert "1 pair of 2 hosts; 1 page without a host left out" in done.err
    assert "none of 3 ids is a URL with a host, such as '1'" in call("pairs", "rows.csv", "--hosts").refusal
    assert "there is no column 'site'" in call("pairs", "rows.csv", "--hosts", "site").refusal


def test_an_address_that_repeats_is_told(call: Call, crawl: Path) -> None:
    crawl.write_bytes(2 * crawl.read_bytes())
    done = call("pairs", crawl, "--html")
    assert "the column url repeats (8 rows, such as 'http://" in done.err


def test_compare_pages(call: Call, tmp_path: Path) -> None:
    text = f"{words(1, 60)} café"
    (tmp_path / "a.html").write_bytes(page(text, site="a", charset="latin-1").encode("latin-1"))
    (tmp_path / "b.html").write_text(page(text, site="b"))
    for more in ((), ("--encoding", "utf-8")):
        assert call("compare", "a.html", "b.html", "--html", "--json", *more).json["similarity"] == 1
    assert call("compare", "a.html", "b.html", "--json").json["similarity"] < 1
    (tmp_path / "b.html").write_bytes(page(text, site="b", charset="utf-8").encode("latin-1"))
    assert call("compare", "a.html", "b.html", "--html", "--encoding", "latin-1", "--json").json["similarity"] == 1
    strings = ("--string", f"<p>{text}", "--string", f"<nav>Home</nav><main><p>{text}</main>")
    assert call("compare", "--html", "--json", *strings).json["similarity"] == 1
    (tmp_path / "deep.html").write_text("<div>" * 1000)
    assert "deep.html: not a readable page" in call("compare", "a.html", "deep.html", "--html").refusal


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("pairs", "crawl.warc", "--html", "--lines"), "--html reads a web page as one document"),
        (("pairs", "crawl.warc", "--html", "--items", "url"), "--html does not apply to sets"),
        (("pairs", "crawl.warc", "--images", "--html"), "--html does not apply to pictures"),
        (("pairs", "crawl.warc", "--vectors", "--html"), "--html does not apply to vectors"),
        (("trim", "crawl.warc", "--html", "-o", "OUT"), "--html cannot be used here"),
        (("trim", "crawl.warc", "-o", "OUT"), "texts in WARC records cannot be changed"),
        (("dedup", "crawl.warc", "--html", "--flag", "-o", "OUT"), "--flag adds columns, but WARC records have none"),
        (("pairs", "crawl.warc", "--html", "--hosts", "--top", "2"), "--top 2 cannot be used with --hosts"),
        (("pairs", "crawl.warc", "--html", "--engine", "spark"), "--html cannot be used with --engine spark"),
    ],
)
def test_what_is_refused(call: Call, crawl: Path, command: tuple[str, ...], message: str) -> None:
    assert message in call(*command).refusal
    assert not (crawl.parent / "OUT").exists()
