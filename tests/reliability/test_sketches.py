"""A file of sketches is there whole or not at all, whatever happens to the run; and so are the pairs made of it."""

from __future__ import annotations

import fcntl
import os
import re
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.reliability.command import acts, at_once, documents, struck, twinset, write_lines

CODES = ("--sketch", "simhash", "--weights", "tf-idf")
SKETCH = ("--sketch", "bottom-k", "--id", "year", "--merge")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("sketches") / "a.jsonl", documents(600))


@pytest.fixture(scope="module")
def right(source: Path) -> dict[str, bytes]:
    folder = source.parent
    made = {}
    for words, name in (
        (("sketch", source), "plain"),
        (("sketch", source, *SKETCH), "merged"),
        (("sketch", source, *CODES), "codes"),
    ):
        assert twinset(*words, "-o", folder / f"{name}.parquet").code == 0
        made[name] = (folder / f"{name}.parquet").read_bytes()
    assert twinset("pairs", folder / "plain.parquet", "--threshold", 0.5, "-o", folder / "pairs.parquet").code == 0
    made["pairs"] = (folder / "pairs.parquet").read_bytes()
    return made


def commands(source: Path) -> dict[str, tuple[object, ...]]:
    return {
        "plain": ("sketch", source),
        "merged": ("sketch", source, *SKETCH),
        "codes": ("sketch", source, *CODES),
        "pairs": ("pairs", source.parent / "plain.parquet", "--threshold", 0.5),
    }


def at_most(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_full_disk(tmp_path: Path, source: Path, right: dict[str, bytes]) -> None:
    def check(name: str, words: tuple[object, ...], size: int) -> None:
        folder = tmp_path / f"{name}-{size}"
        folder.mkdir()
        scratch, out = folder / "scratch", folder / "out.parquet"
        done = twinset(*words, "-o", out, scratch=scratch, preexec_fn=at_most(size))
        done.refused("no space left", "free space")
        assert [path.name for path in folder.iterdir()] == ["scratch"]
        assert list(scratch.iterdir()) == []

    sizes = {"plain": (3, len(right["plain"]) - 1), "merged": (len(right["merged"]) // 2,), "codes": (999,)}
    sizes["pairs"] = (3000,)
    made = commands(source)
    at_once([partial(check, name, made[name], size) for name in made for size in sizes[name]])


@pytest.mark.parametrize("name", ["plain", "codes", "pairs"])
def test_killed_at_any_act(tmp_path: Path, source: Path, right: dict[str, bytes], name: str) -> None:
    words = commands(source)[name]
    out = tmp_path / "listed.parquet"
    listed = acts(tmp_path.name, *words, "-o", out)
    assert out.read_bytes() == right[name]
    assert len(listed) >= 2

    def check(number: int) -> None:
        place = tmp_path / f"{number}.parquet"
        assert struck("KILL", number, tmp_path.name, *words, "-o", place).code == -9
        assert not place.exists() or place.read_bytes() == right[name]

    at_once([partial(check, number) for number in range(1, len(listed) + 1)])
    assert twinset(*words, "-o", out, "--force", "--quiet").code == 0  # what they left does not matter
    assert out.read_bytes() == right[name]


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path, source: Path, right: dict[str, bytes]) -> None:
    out = tmp_path / "out.parquet"
    listed = acts(tmp_path.name, "sketch", source, "-o", out)
    out.unlink()
    last = next(number for number, act in enumerate(listed, 1) if "rename" in act)
    done = struck("KILL", last, tmp_path.name, "sketch", source, "-o", out)
    assert done.code == -9
    [left] = tmp_path.iterdir()
    assert re.fullmatch(r"\.out-\d+\.new\.parquet", left.name)
    assert left.stat().st_size > 0
    # Of a process that runs, of one that holds it elsewhere, and of other outputs: these are not ours to remove.
    others = [
        f".out-{os.getpid()}.new.parquet",
        ".out-4194305.new.parquet",
        ".other-4194305.new.parquet",
        ".out.parquet",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"of somebody else")
    with (tmp_path / ".out-4194305.new.parquet").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert twinset("sketch", source, "-o", out, "--quiet").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"out.parquet", *others}
    assert out.read_bytes() == right["plain"]
    assert twinset("pairs", out, "-o", out.with_suffix(".csv"), "--quiet").code == 0
    assert twinset("sketch", source, "-o", out, "--force", "--quiet").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"out.parquet", "out.csv", *others} - {others[1]}


def test_stopped_by_ctrl_c(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.parquet"
    done = struck("INT", 1, tmp_path.name, "sketch", source, "-o", out)
    assert done.code == 130
    assert "no partial output is left" in done.err
    assert list(tmp_path.iterdir()) == []
