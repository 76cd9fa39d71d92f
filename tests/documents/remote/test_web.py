"""Files on the web whose servers break off, are silent, lie, or know no ranges."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.documents.reading import opened, read_all
from tests.documents.remote.odd_web import OddWeb
from twinset.documents.remote.fetch import Fetcher
from twinset.errors import FetchError, SourceError
from twinset.system import batch_sizes
from twinset.system.addresses import Address

LINES = "".join(f'{{"text":"line {number}"}}\n' for number in range(300)).encode()
OTHERS = LINES.replace(b"line", b"LINE")
PIECES = len(range(0, len(LINES), 1000))
TEXTS = [f"line {number}".encode() for number in range(300)]

pytestmark = pytest.mark.usefixtures("small_pieces")


def texts(web: OddWeb, folder: Path) -> list[bytes | None]:
    web.files["a.jsonl"] = LINES
    return read_all(opened(f"{web.url}/a.jsonl", scratch=folder)).texts


def test_ranges_are_fetched_in_pieces(web: OddWeb, tmp_path: Path) -> None:
    assert texts(web, tmp_path) == TEXTS
    pieces = [f"bytes={at}-{min(at + 1000, len(LINES)) - 1}" for at in range(0, len(LINES), 1000)]
    assert sorted(map(str, web.asked)) == sorted(["bytes=0-0", *pieces])


@pytest.mark.parametrize("fault", ["503", "cut", "silent", "whole"])
def test_what_is_broken_is_asked_for_again(web: OddWeb, tmp_path: Path, fault: str) -> None:
    web.faults = [fault] * 3
    assert texts(web, tmp_path) == TEXTS
    assert not web.faults
    assert len(web.asked) == 1 + PIECES + 3


@pytest.mark.parametrize(("ranges", "etags"), [(False, True), (False, False), (True, False)])
@pytest.mark.parametrize("fault", ["", "503", "cut", "silent"])
def test_a_server_without_ranges_or_versions_sends_a_stream(
    web: OddWeb, tmp_path: Path, ranges: bool, etags: bool, fault: str
) -> None:
    web.ranges, web.etags, web.faults = ranges, etags, [fault]
    assert texts(web, tmp_path) == TEXTS
    assert web.asked[1:] == [None] * (1 + bool(fault))


def test_a_stream_of_unknown_length(web: OddWeb, tmp_path: Path) -> None:
    web.ranges = web.lengths = False
    assert texts(web, tmp_path) == TEXTS


def test_an_empty_file(web: OddWeb, tmp_path: Path) -> None:
    web.files["a.txt"] = b""
    assert read_all(opened(f"{web.url}/a.txt", scratch=tmp_path)).texts == [b""]


@pytest.mark.parametrize("fault", ["other", "elsewhere"])
def test_another_content_between_two_ranges_is_an_error(web: OddWeb, tmp_path: Path, fault: str) -> None:
    web.faults = ["", "", fault]
    with pytest.raises(FetchError, match=rf"{web.url}/a\.jsonl: it was changed while it was being fetched; run again"):
        texts(web, tmp_path)


def test_a_server_that_does_not_recover(web: OddWeb, tmp_path: Path) -> None:
    web.faults = ["503"] * 100
    with pytest.raises(FetchError, match=r"a\.jsonl: the server answers 503 Service Unavailable \(5 tries\)$"):
        texts(web, tmp_path)


def test_what_was_fetched_is_not_fetched_again(web: OddWeb, tmp_path: Path) -> None:
    web.files["a.jsonl"] = LINES
    address = Address.of(f"{web.url}/a.jsonl")
    web.faults = [""] * 4 + ["503"] * 100
    before = Fetcher(tmp_path)
    with pytest.raises(FetchError):
        before.fetch([(before.copy(one), None) for one in [before.find(address)] if one])
    done = before.copy(before.find(address)).fetched  # type: ignore[arg-type]
    web.faults, web.asked = [], []
    again = Fetcher(tmp_path)
    found = again.find(address)
    assert found is not None
    copy = again.copy(found)
    assert copy.fetched == done
    pieces = [first for first in range(0, len(LINES), 1000) if any(start <= first < stop for start, stop in done)]
    assert len(pieces) == 4  # any four, as the threads asked for them
    assert sum(stop - start for start, stop in done) == sum(len(LINES[first : first + 1000]) for first in pieces)
    again.fetch([(copy, None)])
    assert copy.path.read_bytes() == LINES
    assert len(web.asked) == 1 + PIECES - 4
    web.asked, web.files["a.jsonl"] = [], OTHERS
    third = Fetcher(tmp_path)
    changed = third.find(address)
    assert changed is not None
    third.fetch([(third.copy(changed), None)])
    assert third.copy(changed).path.read_bytes() == OTHERS
    assert len(web.asked) == 1 + PIECES


def test_a_damaged_copy_is_fetched_again(web: OddWeb, tmp_path: Path) -> None:
    web.files["a.jsonl"] = LINES
    first = Fetcher(tmp_path)
    found = first.find(Address.of(f"{web.url}/a.jsonl"))
    assert found is not None
    copy = first.copy(found)
    first.fetch([(copy, None)])
    with open(copy.path, "r+b") as file:
        file.seek(2500)
        file.write(b"?")
    with open(copy.journal, "ab") as journal:
        journal.write(b"12 34")  # a line that a kill cut off
    web.asked = []
    second = Fetcher(tmp_path)
    copy = second.copy(found)
    assert copy.missing([(0, len(LINES))]) == [(2000, 3000)]
    second.fetch([(copy, None)])
    assert copy.path.read_bytes() == LINES
    assert web.asked == ["bytes=2000-2999"]


def test_another_version_has_another_time(web: OddWeb, tmp_path: Path) -> None:
    times = set()
    for data in (LINES, OTHERS):
        web.files["a.jsonl"] = data
        for folder in ("one", "two"):
            times.add(opened(f"{web.url}/a.jsonl", scratch=tmp_path / folder).parts[0].mtime_ns)
    assert len(times) == 2


def test_no_query_of_a_signed_address_is_shown(web: OddWeb, tmp_path: Path) -> None:
    web.files["a.jsonl"] = LINES
    sources = opened(f"{web.url}/a.jsonl?X-Amz-Signature=5ecret", scratch=tmp_path)
    assert read_all(sources).ids[0] == f"{web.url}/a.jsonl?…:0"
    with pytest.raises(SourceError) as raised:
        opened(f"{web.url}/b.jsonl?token=5ecret", scratch=tmp_path)
    assert str(raised.value) == f"{web.url}/b.jsonl?…: the server answers 404 Not Found"
    assert not any("5ecret" in name or b"5ecret" in (tmp_path / "fetched" / name).read_bytes()
                   for name in os.listdir(tmp_path / "fetched"))  # fmt: skip


def test_settings_of_the_tests_are_small() -> None:
    assert batch_sizes.FETCH_PIECE == 1000
