"""What a run tells while it works."""

from typing import Protocol


class Progress(Protocol):
    """Told of each stage as it begins, of what was done in it, and of things worth saying."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """A stage begins; `total` is how much there is to do, if that is known."""

    def advance(self, n: int) -> None:
        """So much more was done."""

    def note(self, text: str) -> None:
        """One line worth saying."""

    def close(self) -> None:
        """The run is over."""


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int | None, unit: str) -> None:
        """Nothing."""

    def advance(self, n: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""
