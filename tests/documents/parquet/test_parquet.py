"""Parquet: the same bytes for any batch size, the same schema and codecs, row groups of any size, any thread."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.documents.reading import opened, read_all, write_all
from twinset.documents.formats import typed_columns
from twinset.errors import SourceError

WORDS = [f"word{number}" for number in range(500)]


def corpus(rows: int, words: int = 60) -> pa.Table:
    chance = random.Random(7)
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int32()),
            "text": [" ".join(chance.choices(WORDS, k=words)) for _ in range(rows)],
            "lang": pa.array([("en", "de", None)[row % 3] for row in range(rows)]).dictionary_encode(),
            "tags": [["a", "b"][: row % 3] for row in range(rows)],
            "about": [{"score": row / 2, "url": f"u{row}"} for row in range(rows)],
            "pairs": pa.array([[("k", row)] for row in range(rows)], pa.map_(pa.string(), pa.int64())),
            "when": pa.array([row * 1000 for row in range(rows)], pa.timestamp("ms", "UTC")),
        }
    )


@pytest.mark.parametrize(("row_group_size", "compliant"), [(37, True), (1000, False), (5000, True)])
def test_the_same_bytes_for_any_batch(
    tmp_path: Path, row_group_size: int, compliant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 2**17)
    path = tmp_path / "in.parquet"
    table = corpus(3000)
    pq.write_table(table, path, row_group_size=row_group_size, use_compliant_nested_type=compliant)
    written = []
    for batch in (2**10, 2**14, 2**17, 2**24):
        out = tmp_path / f"out{batch}"
        sources = opened(path)
        write_all(sources, out, lambda part, row: row % 5 != 2, batch)
        written.append((out / "kept/in.parquet").read_bytes())
    assert len(set(written)) == 1
    back = pq.ParquetFile(tmp_path / "out1024/kept/in.parquet")
    assert back.metadata.num_row_groups > 3
    assert back.schema_arrow.equals(pq.read_schema(path), check_metadata=True)
    assert back.read().equals(table.filter(pa.array([row % 5 != 2 for row in range(3000)])))


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_codecs_and_metadata_are_kept(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "in.parquet"
    table = corpus(50).replace_schema_metadata({"note": "of mine"})
    pq.write_table(table, path, compression={"text": codec}, write_statistics=["id"])
    write_all(opened(path), tmp_path / "out")
    before, after = (pq.ParquetFile(one) for one in (path, tmp_path / "out/kept/in.parquet"))
    assert after.schema_arrow.metadata == before.schema_arrow.metadata
    assert after.schema_arrow.metadata[b"note"] == b"of mine"
    for at in range(before.metadata.num_columns):
        old, new = (one.metadata.row_group(0).column(at) for one in (before, after))
        assert new.compression == old.compression
        assert new.path_in_schema == old.path_in_schema


def test_files_of_other_writers_stay_free_of_arrow(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"text": ["a", "b"], "t": pa.array([1, 2], pa.timestamp("ns"))})
    pq.write_table(table, path, store_schema=False, use_deprecated_int96_timestamps=True, version="1.0")
    write_all(opened(path), tmp_path / "out")
    after = pq.ParquetFile(tmp_path / "out/kept/in.parquet")
    assert b"ARROW:schema" not in (after.metadata.metadata or {})
    assert after.metadata.row_group(0).column(1).physical_type == "INT96"
    assert after.read().equals(pq.read_table(path))


def test_low_cardinality_columns_stay_dictionaries(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(corpus(5000, words=5), path)
    write_all(opened(path), tmp_path / "out")
    group = pq.ParquetFile(tmp_path / "out/kept/in.parquet").metadata.row_group(0)
    about = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert about["lang"].has_dictionary_page
    assert about["lang"].is_stats_set
    assert not about["text"].has_dictionary_page


@pytest.mark.parametrize("batch", [2**12, 2**16])
def test_large_row_groups_are_streamed(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "in.parquet"
    table = corpus(4000)
    pq.write_table(table, path, data_page_size=2**12)
    sources = opened(path)
    chunks = list(sources.parts[0].chunks(batch))
    assert len(chunks) > 10
    expected = [text.encode() for text in table["text"].to_pylist()]
    assert read_all(sources, batch).texts == expected
    # From several threads at once, out of order, and once more from the start.
    for order in (range(len(chunks)), random.Random(1).sample(range(len(chunks)), len(chunks)), range(len(chunks))):
        with ThreadPoolExecutor(4) as threads:
            blocks = dict(zip(order, threads.map(lambda at: chunks[at].read(texts_only=True), order), strict=True))
        texts = [text for at in range(len(chunks)) for text in blocks[at].texts.to_pylist()]
        assert [text.encode() for text in texts] == expected


def test_what_a_dictionary_hides_is_planned_for(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": ["x" * 50_000] * 2000, "id": range(2000)}), path)
    assert path.stat().st_size < 100_000
    chunks = list(opened(path).parts[0].chunks(2**20))
    assert all(chunk.rows * 50_000 <= 2**21 for chunk in chunks)
    assert sum(chunk.rows for chunk in chunks) == 2000
    half = ["y" * 20_000] * 3000 + [f"z{row}" * 10_000 for row in range(200)]
    pq.write_table(pa.table({"text": half}), path, dictionary_pagesize_limit=2**16)
    assert max(chunk.rows for chunk in opened(path).parts[0].chunks(2**20)) <= 600


def test_only_the_needed_columns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(corpus(10), path)
    part = opened(path, by="lang").parts[0]
    part.wanted = frozenset(["when"])
    block = next(iter(part.chunks(2**20))).read()
    assert block.payload is None
    assert block.by.to_pylist()[:3] == ["en", "de", None]
    assert block.columns["when"].type == pa.timestamp("ms", "UTC")
    assert block.ids.to_pylist()[:2] == ["0", "1"]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()],
)
def test_every_type_of_text(tmp_path: Path, kind: Any) -> None:
    table = pa.table({"text": pa.array(["a", None, "ü" * 20], kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    coded = pa.table({"text": pa.array(["a", None, "ü" * 20], pa.string()).dictionary_encode()})
    pq.write_table(coded, tmp_path / "b.parquet")
    expected = [b"a", None, ("ü" * 20).encode()]
    assert read_all(opened(tmp_path)).texts == expected * 2
    write_all(opened(tmp_path), tmp_path / "out")
    assert pq.read_table(tmp_path / "out/kept/a.parquet").equals(pq.read_table(tmp_path / "a.parquet"))
    assert read_all(opened(table, coded)).texts == expected * 2


def test_rows_larger_than_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_columns, "GROUP_BYTES", 1000)
    path = tmp_path / "in.parquet"
    table = pa.table({"text": ["a" * 5000, "b", "c" * 999, "d" * 2000, ""]})
    pq.write_table(table, path)
    write_all(opened(path), tmp_path / "out")
    after = pq.ParquetFile(tmp_path / "out/kept/in.parquet")
    assert [after.metadata.row_group(at).num_rows for at in range(after.metadata.num_row_groups)] == [1, 2, 1, 1]
    assert after.read().equals(table)


def test_no_row_group_is_kept_empty(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(corpus(100), path, row_group_size=10)
    write_all(opened(path), tmp_path / "out", lambda part, row: row in (3, 77))
    kept = pq.ParquetFile(tmp_path / "out/kept/in.parquet")
    assert kept.read().column("id").to_pylist() == [3, 77]
    assert np.all([kept.metadata.row_group(at).num_rows for at in range(kept.metadata.num_row_groups)])


def test_a_row_group_without_pages_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(corpus(40).select(["id", "text"]), path, use_dictionary=False, compression="none")
    data = bytearray(path.read_bytes())
    assert data[4:6] == b"\x15\x00"  # a page of data
    data[5] = 2  # a page of an index, which readers pass over
    path.write_bytes(data)
    for batch in (256, 10**6):
        with pytest.raises(SourceError, match=r"in\.parquet: the Parquet file is damaged"):
            read_all(opened(path), batch)
