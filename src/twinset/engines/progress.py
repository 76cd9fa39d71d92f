"""Report the progress of a run: to a caller, on a terminal or in a notebook, and to the logger `twinset`."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from twinset.errors import TwinsetWarning
from twinset.options.spoken import spoken

if TYPE_CHECKING:
    from rich.progress import Progress as RichBars
    from rich.progress import TaskID

_DELAY = 0.5  # seconds before bars appear: a short run stays silent

log = logging.getLogger("twinset")
log.addHandler(logging.NullHandler())


class Progress(Protocol):
    """Receives stages, progress within them, and notes."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage of `total` units, None if unknown."""

    def advance(self, n: int) -> None:
        """Report `n` more units as done."""

    def note(self, text: str) -> None:
        """Show one line of text."""

    def close(self) -> None:
        """End the report."""


ProgressChoice: TypeAlias = Progress | bool | None
"""The argument `progress` of a public function: True for bars, False for silence, or an object to report to."""


class Silent:
    """Ignores all reports."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Ignore."""

    def advance(self, n: int) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def close(self) -> None:
        """Ignore."""


class Bars:
    """Shows a bar per stage on a terminal or in a notebook, once a run has lasted for a moment."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._bars: RichBars | None = None
        self._task: TaskID | None = None
        self._stage: tuple[str, int | None] = ("", None)
        self._done = 0

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Fill the previous bar and begin a new one."""
        self._finish()
        self._stage, self._done = (name, total), 0
        self._show()

    def advance(self, n: int) -> None:
        """Advance the bar."""
        self._done += n
        self._show()

    def note(self, text: str) -> None:
        """Print a line."""
        self._started().console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Stop; the last bar is filled unless an exception ended the work."""
        if sys.exc_info()[0] is None:
            self._finish()
        if self._bars is not None:
            self._bars.stop()

    def _started(self) -> RichBars:
        if self._bars is None:
            from rich.console import Console
            from rich.progress import Progress as RichBars

            self._bars = RichBars(console=Console(stderr=True))
            self._bars.start()
        return self._bars

    def _show(self) -> None:
        name, total = self._stage
        if not name or (self._bars is None and time.monotonic() - self._begun < _DELAY):
            return
        bars = self._started()
        if self._task is None:
            self._task = bars.add_task(name, total=total)
        bars.update(self._task, completed=self._done)

    def _finish(self) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, total=self._done or 1, completed=self._done or 1)
        self._task, self._stage = None, ("", None)


class Logged:
    """Passes reports on, and logs notes at level INFO and stages at level DEBUG."""

    def __init__(self, receiver: Progress) -> None:
        self._receiver = receiver

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage."""
        log.debug("%s", name)
        self._receiver.stage(name, total, unit)

    def advance(self, n: int) -> None:
        """Report `n` more units as done."""
        self._receiver.advance(n)

    def note(self, text: str) -> None:
        """Show and log one line of text."""
        log.info("%s", spoken(text))
        self._receiver.note(spoken(text))

    def close(self) -> None:
        """End the report."""
        self._receiver.close()


@contextmanager
def reporting(progress: ProgressChoice) -> Iterator[Progress]:
    """Choose the receiver of reports.

    progress: a receiver, which the caller closes; True for bars, False for silence, None for bars if somebody watches:
        on a terminal and in a notebook.
    """
    if progress is None:
        progress = _is_watched()
    ours = isinstance(progress, bool)
    shown = (Bars() if progress else Silent()) if isinstance(progress, bool) else progress
    try:
        with _logged_warnings():
            yield Logged(shown)
    finally:
        if ours:
            shown.close()


@contextmanager
def _logged_warnings() -> Iterator[None]:
    """Log the warnings of Twinset that are shown, at level WARNING."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, TwinsetWarning):
            log.warning("%s", message)
        before(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        if warnings.showwarning is show:
            warnings.showwarning = before


def _is_watched() -> bool:
    """Whether the standard error is a terminal, or the program runs in a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
