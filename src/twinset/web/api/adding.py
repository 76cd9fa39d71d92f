"""Read the documents of a request: a JSON body, or a stream of lines."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from twinset.index.served import Answer, Change, Series
from twinset.web.answers import Refused
from twinset.web.api.service import IndexService, Service
from twinset.web.framework import Request
from twinset.web.limits import RequestLimits, Usage

PORTION_BYTES = 4_000_000
"""Lines of a stream that are committed together, at least; a portion ends with the line that reaches this size."""
AHEAD = 3
"""Portions of a stream that are prepared or wait while another one is written."""
_COUNTS = ("added", "replaced", "unchanged")


class _Turn:
    """Lets the portions of a stream, which are prepared side by side, be written in their order."""

    def __init__(self, before: _Turn | None) -> None:
        self._before, self._ended, self._failed = before, asyncio.Event(), False

    async def comes(self) -> None:
        """Wait until the portion before this one is in the queue; refuse this one if that has failed."""
        if self._before is not None:
            await self._before._ended.wait()
            if self._before._failed:
                raise Refused(422, "not_added", "an earlier part of the stream failed")
            self._before = None

    def ends(self, *, failed: bool = False) -> None:
        """Let the next portion go on, or fail."""
        self._failed = failed
        self._ended.set()


@dataclass(frozen=True)
class Adding:
    """A request to add documents to an index."""

    service: Service
    index: IndexService
    limits: RequestLimits
    replace: bool
    key: str | None

    async def from_body(self, body: bytes) -> Answer:
        """Add the documents of a JSON body in one transaction."""
        change = await self._prepared(lambda: self._read_body(body), body, self.key)
        with self.index.own_name():
            return await self.index.changes.carry_out(change)

    async def from_portion(self, portion: bytes, first: int, turn: _Turn, series: Series) -> Answer:
        """Add the documents of some lines in one transaction; `first` is the number of the first line."""
        key = None if self.key is None else f"{self.key}#{first}"
        try:
            change = await self._prepared(lambda: self._read_lines(portion, first), portion, key, series)
            await turn.comes()
            answer = self.index.changes.carry_out(change)
        except BaseException:
            turn.ends(failed=True)
            raise
        turn.ends()
        with self.index.own_name():
            return await answer

    async def _prepared(
        self, read: Callable[[], tuple[list[Any], list[Any]]], content: bytes, key: str | None,
        series: Series | None = None,
    ) -> Change:  # fmt: skip
        """Read and prepare documents in another thread."""

        def prepared() -> Change:
            ids, values = read()
            digest = "" if key is None else ("replace " if self.replace else "") + hashlib.sha256(content).hexdigest()
            with self.index.own_name():
                return self.index.prepare(ids, values, replace=self.replace, key=key, digest=digest, series=series)

        if self.index.changes.index is None:  # a failure closed it: a change of nothing opens it again
            with self.index.own_name():
                await self.index.changes.carry_out(Change())
        return await asyncio.get_running_loop().run_in_executor(self.service.threads, prepared)

    def _read_body(self, body: bytes) -> tuple[list[Any], list[Any]]:
        try:
            found = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise Refused(422, "json", f"the body is not JSON: {error}") from None
        documents = found.get("documents") if isinstance(found, dict) else None
        if not isinstance(documents, list):
            raise Refused(422, "json", 'the body must be {"documents": [{"id": …, "text": …}, …]}')
        if len(documents) > self.limits.documents:
            most = self.limits.documents
            raise Refused(413, "too_many_documents", f"there are more than {most:,} documents; send fewer at a time")
        return self._columns(enumerate(documents), "document {}")

    def _read_lines(self, portion: bytes, first: int) -> tuple[list[Any], list[Any]]:
        def documents() -> Iterator[tuple[int, Any]]:
            for number, line in enumerate(portion.split(b"\n"), first):
                if line and not line.isspace():
                    try:
                        yield number, orjson.loads(line)
                    except orjson.JSONDecodeError as error:
                        raise Refused(422, "json", f"line {number} is not JSON: {error}") from None

        return self._columns(documents(), "line {}")

    def _columns(self, documents: Iterable[tuple[int, Any]], where: str) -> tuple[list[Any], list[Any]]:
        """Return ids and texts (or records, items, weights, codes, vectors) of documents."""
        field, most = self.index.field, self.limits.text
        ids, values = [], []
        for number, one in documents:
            try:
                id, value = one["id"], one[field]
            except (KeyError, TypeError, IndexError):
                needed = f'{{"id": …, "{field}": …}}'
                raise Refused(422, "document", f"{where.format(number)} must be an object {needed}") from None
            if not isinstance(id, (str, int)) or isinstance(id, bool):
                raise Refused(422, "document", f"{where.format(number)}: the id must be a string or a whole number")
            if isinstance(value, str):
                # A character has up to 4 bytes.
                if 4 * len(value) > most and len(value.encode()) > most:
                    raise Refused(413, "text_too_long", f"{where.format(number)} is longer than {most:,} bytes")
            elif field == "text" and value is not None:
                raise Refused(422, "document", f"{where.format(number)}: the text must be a string")
            ids.append(str(id))
            values.append(value)
        return ids, values


async def add_stream(adding: Adding, request: Request, usage: Usage) -> Answer:
    """Add the documents of a stream of lines, portion by portion; each is durable when the next is acknowledged."""
    total: Answer = {**dict.fromkeys(_COUNTS, 0), "lines": 0}
    waiting: list[tuple[asyncio.Task[Answer], int, int]] = []
    body = request.scope["state"]["body"]

    async def finish_first() -> None:
        task, lines, size = waiting.pop(0)
        answer = await task
        body.release(size)
        for name in _COUNTS:
            total[name] += answer[name]
        total["version"] = answer["version"]
        total["lines"] += lines
        if "repeated" in answer:
            total["repeated"] = True

    first, turn, series = 1, None, Series()
    try:
        async for portion in _portions(request, adding.limits.line):
            if usage.stopping:
                raise Refused(503, "stopping", "the server is stopping", close=True)
            lines = portion.count(b"\n") + (not portion.endswith(b"\n"))
            turn = _Turn(turn)
            task = asyncio.create_task(adding.from_portion(portion, first, turn, series))
            waiting.append((task, lines, len(portion)))
            first += lines
            while len(waiting) > AHEAD or (waiting and waiting[0][0].done()):
                await finish_first()
        while waiting:
            await finish_first()
    except Refused as refused:
        await _settle(waiting, finish_first)
        done = total["lines"]
        refused.message += f"; the first {done:,} lines were added" if done else "; nothing was added"
        refused.facts["lines"] = done
        raise
    except BaseException:
        series.failed = True
        await _settle(waiting, finish_first)
        raise
    if "version" not in total:
        total["version"] = await adding.index.queries.call(lambda index: index.version())
    return total


async def _settle(waiting: list[tuple[asyncio.Task[Answer], int, int]], finish: Callable[[], Awaitable[None]]) -> None:
    """Wait for the portions that are on their way, so that the answer can say what was added."""
    while waiting:
        try:
            await finish()
        except Exception:  # the first failure is what the answer is about; those after it were not added
            await asyncio.gather(*(task for task, _, _ in waiting), return_exceptions=True)
            return


async def _portions(request: Request, most: int) -> AsyncIterator[bytes]:
    """Yield the lines of a body in portions; where they end depends on the content alone."""
    body = request.scope["state"]["body"]  # counted as it arrives; `add_stream` releases a portion when it is written
    parts: list[bytes] = []
    size = line = 0  # bytes of the portion, and of its last line
    async for chunk in request.stream():
        while chunk:
            # The portion ends with the first line that ends at or after its minimum size.
            end = chunk.find(b"\n", max(0, PORTION_BYTES - size - 1)) + 1
            piece, chunk = (chunk[:end], chunk[end:]) if end else (chunk, b"")
            first, *others = piece.split(b"\n") if line + len(piece) > most else (b"",)
            if line + len(first) > most or any(len(one) > most for one in others):
                raise Refused(413, "line_too_long", f"a line is longer than {most:,} bytes", close=True)
            last = piece.rfind(b"\n") + 1
            line = len(piece) - last if last else line + len(piece)
            body.hold(len(piece))
            parts.append(piece)
            size += len(piece)
            if end:
                yield b"".join(parts)
                parts, size, line = [], 0, 0
    if parts:
        yield b"".join(parts)
