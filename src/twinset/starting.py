"""Ctrl-C in the first moments of the command, while Python still loads it.

Raised then, it would be a traceback; caught by an import that forgives everything, it would be lost. Nothing is under
way that could be left half-done: the process may simply end, as by a signal that nobody awaits. Imported before
anything else; only in a process that is the command's own.
"""

import os
import signal
import sys
import threading

__all__ = ["is_over"]


def _is_the_command() -> bool:
    """Whether this is ``twinset`` or ``python -m twinset``, and not a program that uses the package."""
    name = sys.argv[0] if getattr(sys, "argv", None) else ""
    if name == "-m":  # so it is called until the module is found
        return "twinset" in sys.orig_argv
    return os.path.basename(name) == "twinset"


def _begin() -> bool:
    # Who ignores Ctrl-C, as background commands do, or treats it in another way, is left alone.
    ours = _is_the_command() and threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return True
    return False


_begun = _begin()


def is_over() -> None:
    """Raise Ctrl-C as ever from now on: there is someone who catches it."""
    if _begun and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
