"""Entry points of the command ``twinset``, which load the rest.

A Ctrl-C during an import would print a traceback, or be lost in an import that catches every exception. Nothing is
written yet, so the process may simply end. That is why this module and the package import almost nothing, and why
`script` sets the signal first.
"""

from __future__ import annotations

from typing import NoReturn

__all__ = ["main", "script"]


def script() -> NoReturn:
    """Run the command and exit with its exit code."""
    import signal
    import sys

    from twinset.system.platforms import why_unsupported

    if reason := why_unsupported():
        sys.stderr.write(f"twinset: {reason}\n")
        sys.exit(2)
    # A process that ignores Ctrl-C, such as a background command of a shell, or that handles it, keeps its setting.
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
