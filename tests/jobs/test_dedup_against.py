"""What dedup leaves of files that are only compared against: nothing, whether they hold documents or not."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import twinset

TEXT = "one two three four five six seven"
FORMATS = [".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".txt", "folder"]


def write(path: Path, texts: list[str]) -> Path:
    """A file of any format with these texts; a folder has a text file for each."""
    ending = "".join(path.suffixes)
    table = pa.table({"text": pa.array(texts, pa.string())})
    if ending.startswith(".jsonl"):
        data = "".join(f'{{"text":"{text}"}}\n' for text in texts).encode()
        path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    elif ending in (".csv", ".tsv"):
        path.write_text("".join(f'"{line}"\n' for line in ["text", *texts]))
    elif ending == ".parquet":
        pq.write_table(table, path)
    elif ending in (".arrow", ".feather"):
        pa.feather.write_feather(table, path)
    elif ending == ".txt":
        path.write_text("".join(f"{text}\n" for text in texts))
    else:
        path.mkdir()
        for number, text in enumerate(texts):
            (path / f"{number}.txt").write_text(text)
    return path


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder / "kept")) for path in (folder / "kept").rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("ending", "texts"),
    [
        (ending, texts)
        for ending in FORMATS
        for texts in ([], [""], [TEXT], ["something else"])
        if texts or ending != "folder"  # a folder without documents is refused
    ],
)
def test_a_file_compared_against_is_not_written(tmp_path: Path, ending: str, texts: list[str]) -> None:
    own = write(tmp_path / "own.jsonl", [TEXT, TEXT, "another text of its own"])
    other = write(tmp_path / ("other" if ending == "folder" else f"other{ending}"), texts)
    options = {"lines": True} if ending == ".txt" else {}
    if options:
        own = write(tmp_path / "own.txt", [TEXT, TEXT, "another text of its own"])
    found = twinset.dedup(own, against=[other], output=tmp_path / "out", **options)
    assert written(tmp_path / "out") == {own.name}
    twinset.open_result(tmp_path / "out").rethreshold(threshold=0.9, output=tmp_path / "cut")
    assert written(tmp_path / "cut") == {own.name}
    roles = pq.read_table(tmp_path / "out/sources.parquet").column("role").to_pylist()
    assert roles == ["source", "against"]
    assert found.summary["against"] == len(texts)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_an_empty_source_is_written_beside_a_file_compared_against(tmp_path: Path, ending: str) -> None:
    """Of the sources every file has its kept one, also where there is no document in any of them."""
    sources = [write(tmp_path / f"{name}{ending}", []) for name in "ab"]
    other = write(tmp_path / "other.jsonl", [TEXT])
    twinset.dedup(*sources, against=[other], output=tmp_path / "out")
    assert written(tmp_path / "out") == {f"a{ending}", f"b{ending}"}


def test_vectors(tmp_path: Path) -> None:
    np.save(tmp_path / "own.npy", np.eye(4, dtype=np.float32))
    np.save(tmp_path / "other.npy", np.zeros((0, 4), np.float32))
    twinset.dedup(tmp_path / "own.npy", against=[tmp_path / "other.npy"], vectors=True, output=tmp_path / "out")
    assert written(tmp_path / "out") == {"own.npy"}
