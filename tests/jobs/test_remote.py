"""Results from and to a bucket have the bytes of local ones."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.buckets import Bucket, new_bucket
from tests.reliability.command import bytes_of, documents
from twinset.errors import OptionError, OutputError, SourceError

DIFFERENT = {"sources.parquet", "summary.json"}
"""What names the sources."""


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards") / "pages"
    folder.mkdir()
    rows = documents(240)
    for number in range(3):
        some = rows[number::3]
        table = pa.table({"url": [row["id"] for row in some], "body": [row["text"] for row in some],
                          "junk": [os.urandom(100) for _ in some]})  # fmt: skip
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=30)
    (folder / "README.md").write_text("about the pages")
    return folder


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shards: Path) -> Iterator[Bucket]:
    with new_bucket(monkeypatch) as one:
        one.put_folder(shards, "pages")
        monkeypatch.chdir(tmp_path)
        yield one


WORDS: dict[str, Any] = {"text": "body", "id": "url"}


def same(local: Path, remote: Path) -> None:
    one, other = bytes_of(local), bytes_of(remote)
    assert one.keys() == other.keys()
    assert {name for name in one if one[name] != other[name]} <= DIFFERENT
    a, b = (json.loads((folder / "summary.json").read_text()) for folder in (local, remote))
    for name in ("documents", "kept", "removed", "pairs", "audit", "passages", "cuts", "plan"):
        assert a.get(name) == b.get(name)


@pytest.mark.parametrize("against", [False, True])
def test_dedup(bucket: Bucket, shards: Path, tmp_path: Path, against: bool) -> None:
    sources = ["0.parquet", "1.parquet"] if against else [""]
    other = [{"against": f"{place}/2.parquet"} if against else {} for place in (shards, f"{bucket.url}/pages")]
    local = twinset.dedup(*(shards / one for one in sources), output="local", **WORDS, **other[0])
    remote = [f"{bucket.url}/pages/{one}" for one in sources]
    found = twinset.dedup(*remote, output=f"{bucket.url}/out/clean", **WORDS, **other[1])
    same(tmp_path / "local", bucket.save("out/clean", tmp_path / "saved"))
    assert found.summary["removed"] == local.summary["removed"] > 0
    assert found.removed.equals(local.removed)
    assert found.summary["input"]["sources"] == remote
    assert not [key for key in bucket.keys("out/") if "unfinished" in key]
    with pytest.raises(OutputError, match=rf"^{bucket.url}/out/clean exists; choose another output"):
        twinset.dedup(*remote, output=f"{bucket.url}/out/clean", **WORDS, **other[1])
    del found
    assert {path.name for path in tmp_path.iterdir()} == {"local", "saved"}


def test_a_remote_source_and_a_local_result_can_be_explained(bucket: Bucket, tmp_path: Path) -> None:
    done = twinset.dedup(f"{bucket.url}/pages", output="here", **WORDS)
    removed = done.removed["id"][0].as_py()
    assert done.explain(removed).explanation is not None, "the program has named the address"
    asked = len(bucket.gateway.requests)
    with pytest.raises(SourceError, match=r"no reason to fetch from an address; name it with source"):
        twinset.open_result("here").explain(removed)
    assert len(bucket.gateway.requests) == asked
    pages = [f"{bucket.url}/pages"]
    assert twinset.open_result("here").explain(removed, source=pages).explanation is not None
    bucket.put("pages/1.parquet", (Path(__file__)).read_bytes())
    with pytest.raises(SourceError, match=r"1\.parquet"):
        twinset.open_result("here").explain(removed, source=pages)


def test_a_changed_object_is_noticed_though_all_lengths_are_the_same(
    bucket: Bucket, shards: Path, tmp_path: Path
) -> None:
    twinset.dedup(f"{bucket.url}/pages", output="here", **WORDS)
    removed = twinset.open_result("here").removed["id"].to_pylist()
    table = pq.read_table(shards / "1.parquet")
    texts = [text[::-1] for text in table["body"].to_pylist()]
    pq.write_table(table.set_column(table.column_names.index("body"), "body", pa.array(texts)), "changed.parquet")
    bucket.put("pages/1.parquet", Path("changed.parquet").read_bytes())
    changed = [id for id in removed if id in table["url"].to_pylist()]
    with pytest.raises(SourceError, match=r"pages/1\.parquet: was changed since that run"):
        twinset.open_result("here", source=[f"{bucket.url}/pages"]).explain(changed[0])
    with pytest.raises(SourceError, match=r"pages/1\.parquet: was changed since that run"):
        twinset.open_result("here", source=[f"{bucket.url}/pages"]).recut(0.9, output="stricter")
    assert not Path("stricter").exists()


def test_a_result_is_replaced_with_force_only(bucket: Bucket, tmp_path: Path) -> None:
    out = f"{bucket.url}/clean"
    twinset.dedup(f"{bucket.url}/pages", output=out, **WORDS)
    bucket.put("clean/kept/old.parquet", b"of an earlier run")
    before = bucket.keys("clean/")
    twinset.dedup(f"{bucket.url}/pages/[01].parquet", output=out, force=True, **WORDS)
    after = bucket.keys("clean/")
    assert set(before) - set(after) == {"clean/kept/old.parquet", "clean/kept/2.parquet"}
    bucket.put("data/mine.txt", b"mine")
    with pytest.raises(OutputError, match="exists and is not a result of an earlier run, so it is never replaced"):
        twinset.dedup(f"{bucket.url}/pages", output=f"{bucket.url}/data", force=True, **WORDS)
    with pytest.raises(OutputError, match=r"would be replaced, and .* is read from there"):
        twinset.dedup(f"{bucket.url}/pages", output=f"{bucket.url}/pages", force=True, **WORDS)
    with pytest.raises(SourceError, match="this is the result of an earlier run; to read the kept documents"):
        twinset.find_pairs(out, **WORDS)
    assert twinset.find_pairs(f"{out}/kept", **WORDS).summary["documents"] > 0


def test_one_file_of_rows(bucket: Bucket, shards: Path, tmp_path: Path) -> None:
    twinset.dedup(shards, output="clean.jsonl.gz", **WORDS)
    twinset.dedup(f"{bucket.url}/pages", output=f"{bucket.url}/clean.jsonl.gz", **WORDS)
    assert bucket.get("clean.jsonl.gz") == (tmp_path / "clean.jsonl.gz").read_bytes()
    same(tmp_path / "clean.jsonl.gz.details", bucket.save("clean.jsonl.gz.details", tmp_path / "saved"))
    with pytest.raises(OutputError, match=r"clean\.jsonl\.gz exists"):
        twinset.dedup(f"{bucket.url}/pages", output=f"{bucket.url}/clean.jsonl.gz", **WORDS)


@pytest.mark.parametrize("name", ["pairs.csv", "found"])
def test_pairs(bucket: Bucket, shards: Path, tmp_path: Path, name: str) -> None:
    local = twinset.find_pairs(shards, output=tmp_path / name, **WORDS)
    remote = twinset.find_pairs(f"{bucket.url}/pages", output=f"{bucket.url}/{name}", **WORDS)
    assert remote.pairs.equals(local.pairs)
    if name == "found":
        assert bucket.get("found/pairs.parquet") == (tmp_path / "found/pairs.parquet").read_bytes()
        assert "found/summary.json" in bucket.keys("found/")
    else:
        assert bucket.get(name) == (tmp_path / name).read_bytes()


def test_passages_and_trim(bucket: Bucket, shards: Path, tmp_path: Path) -> None:
    twinset.find_passages(shards, output="local", least=10, **WORDS)
    found = twinset.find_passages(f"{bucket.url}/pages", output=f"{bucket.url}/found", least=10, **WORDS)
    same(tmp_path / "local", bucket.save("found", tmp_path / "saved"))
    assert found.passages.num_rows == found.summary["passages"] > 0
    twinset.trim(shards, output="trimmed", least=10, **WORDS)
    done = twinset.trim(f"{bucket.url}/pages", output=f"{bucket.url}/trimmed", least=10, **WORDS)
    same(tmp_path / "trimmed", bucket.save("trimmed", tmp_path / "saved-too"))
    assert done.cuts.num_rows > 0


def test_a_recut_to_a_bucket(bucket: Bucket, shards: Path, tmp_path: Path) -> None:
    first = twinset.dedup(shards, output="first", threshold=0.7, **WORDS)
    for name in ("recut", "recut.parquet"):
        first.recut(0.98, output=f"local/{name}")
        out = f"{bucket.url}/out/{name}"
        done = first.recut(0.98, output=out)
        assert done.removed.num_rows == done.summary["removed"] < first.summary["removed"]
        assert done.explain(done.removed["id"][0].as_py()).state == "removed"
        with pytest.raises(OutputError, match=f"^{out} exists; choose another output, or replace it"):
            first.recut(0.9, output=out)
    files = [path for path in Path("local").rglob("*") if path.is_file()]
    here = {path.relative_to("local").as_posix(): path.read_bytes() for path in files}
    there = {key.removeprefix("out/"): bucket.get(key) for key in bucket.keys("out/")}
    different = {one for one in here.keys() | there.keys() if here.get(one) != there.get(one)}
    assert different == {one for one in here if one.endswith("summary.json")}
    assert first.recut(0.8, output=out, force=True).summary["options"]["threshold"] == 0.8
    with pytest.raises(OutputError, match=r"would be replaced, and .* is read from there"):
        twinset.dedup(f"{bucket.url}/pages", **WORDS).recut(0.9, output=f"{bucket.url}/pages", force=True)
    del done
    assert {path.name for path in tmp_path.iterdir()} == {"first", "local"}


def test_a_changed_object_is_refused_before_anything_is_written(bucket: Bucket, shards: Path) -> None:
    twinset.dedup(f"{bucket.url}/pages", output="first", **WORDS)
    table = pq.read_table(shards / "2.parquet")
    pq.write_table(table.slice(1), "other.parquet")
    bucket.put("pages/2.parquet", Path("other.parquet"))
    told = Told()
    with pytest.raises(SourceError, match=r"pages/2\.parquet: was changed since that run"):
        twinset.open_result("first").recut(0.9, output="again", source=[f"{bucket.url}/pages"], progress=told)
    assert "writing" not in told.stages
    assert "clustering" in told.stages


class Told:
    """Receives the progress of a run."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.notes: list[str] = []

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Note a stage."""
        self.stages.append(name)

    def advance(self, n: int = 1) -> None:
        """Nothing is counted."""

    def note(self, text: str) -> None:
        """Keep a note."""
        self.notes.append(text)


def test_the_example_cleans_the_shards_of_a_bucket(bucket: Bucket, shards: Path, tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "clean_a_bucket.py"
    words = [f"{bucket.url}/pages/", f"{bucket.url}/clean", "--text", "body", "--id", "url"]
    done = subprocess.run([sys.executable, str(example), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    local = twinset.dedup(shards, output="local", **WORDS)
    same(tmp_path / "local", bucket.save("clean", tmp_path / "saved"))
    pairs = twinset.find_pairs(shards, **WORDS).summary["pairs"]
    assert pq.read_table(io.BytesIO(bucket.get("clean-pairs.parquet"))).num_rows == pairs
    first = local.removed["id"][0].as_py()
    assert f"{first} is removed: " in done.stdout
    assert f"clean shards are in {bucket.url}/clean/kept" in done.stdout


def test_an_index_of_remote_documents(bucket: Bucket, shards: Path, tmp_path: Path) -> None:
    create = twinset.Index.create
    with create("local.twinset", seed=1) as local, create("remote.twinset", seed=1) as remote:
        local.add(str(shards), **WORDS)
        remote.add(f"{bucket.url}/pages", **WORDS)
        assert len(local) == len(remote) == 240
        text = pq.read_table(shards / "1.parquet")["body"][3].as_py()
        assert local.query([text]) == remote.query([text])


def test_other_commands_write_to_this_machine_only(bucket: Bucket, tmp_path: Path) -> None:
    source, out = f"{bucket.url}/pages", f"{bucket.url}/sketches.parquet"
    with pytest.raises(OptionError, match=rf"the output is {out}, but only dedup, pairs, passages, recut and trim"):
        twinset.sketch(source, output=out, **WORDS)
    with pytest.raises(OptionError, match="nothing can be written there"):
        twinset.dedup(source, output="https://example.org/clean", **WORDS)
    with pytest.raises(OptionError, match="name a folder or a file in it"):
        twinset.dedup(source, output=bucket.url, **WORDS)
    with pytest.raises(OptionError, match="a result is opened from this machine; copy it here first"):
        twinset.open_result(f"{bucket.url}/clean")
    assert not list(tmp_path.iterdir())


def test_nothing_remote_is_imported_for_local_runs(shards: Path, tmp_path: Path) -> None:
    program = f"""
import sys, twinset
twinset.dedup({str(shards)!r}, output={str(tmp_path / "out")!r}, text="body", id="url")
loaded = {{"obstore", "boto3", "botocore", "huggingface_hub", "fsspec", "urllib.request"}} & set(sys.modules)
loaded |= {{name for name in sys.modules if name.startswith("twinset.documents.remote")}}
sys.exit(f"imported: {{loaded}}" if loaded else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("package", "address"), [("obstore", "s3://a/b"), ("huggingface_hub", "hf://datasets/a/b/c")]
)
def test_without_the_packages(package: str, address: str) -> None:
    program = f"""
import sys
sys.modules[{package!r}] = None
from twinset.cli import main
sys.exit(main(["pairs", {address!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "twinset: addresses of " in done.stderr
    assert ": pip install 'twinset[remote]'\n" in done.stderr
