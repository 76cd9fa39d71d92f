"""The server that the PostgreSQL tests rely on: real, ours alone, crashing on demand, and leaving nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.postgres_server import GivenServer, Server

ROOT = Path(__file__).resolve().parents[1]
STARTED = """
import time
from tests.postgres_server import Server
server = Server()
print(server.data, flush=True)
time.sleep(600)
"""


def processes(folder: Path) -> list[int]:
    """The processes that work in or on a folder."""
    found = []
    for status in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (status / "cmdline").read_bytes().decode("utf-8", "replace")
            if str(folder) in words or (status / "cwd").resolve().is_relative_to(folder):
                found.append(int(status.name))
    return [pid for pid in found if pid != os.getpid()]


def memory(data: Path) -> str:
    """The number of the shared memory that a running server holds."""
    return (data / "postmaster.pid").read_text().splitlines()[6].split()[1]


def memory_in_use() -> set[str]:
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


def test_each_test_has_an_empty_database_of_its_own(postgres: GivenServer) -> None:
    with postgres.database() as one, postgres.database() as other:
        for url in (one, other):
            with psycopg.connect(url) as connection:
                connection.execute("CREATE TABLE here (number integer)")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(one)


def test_a_database_is_dropped_while_someone_is_connected(postgres: GivenServer) -> None:
    with postgres.database() as url:
        connection = psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")


def test_names_in_urls() -> None:
    for given, wanted in (
        ("postgresql://ann@db.example:5433/postgres?sslmode=require", "postgresql://ann@db.example:5433/x%20y?sslmode=require"),
        ("postgresql:///postgres?host=%2Ftmp%2Fa", "postgresql:///x%20y?host=%2Ftmp%2Fa"),
        ("postgresql://db.example", "postgresql://db.example/x%20y"),
    ):  # fmt: skip
        assert GivenServer(given).url("x y") == wanted


def test_it_is_not_root_and_is_found_by_its_socket_only(mortal_postgres: Server) -> None:
    with psycopg.connect(mortal_postgres.url("postgres")) as connection:
        row = connection.execute("SELECT current_setting('listen_addresses'), pg_backend_pid()").fetchone()
        assert row is not None
        assert row[0] == ""
        assert Path(f"/proc/{row[1]}").stat().st_uid != 0
    assert mortal_postgres.data.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit", "data_checksums"])
def test_it_writes_as_carefully_as_one_in_earnest(mortal_postgres: Server, setting: str) -> None:
    with psycopg.connect(mortal_postgres.url("postgres")) as connection:
        assert connection.execute("SELECT current_setting(%s)", [setting]).fetchone() == ("on",)


@pytest.fixture
def table(mortal_postgres: Server) -> Iterator[str]:
    with mortal_postgres.database() as url:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE rows (number integer PRIMARY KEY)")
        yield url


def test_what_was_committed_survives_a_kill_and_nothing_else(mortal_postgres: Server, table: str) -> None:
    """Again and again: a server that starts only after the first crash is of no use to a loop of kills."""
    for number in range(3):
        connection = psycopg.connect(table)
        connection.execute("INSERT INTO rows VALUES (%s)", [number])
        connection.commit()
        connection.execute("INSERT INTO rows VALUES (%s)", [-1 - number])
        before = processes(mortal_postgres.data)
        mortal_postgres.kill()
        assert before
        assert processes(mortal_postgres.data) == []
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(table)
        mortal_postgres.start()
        with psycopg.connect(table) as reader:
            assert reader.execute("SELECT number FROM rows ORDER BY number").fetchall() == [
                (one,) for one in range(number + 1)
            ]
    assert "database system was not properly shut down" in mortal_postgres.log


def test_it_is_killed_while_it_is_busy(mortal_postgres: Server, table: str) -> None:
    acknowledged = []

    def insert() -> None:
        with suppress(psycopg.Error), psycopg.connect(table, autocommit=True) as connection:
            for number in range(1_000_000):
                connection.execute("INSERT INTO rows VALUES (%s)", [number])
                acknowledged.append(number)

    def count() -> None:
        """Keep a process busy that would not notice by itself for minutes that the server has gone."""
        with suppress(psycopg.Error), psycopg.connect(table) as connection:
            connection.execute("SELECT count(*) FROM (SELECT generate_series(1, 2000000000)) AS numbers")

    threads = [threading.Thread(target=insert), threading.Thread(target=count)]
    for thread in threads:
        thread.start()
    with psycopg.connect(table, autocommit=True) as connection:
        busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%AS numbers'"
        while len(acknowledged) < 50 or connection.execute(busy).fetchone() != (1,):
            time.sleep(0.01)
    mortal_postgres.kill()
    assert processes(mortal_postgres.data) == []
    for thread in threads:
        thread.join()
    mortal_postgres.start()
    with psycopg.connect(table) as connection:
        found = [number for (number,) in connection.execute("SELECT number FROM rows ORDER BY number")]
    # The last one may have been committed without the writer having heard of it.
    assert found in (acknowledged, [*acknowledged, len(acknowledged)])


def test_stopping_and_starting(mortal_postgres: Server, table: str) -> None:
    with psycopg.connect(table) as connection:
        connection.execute("INSERT INTO rows VALUES (7)")
    mortal_postgres.stop()
    assert processes(mortal_postgres.data) == []
    mortal_postgres.start()
    with psycopg.connect(table) as connection:
        assert connection.execute("SELECT number FROM rows").fetchall() == [(7,)]
    with pytest.raises(RuntimeError, match="running already"):
        mortal_postgres.start()


def test_servers_run_side_by_side_and_leave_nothing_behind(mortal_postgres: Server) -> None:
    servers = [Server(), Server()]
    try:
        for server in servers:
            with psycopg.connect(server.url("postgres")) as connection:
                connection.execute("CREATE TABLE here (number integer)")
        held = {memory(server.data) for server in servers}
        assert held <= memory_in_use()
        servers[0].kill()
        with psycopg.connect(servers[1].url("postgres")) as connection:
            connection.execute("SELECT number FROM here")
    finally:
        for server in servers:
            server.close()
    assert not held & memory_in_use()
    for server in servers:
        assert not server.data.parent.exists()
        assert processes(server.data.parent) == []
    with psycopg.connect(mortal_postgres.url("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files that the server's user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_a_server_that_does_not_start_says_why_and_leaves_nothing(mortal_postgres: Server, place: Path) -> None:
    with pytest.raises(RuntimeError, match="shared_buffers"):
        Server({"shared_buffers": "much"})
    assert list(place.iterdir()) == []
    assert processes(place) == []


def test_it_ends_with_the_tests_that_started_it(mortal_postgres: Server, place: Path) -> None:
    command = [sys.executable, "-c", STARTED]
    variables = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        data = Path(child.stdout.readline().strip())
        held = memory(data)
        assert processes(data)
        child.kill()
    end = time.monotonic() + 120
    while processes(data) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes(data) == []
    assert held not in memory_in_use()
