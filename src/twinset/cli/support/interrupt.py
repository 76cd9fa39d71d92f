"""Deliver every Ctrl-C, but never inside a callback of LLVM.

LLVM calls Python back when it loads a kernel, and no exception can leave such a callback: the interrupt is lost, or
LLVM continues with an incomplete result and crashes. An exception in a finalizer is lost, too. In both cases the signal
is sent again a moment later; and once more if it comes while that is prepared.
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

_CALLED_BACK = "_raw_object_cache"  # prefix of the functions that LLVM calls
_HOOK = "_dropped"
_came: list[int] = []
_LATER = 0.02  # seconds; a callback has most likely returned by then


@contextmanager
def deliver_interrupts() -> Iterator[None]:
    """Raise every Ctrl-C, at once or a moment later."""
    _came.clear()
    before = sys.unraisablehook
    ours = threading.current_thread() is threading.main_thread()
    # A process that ignores Ctrl-C, such as a background command, or that handles it, keeps its setting.
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def _dropped(what: UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            _send_later()
        else:
            before(what)

    sys.unraisablehook = _dropped
    if ours:
        signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        sys.unraisablehook = before
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def raise_pending_interrupt() -> None:
    """Raise a Ctrl-C that other code has caught."""
    if _came:
        raise KeyboardInterrupt


def _stop(number: int, frame: FrameType | None) -> None:
    _came.append(number)
    caller, again = frame, 0
    while caller is not None:
        again += caller.f_code is _stop.__code__
        if caller.f_code.co_name.startswith((_CALLED_BACK, _HOOK)):
            _send_later(again)
            return
        caller = caller.f_back
    signal.default_int_handler(number, frame)


def _send_later(again: int = 0) -> None:
    """Send the signal, each time later: on a busy machine it may come before the thread that sends it has started."""
    timer = threading.Timer(_LATER * 2**again, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
