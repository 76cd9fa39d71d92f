"""The command line: one command a file, each imported when it is called.

Here the library's exceptions end: each becomes one line on stderr and an exit code.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

import click

from .. import __version__
from ..errors import PlanWarning, TwinsetError

__all__ = ["main"]

COMMANDS = ("demo", "pairs", "dedup", "recut", "explain", "report", "evaluate", "compare", "plan")
FAILED, STOPPED, PIPE_CLOSED = 2, 130, 141
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Commands(click.Group):
    """The group of all commands, in the order in which a newcomer meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was called; guess what was meant if there is none of that name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            guess = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {name!r}; {guess}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f".{cmd_name}", __name__).command
        return command if isinstance(command, click.Command) else None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="twinset %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def twinset(debug: bool) -> None:
    """Find near-duplicates: documents in; verified pairs, clusters and clean data out."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not valid text, or a terminal that is not Unicode, must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings():
        warnings.simplefilter("always", PlanWarning)
        warnings.showwarning = _Warn()
        try:
            code = _outcome(words)
            sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes stdout once more at exit; there must be something left to write to.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
    return code


def script() -> NoReturn:
    """Be the command: run, and leave at once.

    Taking the interpreter, its compiled kernels and a gigabyte of texts apart piece by piece is a good part of a short
    run. By now every file is closed and every thread has ended.
    """
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _outcome(words: list[str]) -> int:
    """Run the command; turn what it raises into a line and a code."""
    try:
        code = twinset.main(args=words, prog_name="twinset", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in words and not isinstance(error, click.UsageError):
            import traceback

            traceback.print_exception(error)
        line, code = _told(error)
        if line:
            click.echo(line, err=True)
        return code


def _told(error: BaseException) -> tuple[str, int]:
    """Say in one line what went wrong, and with which exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message(), FAILED
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "twinset"
        return f"twinset: {_one_line(error.format_message())} ({path} --help lists what is allowed)", FAILED
    if isinstance(error, click.ClickException):
        return f"twinset: {_one_line(error.format_message())}", FAILED
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return "twinset: stopped; nothing half-written is left", STOPPED
    if isinstance(error, TwinsetError):
        return f"twinset: {_one_line(str(error))}", FAILED
    if isinstance(error, MemoryError):
        return "twinset: there is not enough memory; give a smaller --memory, or fewer --threads", FAILED
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        hint = "; free some, or name another place with --scratch" if error.errno in _NO_SPACE else ""
        return f"twinset: {place}{(error.strerror or str(error)).lower()}{hint}", FAILED
    kind = type(error).__name__
    return f"twinset: a mistake in Twinset itself ({kind}: {_one_line(str(error))}); --debug shows where", 1


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Warn:
    """Print each warning once, as one line."""

    def __init__(self) -> None:
        self.said: set[str] = set()
        self.otherwise: Callable[..., None] = warnings.showwarning

    def __call__(self, message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, PlanWarning):
            self.otherwise(message, category, *place, **more)
        elif str(message) not in self.said:
            self.said.add(str(message))
            click.echo(f"warning: {_one_line(str(message))}", err=True)
