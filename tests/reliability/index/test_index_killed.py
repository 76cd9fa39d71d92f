"""kill -9 at any moment: what was acknowledged is there, once; what was not is there as a whole or not at all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests import components
from tests.postgres_server import Server, missing
from tests.reliability.command import run_seed
from tests.reliability.index.index_work import MORE_TABLES, OPTIONS
from tests.reliability.ledger import Ledger
from tests.reliability.nursery import KILLED, Child, Nursery

KILLS, SOAK_KILLS = 8, 1000
KILLS_MORE, SOAK_KILLS_MORE = 4, 250  # for each table that is there with an option


def kill_loop(
    ledger: Ledger, kills: int, seed: int, start: Callable[[Ledger], Child], strike: Callable[[Child], None],
    more: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Start, strike at a random moment, audit; again and again. `more` are options of the index."""
    dice = random.Random(seed)
    twinset.Index.create(ledger.url, **OPTIONS, **(more or {})).close()
    wanted = 0
    while ledger.kills < kills:
        child = start(ledger)
        operations = dice.choice((0, 0, 1, 2, 3, 8))
        child.until(operations)
        time.sleep(dice.uniform(0.0, 0.15))
        strike(child)
        wanted += operations
        ledger.note(child)
        ledger.audit()
    print(f"{ledger.kills} kills, {ledger.acknowledged} operations acknowledged, {ledger.whole} done but not yet said")
    assert ledger.step >= wanted


@pytest.fixture
def seed() -> int:
    """Printed when a test fails: the moments of the kills follow from it, as far as the machine allows."""
    return run_seed()


@pytest.fixture
def quick_postgres() -> Iterator[Server]:
    """A server to be killed that is back soon: it looks through its files with one call and not with a thousand."""
    components.skip_without(missing())
    with Server({"recovery_init_sync_method": "syncfs"}) as server:
        yield server


def loop_over_clients(
    nursery: Nursery, url: str, kills: int, seed: int, more: dict[str, Any] | None = None
) -> None:  # fmt: skip
    kill_loop(
        Ledger(url), kills, seed,
        start=lambda ledger: nursery.start("ingest", url, ledger.step),
        strike=lambda child: check(child.kill() == KILLED, child.complaint()),
        more=more,
    )  # fmt: skip


def loop_with_readers(nursery: Nursery, url: str, kills: int, seed: int) -> None:
    """Readers keep the log long: it holds many transactions when the writer dies, with or without the readers."""
    dice = random.Random(seed)
    readers: list[Child] = []

    def start(ledger: Ledger) -> Child:
        while len(readers) < 2:
            readers.append(nursery.start("look_on", url, dice.randrange(1000)))
            readers[-1].until(1)
        return nursery.start("ingest", url, ledger.step)

    def strike(child: Child) -> None:
        check(child.kill() == KILLED, child.complaint())
        while readers and dice.random() < 0.6:
            readers.pop().kill()

    kill_loop(Ledger(url), kills, seed, start, strike)


def loop_over_servers(nursery: Nursery, server: Server, kills: int, seed: int) -> None:
    def strike(child: Child) -> None:
        server.kill()
        check(child.wait() == 0, child.complaint())
        told = child.said()[-1:]
        check(told == [] or list(told[0]) == ["StateError"], f"{told}")
        server.start()

    with server.database() as url:
        kill_loop(Ledger(url), kills, seed, lambda ledger: nursery.start("ingest", url, ledger.step), strike)


def check(right: bool, said: str) -> None:
    assert right, said


def test_a_killed_client(nursery: Nursery, index_url: str, seed: int) -> None:
    loop_over_clients(nursery, index_url, KILLS, seed)


@pytest.mark.parametrize("table", MORE_TABLES)
def test_a_killed_client_with_more_tables(nursery: Nursery, index_url: str, seed: int, table: str) -> None:
    loop_over_clients(nursery, index_url, KILLS_MORE, seed, MORE_TABLES[table])


def test_a_killed_writer_among_readers(nursery: Nursery, tmp_path: Path, seed: int) -> None:
    loop_with_readers(nursery, str(tmp_path / "documents.twinset"), KILLS, seed)


def test_a_killed_server(nursery: Nursery, quick_postgres: Server, seed: int) -> None:
    loop_over_servers(nursery, quick_postgres, KILLS, seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_killed_client_for_long(nursery: Nursery, index_url: str, seed: int) -> None:
    loop_over_clients(nursery, index_url, SOAK_KILLS, seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("table", MORE_TABLES)
def test_a_killed_client_with_more_tables_for_long(nursery: Nursery, index_url: str, seed: int, table: str) -> None:
    loop_over_clients(nursery, index_url, SOAK_KILLS_MORE, seed, MORE_TABLES[table])


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_killed_writer_among_readers_for_long(nursery: Nursery, tmp_path: Path, seed: int) -> None:
    loop_with_readers(nursery, str(tmp_path / "documents.twinset"), SOAK_KILLS, seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_killed_server_for_long(nursery: Nursery, quick_postgres: Server, seed: int) -> None:
    loop_over_servers(nursery, quick_postgres, SOAK_KILLS, seed)
