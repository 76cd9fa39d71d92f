"""What docs/keep-an-index.md says about other programs: its SQL is run as it stands there, on real indexes."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import twinset
from tests.postgres_server import GivenServer

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "keep-an-index.md").read_text("utf-8")
TEXTS = {
    f"{family}-{copy}": " ".join(f"w{family}x{word if word >= copy else word + 100 * copy}" for word in range(40))
    for family in range(20)
    for copy in range(6)
}


def statements(backend: str, word: str) -> list[str]:
    """The statements of the page for a back end, those that begin with a word."""
    found = [block for block in re.findall(r"```sql\n-- (.*?)```", PAGE, re.DOTALL) if block.startswith(backend)]
    each = [one.strip() for block in found for one in block.partition("\n")[2].split(";")]
    return [one for one in each if one.startswith(word)]


def expected(index: twinset.Index, query: str) -> list[tuple[str, int]]:
    """Who shares how many bands with a text, as the keys of all texts say."""
    keys = dict(zip(TEXTS, index.band_keys(list(TEXTS.values())).tolist(), strict=True))
    shared = Counter({id: len(set(ours) & set(keys[query])) for id, ours in keys.items()})
    return sorted(((id, count) for id, count in shared.items() if count), key=lambda row: (-row[1], row[0]))


def with_keys(statement: str, keys: list[int]) -> str:
    """The statement with the keys of a text in place of those of the page."""
    return re.sub(r"IN \([^)]*\)", f"IN ({', '.join(map(str, keys))})", statement)


@pytest.fixture
def news(tmp_path: Path) -> str:
    path = str(tmp_path / "news.twinset")
    with twinset.Index.create(path, threshold=0.6, seed=1) as index:
        index.add(TEXTS)
    return path


def read_only(path: str) -> sqlite3.Connection:
    """Python's own SQLite, which is another than Twinset's: never both at once in one process, as the page says."""
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def elsewhere(program: str, *words: str) -> str:
    """What a program prints that has Python's own SQLite and runs beside us."""
    command = [sys.executable, "-c", f"import sqlite3, sys\n{program}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_look_up_in_a_file(news: str) -> None:
    [statement] = statements("both", "SELECT")
    for query, text in list(TEXTS.items())[::17]:
        with twinset.Index.open(news, read_only=True) as index:
            [keys] = index.band_keys([text]).tolist()
            belong, bands = expected(index, query), index.plan.n_bands
            answers = set(index.query(text)["id"].to_pylist())
        with closing(read_only(news)) as db:
            found = db.execute(with_keys(statement, keys)).fetchall()
        assert found == belong
        assert found[0] == (query, bands)
        assert {id for id, _ in found} >= answers > {query}


def test_the_look_up_walks_through_no_table(news: str) -> None:
    [statement] = statements("both", "SELECT")
    with closing(read_only(news)) as db:
        steps = [row[3] for row in db.execute("EXPLAIN QUERY PLAN " + statement)]
    assert any("SEARCH b USING PRIMARY KEY (key=?)" in step for step in steps), steps
    assert not any("SCAN" in step for step in steps), steps


def test_the_look_up_joined_with_a_table_of_ones_own(news: str, tmp_path: Path) -> None:
    [statement] = re.findall(r'rows = desk.execute\(\n    """(.*?)"""', PAGE, re.DOTALL)
    with twinset.Index.open(news, read_only=True) as index:
        [keys] = index.band_keys([TEXTS["3-1"]]).tolist()
        belong = expected(index, "3-1")
    with closing(sqlite3.connect(str(tmp_path / "desk.sqlite"), uri=True)) as db:
        db.execute("CREATE TABLE stories (id TEXT PRIMARY KEY, desk TEXT)")
        db.executemany("INSERT INTO stories VALUES (?, 'sea')", [("3-1",), ("3-2",), ("4-0",)])
        db.commit()
        db.execute(f"ATTACH 'file:{news}?mode=ro' AS news")
        found = db.execute(statement, {"keys": json.dumps(keys)}).fetchall()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("DELETE FROM news.bands")
    assert found == [("sea", id, bands) for id, bands in belong if id in ("3-1", "3-2", "4-0")]
    assert [id for _, id, _ in found] == ["3-1", "3-2"]


def test_the_tables_of_a_file(news: str) -> None:
    with closing(read_only(news)) as db:
        made = [row[0] for row in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")]
    assert made == statements("SQLite", "CREATE")


def test_a_server(postgres: GivenServer) -> None:
    import psycopg

    with postgres.database() as url, twinset.Index.create(url, threshold=0.6, seed=1) as index:
        index.add(TEXTS)
        [keys] = index.band_keys([TEXTS["7-2"]]).tolist()
        [plain], [by_array] = statements("both", "SELECT"), statements("PostgreSQL", "SELECT")
        with psycopg.connect(url, autocommit=True) as db:
            assert db.execute(by_array.encode(), {"keys": keys}).fetchall() == expected(index, "7-2")
            db.execute("SET search_path TO twinset")
            assert db.execute(with_keys(plain, keys).encode()).fetchall() == expected(index, "7-2")
            db.execute("CREATE SCHEMA page")
            db.execute("SET search_path TO page")
            for statement in statements("PostgreSQL", "CREATE"):
                db.execute(statement.encode())
            assert _described(db, "page") == _described(db, "twinset")


def _described(db: Any, schema: str) -> tuple[list[Any], list[Any]]:
    """The columns and constraints of the tables of a schema."""
    columns = db.execute(
        "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, collation_name "
        "FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
        (schema,),
    )
    constraints = db.execute(
        "SELECT c.relname, pg_get_constraintdef(o.oid) FROM pg_constraint AS o "
        "JOIN pg_class AS c ON c.oid = o.conrelid WHERE c.relnamespace = %s::regnamespace ORDER BY 1, 2",
        (schema,),
    )
    return columns.fetchall(), constraints.fetchall()


@pytest.fixture
def logged(news: str) -> Iterator[twinset.Index]:
    """An index that is open, and whose last commits are in its log only: someone still reads an older state."""
    with twinset.Index.open(news) as index, closing(apsw.Connection(news, vfs="cksmvfs")) as reader, reader:
        assert reader.execute("SELECT count(*) FROM documents").fetchall() == [(len(TEXTS),)]
        index.remove("0-0")
        index.add(["new"], ["something that nobody has said before"])
        assert Path(news + "-wal").stat().st_size > 0
        yield index


def is_newest(path: str) -> bool:
    """Whether an index is sound and has what `logged` did last."""
    with twinset.Index.open(path) as index:
        return ("0-0" in index, "0-1" in index, "new" in index, index.verify()) == (False, True, True, [])


def test_an_ordinary_reader_harms_nothing(logged: twinset.Index, tmp_path: Path) -> None:
    program = (
        "db = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n"
        "print(db.execute(\"SELECT id FROM documents WHERE id IN ('0-0', 'new')\").fetchall())\n"
        "print(db.execute('PRAGMA integrity_check').fetchone()[0])\n"
        "db.close()"
    )
    assert elsewhere(program, logged.name) == "[('new',)]\nok"
    assert is_newest(logged.name)
    alone = _copied(logged.name, tmp_path / "killed")  # as a crash would leave it: the ordinary reader is the last one
    assert elsewhere(program, alone) == "[('new',)]\nok"
    assert is_newest(alone)


def test_a_page_that_another_program_wrote_is_refused(news: str) -> None:
    with closing(sqlite3.connect(news)) as db:
        db.execute("UPDATE documents SET id = 'other' WHERE number = 1")
        db.commit()
    with pytest.raises(twinset.DamagedError, match="checksum of a page is wrong"), twinset.Index.open(news) as index:
        index.query(TEXTS["0-1"])


def test_a_log_that_another_program_has_moved_is_refused(logged: twinset.Index, tmp_path: Path) -> None:
    alone = _copied(logged.name, tmp_path / "killed")
    elsewhere("db = sqlite3.connect(sys.argv[1])\ndb.execute('SELECT * FROM settings').fetchall()\ndb.close()", alone)
    with pytest.raises(twinset.DamagedError, match="checksum of a page is wrong"), twinset.Index.open(alone) as index:
        index.query(TEXTS["0-1"])


def _copied(source: str, folder: Path) -> str:
    folder.mkdir()
    for ending in ("", "-wal", "-lock"):
        if Path(source + ending).exists():
            shutil.copy(source + ending, folder)
    return str(folder / Path(source).name)


def test_files_copied_under_the_lock_are_a_back_up(logged: twinset.Index, tmp_path: Path) -> None:
    with open(logged.name + "-lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(twinset.BusyError), twinset.Index.open(logged.name) as other:
            other.remove("0-1", timeout=0)
        copy = _copied(logged.name, tmp_path / "safe")
    assert is_newest(copy)


def test_a_copy_without_its_log_is_refused(logged: twinset.Index, tmp_path: Path) -> None:
    copy = _copied(logged.name, tmp_path / "safe")
    Path(copy + "-wal").unlink()
    with pytest.raises(twinset.DamagedError, match="the log of the index"):
        twinset.Index.open(copy)


def test_an_export_is_a_back_up(logged: twinset.Index, tmp_path: Path) -> None:
    logged.export(tmp_path / "news.parquet")
    with twinset.Index.import_from(tmp_path / "news.parquet", tmp_path / "again.twinset") as again:
        assert list(again) == list(logged)
        assert again.query(TEXTS["5-0"]).equals(logged.query(TEXTS["5-0"]))
    assert is_newest(str(tmp_path / "again.twinset"))


def test_the_back_up_of_sqlite_through_pages_with_checksums(logged: twinset.Index, tmp_path: Path) -> None:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    copy = str(tmp_path / "copy.twinset")
    with (
        closing(apsw.Connection(f"file:{logged.name}?mode=ro", flags, vfs="cksmvfs")) as source,
        closing(apsw.Connection(copy, vfs="cksmvfs")) as target,
        target.backup("main", source, "main") as backup,
    ):
        backup.step()
    assert is_newest(copy)


@pytest.mark.parametrize(
    "how", ["source.backup(sqlite3.connect(sys.argv[2]))", "source.execute('VACUUM INTO ?', sys.argv[2:])"]
)
def test_the_back_up_of_an_ordinary_sqlite_is_refused(logged: twinset.Index, tmp_path: Path, how: str) -> None:
    copy = str(tmp_path / "copy.twinset")
    elsewhere(f"source = sqlite3.connect(f'file:{{sys.argv[1]}}?mode=ro', uri=True)\n{how}", logged.name, copy)
    with pytest.raises(twinset.DamagedError, match="checksum of a page is wrong"):
        twinset.Index.open(copy)
