"""No space left: one clear error, the index as it was, and everything works again when there is room."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

import twinset
from tests import components
from tests.postgres_server import Server
from tests.reliability.index.index_work import MORE_TABLES, OPTIONS, large, text_of
from tests.reliability.nursery import Nursery

NAME = "documents.twinset"
TEXTS = {f"doc-{number}": text_of(number // 3, number) for number in range(90)}
WORKS = ["create", "add", "update", "remove", "compact", "export"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("space") / "kept", {})


@pytest.fixture(scope="module", params=MORE_TABLES)
def kept_with_more(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("space") / request.param, MORE_TABLES[request.param])


def made(folder: Path, options: dict[str, Any]) -> Path:
    folder.mkdir()
    with twinset.Index.create(folder / NAME, **OPTIONS, **options) as index:
        index.add(list(TEXTS), list(TEXTS.values()))
        more = [f"more-{number}" for number in range(60)]
        index.add(more, [text_of(number, 5) for number in range(60)])
        index.remove(more)
    return folder


def contents(path: Path) -> dict[str, str]:
    """What an index holds, once it is known to be whole."""
    with twinset.Index.open(path) as index:
        assert index.verify() == []
        ids = list(index)
        return dict(zip(ids, index.texts(ids), strict=True))


def after(work: str, kept: Path, folder: Path) -> dict[str, str]:
    """What an index holds when the work is done."""
    shutil.copytree(kept, folder)
    with twinset.Index.open(folder / NAME) as index:
        if work != "create":
            large(work, index, str(folder / "out.parquet"))
    return contents(folder / NAME)


@pytest.mark.parametrize("work", WORKS)
def test_files_that_cannot_grow(nursery: Nursery, kept: Path, tmp_path: Path, work: str) -> None:
    grow(nursery, kept, tmp_path, work, 7)


@pytest.mark.parametrize("work", ["add", "update", "remove"])
def test_files_with_more_tables_that_cannot_grow(
    nursery: Nursery, kept_with_more: Path, tmp_path: Path, work: str
) -> None:
    grow(nursery, kept_with_more, tmp_path, work, 3)


def grow(nursery: Nursery, kept: Path, tmp_path: Path, work: str, steps: int) -> None:
    """Do the work while no file may grow beyond a size, for many sizes, as many to the size of the file as `steps`."""
    done = after(work, kept, tmp_path / "done")
    largest = (tmp_path / "done" / NAME).stat().st_size
    sizes = [0, 10, 300, 5_000, 20_000, 33_000, *range(60_000, 3 * largest, largest // steps)]
    ends = {"done": 0, "OutputError": 0}
    for size in sizes:
        folder = tmp_path / str(size)
        shutil.copytree(kept, folder)
        path = folder / ("new.twinset" if work == "create" else NAME)
        child = nursery.start("in_little_room", work, path, size, folder / "out.parquet")
        [said] = child.ended_well()
        ended = said if isinstance(said, str) else next(iter(said))
        ends[ended] += 1  # anything but these two is a failure
        if ended == "OutputError":
            assert str(folder) in said[ended]
        if work == "create":
            assert contents(path) == {} if ended == "done" else not path.exists()
            assert ended == "done" or not list(folder.glob("*.new*"))
        elif work == "export":
            assert (folder / "out.parquet").exists() == (ended == "done")
            assert not list(folder.glob("*.new"))
        assert contents(folder / NAME) in ([done] if ended == "done" and work != "create" else [TEXTS])
        if ended != "done" and work != "create":
            with twinset.Index.open(path) as index:
                large(work, index, str(folder / "out.parquet"))
            assert contents(path) == done
        shutil.rmtree(folder)
    print(work, ends)
    assert all(ends.values())


@pytest.fixture
def small_disk() -> Iterator[Path]:
    # Not in pytest's own folder: whichever run of it starts next closes that to others, such as the server's user.
    with tempfile.TemporaryDirectory(prefix="twinset-disk-") as folder, components.small_disk(Path(folder)) as disk:
        yield disk


def fill(index: twinset.Index, first: int, together: int) -> int:
    """Add documents until there is no room; how many there are then."""
    for number in range(first, 20_000, together):
        numbers = range(number, number + together)
        try:
            index.add([str(one) for one in numbers], [text_of(one, 1) for one in numbers])
        except twinset.OutputError as error:
            said = str(error)
            break
    assert "space" in said
    assert "what was committed before is safe" in said
    return number


def test_a_full_file_system(small_disk: Path) -> None:
    path = small_disk / NAME
    with twinset.Index.create(path, **OPTIONS) as index:
        count = fill(index, 0, 1)
        assert count > 20
        assert len(index) == count
        assert index.query(text_of(3, 1)).column("id")[0].as_py() == "3"
        for work in ("update", "compact", "export"):
            with pytest.raises(twinset.OutputError, match=str(small_disk)):
                large(work, index, str(small_disk / "out.parquet"))
    assert not list(small_disk.glob("*.parquet*"))
    with pytest.raises(twinset.OutputError, match=r"other\.twinset"):
        twinset.Index.create(small_disk / "other.twinset", **OPTIONS)
    assert list(contents(path)) == [str(number) for number in range(count)]
    with twinset.Index.open(path) as index:
        assert fill(index, count, 1) <= count + 3
    components.resize(small_disk, "64m")
    with twinset.Index.open(path) as index:
        for work in ("add", "update", "remove", "compact", "export"):
            large(work, index, str(small_disk / "out.parquet"))
        assert index.verify() == []
        assert len(index) == len(index.texts(list(index))) >= (count + 200) // 2


@pytest.fixture
def small_database(mortal_postgres: Server, small_disk: Path) -> Iterator[str]:
    """A database on a disk of its own: the server's own log has room."""
    components.resize(small_disk, "14m")
    owner = pwd.getpwuid(mortal_postgres.data.stat().st_uid)
    for folder in (small_disk, *small_disk.parents):
        if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o111)
    os.chown(small_disk, owner.pw_uid, owner.pw_gid)
    with psycopg.connect(mortal_postgres.url("postgres"), autocommit=True) as db:
        db.execute(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(sql.Literal(str(small_disk))))
        with mortal_postgres.database("TABLESPACE small") as url:
            yield url
        db.execute("DROP TABLESPACE small")


def test_a_server_without_room(small_database: str, small_disk: Path) -> None:
    with twinset.Index.create(small_database, **OPTIONS) as index:
        added = fill(index, 0, 50)
        assert added > 100
        assert len(index) == added
        assert index.verify() == []
        components.resize(small_disk, "60m")
        index.add(["after"], [text_of(1, 2)])
    with twinset.Index.open(small_database) as index:
        assert list(index) == [*(str(number) for number in range(added)), "after"]
        assert index.verify() == []
