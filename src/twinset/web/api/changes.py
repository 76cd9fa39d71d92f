"""Change an index for many requests: changes that wait together are committed together."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from twinset.errors import BusyError, OutputError, StateError, TwinsetError
from twinset.index.served import Answer, Change, ServedIndex
from twinset.web.api.metrics import Metrics
from twinset.web.api.queries import resolve

MOST_DOCUMENTS = 50_000
"""Documents that are committed together."""


@dataclass
class _Waiting:
    future: asyncio.Future[Any]
    change: Change


class ChangeQueue:
    """The thread that writes to one index."""

    def __init__(self, name: str, open_index: Callable[[], ServedIndex], timeout: float, metrics: Metrics) -> None:
        self._name, self._open, self._timeout, self._metrics = name, open_index, timeout, metrics
        self.index: ServedIndex | None = open_index()
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._work, name=f"write {name}", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    def carry_out(self, change: Change) -> Awaitable[Answer]:
        """Put a change into the queue; awaited, return what it did, once it is durable."""
        job = _Waiting(asyncio.get_running_loop().create_future(), change)
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()
        return self._done(job)

    async def _done(self, job: _Waiting) -> Answer:
        answer: Answer = await job.future
        for name in ("added", "replaced", "removed"):
            if "repeated" not in answer and answer.get(name):
                self._metrics.documents[self._name, name] += answer[name]
        return answer

    def close(self) -> None:
        """End the thread after what waits, and close its connection."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while jobs := self._next():
            try:
                if self.index is None:
                    self.index = self._open()
                answers = self.index.change([job.change for job in jobs], timeout=self._timeout)
                done = [_result(job, answer) for job, answer in zip(jobs, answers, strict=True)]
            except Exception as error:
                if isinstance(error, (StateError, OutputError)) and not isinstance(error, BusyError):
                    self._close_index()  # a lost connection, for example: the next change opens it again
                done = [(job, None, error) for job in jobs]
            resolve(done)
        self._close_index()

    def _next(self) -> list[_Waiting]:
        """Wait for a change; return it and those that wait with it, up to a number of documents."""
        with self._changed:
            while not self._waiting:
                if self._ended:
                    return []
                self._changed.wait()
            jobs: list[_Waiting] = []
            size = 0
            while self._waiting and (not jobs or size + self._waiting[0].change.size <= MOST_DOCUMENTS):
                job = self._waiting.popleft()
                if not job.future.cancelled():  # nobody waits for it any more
                    jobs.append(job)
                    size += job.change.size
            return jobs or self._next()

    def _close_index(self) -> None:
        if self.index is not None:
            self.index.close()
            self.index = None


def _result(job: _Waiting, answer: Answer | TwinsetError) -> tuple[_Waiting, Any, Exception | None]:
    return (job, None, answer) if isinstance(answer, TwinsetError) else (job, answer, None)
