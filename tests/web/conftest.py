"""Servers for the tests: real processes, each on a free port of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.reliability.nursery import Nursery
from tests.web.server import READ, WRITE, Server

Serve = Callable[..., Server]


@pytest.fixture(scope="session")
def web_nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("web-nursery"), ["tests.web.works"])
    yield made
    made.close()


@pytest.fixture(scope="session")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a token that may write, and one that may read."""
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text(f"# for the tests\nwrite {WRITE} writer\nread {READ} reader\n")
    return str(path)


@pytest.fixture
def serve(web_nursery: Nursery, token_file: str) -> Iterator[Serve]:
    """Start servers, which end with the test."""

    def start(*indexes: str, **options: Any) -> Server:
        return Server(web_nursery, list(indexes), {"tokens": token_file, **options})

    yield start
    web_nursery.end_all()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address for an index in each back end; its name in requests is `news`."""
    if request.param == "sqlite":
        return str(tmp_path / "news.twinset")
    url = str(request.getfixturevalue("postgres_url"))
    return f"{url}{'&' if '?' in url else '?'}schema=news"


@pytest.fixture
def news(where: str) -> str:
    """An index without documents."""
    twinset.Index.create(where, shingle="word:3", seed=1).close()
    return where


@pytest.fixture
def file(tmp_path: Path) -> str:
    """An index without documents, in a file."""
    path = str(tmp_path / "news.twinset")
    twinset.Index.create(path, shingle="word:3", seed=1, passages=4, contained=True).close()
    return path
