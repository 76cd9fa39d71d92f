"""Data sets of Hugging Face in and out: `.kept` is a data set with the same features."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import twinset

ROSE = "a rose is a rose is a rose in any garden of the town"
TEXTS = [ROSE, "something else", ROSE + " hall", "", None, ROSE]
WORDS: dict[str, Any] = {"shingle": "word:3", "threshold": 0.7}
FEATURES = datasets.Features(
    {
        "text": datasets.Value("string"),
        "label": datasets.ClassLabel(names=["prose", "verse"]),
        "picture": datasets.Image(),
        "tags": datasets.List(datasets.Value("int8")),
        "about": {"year": datasets.Value("uint16"), "people": datasets.List({"name": datasets.Value("string")})},
    }
)


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No progress bars, and no files outside the test's folder."""
    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def picture(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def rows_of(texts: list[str | None]) -> dict[str, Any]:
    count = len(texts)
    return {
        "text": texts,
        "label": [number % 2 for number in range(count)],
        "picture": [{"bytes": picture(number), "path": None} for number in range(count)],
        "tags": [[number] * (number % 3) for number in range(count)],
        "about": [{"year": 1900 + number, "people": [{"name": f"n{number}"}]} for number in range(count)],
    }


def data_set(texts: list[str | None] = TEXTS) -> datasets.Dataset:
    return datasets.Dataset.from_dict(rows_of(texts), features=FEATURES)


def plain(data: datasets.Dataset) -> list[dict[str, Any]]:
    """The rows without decoded pictures."""
    rows: list[dict[str, Any]] = data.with_format("arrow")[:].to_pylist()
    return rows


def test_the_kept_rows_are_a_data_set_with_the_same_features() -> None:
    data = data_set()
    done = twinset.dedup(data, **WORDS)
    assert isinstance(done.kept, datasets.Dataset)
    assert done.kept.features == FEATURES
    assert plain(done.kept) == [row for row, kept in zip(plain(data), done.mask, strict=True) if kept]
    assert done.kept[0]["picture"].getpixel((0, 0)) == (0, 0, 0)
    assert done.kept.features["label"].int2str(done.kept["label"][1]) == "verse"
    assert done.removed["id"].to_pylist() == ["table:2", "table:5"]


@pytest.mark.parametrize("how", ["shuffled", "selected", "sharded", "formatted"])
def test_rows_have_the_order_of_the_data_set_not_of_its_table(how: str) -> None:
    data = data_set()
    if how == "formatted":
        given = data.with_format("numpy", columns=["text", "label"])
    else:
        given = {
            "shuffled": data.shuffle(seed=3),
            "selected": data.select([5, 2, 1, 0]),
            "sharded": data.shard(2, 0, contiguous=False),
        }[how]
    done = twinset.dedup(given, **WORDS)
    assert done.kept.features == FEATURES
    assert plain(done.kept) == plain(given.select(np.flatnonzero(done.mask)))
    assert 0 < len(done.kept) < len(given)
    texts = given.with_format(None)["text"][:]
    assert done.mask.tolist() == twinset.dedup(texts, **WORDS).mask.tolist()


def test_flags_are_columns_of_the_data_set() -> None:
    for data in (data_set(), data_set().select([5, 4, 3, 2, 1, 0])):
        flagged = twinset.dedup(data, flag=True, **WORDS).kept
        assert flagged.column_names == [*FEATURES, "cluster", "duplicate_of", "similarity"]
        assert {name: flagged.features[name] for name in FEATURES} == FEATURES
        assert plain(flagged.select_columns(list(FEATURES))) == plain(data)
        assert [one is None for one in flagged["duplicate_of"][:]] == twinset.dedup(data, **WORDS).mask.tolist()


def test_the_splits_of_a_dictionary_are_compared_with_each_other() -> None:
    data = datasets.DatasetDict(train=data_set(), test=data_set([ROSE, "another text", "something else"]))
    done = twinset.dedup(data, **WORDS)
    assert isinstance(done.kept, datasets.DatasetDict)
    assert {name: one["text"][:] for name, one in done.kept.items()} == {
        "train": [ROSE, "something else", "", None],
        "test": ["another text"],
    }
    assert done.kept["test"].features == FEATURES
    assert dict(zip(*done.removed.select(["id", "because_of"]).to_pydict().values(), strict=True)) == {
        "train:2": "train:0", "train:5": "train:0", "test:0": "train:0", "test:2": "train:1",
    }  # fmt: skip
    flagged = twinset.dedup(data, flag=True, **WORDS).kept
    assert flagged["test"]["duplicate_of"][:] == ["train:0", None, "train:1"]
    assert done.recut(0.95).kept.num_rows == {"train": 5, "test": 1}
    assert done.explain("test:0").cluster == "train:0"
    assert twinset.find_pairs(data, **WORDS).pairs.num_rows == 7
    empty = datasets.DatasetDict(train=data_set(), test=data_set([]))
    assert twinset.dedup(empty, **WORDS).kept.num_rows == {"train": 4, "test": 0}


def test_written_splits_have_the_features_and_their_names(tmp_path: Path) -> None:
    data = datasets.DatasetDict(train=data_set(), test=data_set([ROSE]))
    done = twinset.dedup(data, output=tmp_path / "out", **WORDS)
    assert isinstance(done.kept, datasets.DatasetDict)
    files = {name: str(tmp_path / f"out/kept/{name}.parquet") for name in data}
    again = datasets.Dataset.from_parquet(files["train"], cache_dir=str(tmp_path / "cache"))
    assert again.features == FEATURES
    assert plain(again) == plain(done.kept["train"])
    assert pq.read_metadata(files["test"]).num_rows == 0
    opened = twinset.open_result(tmp_path / "out")
    assert opened.kept.column_names == list(FEATURES)
    assert opened.explain("test:0").explanation.similarity == 1.0
    assert opened.summary["input"]["splits"] == ["train", "test"]


def test_streams_give_an_arrow_table() -> None:
    stream = data_set().to_iterable_dataset()
    done = twinset.dedup(stream, **WORDS)
    assert isinstance(done.kept, pa.Table)
    assert done.kept["text"].to_pylist() == [ROSE, "something else", "", None]
    both = twinset.dedup(datasets.IterableDatasetDict(a=stream, b=stream), **WORDS)
    assert (both.kept.num_rows, both.removed["id"].to_pylist()[-1]) == (6, "b:5")


def test_a_data_set_beside_other_sources_gives_an_arrow_table() -> None:
    done = twinset.dedup(data_set(), [ROSE], **WORDS)
    assert isinstance(done.kept, pa.Table)
    assert done.mask.tolist() == [True, True, False, True, True, False, False]
    against = twinset.dedup(data_set(), against=[[ROSE]], **WORDS)
    assert against.kept["text"][:] == ["something else", "", None]


def test_a_plain_dictionary_of_tables_is_still_refused() -> None:
    with pytest.raises(twinset.SourceError, match="a dict of tables is several sources"):
        twinset.dedup({"train": data_set()})


def test_a_changed_dictionary_is_refused() -> None:
    data = datasets.DatasetDict(train=data_set())
    done = twinset.dedup(data, **WORDS)
    data["train"] = data_set([ROSE])
    with pytest.raises(twinset.SourceError, match="the frame was changed since that run: it has 1 row, not 6"):
        _ = done.kept


def test_rows_on_the_disk_stay_there(tmp_path: Path) -> None:
    texts = [f"text number {number} of many" for number in range(400)] * 2
    blob = b"x" * 100_000
    table = pa.table({"text": texts, "blob": pa.array([blob] * len(texts), pa.binary())})
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table, max_chunksize=50)
    del table
    data = datasets.Dataset.from_file(str(tmp_path / "data.arrow")).select(range(799, -1, -1))
    twinset.dedup(data.select(range(10)), scratch=str(tmp_path), threads=1)  # loads what any run needs
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    done = twinset.dedup(data, scratch=str(tmp_path), threads=1)
    kept = done.kept
    grown = pa.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(kept) == 400
    assert twinset.dedup(data, batch_bytes=1024).mask.tolist() == done.mask.tolist()
    assert grown < 30e6  # of 80 MB
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["data.arrow"]


def test_where_one_split_is_read_a_data_set_with_splits_says_what_to_choose(tmp_path: Path) -> None:
    splits = datasets.DatasetDict({"train": data_set(["one text"]), "test": data_set(["another"])})
    streams = datasets.IterableDatasetDict({name: rows.to_iterable_dataset() for name, rows in splits.items()})
    with twinset.Index.create(tmp_path / "texts.twinset") as index:
        for given in (splits, streams):
            message = (
                rf"an? {type(given).__name__} has splits \('train', 'test'\), and one of them is read here: "
                r"choose it, such as data\['train'\]"
            )
            for read in (twinset.sketch, index.add):
                with pytest.raises(twinset.SourceError, match=f"^{message}$"):
                    read(given)
        assert index.add(splits["train"]).added == len(twinset.sketch(splits["train"])) == 1
