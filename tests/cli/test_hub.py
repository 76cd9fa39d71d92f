"""Datasets of a hub as sources and outputs: one commit is read, one commit is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.hub import TOKEN, Hub
from tests.reliability.command import documents, twinset

NEWS = "hf://datasets/ada/news"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    rows = documents(90)
    for number in range(2):
        table = pa.table({name: [row[name] for row in rows[number::2]] for name in ("id", "text")})
        table = table.append_column("junk", pa.array([b"%d" % at * 2000 for at in range(table.num_rows)]))
        (tmp_path / "data").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / f"data/{number}.parquet", compression="none")
    with Hub() as one:
        files = {f"data__{path.stem}": path.read_bytes() for path in (tmp_path / "data").iterdir()}
        one.put(**{f"{name}.parquet": data for name, data in files.items()}, **{"README.md": b"about"})
        for name, value in (("HF_ENDPOINT", one.url), ("HF_TOKEN", TOKEN), ("HF_HUB_DISABLE_XET", "1"),
                            ("HF_HOME", str(tmp_path / "hf"))):  # fmt: skip
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        yield one


def test_a_dataset_is_read_and_a_result_committed(hub: Hub, tmp_path: Path) -> None:
    assert twinset("dedup", "data", "-o", "local").code == 0
    done = twinset("dedup", f"{NEWS}/data", "-o", f"{NEWS}/out/clean")
    assert done.code == 0, done.err
    assert f"clean data: {NEWS}/out/clean/kept" in done.out
    before, after = hub.commits[-2:]
    assert set(before) < set(after)
    for name in ("kept/0.parquet", "removed.parquet", "clusters.parquet", "pairs.parquet"):
        assert after[f"out/clean/{name}"] == Path("local", name).read_bytes()
    twinset("dedup", f"{NEWS}/data", "-o", f"{NEWS}/out/clean").refused(f"{NEWS}/out/clean exists; choose another")
    again = twinset("dedup", f"{NEWS}@main/data/*.parquet", "-o", f"{NEWS}/out/clean", "--force")
    assert again.code == 0, again.err
    assert len(hub.commits) == 4
    assert TOKEN not in done.out + done.err + again.err
    assert TOKEN.encode() not in b"".join(hub.commits[-1].values())


def test_a_file_and_its_details_are_one_commit(hub: Hub) -> None:
    before = len(hub.commits)
    done = twinset("dedup", "data", "-o", f"{NEWS}/out/clean.parquet")
    assert done.code == 0, done.err
    assert len(hub.commits) == before + 1
    assert {"out/clean.parquet", "out/clean.parquet.details/summary.json"} < set(hub.commits[-1])
    twinset("dedup", f"{NEWS}@main/out/clean.parquet", "-o", f"{NEWS}/out/clean.parquet", "--force").refused(
        "would be replaced, and"
    )


def test_only_some_columns_are_read(hub: Hub) -> None:
    hub.sent = 0
    done = twinset("pairs", f"{NEWS}/data/0.parquet", "--quiet")
    assert done.code == 0, done.err
    assert done.out == twinset("pairs", "data/0.parquet", "--quiet").out.replace("data/", f"{NEWS}/data/")
    assert hub.sent < len(hub.commits[-1]["data/0.parquet"]) // 2


def test_a_commit_between_two_requests_changes_nothing(hub: Hub) -> None:
    first = f"{1:040x}"
    hub.put(**{"data__0.parquet": b"something else"})
    assert twinset("pairs", f"{NEWS}@{first}/data/0.parquet", "--quiet").code == 0
    twinset("pairs", f"{NEWS}/data/0.parquet").refused("the Parquet file is damaged")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (f"{NEWS}/none.parquet", "there is no such object, and no folder"),
        ("hf://datasets/ada/other", "there is no such repository, or the token (HF_TOKEN) may not see it"),
        (f"{NEWS}@v2", "the repository has no such revision"),
        ("hf://datasets/ada", "name a repository, such as hf://datasets/USER/NAME"),
    ],
)
def test_what_is_not_there(hub: Hub, address: str, says: str) -> None:
    twinset("pairs", address).refused(f"twinset: {address}", says)


def test_a_hub_that_is_not_there(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    twinset("pairs", f"{NEWS}/data").refused(f"{NEWS}/data: the hub cannot be reached")
