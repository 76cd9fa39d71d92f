"""Clients of a service, in a process of their own: they ask with texts of a source; prints one JSON line.

closed URL SOURCE CLIENTS SECONDS    each client asks again as soon as it has its answer
open URL SOURCE RATE SECONDS         so many questions a second, whether or not earlier ones are answered
add URL SOURCE                       the documents of the source are added, with `twinset.Client`

Requests are made before the clock starts, and answers are read but not parsed: what is measured is the server.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import orjson
import pyarrow.parquet as pq

import twinset

TOKEN = "benchmark-0123456789abcdef"
TEXTS, WARM = 4_000, 400
PATH = "/indexes/served/query"


class Line(asyncio.Protocol):
    """One connection: a request, and the future of its answer."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] | None = None
        self.got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.got += data
        end = self.got.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.got[:end]).lower()
        at = head.index(b"content-length:") + 15
        length = int(head[at : head.find(b"\r\n", at)] if head.find(b"\r\n", at) > 0 else head[at:])
        if len(self.got) >= end + 4 + length and self.answer is not None:
            status = int(self.got[9:12])
            self.got = bytearray()
            self.answer.set_result(status)

    def connection_lost(self, error: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error or ConnectionError("closed"))

    async def ask(self, request: bytes) -> None:
        if self.transport.is_closing():
            raise ConnectionError("the server has closed an idle connection")
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        status = await self.answer
        if status != 200:
            raise SystemExit(f"status {status}")


def requests_of(url: str, source: str) -> list[bytes]:
    place = urlsplit(url).netloc
    made = []
    for text in texts_of(source, TEXTS):
        body = orjson.dumps({"text": text})
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


def texts_of(source: str, count: int) -> list[str]:
    """Some texts of a source, in random order."""
    rng = np.random.default_rng(1)
    with pq.ParquetFile(source) as file:
        groups = rng.choice(file.num_row_groups, min(2, file.num_row_groups), replace=False)
        texts: list[str] = file.read_row_groups(groups.tolist(), columns=["text"])["text"].to_pylist()
    rng.shuffle(texts)
    return texts[:count]


async def connected(url: str, count: int) -> list[Line]:
    parts, loop = urlsplit(url), asyncio.get_running_loop()
    return [(await loop.create_connection(Line, parts.hostname, parts.port))[1] for _ in range(count)]


async def closed(url: str, source: str, clients: str, seconds: str) -> dict[str, Any]:
    made, lines = cycle(requests_of(url, source)), await connected(url, int(clients))
    times: list[float] = []

    async def client(line: Line, until: float, note: bool) -> None:
        while (since := time.perf_counter()) < until:
            await line.ask(next(made))
            if note:
                times.append(time.perf_counter() - since)

    await asyncio.gather(*(client(line, time.perf_counter() + 2, False) for line in lines))
    since = time.perf_counter()
    await asyncio.gather(*(client(line, since + float(seconds), True) for line in lines))
    return summary(times, time.perf_counter() - since)


async def open_loop(url: str, source: str, rate: str, seconds: str) -> dict[str, Any]:
    made, [line] = cycle(requests_of(url, source)), await connected(url, 1)
    for _ in range(WARM):
        await line.ask(next(made))
    free = await connected(url, 60)
    times: list[float] = []
    tasks: set[asyncio.Task[None]] = set()

    async def one(due: float) -> None:
        while not free:
            await asyncio.sleep(0.001)
        line = free.pop()
        await line.ask(next(made))
        free.append(line)
        times.append(time.perf_counter() - due)

    since = time.perf_counter()
    for number in range(int(float(rate) * float(seconds))):
        due = since + number / float(rate)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(one(due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    return summary(times, time.perf_counter() - since)


def summary(times: list[float], took: float) -> dict[str, Any]:
    return {
        "answers": len(times),
        "rate": len(times) / took,
        "p50": float(np.percentile(times, 50)),
        "p99": float(np.percentile(times, 99)),
        "most": max(times),
    }


def add(url: str, source: str) -> dict[str, Any]:
    table = pq.read_table(source, columns=["id", "text"])
    ids, texts = table["id"].to_pylist(), table["text"].to_pylist()
    with twinset.Client(url, TOKEN, index="served", timeout=600) as client:
        since = time.perf_counter()
        done = client.add(ids, texts)
        took = time.perf_counter() - since
    return {"documents": done["added"], "seconds": took, "rate": done["added"] / took}


def main() -> None:
    step, *words = sys.argv[1:]
    if step == "add":
        print(json.dumps(add(*words)))
    else:
        print(json.dumps(asyncio.run({"closed": closed, "open": open_loop}[step](*words))))


if __name__ == "__main__":
    main()
