"""No space left, at every step: one clear line, no output, and a run with room ends as a clean one does."""

from __future__ import annotations

import gzip
import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import components
from tests.reliability.command import STATE, at_once, bytes_of, documents, twinset, write_lines


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("space")
    rows = documents(1500)
    with gzip.open(folder / "b.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({**row, "id": f"b-{row['id']}"}) + "\n" for row in rows[:700])
    pq.write_table(pa.Table.from_pylist([{**row, "id": f"c-{row['id']}"} for row in rows[300:]]), folder / "c.parquet")
    return [write_lines(folder / "a.jsonl", rows), folder / "b.jsonl.gz", folder / "c.parquet"]


@pytest.fixture(scope="module")
def right(sources: list[Path]) -> dict[str, str]:
    out = sources[0].parent / "right"
    assert twinset("dedup", *sources, "-o", out).code == 0
    return bytes_of(out)


def at_most(size: int) -> Callable[[], None]:
    """Files may not grow beyond this; Python ignores the signal, and the write fails."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_every_step_may_find_the_disk_full(tmp_path: Path, sources: list[Path], right: dict[str, str]) -> None:
    largest = max(path.stat().st_size for path in (sources[0].parent / "right").rglob("*") if path.is_file())
    said = []

    def check(size: int) -> None:
        out = tmp_path / str(size)
        words = ["dedup", *sources, "-o", out]
        line = twinset(*words, preexec_fn=at_most(size)).refused("no space left", "free space")
        said.append(line)
        assert not out.exists()
        assert (f"{out}{STATE} stays" in line) is Path(f"{out}{STATE}").exists(), line
        again = twinset(*words)
        assert again.code == 0, again.err
        assert bytes_of(out) == right
        assert not Path(f"{out}{STATE}").exists()

    sizes = [100, 3_000, 20_000, 60_000, 150_000, 400_000, largest - 1]
    at_once([lambda size=size: check(size) for size in sizes if size < largest])
    assert len({line.split(":")[1] for line in said}) >= 4  # it was at different steps that there was no room


def test_what_stays_is_named(tmp_path: Path) -> None:
    rows = [{**row, "more": "x" * 50_000} for row in documents(40)]
    source, out = write_lines(tmp_path / "in.jsonl", rows), tmp_path / "out"
    line = twinset("dedup", source, "-o", out, preexec_fn=at_most(300_000)).refused("no space left")
    assert line.endswith(f"; {out}{STATE} stays: run the same command again to resume")
    assert Path(f"{out}{STATE}").is_dir()
    assert twinset("dedup", source, "-o", out).code == 0
    assert not Path(f"{out}{STATE}").exists()


@pytest.mark.parametrize("size", [500, 20_000])
def test_pairs(tmp_path: Path, sources: list[Path], size: int) -> None:
    out = tmp_path / "pairs.csv"
    twinset("pairs", *sources, "-o", out, preexec_fn=at_most(size)).refused("no space left")
    assert not out.exists()
    assert twinset("pairs", *sources, "-o", out).code == 0
    assert not Path(f"{out}{STATE}").exists()


def test_stdin_that_does_not_fit(tmp_path: Path, sources: list[Path]) -> None:
    with open(sources[0], "rb") as rows:
        done = twinset(
            "dedup", "-", "-o", tmp_path / "out", scratch=tmp_path / "scratch", stdin=rows, preexec_fn=at_most(50_000)
        )
    done.refused("no space left")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_no_room_for_anything(tmp_path: Path, sources: list[Path]) -> None:
    twinset("dedup", *sources, "-o", tmp_path / "out", preexec_fn=at_most(0)).refused("temporary")
    twinset("pairs", sources[0], "--scratch", "/proc/none").refused("/proc/none")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with components.small_disk(tmp_path) as disk:
        yield disk


def test_a_full_file_system(small_disk: Path, sources: list[Path], right: dict[str, str]) -> None:
    out = small_disk / "out"
    words = ["dedup", *sources, "-o", out]
    twinset(*words).refused("no space left")
    assert not out.exists()
    twinset(*words).refused("no space left")
    components.resize(small_disk, "64m")
    assert twinset(*words).code == 0
    assert bytes_of(out) == right
    assert [path.name for path in small_disk.iterdir()] == ["out"]


def test_scratch_on_a_full_file_system(tmp_path: Path, small_disk: Path, sources: list[Path]) -> None:
    with open(sources[0], "rb") as rows:
        done = twinset("dedup", "-", "-o", tmp_path / "out", "--scratch", small_disk, stdin=rows)
    assert done.code in (0, 2)
    if done.code:
        done.refused("no space left", "--scratch")
    assert list(small_disk.iterdir()) == []


def test_a_folder_that_may_not_be_written(tmp_path: Path, sources: list[Path]) -> None:
    twinset("dedup", sources[0], "-o", "/proc/out").refused("/proc/out")
    (tmp_path / "file").write_text("")
    twinset("dedup", sources[0], "-o", tmp_path / "file" / "out").refused("cannot write")
