"""Show the progress of a run: bars on a terminal, one line per stage elsewhere, nothing with --quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import click

from twinset.cli.screen import show
from twinset.options.checks import shown_size
from twinset.system.compile_time import compile_seconds
from twinset.wording import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import Task, TaskID
    from rich.table import Table
    from rich.text import Text

_LEAST_BAR, _LONGEST_BAR, _RATE = 8, 40, 20


class Display(Protocol):
    """Receiver of progress reports."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage, which ends the previous one."""

    def advance(self, n: int = 1) -> None:
        """Report that n more units are done."""

    def note(self, text: str) -> None:
        """Show a line of text."""

    def close(self) -> None:
        """End the last stage."""


def progress(quiet: bool) -> Display:
    """Choose a display."""
    if quiet or sys.stderr is None:  # None: closed before the program began
        return NoDisplay()
    return Terminal() if sys.stderr.isatty() else Lines()


def amount(count: float, unit: str) -> str:
    """Write a count with its unit.

    Examples
    --------
    >>> amount(1200, "documents"), amount(1, "documents"), amount(1_500_000, "bytes"), amount(3, "")
    ('1,200 documents', '1 document', '1.5 MB', '3')
    """
    if unit == "bytes":
        return shown_size(int(count))
    return counted(round(count), unit.removesuffix("s"), unit).rstrip()


class NoDisplay:
    """Shows nothing."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Show nothing."""

    def advance(self, n: int = 1) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing."""


class Lines:
    """Prints one line per stage, at its end."""

    def __init__(self) -> None:
        self._name, self._unit, self._done, self._begun = "", "", 0, time.perf_counter()

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Print the previous stage and begin a new one."""
        self._finish()
        self._name, self._unit, self._done, self._begun = name, unit, 0, time.perf_counter()

    def advance(self, n: int = 1) -> None:
        """Count."""
        self._done += n

    def note(self, text: str) -> None:
        """Print a line."""
        click.echo(text, err=True)

    def close(self) -> None:
        """Print the last stage."""
        self._finish()

    def _finish(self) -> None:
        now, compiling = time.perf_counter(), compile_seconds(self._begun)
        own = self._name == "compiling"
        if compiling and not own:
            click.echo(f"compiling: {compiling:.1f} s", err=True)
        if self._name:
            count = f"{amount(self._done, self._unit)}, " if self._done else ""
            click.echo(f"{self._name}: {count}{now - self._begun - (0 if own else compiling):.1f} s", err=True)
        self._name, self._begun = "", now


class Terminal:
    """Shows a bar per stage, with rate and remaining time."""

    def __init__(self) -> None:
        self._bars = _bars()
        self._task: TaskID | None = None
        self._begun = time.perf_counter()
        self._bars.start()

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Fill the previous bar and begin a new one."""
        self._finish()
        self._task = self._bars.add_task(name, total=total, unit=unit)

    def advance(self, n: int = 1) -> None:
        """Advance the bar."""
        if self._task is not None:
            self._bars.advance(self._task, n)

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Stop the bars; the last one is filled unless an exception ended the work."""
        if sys.exc_info()[0] is None:
            self._finish()
        self._bars.stop()

    def _finish(self) -> None:
        compiling, self._begun = compile_seconds(self._begun), time.perf_counter()
        task = next((one for one in self._bars.tasks if one.id == self._task), None)
        if compiling and (task is None or task.description != "compiling"):
            if task is not None and task.start_time is not None:
                task.start_time += compiling  # leaves the time of the stage itself
                if task.finished_time is not None:
                    task.finished_time -= compiling
            self._fill(self._bars.add_task("compiling", unit=""), compiling)
        if task is not None:
            self._fill(task.id)
        self._task = None

    def _fill(self, number: TaskID, seconds: float = 0.0) -> None:
        """Fill a bar, and add to its time."""
        task = next(one for one in self._bars.tasks if one.id == number)
        if task.start_time is not None:
            task.start_time -= seconds
        self._bars.update(number, total=task.completed or 1, completed=task.completed or 1)


def fitting(width: int, name: int, parts: Sequence[int]) -> tuple[int, int]:
    """Choose how many parts of a line fit into a window, and the length of its bar; 0 for no bar.

    The parts have given widths and follow the name and the bar. As many parts are shown as leave room for a bar of a
    useful length, and at least one. If the window is too narrow, the bar is dropped and the name shortened.

    Examples
    --------
    >>> fitting(100, 21, (4, 7, 7, 20)), fitting(50, 21, (4, 7, 7, 20)), fitting(30, 21, (4, 7, 7, 20))
    ((4, 36), (2, 15), (1, 0))
    """
    for shown in range(len(parts), 0, -1):
        room = width - name - 1 - sum(1 + part for part in parts[:shown])
        if room >= _LEAST_BAR:
            return shown, min(room, _LONGEST_BAR)
    return 1, 0


def _bars() -> Bars:
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class Rate(ProgressColumn):
        """Units per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or 0.0
            return Text(f"{amount(speed, task.fields['unit'])}/s" if speed else "")

    def column() -> Column:
        return Column(no_wrap=True, overflow="ellipsis")

    console, named, bar = show.console(stderr=True), column(), BarColumn()
    name = TextColumn("{task.description}", table_column=named)
    parts: tuple[ProgressColumn, ...] = (
        TextColumn("{task.percentage:>3.0f}%", table_column=column()),
        TimeElapsedColumn(table_column=column()),
        TimeRemainingColumn(table_column=column()),
        Rate(table_column=column()),
    )

    class Fitting(Progress):
        """Bars that fit the window, also after it is resized."""

        def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
            tasks = list(tasks)
            longest = max((len(task.description) for task in tasks), default=0)
            widths = [max((len(str(part(task))) for task in tasks), default=0) for part in parts]
            widths[-1] = max(widths[-1], _RATE)  # a rate that grows by a digit must not move the bars
            shown, bar.bar_width = fitting(console.width, longest, widths)
            named.max_width = max(1, console.width - sum(1 + width for width in widths[:shown]))
            self.columns = (name, *((bar,) if bar.bar_width else ()), *parts[:shown])
            return super().make_tasks_table(tasks)

    return Fitting(console=console)
