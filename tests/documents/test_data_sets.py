"""Folders as they lie around: data sets with documentation, folders of partitions, mixtures."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.documents.reading import opened, read_all, write_all
from twinset.engines.local.steps.open import tell_unexpected
from twinset.engines.progress import Silent
from twinset.errors import ColumnError, SourceWarning
from twinset.options.formats import DELIMITERS


def table(path: Path, **columns: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def text(path: Path, content: str = "words") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def names(folder: Path, skipped: list[tuple[str, str]]) -> list[str]:
    return [Path(name).relative_to(folder).as_posix() for name, _ in skipped]


def test_tables_beside_documentation_are_a_data_set(tmp_path: Path) -> None:
    table(tmp_path / "data/train-0.parquet", text=["a", "b"])
    beside = ["LICENSE", "README.md", "card.yaml", "dataset_infos.json", "docs/notes.md", "config.yml"]
    for name in [*beside, ".gitattributes"]:
        text(tmp_path / name)
    sources = opened(tmp_path)
    assert [part.format for part in sources.parts] == ["parquet"]
    assert read_all(sources).texts == [b"a", b"b"]
    assert names(tmp_path, sources.skipped) == [*sorted(beside), ".gitattributes"]
    *documentation, hidden = [reason for _, reason in sources.skipped]
    assert (set(documentation), hidden) == ({"documentation or settings beside tables"}, "hidden")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.arrow"])
def test_other_tables_beside_documentation(tmp_path: Path, name: str) -> None:
    lines = b'{"text":"one"}\n'
    if name == "a.arrow":
        with pa.ipc.new_file(tmp_path / name, pa.schema([("text", pa.string())])) as file:
            file.write(pa.record_batch({"text": ["one"]}))
    else:
        (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    text(tmp_path / "about.md")
    assert read_all(opened(tmp_path)).texts == [b"one"]


@pytest.mark.parametrize("format", DELIMITERS)
def test_csv_is_a_data_set_beside_a_readme_but_not_among_notes(tmp_path: Path, format: str) -> None:
    text(tmp_path / f"train.{format}", "text\none\n")
    text(tmp_path / "README.md")
    assert read_all(opened(tmp_path)).texts == [b"one"]
    text(tmp_path / "monday.md", "a note")
    assert read_all(opened(tmp_path)).ids == ["README.md", "monday.md", f"train.{format}"]


def test_any_other_mixture_is_a_folder_of_texts_and_warns(tmp_path: Path) -> None:
    table(tmp_path / "a.parquet", text=["a"])
    text(tmp_path / "README.md")
    text(tmp_path / "notice.txt")
    sources = opened(tmp_path)
    assert read_all(sources).ids == ["README.md", "notice.txt"]
    with pytest.warns(SourceWarning, match=r"1 table in a folder of texts \(.*a\.parquet\).*include='\*\.parquet'"):
        tell_unexpected(sources.skipped, sources.parts, Silent())
    text(tmp_path / "b.jsonl", '{"text":"b"}')
    with pytest.warns(SourceWarning, match="2 tables in a folder of texts"):
        assert twinset.dedup(str(tmp_path)).summary["documents"] == 3


def test_texts_alone_do_not_warn(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    text(tmp_path / "a.md")
    text(tmp_path / "b.json", "{}")
    table(tmp_path / "c.parquet", text=["a"])
    for sources in (opened(tmp_path, exclude=("*.parquet",)), opened(tmp_path, include=("*.parquet",))):
        tell_unexpected(sources.skipped, sources.parts, Silent())
    assert not recwarn.list


PARTITIONS = [("lang=en/day=2024-01-01/x.parquet", "a"), ("lang=de/day=__HIVE_DEFAULT_PARTITION__/x.parquet", "b")]


def partitioned(folder: Path) -> Path:
    for name, one in PARTITIONS:
        table(folder / name, text=[one, one + one])
    return folder


def test_folders_of_partitions_are_columns(tmp_path: Path) -> None:
    partitioned(tmp_path / "in")
    sources = opened(tmp_path / "in", by="lang")
    for part in sources.parts:
        part.wanted = frozenset({"day", "lang"})
    rows = read_all(sources)
    assert rows.by == ["de", "de", "en", "en"]
    assert rows.columns == {"day": [None, None, "2024-01-01", "2024-01-01"], "lang": ["de", "de", "en", "en"]}
    assert sources.parts[0].describe()["columns"] == ["text", "lang", "day"]
    write_all(sources, tmp_path / "out")
    assert pq.read_table(tmp_path / "out/kept").column("lang").to_pylist() == ["de", "de", "en", "en"]
    with pytest.raises(ColumnError, match="no column 'language'"):
        opened(tmp_path / "in", by="language")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_partitions_of_other_formats(tmp_path: Path, ending: str) -> None:
    rows = "text\na%20b\n" if ending == "csv" else '{"text":"a"}\n'
    text(tmp_path / f"in/city=New%20York/x.{ending}", rows)
    sources = opened(tmp_path / "in", by="city")
    sources.parts[0].wanted = frozenset({"city"})
    found = read_all(sources)
    assert (found.by, found.columns) == (["New York"], {"city": ["New York"]})


def test_partitions_of_a_pattern_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(partitioned(tmp_path))
    sources = opened("lang=*/*/x.parquet")
    assert [str(part.kept_name) for part in sources.parts] == sorted(name for name, _ in PARTITIONS)
    assert [str(part.kept_name) for part in opened("lang=en/day=2024-01-01/x.parquet").parts] == [PARTITIONS[0][0]]


def test_partitions_in_a_run(tmp_path: Path) -> None:
    line = "some words that are the same in every one of these rows of the table"
    for year in ("2023", "2024"):
        table(tmp_path / f"in/year={year}/x.parquet", text=[line, line + " again"])
    kept = twinset.dedup(str(tmp_path / "in"), by="year", keep="first").kept
    assert kept.to_pylist() == [{"text": line, "year": "2023"}, {"text": line, "year": "2024"}]
    assert twinset.dedup(str(tmp_path / "in"), keep="highest:year").kept["year"].to_pylist() == ["2024"]
