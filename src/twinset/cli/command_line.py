"""The command line: one module per command, imported when called.

Exceptions of the library become one line on stderr and an exit code here.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import click

from twinset import __version__
from twinset.cli.support.fast_start import skip_unused_packages
from twinset.cli.support.interrupt import deliver_interrupts
from twinset.cli.support.lazy_commands import Commands
from twinset.cli.support.passwords import hide_passwords
from twinset.errors import CacheWarning, NormalizationWarning, OptionError, PlanWarning, SourceWarning, TwinsetError
from twinset.options.spoken import speaking_flags

__all__ = ["COMMANDS", "run", "run_and_exit", "twinset"]

COMMANDS = (
    *("demo", "pairs", "dedup", "passages", "trim", "recut", "explain", "report", "review", "verdicts", "index"),
    *("serve", "mcp", "evaluate", "compare", "collapse", "sketch", "plan", "textbook", "warm"),
)
FAILED, STOPPED, PIPE_CLOSED = 2, 130, 141
_COMPLETE = "_TWINSET_COMPLETE"  # set by a shell that asks for completions
_OUR_WARNINGS = (CacheWarning, NormalizationWarning, PlanWarning, SourceWarning)
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
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not valid text, or a terminal without Unicode, must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings(), deliver_interrupts(), speaking_flags():
        for ours in _OUR_WARNINGS:
            warnings.simplefilter("always", ours)
        warnings.showwarning = _Warn()
        try:
            return _run_command(arguments)
        except BrokenPipeError:
            _write_nowhere()
            return PIPE_CLOSED
        except SystemExit as leaving:
            if not isinstance(leaving.__context__, BrokenPipeError):
                raise
            _write_nowhere()  # rich exits on a closed pipe
            return PIPE_CLOSED


def run_and_exit() -> NoReturn:
    """Run the command line and exit at once.

    A regular exit frees the interpreter, the compiled kernels and a gigabyte of texts piece by piece, which takes a
    large part of a short run. All files are closed and all threads have ended by now.
    """
    code = FAILED
    try:
        skip_unused_packages()
        code = run()
        _flush()
        atexit._run_exitfuncs()  # these remove temporary folders
    except KeyboardInterrupt:  # a second one, while the first is reported
        code = STOPPED
    except OSError:  # the error cannot be reported
        pass
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None: closed before the program began
            stream.flush()


def _write_nowhere() -> None:
    """Redirect a closed pipe to the null device, because Python flushes once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
        except AttributeError:
            pass  # the stream is None


def _invoke(arguments: list[str]) -> int:
    """Run the command without click's own handling of closed pipes, Ctrl-C and end of file."""
    if instruction := os.environ.get(_COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(twinset, {}, "twinset", _COMPLETE, instruction)
    try:
        with twinset.make_context("twinset", list(arguments)) as context:
            twinset.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    return 0


def _run_command(arguments: list[str]) -> int:
    """Run the command; turn an exception into one line and an exit code."""
    try:
        code = _invoke(arguments)
        _flush()
        return code
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments and not isinstance(error, click.UsageError):
            import traceback

            click.echo(hide_passwords("".join(traceback.format_exception(error))), err=True, nl=False)
        line, code = _message_and_code(error)
        if code == STOPPED and sys.stderr is not None and sys.stderr.isatty():
            click.echo(err=True)  # the terminal has written ^C
        if line:
            click.echo(line, err=True)
        return code


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """Return the line that reports an error, and its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message(), FAILED
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "twinset"
        return f"twinset: {_one_line(error.format_message())} (see {path} --help)", FAILED
    if isinstance(error, click.ClickException):
        return f"twinset: {_one_line(error.format_message())}", FAILED
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return f"twinset: stopped; {_one_line(_left_by(error)) or 'no partial output is left'}", STOPPED
    if isinstance(error, OptionError):
        from twinset.cli.support.flags import as_flags

        return f"twinset: {_one_line('; '.join((as_flags(str(error)), *_notes(error))))}", FAILED
    if isinstance(error, TwinsetError):
        message = "; ".join((str(error), *_notes(error)))
        return f"twinset: {_one_line(message)}", FAILED
    if isinstance(error, MemoryError):
        return "twinset: not enough memory; reduce --memory or --threads", FAILED
    if isinstance(error, OSError):
        path = f"{error.filename}: " if error.filename else ""
        if not path and _on_stdout(error):
            return f"twinset: cannot write to standard output: {(error.strerror or str(error)).lower()}", FAILED
        hint = "; free some, or choose another folder with --scratch" if error.errno in _NO_SPACE else ""
        return f"twinset: {path}{(error.strerror or str(error)).lower()}{hint}", FAILED
    kind = type(error).__name__
    return f"twinset: internal error ({kind}: {_one_line(str(error))}); --debug shows where", 1


def _notes(error: BaseException) -> tuple[str, ...]:
    return tuple(getattr(error, "__notes__", ()))


def _left_by(stop: BaseException | None) -> str:
    """Return the note on what a stopped run left, from this exception or an earlier Ctrl-C."""
    while stop is not None:
        if told := str(stop) or "; ".join(getattr(stop, "__notes__", ())):
            return told if isinstance(stop, (KeyboardInterrupt, click.Abort)) else ""
        stop = stop.__context__
    return ""


def _on_stdout(error: OSError) -> bool:
    """Whether an error arose while printing; files are written by other modules."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    module = "" if step is None else str(step.tb_frame.f_globals.get("__name__"))
    return module == __name__ or module.partition(".")[0] in ("click", "rich")


def _one_line(text: str) -> str:
    return " ".join(hide_passwords(text).split())


class _Warn:
    """Print each warning once, as one line."""

    def __init__(self) -> None:
        self.printed: set[str] = set()
        self.otherwise: Callable[..., None] = warnings.showwarning

    def __call__(self, message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, _OUR_WARNINGS):
            self.otherwise(message, category, *place, **more)
        elif str(message) not in self.printed:
            self.printed.add(str(message))
            click.echo(f"warning: {_one_line(str(message))}", err=True)
