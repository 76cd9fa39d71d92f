"""The command line: one command a file, each imported when it is called.

Here the library's exceptions end: each becomes one line on stderr and an exit code.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import click

from twinset import __version__
from twinset.cli.support.fast_start import skip_unused_packages
from twinset.cli.support.interrupt import insisting
from twinset.cli.support.lazy_commands import Commands
from twinset.errors import CacheWarning, NormalizationWarning, OptionError, PlanWarning, TwinsetError

__all__ = ["COMMANDS", "run", "run_and_exit", "twinset"]

COMMANDS = ("demo", "pairs", "dedup", "recut", "explain", "report", "index", "evaluate", "compare", "sketch", "plan")
FAILED, STOPPED, PIPE_CLOSED = 2, 130, 141
_COMPLETE = "_TWINSET_COMPLETE"  # set by a shell that asks how to go on
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@click.group(
    cls=Commands,
    names=COMMANDS,
    package=__package__,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="twinset %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def twinset(debug: bool) -> None:
    """Find near-duplicates: documents in; verified pairs, clusters and clean data out."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not valid text, or a terminal that is not Unicode, must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings(), insisting():
        for ours in (CacheWarning, NormalizationWarning, PlanWarning):
            warnings.simplefilter("always", ours)
        warnings.showwarning = _Warn()
        try:
            return _outcome(words)
        except BrokenPipeError:
            _write_nowhere()
            return PIPE_CLOSED
        except SystemExit as leaving:
            if not isinstance(leaving.__context__, BrokenPipeError):
                raise
            _write_nowhere()  # rich makes this of a closed pipe
            return PIPE_CLOSED


def run_and_exit() -> NoReturn:
    """Run the command line and leave at once.

    Taking the interpreter, its compiled kernels and a gigabyte of texts apart piece by piece is a good part of a short
    run. By now every file is closed and every thread has ended.
    """
    code = FAILED
    try:
        skip_unused_packages()
        code = run()
        _flush()
        atexit._run_exitfuncs()  # folders of what was read once are removed by these
    except KeyboardInterrupt:  # one more, while the first is told of
        code = STOPPED
    except OSError:  # what is wrong cannot even be told
        pass
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it was closed when the program began
            stream.flush()


def _write_nowhere() -> None:
    """Let go of a pipe that nobody reads: Python flushes once more at exit, and must have somewhere to write to."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
        except AttributeError:
            pass  # there is none


def _invoke(words: list[str]) -> int:
    """Run the command, without what click's own `main` makes of a closed pipe, Ctrl-C and the end of a file."""
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(twinset, {}, "twinset", _COMPLETE, instruction)
    try:
        with twinset.make_context("twinset", list(words)) as context:
            twinset.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return 0


def _outcome(words: list[str]) -> int:
    """Run the command; turn what it raises into a line and a code."""
    try:
        code = _invoke(words)
        _flush()
        return code
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in words and not isinstance(error, click.UsageError):
            import traceback

            click.echo(_without_secrets("".join(traceback.format_exception(error))), err=True, nl=False)
        line, code = _told(error)
        if code == STOPPED and sys.stderr is not None and sys.stderr.isatty():
            click.echo(err=True)  # the terminal has written ^C
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
        return f"twinset: stopped; {_one_line(str(error)) or 'nothing half-written is left'}", STOPPED
    if isinstance(error, OptionError):
        from twinset.cli.support.flags import as_flags

        return f"twinset: {_one_line(as_flags(str(error)))}", FAILED
    if isinstance(error, TwinsetError):
        told = "; ".join((str(error), *getattr(error, "__notes__", ())))
        return f"twinset: {_one_line(told)}", FAILED
    if isinstance(error, MemoryError):
        return "twinset: there is not enough memory; give a smaller --memory, or fewer --threads", FAILED
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        if not place and _was_shown(error):
            return f"twinset: cannot write to standard output: {(error.strerror or str(error)).lower()}", FAILED
        hint = "; free some, or name another place with --scratch" if error.errno in _NO_SPACE else ""
        return f"twinset: {place}{(error.strerror or str(error)).lower()}{hint}", FAILED
    kind = type(error).__name__
    return f"twinset: a mistake in Twinset itself ({kind}: {_one_line(str(error))}); --debug shows where", 1


def _was_shown(error: OSError) -> bool:
    """Whether it came up where something was shown: files are written elsewhere."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = "" if place is None else str(place.tb_frame.f_globals.get("__name__"))
    return module == __name__ or module.partition(".")[0] in ("click", "rich")


def _one_line(text: str) -> str:
    return " ".join(_without_secrets(text).split())


def _without_secrets(text: str) -> str:
    """Leave out the password of an address, wherever one stands: also where an address was given by mistake."""
    text = re.sub(r"(\w://[^\s:/@]*):\S*@", r"\1:…@", text)
    return re.sub(r"(?i)\b(password=)[^\s&]+", r"\1…", text)


class _Warn:
    """Print each warning once, as one line."""

    def __init__(self) -> None:
        self.said: set[str] = set()
        self.otherwise: Callable[..., None] = warnings.showwarning

    def __call__(self, message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, (CacheWarning, NormalizationWarning, PlanWarning)):
            self.otherwise(message, category, *place, **more)
        elif str(message) not in self.said:
            self.said.add(str(message))
            click.echo(f"warning: {_one_line(str(message))}", err=True)
