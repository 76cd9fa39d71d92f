"""The command ``twinset``: its entry points, which load the rest.

Python raises Ctrl-C wherever the program is. While modules are loaded that would be a traceback, or it would be lost in
an import that catches everything. Nothing is written yet, so the process may simply end. That is why this module and
the package import next to nothing, and why `script` begins with the signal.
"""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main", "script"]


def script() -> NoReturn:
    """Be the command: run it and leave with its exit code."""
    import signal

    # Who ignores Ctrl-C, as a shell's background commands do, or handles it in another way, is left alone.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from twinset.cli.command_line import run_and_exit

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_and_exit()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line in this process and return its exit code."""
    from twinset.cli.command_line import run

    return run(arguments)
