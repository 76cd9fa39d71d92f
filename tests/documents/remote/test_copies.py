"""Copies of addresses that differ only in their queries, of streams, and with damaged journals; versions of objects."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.buckets import Bucket
from tests.documents.reading import opened, read_all
from tests.documents.remote.odd_web import OddWeb
from tests.documents.remote.test_google import Translator
from twinset.documents.remote.copies import LocalCopy
from twinset.documents.remote.fetch import Fetcher
from twinset.documents.remote.stores import RemoteObject
from twinset.errors import SourceError
from twinset.system.addresses import Address, shown_address

LINES = b'{"text":"one line"}\n' * 50
OTHERS = LINES.replace(b"one", b"two")


def found(fetcher: Fetcher, address: str) -> RemoteObject:
    one = fetcher.find(Address.of(address))
    assert one is not None
    return one


def test_addresses_that_differ_only_in_the_query_are_different_files(web: OddWeb, tmp_path: Path) -> None:
    web.files = {f"uc.jsonl?id={'A' * 34}": LINES, f"uc.jsonl?id={'B' * 34}": OTHERS}
    given = [f"{web.url}/{name}" for name in web.files]
    rows = read_all(opened(*given, scratch=tmp_path))
    assert rows.texts == [b"one line"] * 50 + [b"two line"] * 50
    assert (rows.ids[0], rows.ids[50]) == (f"{web.url}/uc.jsonl?…:0", f"{web.url}/uc.jsonl?…(2):0")
    assert len({part.kept_name for part in opened(*given, scratch=tmp_path).parts}) == 2
    with pytest.raises(SourceError, match=r"uc\.jsonl\?…\(3\): the server answers 404"):
        opened(*given, f"{web.url}/uc.jsonl?id=C", scratch=tmp_path)


def test_addresses_that_are_signed_again_are_not_fetched_again(web: OddWeb, tmp_path: Path) -> None:
    web.files = {"a.jsonl?n=1": LINES, "a.jsonl?n=2": OTHERS, "a.jsonl?n=3": LINES, "a.jsonl?n=4": OTHERS}
    for first in (1, 3):
        web.asked = []
        fetcher = Fetcher(tmp_path)
        copies = [fetcher.copy(found(fetcher, f"{web.url}/a.jsonl?n={number}")) for number in (first, first + 1)]
        fetcher.fetch([(one, None) for one in copies])
        assert [one.path.read_bytes() for one in copies] == [LINES, OTHERS]
        assert len(web.asked) == (4 if first == 1 else 2)


@pytest.mark.parametrize(("version", "stays"), [('"tag"', True), ("Fri, 20 Nov 2026 00:00:00 GMT", False)])
def test_answers_of_the_same_second_are_not_taken_for_each_other(tmp_path: Path, version: str, stays: bool) -> None:
    one = RemoteObject(Address.of("https://news.example/a?day=1"), 3, version)
    LocalCopy(tmp_path, one).write(0, b"abc")
    assert LocalCopy(tmp_path, one).fetched == ([(0, 3)] if stays else [])
    plain = RemoteObject(Address.of("https://news.example/a"), 3, version)
    LocalCopy(tmp_path, plain).write(0, b"abc")
    assert LocalCopy(tmp_path, plain).fetched == [(0, 3)]


@pytest.mark.parametrize("query", ["t=abcdefghijk12345", "p=hunter2", "a=1;token=xyz", "j=eyJ.eyJ.c2ln", "day=3"])
def test_no_query_is_shown(query: str) -> None:
    address = f"https://news.example/a.csv?{query}#top"
    assert shown_address(address) == str(Address.of(address)) == "https://news.example/a.csv?…"
    assert query not in repr(Address.of(address))


def test_a_stream_of_unknown_length_is_the_same_file_to_a_later_run(web: OddWeb, tmp_path: Path) -> None:
    web.files["a.jsonl"], web.ranges, web.lengths = LINES, False, False
    about = []
    for _ in range(2):
        fetcher = Fetcher(tmp_path)
        copy = fetcher.copy(found(fetcher, f"{web.url}/a.jsonl"))
        fetcher.fetch([(copy, None)])
        about.append((copy.size, copy.path.stat().st_mtime_ns))
    assert about[0] == about[1]
    assert about[0][0] == len(LINES)
    assert len(web.asked) == 3


@pytest.mark.parametrize("line", ["7", "", "1 2 3 4", "5 2 0", "-4 2 0", "0 99 1", "a b c"])
def test_a_damaged_journal_is_one_of_nothing(tmp_path: Path, line: str) -> None:
    one = RemoteObject(Address.of("s3://news/a"), 3, "v1")
    copy = LocalCopy(tmp_path, one)
    copy.write(0, b"abc")
    with open(copy.journal, "a", encoding="ascii") as journal:
        journal.write(f"{line}\n")
    again = LocalCopy(tmp_path, one)
    assert again.fetched == []
    assert again.missing([(0, 3)]) == [(0, 3)]


class Untagged(Translator):
    """A server without ETags, or with weak ones, which no condition matches."""

    def send_header(self, keyword: str, value: str) -> None:
        if keyword.lower() != "etag":
            super().send_header(keyword, value)
        elif self.server.weak:
            super().send_header(keyword, f"W/{value}")

    def do_GET(self) -> None:
        if self.headers.get("If-Match"):
            self.send_error(412)
        else:
            super().do_GET()


@pytest.fixture(params=[False, True])
def untagged(request: Any, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Untagged)
    server.daemon_threads, server.weak = True, request.param
    server.port = int(bucket.gateway.url.rpartition(":")[2])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
    yield bucket
    server.shutdown()
    server.server_close()


def test_an_object_without_a_strong_etag(untagged: Bucket, tmp_path: Path) -> None:
    address = untagged.put("a.jsonl", LINES)
    fetcher = Fetcher(tmp_path)
    one = found(fetcher, address)
    assert one.version.startswith("W/")
    copy = fetcher.copy(one)
    fetcher.fetch([(copy, None)])
    assert copy.path.read_bytes() == LINES
    untagged.put("a.jsonl", OTHERS + b"\n")
    with pytest.raises(SourceError, match="it was changed while it was being fetched"):
        fetcher.store(one.address).read(one, 0, 10)


def test_only_summaries_of_possible_results_are_fetched(bucket: Bucket, tmp_path: Path) -> None:
    for folder in ("a", "b", "b/c"):
        bucket.put(f"in/{folder}/summary.json", b'{"rows": 1}')
        bucket.put(f"in/{folder}/x.txt", b"a text")
    bucket.put("in/b/pairs.parquet", b"not one")
    bucket.put("in/large/pairs.parquet", b"not one")
    bucket.put("in/large/summary.json", b" " * (16 * 2**20 + 1))
    opened(f"{bucket.url}/in", scratch=tmp_path, include=("*.txt",))
    asked = [line.split()[1].decode() for line in bucket.gateway.requests if b"summary.json" in line]
    assert asked == [f"/{bucket.name}/in/b/summary.json"]
