"""Report the progress of a run."""

from typing import Protocol


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
