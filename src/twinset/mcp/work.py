"""Do the work of calls in threads, each for a limited time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from twinset.engines.progress import Silent
from twinset.system.memory import default_threads

_LAST_SECONDS = 1.0
"""Seconds for which the end of a server waits for calls to notice it."""


class Overtime(Exception):
    """The time of a call is over."""


class Deadline(Silent):
    """A receiver of progress that ends a run whose time is over, at its next report."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._stopped = False

    def stop(self) -> None:
        """End the run: nobody waits for its answer."""
        self._stopped = True

    def check(self) -> None:
        """Raise `Overtime` if the time is over."""
        if self._stopped or time.monotonic() > self._end:
            raise Overtime

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Check the time."""
        self.check()

    def advance(self, n: int) -> None:
        """Check the time."""
        self.check()


class Workers:
    """Threads for calls. More calls than threads wait for their turn; waiting is part of their time."""

    def __init__(self, seconds: float, count: int | None = None) -> None:
        self.seconds = seconds
        self._threads = ThreadPoolExecutor(count or max(2, default_threads()), thread_name_prefix="mcp")
        self._active: set[Deadline] = set()
        self._changed = threading.Condition()

    async def do(self, work: Callable[[Deadline], Any]) -> Any:
        """Do some work in a thread; raise `Overtime` if it takes too long.

        A thread cannot be ended from outside: work that reports its progress ends at the next report, other work goes
        on, and its thread is not free until it is done.
        """
        deadline = Deadline(self.seconds)

        def run() -> Any:
            deadline.check()
            return work(deadline)

        with self._changed:
            self._active.add(deadline)
        future = self._threads.submit(run)
        future.add_done_callback(lambda _: self._ended(deadline))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)
        except TimeoutError:
            raise Overtime from None
        finally:
            deadline.stop()

    def _ended(self, deadline: Deadline) -> None:
        with self._changed:
            self._active.discard(deadline)
            self._changed.notify_all()

    def close(self) -> None:
        """End: calls that wait are dropped, those at work have a moment to notice."""
        with self._changed:
            for deadline in self._active:
                deadline.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            self._changed.wait_for(lambda: not self._active, _LAST_SECONDS)
