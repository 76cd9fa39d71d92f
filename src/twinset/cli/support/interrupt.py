"""Ctrl-C is never lost, and never raised where it would do harm.

Python raises it wherever the program happens to be. LLVM calls Python back whenever a kernel is loaded, and nothing
can be raised out of such a callback: at best the stop is forgotten, and at worst LLVM goes on with half an answer and
crashes. The same holds for finalizers, but for the crash. There the signal is sent once more, a moment later.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_CALLED_BACK = "_raw_object_cache"  # how the functions are called that LLVM calls
_came: list[int] = []
_LATER = 0.02  # seconds, by which time a callback has most likely returned


@contextmanager
def insisting() -> Iterator[None]:
    """See to it that a Ctrl-C is raised, if not here and now then a moment later."""
    _came.clear()
    before = sys.unraisablehook
    ours = threading.current_thread() is threading.main_thread()
    # Who ignores Ctrl-C, as background commands do, or treats it in another way, is left alone.
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def dropped(what: UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            _send_later()
        else:
            before(what)

    sys.unraisablehook = dropped
    if ours:
        signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        sys.unraisablehook = before
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def insist() -> None:
    """Raise a Ctrl-C that came before, and that someone has caught on its way."""
    if _came:
        raise KeyboardInterrupt


def _stop(number: int, frame: FrameType | None) -> None:
    _came.append(number)
    place = frame
    while place is not None:
        if place.f_code.co_name.startswith(_CALLED_BACK):
            _send_later()
            return
        place = place.f_back
    signal.default_int_handler(number, frame)


def _send_later() -> None:
    timer = threading.Timer(_LATER, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
