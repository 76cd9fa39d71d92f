"""Connections with bounds: a head that is too slow or too long, or a client that does not read, ends a connection.

The server itself has a limit for idle connections only: one that never finishes its first request would stay open.
"""

from __future__ import annotations

import asyncio
from typing import Any

from twinset.web.framework import HttpToolsProtocol

IDLE_SECONDS, HEAD_SECONDS, HEAD_BYTES, WRITE_SECONDS = 30.0, 10.0, 32_768, 30.0


class BoundedConnection(HttpToolsProtocol):
    """The protocol of the server, with a limit for the head of a request and for an answer that is not read."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first request."""
        super().connection_made(transport)
        self._expect(IDLE_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timers()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Expect the rest of a head."""
        super().on_message_begin()
        self._head_size = 0
        self._expect(HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the head."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of the head."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the request."""
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """Give a client time to read."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; what a client has not read by now it will not read."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def _expect(self, seconds: float) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = self.loop.call_later(seconds, self.transport.abort)

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > HEAD_BYTES:
            raise ValueError("the head of the request is too long")

    def _stop_timers(self) -> None:
        for timer in (self._head_timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._head_timer = self._write_timer = None
