"""Web pages through the jobs: the same article under other navigation is found, another under the same is not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import twinset
from tests.web_pages import INFO, page, record, words
from twinset.errors import OptionError, SourceError, StateError
from twinset.options import DedupOptions

# Articles 0 to 9 on site a; 0 to 4 also on site b, 0 and 1 also on site c.
PAGES = [(article, site) for site, many in (("a", 10), ("b", 5), ("c", 2)) for article in range(many)]
URLS = [f"https://{site}.example/{article}.html" for article, site in PAGES]
TEXTS = [page(words(article, 80), site=site) for article, site in PAGES]
TRUE = {
    (left, right)
    for at, (left, (one, _)) in enumerate(zip(URLS, PAGES, strict=True))
    for right, (other, _) in list(zip(URLS, PAGES, strict=True))[at + 1 :]
    if one == other
}


def write_folder(place: Path) -> Path:
    for url, text in zip(URLS, TEXTS, strict=True):
        path = place / "pages" / url.removeprefix("https://")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place / "pages"


def records_of_pages() -> list[bytes]:
    """The pages of site a were fetched first, those of site c last."""
    dates = {"a": "2026-01-01T00:00:00Z", "b": "2026-02-01T00:00:00Z", "c": "2026-03-01T00:00:00Z"}
    fetched = zip(URLS, TEXTS, PAGES, strict=True)
    return [record(url, text.encode(), date=dates[site]) for url, text, (_, site) in fetched]


def write_warc(place: Path, *, ending: str = ".gz") -> Path:
    records = [INFO, *records_of_pages()]
    path = place / f"crawl.warc{ending}"
    path.write_bytes(b"".join(map(gzip.compress, records) if ending else records))
    return path


def write_jsonl(place: Path) -> Path:
    lines = [json.dumps({"id": url, "html": text}) for url, text in zip(URLS, TEXTS, strict=True)]
    (place / "pages.jsonl").write_text("\n".join(lines))
    return place / "pages.jsonl"


def write_csv(place: Path) -> Path:
    pa.csv.write_csv(pa.table({"id": URLS, "html": TEXTS}), place / "pages.csv")
    return place / "pages.csv"


def write_parquet(place: Path) -> Path:
    pages = pa.array([text.encode() for text in TEXTS], pa.binary())
    pq.write_table(pa.table({"id": URLS, "html": pages}), place / "pages.parquet")
    return place / "pages.parquet"


def write_json(place: Path) -> Path:
    rows = [{"id": url, "html": text} for url, text in zip(URLS, TEXTS, strict=True)]
    (place / "pages.json").write_text(json.dumps(rows))
    return place / "pages.json"


def found_pairs(result: Any) -> set[tuple[str, str]]:
    sides = (result.pairs[side].to_pylist() for side in ("left", "right"))
    return set(zip(*sides, strict=True))


SOURCES: dict[str, tuple[Callable[[Path], Path], dict[str, Any]]] = {
    "warc": (write_warc, {}),
    "jsonl": (write_jsonl, {"text": "html"}),
    "json": (write_json, {"text": "html"}),
    "csv": (write_csv, {"text": "html"}),
    "parquet": (write_parquet, {"text": "html"}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_articles_are_found_whatever_the_navigation(tmp_path: Path, name: str) -> None:
    write, options = SOURCES[name]
    found = twinset.find_pairs(write(tmp_path), html=True, **options)
    assert found_pairs(found) == TRUE
    assert found.summary["unreadable"] == 0
    assert found.summary["options"]["html"] is True


def test_a_folder(tmp_path: Path) -> None:
    found = twinset.find_pairs(write_folder(tmp_path), html=True)
    assert found_pairs(found) == {tuple(url.removeprefix("https://") for url in pair) for pair in TRUE}


def test_objects_of_a_program() -> None:
    everything = dict(zip(URLS, TEXTS, strict=True))
    tables = (everything, pa.table({"id": URLS, "text": TEXTS}), [{"id": u, "text": t} for u, t in everything.items()])
    for source in tables:
        assert found_pairs(twinset.find_pairs(source, html=True)) == TRUE
    coded = {url: page(f"{words(at, 60)} café", charset="latin-1").encode("latin-1") for at, url in enumerate(URLS)}
    known = dict.fromkeys(("x", "y"), f"<p>{words(3, 60)} café")
    assert ("https://a.example/3.html", "x") in found_pairs(twinset.find_pairs({**coded, **known}, html=True))


def test_without_the_option_the_navigation_decides(tmp_path: Path) -> None:
    """What the option is for: of pages with short articles, the source is mostly navigation."""
    short = {url: page(words(at, 8), site="a") for at, url in enumerate(URLS)}
    assert len(found_pairs(twinset.find_pairs(short))) > 100
    assert found_pairs(twinset.find_pairs(short, html=True)) == set()


@pytest.mark.parametrize("more", [{"threads": 1}, {"threads": 3, "batch_bytes": 1024}, {"batch_bytes": 9000}])
def test_the_result_is_the_same_for_any_threads_and_batches(tmp_path: Path, more: dict[str, Any]) -> None:
    place = write_warc(tmp_path)
    usual = twinset.find_pairs(place, html=True, hosts=True)
    other = twinset.find_pairs(place, html=True, hosts=True, **more)
    assert (other.pairs, other.hosts) == (usual.pairs, usual.hosts)


def test_dedup_of_a_warc_file(tmp_path: Path) -> None:
    place = write_warc(tmp_path, ending="")
    done = twinset.dedup(place, html=True, output=tmp_path / "out")
    gone = set(done.removed["id"].to_pylist())
    assert gone == {url for url, (article, site) in zip(URLS, PAGES, strict=True) if site != "a"}
    assert set(done.removed["because_of"].to_pylist()) == {f"https://a.example/{at}.html" for at in range(5)}
    kept = [one for url, one in zip(URLS, records_of_pages(), strict=True) if url not in gone]
    assert (tmp_path / "out/kept/crawl.warc").read_bytes() == INFO + b"".join(kept)
    account = done.explain("https://b.example/3.html")
    assert (account.state, account.cluster) == ("removed", "https://a.example/3.html")
    recut = twinset.recut(tmp_path / "out", 0.9, keep="newest:date", output=tmp_path / "recut")
    assert "https://b.example/3.html" in set(recut.clusters.filter(recut.clusters["kept"])["id"].to_pylist())
    opened = twinset.open_result(tmp_path / "out")
    assert opened.report(tmp_path / "page.html").exists()


def test_dedup_of_a_warc_file_into_rows(tmp_path: Path) -> None:
    twinset.dedup(write_warc(tmp_path), html=True, output=tmp_path / "clean.jsonl", keep="newest:date")
    rows = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()]
    assert len(rows) == 10
    assert rows[-1]["url"] == "https://c.example/1.html"
    assert rows[-1]["text"] == words(1, 80)
    assert rows[-1]["host"] == "c.example"


def test_the_newest_copy_of_a_page_is_kept(tmp_path: Path) -> None:
    dates = ["2026-01-02T00:00:00Z", "2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z"]
    records = [record(f"http://{at}/", TEXTS[0].encode(), date=date) for at, date in enumerate(dates)]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    done = twinset.dedup(tmp_path / "a.warc", html=True, keep="newest:date")
    assert done.kept["url"].to_pylist() == ["http://1/"]


def test_an_address_that_repeats(tmp_path: Path) -> None:
    """The rule for ids of a column that no option names: rows are named by their position."""
    records = [record("http://a.example/", page(words(at, 50)).encode()) for at in (0, 0, 1)]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    found = twinset.find_pairs(tmp_path / "a.warc", html=True)
    assert found_pairs(found) == {(f"{tmp_path}/a.warc:0", f"{tmp_path}/a.warc:1")}
    assert found.summary["repeated_ids"] == 2
    with pytest.raises(twinset.DuplicateIdError, match=r"http://a\.example/"):
        twinset.find_pairs(tmp_path / "a.warc", html=True, id="url")
    by_record = b"".join(one.replace(b"<urn:test:", b"<urn:%d:" % at) for at, one in enumerate(records))
    (tmp_path / "b.warc").write_bytes(by_record)
    found = twinset.find_pairs(tmp_path / "b.warc", html=True, id="record")
    assert found_pairs(found) == {("<urn:0:http://a.example/>", "<urn:1:http://a.example/>")}


def test_every_record_is_counted(tmp_path: Path) -> None:
    odd = [record("http://p/", b"\x89PNG", type="image/png"), record("http://e/", b"")]
    odd.append(record("http://d/", 600 * b"<div>"))
    (tmp_path / "a.warc").write_bytes(write_warc(tmp_path, ending="").read_bytes() + b"".join(odd))
    done = twinset.dedup(tmp_path / "a.warc", html=True)
    counts = done.summary
    assert counts["documents"] == len(URLS) + 3
    assert counts["kept"] + counts["removed"] + counts["unreadable"] == counts["documents"]
    assert done.unreadable["id"].to_pylist() == ["http://p/", "http://d/"]
    assert done.empty["id"].to_pylist() == ["http://e/"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with twinset.Index.create(tmp_path_factory.mktemp("index") / "pages.twinset", threshold=0.8) as made:
        yield made


def test_an_index_of_pages(tmp_path: Path, index: Any) -> None:
    index.add(write_warc(tmp_path), html=True)
    assert index.texts(["https://a.example/7.html"]) == [words(7, 80)]
    asked = {"q": page(words(7, 80), site="z"), "r": page(words(99, 80), site="a")}
    assert index.query(asked, html=True)["id"].to_pylist() == ["https://a.example/7.html"]
    more = [{"id": "again", "text": page(words(7, 80), site="y")}, {"id": "new", "text": page(words(98, 80))}]
    done = twinset.dedup(more, index=index, html=True)
    assert done.kept["id"].to_pylist() == ["new"]


def test_compare_pages(tmp_path: Path) -> None:
    left, right = page(words(1, 80), site="a"), page(words(1, 80), site="b")
    assert twinset.compare(left, right, html=True).similarity == 1
    assert twinset.compare(left, right).similarity < 1
    with pytest.raises(SourceError, match="left: not a readable page"):
        twinset.compare("<div>" * 1000, right, html=True)


def test_passages_of_pages(tmp_path: Path) -> None:
    """Places are those of the text of the page, which is also what is compared."""
    shared = words(5, 60)
    pages = {"a": page(f"{words(1, 40)} {shared}", site="a"), "b": page(f"{shared} {words(2, 40)}", site="b")}
    (row,) = twinset.find_passages(pages, html=True, least=50).passages.to_pylist()
    text = f"{words(1, 40)} {shared}"
    assert text[row["left_start"] : row["left_end"]] == shared
    with pytest.raises(OptionError, match="html cannot be used here: passages are cut out of the text of a page"):
        twinset.trim(pages, html=True)


def test_hosts_with_many_pages_in_common(tmp_path: Path) -> None:
    found = twinset.find_pairs(write_warc(tmp_path), html=True, hosts=True)
    names = ("left", "right", "left_pages", "right_pages", "pairs", "left_matched", "right_matched", "share")
    assert [tuple(row[name] for name in names) for row in found.hosts.to_pylist()] == [
        ("a.example", "b.example", 10, 5, 5, 5, 5, 1.0),
        ("a.example", "c.example", 10, 2, 2, 2, 2, 1.0),
        ("b.example", "c.example", 5, 2, 2, 2, 2, 1.0),
    ]
    assert found_pairs(found) == TRUE
    assert found.summary["hosts"] == {"hosts": 3, "pairs": 3, "pages_without_host": 0}


@pytest.mark.parametrize("name", ["hosts.csv", "hosts.jsonl", "hosts.parquet"])
def test_a_file_of_hosts(tmp_path: Path, name: str) -> None:
    place = write_warc(tmp_path)
    usual = twinset.find_pairs(place, html=True, hosts=True).hosts
    found = twinset.find_pairs(place, html=True, hosts=True, output=tmp_path / name)
    assert found.hosts.to_pylist() == usual.to_pylist()
    with pytest.raises(StateError, match=r"has the pairs of hosts \(\.hosts\), not of pages"):
        _ = found.pairs


def test_a_folder_of_pairs_and_hosts(tmp_path: Path) -> None:
    found = twinset.find_pairs(write_warc(tmp_path), html=True, hosts=True, output=tmp_path / "out")
    assert found_pairs(found) == TRUE
    assert found.hosts.num_rows == 3
    assert sorted(json.loads((tmp_path / "out/summary.json").read_text())["files"]) == [
        "documents.parquet", "hosts.parquet", "pairs.parquet", "sources.parquet",
    ]  # fmt: skip


def test_hosts_of_a_column(tmp_path: Path) -> None:
    rows = [{"id": at, "at": url, "text": text} for at, (url, text) in enumerate(zip(URLS, TEXTS, strict=True))]
    rows += [{"id": 99, "at": None, "text": TEXTS[0]}, {"id": 100, "at": "D.example", "text": TEXTS[0]}]
    found = twinset.find_pairs(rows, html=True, hosts="at")
    assert found.hosts.num_rows == 6
    assert found.summary["hosts"] == {"hosts": 4, "pairs": 6, "pages_without_host": 1}
    with pytest.raises(SourceError, match=r"none of 19 ids is a URL with a host, such as '0'; name the column"):
        twinset.find_pairs(rows, html=True, hosts=True)
    with pytest.raises(SourceError, match=r"no value of the column 'id' is a URL"):
        twinset.find_pairs(rows, html=True, hosts="id")
    with pytest.raises(twinset.ColumnError, match=r"there is no column 'url'"):
        twinset.find_pairs(rows, html=True, hosts="url")


def test_hosts_across_two_sources(tmp_path: Path) -> None:
    old = {url: text for url, text in zip(URLS, TEXTS, strict=True) if url.startswith("https://a.")}
    new = {url: text for url, text in zip(URLS, TEXTS, strict=True) if not url.startswith("https://a.")}
    found = twinset.find_pairs(new, against=[old], html=True, hosts=True)
    assert {(row["left"], row["right"], row["pairs"]) for row in found.hosts.to_pylist()} == {
        ("b.example", "a.example", 5), ("c.example", "a.example", 2),
    }  # fmt: skip


def test_what_does_not_go_with_hosts(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"top=3 cannot be used with hosts=True, which counts every pair of pages"):
        twinset.find_pairs({"a": "x"}, hosts=True, top=3)
    with pytest.raises(OptionError, match=r"identical=.?link.? cannot be used with hosts=True"):
        twinset.find_pairs({"a": "x"}, hosts=True, identical="link")
    with pytest.raises(OptionError, match="unknown option 'hosts'"):
        DedupOptions.of(hosts=True)
    with pytest.raises(OptionError, match="this result has no table of hosts"):
        _ = twinset.find_pairs({"a": "x"}).hosts
