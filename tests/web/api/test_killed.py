"""kill -9 of a server during adds: what it acknowledged is there, once; a repeated request does no harm."""

from __future__ import annotations

import random
import signal
import threading
import time
from http.client import HTTPException
from typing import Any

import pytest

import twinset
from tests.reliability.command import run_seed
from tests.reliability.nursery import KILLED
from tests.web.conftest import Serve
from tests.web.server import LINES, WRITE, Server, lines

KILLS, SOAK_KILLS = 5, 100  # for each back end
PATH = "/indexes/news/documents"
WRITERS = 3


def text_of(number: int) -> str:
    return " ".join(f"word{number * 31 + place}" for place in range(30))


class Writer(threading.Thread):
    """A client that adds documents until the server is gone, and notes what was acknowledged."""

    def __init__(self, server: Server, first: int, seed: int) -> None:
        super().__init__()
        self.server, self.next, self.dice = server, first, random.Random(seed)
        self.acknowledged: dict[str, str] = {}
        self.unsure: tuple[list[dict[str, Any]], str, bool] | None = None
        self.first = threading.Event()

    def run(self) -> None:
        while True:
            count, as_stream = self.dice.choice((1, 2, 20)), self.dice.random() < 0.5
            documents = [{"id": f"d{self.next + n}", "text": text_of(self.next + n)} for n in range(count)]
            self.next += count
            self.unsure = documents, f"key-{self.next}", as_stream
            try:
                done = send(self.server, *self.unsure)
            except (OSError, HTTPException):
                return
            assert done["added"] == count, done
            self.acknowledged |= {one["id"]: one["text"] for one in documents}
            self.unsure = None
            self.first.set()


def send(server: Server, documents: list[dict[str, Any]], key: str, as_stream: bool) -> dict[str, Any]:
    if as_stream:
        reply = server.ask("POST", PATH, lines(*documents), Content_Type=LINES, Idempotency_Key=key)
    else:
        reply = server.post(PATH, {"documents": documents}, Idempotency_Key=key)
    assert reply.status == 200, reply.body
    answer: dict[str, Any] = reply.json()
    return answer


def kill_loop(serve: Serve, where: str, kills: int, seed: int) -> None:
    dice, holds, total = random.Random(seed), dict[str, str](), 0
    server = serve(where)
    for round in range(kills):
        writers = [Writer(server, 1_000_000 * (WRITERS * round + n), seed + round + n) for n in range(WRITERS)]
        for one in writers:
            one.start()
        assert writers[0].first.wait(60)
        time.sleep(dice.uniform(0.0, 0.1))
        assert server.child.kill(signal.SIGKILL) == KILLED
        for one in writers:
            one.join(60)
            holds |= one.acknowledged
            total += len(one.acknowledged)
        with twinset.Index.open(where) as index:
            index.add([], [], timeout=60)  # whoever still works for the killed server is waited for
            there = list(index)
            assert len(there) == len(set(there))
            assert set(holds) <= set(there), "an acknowledged document is lost"
            assert index.texts(list(holds)) == list(holds.values())
            assert index.verify() == []
        server = serve(where)
        for one in writers:
            if one.unsure is None:
                continue
            documents, key, as_stream = one.unsure
            was_there = {one["id"] for one in documents} & set(there)
            assert not was_there or len(was_there) == len(documents), "a request is carried out as a whole"
            done = send(server, documents, key, as_stream)
            assert done["added"] == len(documents)
            assert done.get("repeated", False) == bool(was_there), "stored in the transaction of the add"
            holds |= {one["id"]: one["text"] for one in documents}
    assert server.stop() == 0
    with twinset.Index.open(where) as index:
        assert set(index) == set(holds)
    print(f"{kills} kills, {total} documents acknowledged")
    assert total >= kills


def test_a_killed_server(serve: Serve, news: str) -> None:
    kill_loop(serve, news, KILLS, run_seed())


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_killed_server_for_long(serve: Serve, news: str) -> None:
    kill_loop(serve, news, SOAK_KILLS, run_seed())


def test_a_stop_during_adds(serve: Serve, news: str) -> None:
    """SIGTERM: every request is answered; what was acknowledged is there, and what was not was refused with 503."""
    server = serve(news)
    acknowledged: dict[str, str] = {}
    refused: list[int] = []

    def write(first: int) -> None:
        connection, number = server.connect(), first
        try:
            while True:
                document = {"id": f"d{number}", "text": text_of(number)}
                connection.request(
                    "POST", PATH, lines(document), {"Authorization": f"Bearer {WRITE}", "Content-Type": LINES}
                )
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    acknowledged[document["id"]] = document["text"]
                else:
                    refused.append(answer.status)
                number += 1
        except (OSError, HTTPException):
            return  # the connection is closed between two requests
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(1_000 * n,)) for n in range(4)]
    for one in threads:
        one.start()
    end = time.monotonic() + 60
    while len(acknowledged) < 8:
        assert time.monotonic() < end
        time.sleep(0.005)
    assert server.stop() == 0
    for one in threads:
        one.join(60)
    assert set(refused) <= {503}
    with twinset.Index.open(news) as index:
        assert set(acknowledged) <= set(index)
        assert len(list(index)) <= len(acknowledged) + 4, "at most the answers that were on their way are missing"
        assert index.verify() == []
