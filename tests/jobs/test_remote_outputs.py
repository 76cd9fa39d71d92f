"""Remote outputs: nothing else is deleted, an interrupted upload is completed, and what was fetched stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.buckets import Bucket, new_bucket
from tests.documents.remote.odd_web import OddWeb
from tests.reliability.command import documents, write_lines
from twinset.documents.remote.fetch import Fetcher
from twinset.documents.remote.publish import Upload
from twinset.errors import ColumnError, DuplicateIdError, FetchError, OutputError, SourceError, TwinsetError
from twinset.system.addresses import Address

STATE = "out.twinset-state"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    with new_bucket(monkeypatch) as one:
        monkeypatch.chdir(tmp_path)
        write_lines(tmp_path / "pages.jsonl", documents(40))
        yield one


class Watch:
    """Receives the progress of a run, and does something at one stage."""

    def __init__(self, stage: str, act: Callable[[], object]) -> None:
        self._stage, self._act = stage, act

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Act once."""
        if name == self._stage:
            self._stage = ""
            self._act()

    def advance(self, n: int = 1) -> None:
        """Nothing is counted."""

    def note(self, text: str) -> None:
        """Nothing is kept."""


def raise_interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("remote", [True, False])
def test_a_summary_of_others_is_no_result(bucket: Bucket, tmp_path: Path, remote: bool) -> None:
    (tmp_path / "data/2019").mkdir(parents=True)
    (tmp_path / "data/summary.json").write_text('{"rows": 3}')
    (tmp_path / "data/2019/a.csv").write_text("a")
    bucket.put_folder(tmp_path / "data", "data")
    output = f"{bucket.url}/data" if remote else "data"
    with pytest.raises(OutputError, match="data exists and is not a result of an earlier run, so it is never replaced"):
        twinset.dedup("pages.jsonl", output=output, force=True)
    assert bucket.keys("") == ["data/2019/a.csv", "data/summary.json"]
    assert Path("data/2019/a.csv").exists()


def test_what_came_to_the_target_meanwhile_stays(bucket: Bucket) -> None:
    out = f"{bucket.url}/clean"

    def other() -> None:
        twinset.dedup("pages.jsonl", output=out, scratch="other")
        bucket.put("clean/mine.txt", b"mine")

    with pytest.raises(OutputError, match=f"^{out} exists; choose another output, or replace it with force"):
        twinset.dedup("pages.jsonl", output=out, threshold=0.95, progress=Watch("clustering", other))
    assert json.loads(bucket.get("clean/summary.json"))["options"]["threshold"] != 0.95
    assert bucket.get("clean/mine.txt") == b"mine"
    bucket.put("clean/old.txt", b"old")
    late = Watch("clustering", lambda: bucket.put("clean/late.txt", b"late"))
    twinset.dedup("pages.jsonl", output=out, threshold=0.9, force=True, progress=late)
    assert json.loads(bucket.get("clean/summary.json"))["options"]["threshold"] == 0.9
    assert [key for key in bucket.keys("clean/") if key.endswith(".txt")] == ["clean/late.txt"]


def test_the_upload_of_a_file_is_completed(bucket: Bucket, tmp_path: Path) -> None:
    out = f"{bucket.url}/clean.parquet"
    bucket.gateway.forbids = (f"PUT /{bucket.name}/clean.parquet ".encode(),)
    with pytest.raises(OutputError, match=r"clean\.parquet: cannot be written: the server does not allow it") as raised:
        twinset.dedup("pages.jsonl", output=out)
    assert any("the same command completes it" in note for note in raised.value.__notes__)
    assert "clean.parquet.details/summary.json" in bucket.keys("")
    bucket.gateway.forbids = ()
    with pytest.raises(OutputError, match="has an unfinished upload of another run"):
        twinset.dedup("pages.jsonl", output=out, scratch=tmp_path / "else")
    twinset.dedup("pages.jsonl", output=out)
    assert "clean.parquet" in bucket.keys("")
    assert not [key for key in bucket.keys("") if "unfinished" in key]
    twinset.dedup("pages.jsonl", output="local.parquet")
    assert bucket.get("clean.parquet") == Path("local.parquet").read_bytes()


@pytest.mark.parametrize("name", ["clean", "clean.parquet"])
def test_an_upload_that_could_not_delete_its_stage_is_completed(bucket: Bucket, name: str) -> None:
    out = f"{bucket.url}/{name}"
    bucket.gateway.forbids = (f"POST /{bucket.name}?delete".encode(), f"POST /{bucket.name}/?delete".encode())
    for _ in range(2):
        with pytest.raises(OutputError, match="cannot be written: the server does not allow it"):
            twinset.dedup("pages.jsonl", output=out)
    assert [key for key in bucket.keys("") if "unfinished" in key]
    summary = bucket.get(f"{name}{'.details' if name != 'clean' else ''}/summary.json")
    bucket.gateway.forbids = ()
    bucket.gateway.forget()
    twinset.dedup("pages.jsonl", output=out)
    assert not [key for key in bucket.keys("") if "unfinished" in key]
    assert not [line for line in bucket.gateway.requests if line.startswith(b"PUT")]
    assert bucket.get(f"{name}{'.details' if name != 'clean' else ''}/summary.json") == summary


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("S3://{}/clean/x.jsonl", "s3://{}/clean"),
        ("s3://{}/clean.parquet.details/x.jsonl", "s3://{}/clean.parquet"),
        ("s3://{}/cl[e]an/x.jsonl", "s3://{}/clean"),
    ],
)
def test_a_source_below_the_output_is_never_replaced(bucket: Bucket, source: str, output: str) -> None:
    for folder in ("clean", "clean.parquet.details"):
        twinset.find_pairs("pages.jsonl", output=f"{bucket.url}/{folder}/")
        bucket.put(f"{folder}/x.jsonl", Path("pages.jsonl"))
    before = bucket.keys("")
    with pytest.raises(OutputError, match=r"would be replaced, and .*x\.jsonl is read from there"):
        twinset.dedup(source.format(bucket.name), output=output.format(bucket.name), force=True)
    assert bucket.keys("") == before


