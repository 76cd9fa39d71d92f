"""Where the tests keep their indexes: in SQLite files and in databases of a real PostgreSQL server, by turns."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import twinset

if TYPE_CHECKING:
    from tests.postgres_server import GivenServer

BACK_ENDS = ("sqlite", "postgres")
NewIndex = Callable[..., twinset.Index]


class Place(ABC):
    """One back end: addresses where nothing is yet, and plain SQL on what is there."""

    kind: str

    @abstractmethod
    def new(self) -> str:
        """An address for an index that is not there yet."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what was made."""

    @abstractmethod
    def run(self, where: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement as any other program could; `?` stands for a value."""


class Files(Place):
    """SQLite files. What is written here has right checksums: only the index's own checks can see that it is wrong."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return str(self.folder / f"{self._count}.twinset")

    def close(self) -> None:
        """The folder goes with its test."""

    def run(self, where: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        db = apsw.Connection(where, apsw.SQLITE_OPEN_READWRITE, vfs="cksmvfs")
        try:
            return list(db.execute(statement, values))
        finally:
            db.close()


class Schemas(Place):
    """Schemas of one PostgreSQL database: they are made much faster than databases."""

    kind = "postgres"

    def __init__(self, database: str) -> None:
        self._database = database
        self._made: list[str] = []

    def new(self) -> str:
        mark = "&" if "?" in self._database else "?"
        self._made.append(f"s{uuid.uuid4().hex}")
        return f"{self._database}{mark}schema={self._made[-1]}"

    def close(self) -> None:
        """Drop the schemas: a server that stops has to write down every table there is."""
        import psycopg

        with psycopg.connect(self._database, autocommit=True) as connection:
            for schema in self._made:
                connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())

    def run(self, where: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        import psycopg

        address, _, schema = where.rpartition("schema=")
        with psycopg.connect(address.rstrip("&?"), autocommit=True) as connection:
            connection.execute(f"SET search_path = {schema}".encode())
            cursor = connection.execute(statement.replace("?", "%s").encode(), values or None)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="session")
def database(postgres: GivenServer) -> str:
    """The URL of a database for all tests of the index."""
    return postgres.new_database()  # dropped when the server is let go


@pytest.fixture(params=BACK_ENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each back end by turns."""
    with closing(Files(tmp_path) if request.param == "sqlite" else Schemas(request.getfixturevalue("database"))) as one:
        yield one


@pytest.fixture
def where(place: Place) -> str:
    """An address for an index that is not there yet."""
    return place.new()


@pytest.fixture
def new_index(place: Place) -> Iterator[NewIndex]:
    """Make indexes, each at an address of its own; all are closed in the end."""
    with ExitStack() as stack:

        def make(**words: Any) -> twinset.Index:
            index = twinset.Index.create(place.new(), **{"seed": 1, **words})
            stack.callback(index.close)
            return index

        yield make
