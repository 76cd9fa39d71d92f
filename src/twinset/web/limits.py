"""Limits of a server: size and time of requests, and how many are worked on at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from twinset.web.answers import Refused
from twinset.web.framework import Message, Receive

_DISCARD_SECONDS = 2.0


@dataclass(frozen=True)
class RequestLimits:
    """The limits of a server. Sizes are in bytes, times in seconds."""

    body: int = 32_000_000
    """A request body. A stream of lines has no such limit."""
    line: int = 32_000_000
    """A line of a stream."""
    documents: int = 100_000
    """Documents of a JSON body."""
    text: int = 16_000_000
    """A text."""
    seconds: float = 60.0
    """The time of a request. A stream of lines may take longer, as long as it arrives."""
    idle: float = 15.0
    """The time until the next part of a body arrives."""
    each: int = 64
    """Requests of one token that are worked on at once."""
    total: int = 256
    """Requests that are worked on at once."""
    memory: int = 512_000_000
    """All bodies that are in memory at once."""


class Usage:
    """Counts what is in use now, and refuses what would exceed the limits."""

    def __init__(self, limits: RequestLimits) -> None:
        self.limits = limits
        self.active = 0
        self.bytes = 0
        self.stopping = False
        self._by_token: Counter[str] = Counter()

    @contextmanager
    def request(self, token: str) -> Iterator[None]:
        """Count a request while it is worked on."""
        if self.stopping:
            raise Refused(503, "stopping", "the server is stopping; ask again later", close=True)
        if self.active >= self.limits.total:
            raise Refused(503, "overloaded", f"the server works on {self.active} requests; ask again later", after=1)
        if self._by_token[token] >= self.limits.each:
            most = self.limits.each
            raise Refused(429, "too_many_requests", f"this token has {most} requests at once; ask again later", after=1)
        self.active += 1
        self._by_token[token] += 1
        try:
            yield
        finally:
            self.active -= 1
            self._by_token[token] -= 1
            if not self._by_token[token]:
                del self._by_token[token]


class BoundedBody:
    """Receives a body: counts its bytes, and refuses one that is too large or too slow.

    `is_sent` says that the request may have a body, and `waits` that the client waits for permission to send it.
    """

    def __init__(self, receive: Receive, usage: Usage, *, is_sent: bool = True, waits: bool = False) -> None:
        self._source, self._usage, self._waits = receive, usage, waits
        self._until = time.monotonic() + usage.limits.seconds
        self._size = self._held = 0
        self._is_late = False
        self.most: int | None = 0
        """Maximum bytes; None for a stream of lines."""
        self.is_complete = not is_sent

    async def __call__(self) -> Message:
        """Receive the next part."""
        if self.is_complete:
            return await self._source()  # only the end of the connection can follow
        limits = self._usage.limits
        left = limits.idle if self.most is None else min(limits.idle, self._until - time.monotonic())
        self._waits = False
        try:
            async with asyncio.timeout(max(0.0, left)):
                message = await self._source()
        except TimeoutError:
            self._is_late = True
            raise slow() from None
        if message["type"] != "http.request":
            return message
        size = len(message.get("body", b""))
        self._size += size
        self.is_complete = not message.get("more_body", False)
        if self.most is not None:
            if self._size > self.most:
                raise too_large(self.most)
            self.hold(size)
        return message

    def hold(self, size: int) -> None:
        """Count bytes that stay in memory; a stream of lines counts those that it has not written yet."""
        if self._usage.bytes + size > self._usage.limits.memory:
            message = "the server holds too many large bodies; ask again later"
            raise Refused(503, "overloaded", message, close=True, after=1)
        self._usage.bytes += size
        self._held += size

    @property
    def is_unread(self) -> bool:
        """Whether nobody has asked for the body yet."""
        return self._size == 0 and not self._is_late

    async def discard(self) -> None:
        """Read what a client still sends, for a moment: one whose connection ends meanwhile may miss the answer."""
        if self.is_complete or self._is_late or self._waits:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                while (await self._source()).get("more_body"):
                    pass
            self.is_complete = True

    def release(self, size: int | None = None) -> None:
        """Return bytes that are held, or all of them."""
        returned = self._held if size is None else size
        self._usage.bytes -= returned
        self._held -= returned


def slow() -> Refused:
    """Return the refusal of a body that arrives too slowly."""
    return Refused(408, "slow_body", "the body arrives too slowly", close=True)


def too_large(most: int) -> Refused:
    """Return the refusal of a body above the limit."""
    return Refused(413, "body_too_large", f"the body is larger than {most:,} bytes; send less at a time", close=True)
