"""A dry run describes remote objects from their beginnings, and says how much a run would fetch."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import twinset
from tests.buckets import Bucket
from tests.documents.remote.test_objects import parquet
from twinset.documents.sources import Sources, open_sources
from twinset.jobs.dedup import outline_dedup
from twinset.jobs.pairs import outline_pairs
from twinset.options import DedupOptions, PairsOptions, ReadOptions

MIB = 2**20
CODECS: dict[str, Callable[[bytes], Any]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, 1),
    ".bz2": lambda data: bz2.compress(data, 1),
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def described(address: str, scratch: Path, **words: Any) -> Sources:
    return open_sources([address], ReadOptions.of(**words), scratch=scratch, outlined=True)


def rows(count: int, line: Callable[[str], str]) -> bytes:
    """Rows of random letters, which hardly compress."""
    return "".join(line(os.urandom(500).hex()) for _ in range(count)).encode()


@pytest.mark.parametrize("ending", CODECS)
def test_a_table_is_described_from_its_beginning(bucket: Bucket, tmp_path: Path, ending: str) -> None:
    data = CODECS[ending](b"name,text\n" + rows(4000, "n,{}\n".format))
    address = bucket.put(f"a.csv{ending}", data)
    (part,) = described(address, tmp_path).parts
    assert part.column_names == ["name", "text"]
    assert part.describe()["bytes"] == len(data)
    assert bucket.gateway.sent < (1.2 * MIB if ending else 0.2 * MIB) < len(data)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_json_lines_are_described_from_their_first_rows(bucket: Bucket, tmp_path: Path, ending: str) -> None:
    data = rows(900, '{{"text":"{}"}}\n'.format) + b'{"late":1,"text":"x"}\n' + rows(5500, '{{"text":"{}"}}\n'.format)
    packed = CODECS[ending](data)
    (part,) = described(bucket.put(f"a.jsonl{ending}", packed), tmp_path).parts
    assert part.column_names == ["text", "late"]
    assert part.size == len(packed)
    assert bucket.gateway.sent < 2.2 * MIB < len(packed)


def test_what_is_not_in_the_beginning_is_fetched(bucket: Bucket, tmp_path: Path) -> None:
    names = [f"column-{number}" for number in range(20_000)]
    wide = f"{','.join([*names, 'text'])}\n".encode() + b"," * 20_000 + b"x\n"
    (part,) = described(bucket.put("wide.csv", wide), tmp_path / "wide").parts
    assert part.column_names == [*names, "text"]
    array = b"[" + b",".join([b'{"text":"one"}'] * 20_000) + b"]"
    (part,) = described(bucket.put("array.json", array), tmp_path / "array").parts
    assert (part.format, part.column_names) == ("json", ["text"])


def test_texts_and_pictures_are_described_from_the_listing(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("texts/long.txt", b"many words " * 100_000)
    bucket.put("texts/binary.bin", b"a\0b" * 100_000)
    bucket.put("texts/table.json", b"[" + b" " * 500_000 + b"]")
    found = described(f"{bucket.url}/texts", tmp_path / "texts")
    sizes = [("long.txt", 1_100_000), ("table.json", 500_002)]
    assert [(file.id, file.size) for file in found.parts[0].files] == sizes
    assert found.skipped == [(f"{bucket.url}/texts/binary.bin", "a binary file")]
    assert bucket.gateway.sent < 0.3 * MIB
    bucket.put("pictures/one.png", os.urandom(MIB))
    (part,) = described(f"{bucket.url}/pictures", tmp_path / "pictures", images=True).parts
    assert part.size == MIB
    assert bucket.gateway.sent < 20_000


def test_a_dry_run_says_what_a_run_fetches(bucket: Bucket) -> None:
    wide = [bucket.put(f"wide/{number}.parquet", parquet(seed=number)) for number in (0, 1)]
    known = bucket.put("known.jsonl", rows(200, '{{"body":"{}"}}\n'.format))
    every = sum(len(bucket.get(key)) for key in ("wide/0.parquet", "wide/1.parquet", "known.jsonl"))
    words: dict[str, Any] = {"text": "body", "no_id": True, "against": (known,)}
    bucket.gateway.forget()
    outline = outline_pairs((f"{bucket.url}/wide", wide[0]), PairsOptions.of(**words))["fetch"]
    assert (outline["objects"], outline["of"]) == (3, every)
    assert bucket.gateway.sent < every / 4
    bucket.gateway.forget()
    twinset.find_pairs(f"{bucket.url}/wide", **words)
    assert outline["bytes"] <= bucket.gateway.sent < outline["bytes"] + 40_000 < every / 2
    whole = outline_dedup((f"{bucket.url}/wide",), DedupOptions.of(**words), {})["fetch"]
    assert whole == {"objects": 3, "bytes": every, "of": every}


def test_the_screen_of_a_dry_run(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("in/wide.parquet", parquet())
    twinset.find_pairs(["one text"], output=str(tmp_path / "old/"))
    bucket.put_folder(tmp_path / "old", "in/old")
    command = [sys.executable, "-m", "twinset", "pairs", f"{bucket.url}/in", "--text", "body", "--no-id", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "300"})
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert any(line.startswith("fetch ") and line.endswith("from 1 object") and " of " in line for line in lines), lines
    assert f"skipped 1 folder: {bucket.url}/in/old/ (the tables of an earlier run)" in lines
