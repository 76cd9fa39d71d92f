"""How far a run has come: bars on a terminal, one line a stage elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

import click

from ..checks import shown_size

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import Task, TaskID
    from rich.text import Text


class Progress(Protocol):
    """What the pipeline tells."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage; the one before it is done."""

    def advance(self, n: int = 1) -> None:
        """Say that n more units are done."""

    def note(self, text: str) -> None:
        """Say something that is worth a line."""

    def close(self) -> None:
        """End; nothing is said afterwards."""


def progress(quiet: bool) -> Progress:
    """Choose how progress is shown."""
    if quiet:
        return Silent()
    return Terminal() if sys.stderr.isatty() else Lines()


def amount(count: float, unit: str) -> str:
    """Write a count with its unit, to be read."""
    if unit == "bytes":
        return shown_size(int(count))
    return f"{count:,.0f} {unit}".rstrip()


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Say nothing."""

    def advance(self, n: int = 1) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


class Lines:
    """Says one line a stage, when it is done."""

    def __init__(self) -> None:
        self._name, self._unit, self._done, self._begun = "", "", 0, 0.0

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage; tell of the one before it."""
        self._finish()
        self._name, self._unit, self._done, self._begun = name, unit, 0, time.monotonic()

    def advance(self, n: int = 1) -> None:
        """Count."""
        self._done += n

    def note(self, text: str) -> None:
        """Say a line."""
        click.echo(text, err=True)

    def close(self) -> None:
        """Tell of the last stage."""
        self._finish()

    def _finish(self) -> None:
        if self._name:
            count = f"{amount(self._done, self._unit)}, " if self._done else ""
            click.echo(f"{self._name}: {count}{time.monotonic() - self._begun:.1f} s", err=True)
        self._name = ""


class Terminal:
    """Shows a bar a stage, with rate and time left."""

    def __init__(self) -> None:
        self._bars = _bars()
        self._task: TaskID | None = None
        self._bars.start()

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a bar; the one before it is full."""
        self._finish()
        self._task = self._bars.add_task(name, total=total, unit=unit)

    def advance(self, n: int = 1) -> None:
        """Move the bar on."""
        if self._task is not None:
            self._bars.advance(self._task, n)

    def note(self, text: str) -> None:
        """Say a line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Leave the bars as they are."""
        self._finish()
        self._bars.stop()

    def _finish(self) -> None:
        if self._task is None:
            return
        task = next(one for one in self._bars.tasks if one.id == self._task)
        self._bars.update(self._task, total=task.completed or 1, completed=task.completed or 1)
        self._task = None


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many units a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or 0.0
            return Text(f"{amount(speed, task.fields['unit'])}/s" if speed else "")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
