"""Make requests: several at a time, again where they fail, and no more of them after an error or a Ctrl-C."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

from twinset.documents.remote.stores import TransientError
from twinset.errors import FetchError, StateError
from twinset.system import batch_sizes
from twinset.system.addresses import Address
from twinset.wording import counted

_TRIES = 5
_LONGEST_PAUSE = 20.0

_T = TypeVar("_T")


class Receiver(Protocol):
    """Receives progress and notes."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage."""

    def advance(self, n: int) -> None:
        """Report more units as done."""

    def note(self, text: str) -> None:
        """Show one line."""


class Requests:
    """The requests of one run; `progress` receives a note when they are stopped."""

    def __init__(self, progress: Receiver | None) -> None:
        self._progress = progress
        self._stopped = threading.Event()

    def repeat(self, address: Address, request: Callable[[], _T], *, first: bool = False) -> _T:
        """Make a request up to five times, with growing pauses; `first`: without a server it is not repeated."""
        for attempt in range(1, _TRIES + 1):
            try:
                return request()
            except TransientError as error:
                pause = min(_LONGEST_PAUSE, batch_sizes.FETCH_PAUSE * 2 ** (attempt - 1)) * random.uniform(0.5, 1)
                is_last = attempt == _TRIES or (first and error.unreachable)
                if is_last or self._stopped.wait(pause):
                    tries = "" if attempt == 1 else f" ({attempt} tries)"
                    raise FetchError(f"{error}{tries}", where=str(address)) from None
        raise StateError("no attempt was made")

    def make(self, requests: Sequence[Callable[[], None]], threads: int, noun: str, done: str) -> None:
        """Make requests in threads. An error or a Ctrl-C stops all: those under way are waited for.

        noun, done: what is waited for, in the singular, and what is done to it, as in "piece" and "fetched".
        """
        if not requests:
            return
        self._stopped.clear()
        under_way: set[int] = set()

        def work(number: int) -> None:
            under_way.add(number)
            try:
                requests[number]()
            finally:
                under_way.discard(number)

        pool = ThreadPoolExecutor(min(threads, len(requests)), thread_name_prefix=f"twinset-{noun}")
        try:
            waiting = {pool.submit(work, number) for number in range(len(requests))}
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_EXCEPTION, timeout=1)
                for one in ended:
                    one.result()
        except BaseException as error:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                self._tell(len(under_way), noun, done)
            raise
        finally:
            pool.shutdown(wait=True)

    def _tell(self, left: int, noun: str, done: str) -> None:
        """Say why a Ctrl-C does not end the run at once."""
        if left and self._progress is not None:
            are = "is" if left == 1 else "are"
            self._progress.note(f"stopping: waiting for {counted(left, noun)} that {are} being {done}")
