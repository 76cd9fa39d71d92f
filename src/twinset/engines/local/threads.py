"""Map work over threads, with results in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Threads:
    """A pool of threads. Kernels and Arrow release the interpreter lock, so they run in parallel."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="twinset")

    def map(self, function: Callable[[_In], _Out], work: Iterable[_In]) -> Iterator[_Out]:
        """Yield function(item) for each item in order; only a few items are taken ahead."""
        waiting: deque[Future[_Out]] = deque()
        try:
            for item in work:
                waiting.append(self._pool.submit(function, item))
                if len(waiting) > self.count + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def run(self, function: Callable[[_In], object], work: Iterable[_In]) -> None:
        """Call function(item) for each item and wait."""
        for _ in self.map(function, work):
            pass

    def start(self, function: Callable[[], _Out]) -> "Future[_Out]":
        """Start a function and return its future."""
        return self._pool.submit(function)

    def close(self) -> None:
        """Wait for running functions and cancel the others."""
        self._pool.shutdown(wait=True, cancel_futures=True)
