"""Objects of a bucket: folders and patterns are read as local ones are, and of Parquet files only what is needed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import components
from tests.buckets import Bucket, new_bucket
from tests.documents.reading import opened, read_all, write_all
from twinset.documents.parquet.read import ParquetPart
from twinset.errors import FetchError, OptionError, OutputError, SourceError

ROWS = 2000


def parquet(rows: int = ROWS, seed: int = 1, **how: Any) -> bytes:
    """A wide file: two short columns, long ones that nobody needs, and a nested one."""
    dice = np.random.default_rng(seed)
    junk = [dice.bytes(200) for _ in range(rows)]
    table = pa.table(
        {
            "before": junk,
            "url": [f"u{seed}-{row}" for row in range(rows)],
            "between": junk,
            "kind": ["abc"[row % 3] for row in range(rows)],  # a dictionary
            "body": [f"text {row} of {seed}" for row in range(rows)],
            "meta": [{"title": f"title {row}", "note": junk[row], "tags": ["x", "y"]} for row in range(rows)],
            "after": junk,
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=500, **how)
    return sink.getvalue()


NESTED = {"text": "meta.title", "id": "url", "by": "kind"}
WRITTEN: list[dict[str, Any]] = [{}, {"write_page_index": True, "data_page_version": "2.0"}, {"compression": "zstd"}]


@pytest.mark.parametrize("how", WRITTEN, ids=str)
@pytest.mark.parametrize("words", [{"text": "body", "id": "url"}, NESTED], ids=str)
def test_only_the_columns_that_are_read_are_fetched(
    bucket: Bucket, tmp_path: Path, how: dict[str, Any], words: dict[str, Any]
) -> None:
    data = parquet(**how)
    address = bucket.put("wide.parquet", data)
    (tmp_path / "wide.parquet").write_bytes(data)
    (part,) = opened(address, scratch=tmp_path / "scratch", **words).parts
    assert isinstance(part, ParquetPart)
    remote, local = read_all([part]), read_all(opened(tmp_path / "wide.parquet", **words))
    assert (remote.texts, remote.ids, remote.by) == (local.texts, local.ids, local.by)
    columns = {words["text"], words["id"], words.get("by")}
    chunks = [chunk for group in part.row_groups for chunk in group.columns if chunk.path in columns]
    needed = sum(chunk.stop - chunk.start for chunk in chunks)
    assert needed < bucket.gateway.sent < needed + 64 * 1024 + 40_000  # footer, answers' heads, gaps
    assert len(data) > 5 * bucket.gateway.sent
    whole = read_all([part], whole=True)
    assert whole.texts == local.texts
    assert part.copy is not None
    assert part.copy.path.read_bytes() == data
    assert part.lasts


def test_a_footer_longer_than_the_first_request(bucket: Bucket, tmp_path: Path) -> None:
    sink = io.BytesIO()
    table = pa.table({f"column-{number}": [b"x" * 50, b"y" * 50] for number in range(900)} | {"text": ["one", "two"]})
    pq.write_table(table, sink, row_group_size=1)
    (part,) = opened(bucket.put("many.parquet", sink.getvalue()), scratch=tmp_path).parts
    assert int.from_bytes(sink.getvalue()[-8:-4], "little") > 64 * 1024
    assert read_all([part]).texts == [b"one", b"two"]


def test_a_file_that_is_no_parquet(bucket: Bucket, tmp_path: Path) -> None:
    for data in (b"", b"no table", b"x" * 100_000, parquet(10)[:-3]):
        with pytest.raises(SourceError, match=rf"^{bucket.url}/a\.parquet: the Parquet file is damaged"):
            opened(bucket.put("a.parquet", data), scratch=tmp_path)


FILES = {
    "a/0.jsonl": b'{"text":"zero"}\n', "a/b/1.jsonl": b'{"text":"one"}\n', "a/b/2.csv": b"text\ntwo\n",
    "a/README.md": b"about", "a/.hidden.jsonl": b"x", "a/_SUCCESS": b"", "a/lang=en/3.jsonl": b'{"text":"three"}\n',
    "texts/one.txt": b"a text", "texts/deep/two.md": b"another", "texts/table.parquet": parquet(10),
    "texts/binary.bin": b"a\0b", "texts/.git/config": b"x", "a b/ü&?.jsonl": b'{"text":"odd"}\n',
}  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Bucket]]:
    """The same files in a folder and in a bucket."""
    here = tmp_path_factory.mktemp("both")
    with pytest.MonkeyPatch.context() as patch, new_bucket(patch) as bucket:
        for name, data in FILES.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_bytes(data)
            bucket.put(name, data)
        yield here, bucket


@pytest.mark.parametrize(
    ("source", "words"),
    [
        *[(one, {}) for one in ("a", "a/", "a/b", "texts", "a/*.jsonl", "a/**/*.jsonl", "*/*.jsonl", "a/b/1.jsonl")],
        *[(one, {}) for one in ("a/lang=*/*", "a/[0-9].jsonl", "a b", "a/b/2.csv")],
        *[("a", {"include": "*.jsonl"}), ("a", {"exclude": "b/*"}), ("texts", {"include": "*.txt"})],
        *[("a", {"lines": True}), ("a/lang=en", {"by": "lang"})],
    ],
    ids=str,
)
def test_folders_and_patterns_are_read_as_local_ones_are(
    both: tuple[Path, Bucket], tmp_path: Path, source: str, words: dict[str, Any]
) -> None:
    here, bucket = str(both[0]), both[1]
    local = opened(f"{here}/{source}", **words)
    remote = opened(f"{bucket.url}/{source}", scratch=tmp_path / "scratch", **words)
    mine, theirs = read_all(local), read_all(remote)
    assert theirs.texts == mine.texts
    assert theirs.ids == [one.replace(here, bucket.url) for one in mine.ids]
    assert theirs.by == mine.by
    skipped = [(name.replace(here, bucket.url), reason) for name, reason in local.skipped]
    assert {one for one in remote.skipped if "/.git" not in one[0]} == {one for one in skipped if "/.git" not in one[0]}
    assert [part.kept_name for part in remote.parts] == [part.kept_name for part in local.parts]
    write_all(local, tmp_path / "out/local")
    write_all(remote, tmp_path / "out/remote")
    kept = [
        {path.relative_to(tmp_path / f"out/{one}"): path.read_bytes() for path in (tmp_path / f"out/{one}").rglob("*.*")
         if path.is_file() and path.name != "kept.txt"}
        for one in ("local", "remote")
    ]  # fmt: skip
    assert kept[0] == kept[1]


def test_marks_of_folders_are_no_documents(bucket: Bucket, tmp_path: Path) -> None:
    for key in ("in/", "in/deep/", "in/deep/one.txt"):
        bucket.put(key, b"a text" if key.endswith(".txt") else b"")
    sources = opened(f"{bucket.url}/in", scratch=tmp_path)
    assert (read_all(sources).ids, sources.skipped) == (["deep/one.txt"], [])


@pytest.mark.parametrize("key", ["in/../../up.jsonl", "in//up.jsonl"])
def test_keys_that_lead_elsewhere_are_refused(bucket: Bucket, tmp_path: Path, key: str) -> None:
    bucket.put(key, b'{"text":"one"}\n')
    with pytest.raises(FetchError, match=rf"^{bucket.url}/in/: the key '{key}' has an empty part, \. or \.\."):
        opened(f"{bucket.url}/in/", scratch=tmp_path / "scratch")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("s3://{name}/none", "there is no such object, and no folder of objects with this name"),
        ("s3://{name}/*.jsonl", "no object matches this pattern"),
        ("s3://no-such-bucket-1/a", "there is no such bucket, container or object"),
        ("s3://", "this address has no bucket"),
        ("s3:///a", "this address has no bucket"),
        ("ftp://host/a", "an address begins with s3://, gs://, az://, abfs://, hf://, http:// or https://"),
    ],
)
def test_what_is_not_there(bucket: Bucket, tmp_path: Path, source: str, says: str) -> None:
    source = source.format(name=bucket.name)
    with pytest.raises((SourceError, OptionError)) as raised:
        opened(source, scratch=tmp_path)
    assert says in str(raised.value)
    assert str(raised.value).startswith(source)


@pytest.mark.parametrize(
    ("endpoint", "says"), [("http://127.0.0.1:1", "127.0.0.1:1 cannot be reached: connection refused"),
                           ("http://no-such-host.invalid", "no-such-host.invalid cannot be reached")],
)  # fmt: skip
def test_a_wrong_endpoint(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str, says: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(FetchError, match=rf"^{bucket.url}/a\.jsonl: {says}"):
        opened(f"{bucket.url}/a.jsonl", scratch=tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with components.small_disk(tmp_path) as disk:
        yield disk


def test_a_disk_without_room_is_noticed_before_anything_is_fetched(bucket: Bucket, small_disk: Path) -> None:
    address = bucket.put("large.jsonl", b'{"text":"one"}\n' * 150_000)
    with pytest.raises(OutputError) as raised:
        opened(address, scratch=small_disk)
    assert re.search(r"^2\.2 MB must be fetched, and .*fetched has room for 1\.0 MB; free space, or", str(raised.value))
    assert bucket.gateway.sent < 5000
