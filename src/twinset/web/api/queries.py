"""Read an index for many requests: queries that wait together are answered by one call of the index."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from twinset.errors import BusyError, StateError
from twinset.index.served import ServedIndex
from twinset.web.api.metrics import Metrics

MOST_TOGETHER = 64
"""Queries that are answered by one call."""
Limits = tuple[tuple[str, Any], ...]
"""The limits of a query, by name, in order."""
_Result = TypeVar("_Result")


@dataclass
class _Job:
    """A query (`value` and `limits`), or a call of the index."""

    future: asyncio.Future[Any]
    call: Callable[[ServedIndex], Any] | None = None
    value: Any = None
    limits: Limits = ()


class QueryQueue:
    """Threads that read one index, each through a connection of its own."""

    def __init__(self, name: str, open_index: Callable[[], ServedIndex], threads: int, metrics: Metrics) -> None:
        self._name, self._open, self._metrics = name, open_index, metrics
        self._waiting: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"read {name}", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        return self._waiting.qsize()

    async def answer(self, value: Any, limits: Limits) -> tuple[int, list[dict[str, Any]]]:
        """Return the version of the index, and the answers to one query."""
        found: tuple[int, list[dict[str, Any]]] = await self._wait_for(
            _Job(asyncio.get_running_loop().create_future(), value=value, limits=limits)
        )
        return found

    async def call(self, function: Callable[[ServedIndex], _Result]) -> _Result:
        """Call a function with the index."""
        result: _Result = await self._wait_for(_Job(asyncio.get_running_loop().create_future(), function))
        return result

    async def _wait_for(self, job: _Job) -> Any:
        self._waiting.put(job)
        return await job.future

    def close(self) -> None:
        """End the threads after what waits, and close their connections."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        index: ServedIndex | None = None
        while jobs := self._next():
            try:
                if index is None:
                    index = self._open()
                done = self._done(index, jobs)
            except BusyError as error:
                done = [(job, None, error) for job in jobs]
            except StateError as error:
                # A lost connection, or a file that another process has changed: the next request opens it again.
                _close(index)
                index = None
                done = [(job, None, error) for job in jobs]
            except Exception as error:
                done = [(job, None, error) for job in jobs]
            resolve(done)
        _close(index)

    def _next(self) -> list[_Job]:
        """Wait for a job; return it, and for a query the others that have the same limits."""
        first = self._waiting.get()
        if first is None or first.call is not None:
            return [first] if first is not None else []
        together: list[_Job] = [first]
        others: list[_Job | None] = []
        with suppress(Empty):
            while len(together) + len(others) < MOST_TOGETHER:
                one = self._waiting.get_nowait()
                is_like_it = one is not None and one.call is None and one.limits == first.limits
                (together if is_like_it else others).append(one)  # type: ignore[arg-type]
        for other in others:
            self._waiting.put(other)
        return together

    def _done(self, index: ServedIndex, jobs: list[_Job]) -> Iterable[tuple[_Job, Any, Exception | None]]:
        jobs = [job for job in jobs if not job.future.done()]  # nobody waits for the others any more
        if not jobs:
            return []
        [first, *_] = jobs
        if first.call is not None:
            return [(first, first.call(index), None)]
        self._metrics.batch(self._name, len(jobs))
        try:
            version, answers = index.answer([job.value for job in jobs], dict(first.limits))
        except StateError:
            raise
        except Exception as error:
            if len(jobs) == 1:
                return [(first, None, error)]
            # One of them cannot be answered: it must not fail the others.
            return [done for job in jobs for done in self._done(index, [job])]
        return [(job, (version, found), None) for job, found in zip(jobs, answers, strict=True)]


def resolve(done: Iterable[tuple[Any, Any, Exception | None]]) -> None:
    """Hand results to the requests that wait for them, from another thread, with one wake-up of their loop."""
    if listed := list(done):
        loop: asyncio.AbstractEventLoop = listed[0][0].future.get_loop()
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(_set, listed)


def _set(done: list[tuple[Any, Any, Exception | None]]) -> None:
    for job, result, error in done:
        if job.future.done():
            continue  # the client has gone, or the time was over
        if error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)


def _close(index: ServedIndex | None) -> None:
    if index is not None:
        index.close()