def test_ctrl_c_stops_an_upload(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "result").mkdir()
    for number in range(40):
        (tmp_path / f"result/{number}").write_bytes(b"part")
    files = {path.name: path for path in (tmp_path / "result").iterdir()}

    class Stops(Watch):
        def advance(self, n: int = 1) -> None:
            raise KeyboardInterrupt

    target = Address.of(f"{bucket.url}/clean")
    upload = Upload(target, tmp_path / "uploaded.json", Fetcher(tmp_path, Stops("", raise_interrupt)), force=False)
    with pytest.raises(KeyboardInterrupt):
        upload.put_folder(files, target, ())
    assert 1 <= len(bucket.keys("")) < 20


@pytest.mark.parametrize("mark", [b"not json", b"[1]", b"5", b"", b'{"upload": "other"}'])
def test_a_damaged_mark_is_that_of_another_run(bucket: Bucket, tmp_path: Path, mark: bytes) -> None:
    bucket.put("clean/.twinset-unfinished/mark.json", mark)
    (tmp_path / "uploaded.json").write_text('{"upload": "mine"}')
    target = Address.of(f"{bucket.url}/clean")
    upload = Upload(target, tmp_path / "uploaded.json", Fetcher(tmp_path), force=False)
    with pytest.raises(OutputError, match="has an unfinished upload of another run"):
        upload.check_folder(target)


def test_a_run_that_cannot_begin_leaves_what_an_earlier_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = write_lines(tmp_path / "pages.jsonl", documents(40)).read_bytes()
    with OddWeb() as web:
        web.files["pages.jsonl"] = lines
        source = f"{web.url}/pages.jsonl"
        with pytest.raises(KeyboardInterrupt):
            twinset.dedup(source, output="out", progress=Watch("clustering", raise_interrupt))
        before = {path.relative_to(STATE) for path in Path(STATE).rglob("*") if path.is_file()}
        assert Path("manifest.json") in before
        web.files = {}
        with pytest.raises(FetchError):
            twinset.dedup(source, output="out")
        web.files["pages.jsonl"] = lines
        with pytest.raises(TwinsetError, match="tex"):
            twinset.dedup(source, output="out", text="tex")
        assert {path.relative_to(STATE) for path in Path(STATE).rglob("*") if path.is_file()} == before
        web.asked = []
        twinset.dedup(source, output="out")
        assert web.asked == ["bytes=0-0"]
    assert not Path(STATE).exists()


@pytest.mark.parametrize(
    ("error", "words"), [(DuplicateIdError, {"id": "same"}), (ColumnError, {"text": "tex"})], ids=["late", "early"]
)
def test_an_error_after_fetching_keeps_the_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception], words: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({**row, "same": "x"}) for row in documents(40)]
    with OddWeb() as web:
        web.files["pages.jsonl"] = "\n".join(rows).encode()
        with pytest.raises(TwinsetError) as raised:
            twinset.dedup(f"{web.url}/pages.jsonl", output="out", scratch="scratch", **words)
        assert isinstance(raised.value, error)
        notes = " ".join(raised.value.__notes__)
        assert "has what was fetched: the next run with this output uses it, or delete it" in notes
        web.asked = []
        twinset.dedup(f"{web.url}/pages.jsonl", output="out", scratch="scratch")
        assert web.asked == ["bytes=0-0"]
    assert [path.name for path in tmp_path.iterdir() if "state" in path.name] == []
    assert not list(Path("scratch").iterdir())


def test_sources_that_differ_only_in_the_query_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps(row) for row in documents(40)]
    with OddWeb() as web:
        web.files = {"a.jsonl?n=1": "\n".join(rows).encode(), "a.jsonl?n=2": "\n".join(reversed(rows)).encode()}
        given = [f"{web.url}/{name}" for name in web.files]
        done = twinset.dedup(given[0], against=given[1], output="out")
        assert done.summary["input"]["sources"] == done.summary["input"]["against"] == [f"{web.url}/a.jsonl?…"]
        removed = done.removed["id"][0].as_py()
        with pytest.raises(SourceError, match="the query of an address is not stored; give it again with source"):
            twinset.open_result("out").explain(removed)
        assert twinset.open_result("out", source=tuple(given)).explain(removed).explanation is not None
