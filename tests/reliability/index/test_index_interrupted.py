"""kill -9 in the middle of making, compacting, migrating, exporting and importing an index."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pyarrow.parquet as pq
import pytest

import twinset
from tests.reliability.command import run_seed, write_lines
from tests.reliability.index.index_work import OPTIONS, text_of
from tests.reliability.nursery import KILLED, Child, Nursery
from twinset.errors import StateError
from twinset.index.settings import FORMAT
from twinset.index.sqlite import tables

TEXTS = {f"doc-{number}": text_of(number // 4, number) for number in range(600)}


@pytest.fixture(params=[5, pytest.param(40, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def kills(request: pytest.FixtureRequest) -> int:
    return int(request.param)


class Homes:
    """As many addresses for an index as a test wants, in one back end."""

    def __init__(self, folder: Path, database: str = "") -> None:
        self.folder, self.database, self.count = folder, database, 0

    def new(self) -> str:
        self.count += 1
        if self.database:
            return f"{self.database}&schema=number{self.count}"
        return str(self.folder / f"number{self.count}.twinset")


@pytest.fixture(params=["sqlite", "postgres"])
def homes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Homes]:
    return Homes(tmp_path, request.getfixturevalue("postgres_url") if request.param == "postgres" else "")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    with twinset.Index.create(folder / "a.twinset", **OPTIONS) as index:
        index.add(list(TEXTS), list(TEXTS.values()))
        index.export(folder / "a.parquet")
    return folder / "a.parquet"


def is_whole(url: str, texts: dict[str, str] = TEXTS) -> None:
    with twinset.Index.open(url) as index:
        assert list(index) == list(texts)
        assert index.texts(list(texts)) == list(texts.values())
        assert index.verify() == []


def refused(url: str) -> str:
    """Why the index cannot be opened; nothing if it can."""
    try:
        twinset.Index.open(url).close()
    except StateError as error:
        return str(error)
    return ""


def strike(kills: int, start: Callable[[], Child], after: Callable[[bool], None]) -> None:
    """Let it run once undisturbed, then kill it at moments spread over that time; `after` hears whether it was done."""
    dice = random.Random(run_seed())
    child = start()
    child.until(1)
    began = time.monotonic()
    child.ended_well()
    took = time.monotonic() - began
    after(True)
    early = number = 0
    # On a busy machine the first run may take much longer than the others: then the first moments are tried again.
    while number < kills or (not early and number < 20 * kills):
        child = start()
        child.until(1)
        time.sleep(took * (number % kills + dice.random()) / kills / (1 + number // kills) ** 2)
        number += 1
        killed = child.kill() == KILLED
        done = child.said()[-1] == "done"
        assert killed or done, child.complaint()
        early += not done
        after(done)
    assert early, "no kill came in time"


def test_making(nursery: Nursery, kills: int, homes: Homes) -> None:
    made: list[str] = []

    def start() -> Child:
        made.append(homes.new())
        return nursery.start("make", made[-1])

    def after(done: bool) -> None:
        with suppress(twinset.OutputError):  # it is there already
            twinset.Index.create(made[-1], **OPTIONS).close()
            assert not done
        is_whole(made[-1], {})

    strike(kills, start, after)


def test_compacting(nursery: Nursery, kills: int, homes: Homes, exported: Path) -> None:
    url = homes.new()
    twinset.Index.import_from(exported, url).close()
    sizes = []

    def start() -> Child:
        with twinset.Index.open(url) as index:
            more = [f"more-{number}" for number in range(200)]
            index.add(more, [text_of(number, 9) for number in range(200)])
            sizes.append(index.stats()["bytes"]["total"])
            index.remove(more)
        return nursery.start("compact", url)

    strike(kills, start, lambda done: is_whole(url))
    with twinset.Index.open(url) as index:
        index.compact()
        assert index.stats()["bytes"]["total"] < 0.95 * sizes[0]
    is_whole(url)


def test_migrating(nursery: Nursery, kills: int, homes: Homes, exported: Path) -> None:
    newest = homes.new()
    twinset.Index.import_from(exported, newest).close()
    made: list[str] = []

    def start() -> Child:
        made.append(homes.new())
        (older_in_postgres if homes.database else older_in_sqlite)(newest, made[-1])
        return nursery.start("migrate", made[-1])

    def after(done: bool) -> None:
        with twinset.Index.open(made[-1], read_only=True) as index:
            assert list(index) == list(TEXTS)
            assert index.settings.format == FORMAT or not done
        assert twinset.Index.migrate(made[-1], timeout=300) in ((FORMAT,) if done else (1, FORMAT))
        is_whole(made[-1])

    strike(kills, start, after)


MOVED = {
    "documents": "SELECT d.number, d.id, s.shingles, d.text FROM {0}.documents AS d JOIN {0}.sketches AS s "
    "ON s.document = d.number",
    "shingles": "SELECT document, hashes FROM {0}.shingles",
    "sketches": "SELECT document, slots FROM {0}.sketches",
    "bands": "SELECT key, document FROM {0}.bands",
}


def older_in_sqlite(newest: str, path: str) -> None:
    """A file of format 1 with what another holds."""
    tables.create(path, "cksmvfs", settings_of(sqlite3.connect(newest)), format=1)
    db = apsw.Connection(path, vfs="cksmvfs")
    db.execute("ATTACH ? AS newest", (newest,))
    with db:
        for table, statement in MOVED.items():
            db.execute(f"INSERT INTO main.{table} {statement.format('newest')}")
    db.close()


def older_in_postgres(newest: str, url: str) -> None:
    """Tables of format 1 with what others hold."""
    from twinset.index.postgres.backend import PostgresBackend

    database, old, new = newest.partition("&schema=")[0], newest.rpartition("=")[2], url.rpartition("=")[2]
    with psycopg.connect(database) as db:
        db.execute(f"SET search_path = {old}")
        rows = settings_of(db)
        db.commit()
        PostgresBackend.create(url, rows, format=1).close()
        for table, statement in MOVED.items():
            db.execute(f"INSERT INTO {new}.{table} {statement.format(old)}")


def settings_of(db: Any) -> dict[str, str]:
    return {**dict(db.execute("SELECT name, value FROM settings").fetchall()), "format": "1"}


def test_exporting(nursery: Nursery, kills: int, homes: Homes, exported: Path, tmp_path: Path) -> None:
    url = homes.new()
    twinset.Index.import_from(exported, url).close()
    whole, out = pq.read_table(exported), tmp_path / "out.parquet"

    def after(done: bool) -> None:
        assert out.exists() or not done
        if out.exists():
            assert pq.read_table(out).equals(whole)
            out.unlink()
        is_whole(url)

    strike(kills, lambda: nursery.start("export", url, out), after)


def test_importing(nursery: Nursery, kills: int, homes: Homes, exported: Path) -> None:
    made: list[str] = []

    def start() -> Child:
        made.append(homes.new())
        return nursery.start("bring_in", exported, made[-1])

    def after(done: bool) -> None:
        if not done:
            said = refused(made[-1])
            assert "is not finished" in said or "there is no" in said or not said
            if said:
                twinset.Index.import_from(exported, made[-1]).close()
        is_whole(made[-1])

    strike(kills, start, after)


def rows_there(url: str) -> int:
    """How many documents are committed, counted beside the index."""
    try:
        if "://" not in url:
            return int(sqlite3.connect(f"file:{url}?mode=ro", uri=True).execute(COUNT).fetchone()[0])
        database, _, schema = url.partition("&schema=")
        with psycopg.connect(database, options=f"-c search_path={schema}") as db:
            return int(db.execute(COUNT).fetchone()[0])  # type: ignore[index]
    except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):
        return 0


def killed_half_way(start: Callable[[str], Child], new: Callable[[], str]) -> tuple[str, int]:
    """Kill it when its first portion is there; again, if it was done before that was seen.

    Gives the place, and how much is there.
    """
    for _ in range(20):
        url = new()
        child = start(url)
        while not rows_there(url) and child.running():
            pass
        if child.kill() == KILLED and child.said()[-1] != "done":
            return url, rows_there(url)
        assert child.said()[-1] == "done", child.complaint()
    raise AssertionError("it was always done before its first portion was seen")


COUNT = "SELECT count(*) FROM documents"
PLAN: dict[str, Any] = {"n_hashes": 8, "n_bands": 4, "rows_per_band": 2, "recall": 0.9}
SMALL: dict[str, Any] = {"seed": 1, "shingle": "word:1", "store": "none", **PLAN}


def test_importing_killed_half_way(nursery: Nursery, homes: Homes, tmp_path: Path) -> None:
    """A large import is committed in portions: with the first of them there, the index says that it is not whole."""
    count = 40_000
    with twinset.Index.create(tmp_path / "large.twinset", **SMALL) as index:
        index.add([str(number) for number in range(count)], [f"a{number} b{number}" for number in range(count)])
        index.export(tmp_path / "large.parquet")
    url, there = killed_half_way(lambda url: nursery.start("bring_in", tmp_path / "large.parquet", url), homes.new)
    assert 0 < there < count
    assert "is not finished" in refused(url)
    with twinset.Index.import_from(tmp_path / "large.parquet", url) as again:
        assert list(again) == [str(number) for number in range(count)]
        assert again.verify() == []
    assert refused(url) == ""


def test_a_source_killed_half_way_and_added_again(nursery: Nursery, homes: Homes, tmp_path: Path) -> None:
    """A large source is committed in portions: what is there stays, what is not comes with the next run."""
    count = 70_000
    source = write_lines(tmp_path / "in.jsonl", ({"id": str(one), "text": f"a{one} b{one}"} for one in range(count)))

    def created() -> str:
        url = homes.new()
        twinset.Index.create(url, **SMALL).close()
        return url

    url, there = killed_half_way(lambda url: nursery.start("add_source", url, source), created)
    assert 0 < there < count
    with twinset.Index.open(url) as index:
        assert list(index) == [str(one) for one in range(there)]
        done = index.add(source)
        assert (done.unchanged, done.added) == (there, count - there)
        assert list(index) == [str(one) for one in range(count)]
        assert index.verify() == []
