"""The plan of an exact search for the nearest sets of each set."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NearestSetsPlan:
    """The plan of a search for the nearest sets, however far.

    Attributes
    ----------
    top
        Neighbours of each set; fewer if fewer others share an element with it.

    Examples
    --------
    >>> print(NearestSetsPlan(10))
    exact: the 10 nearest of each item, at any distance
    """

    top: int

    def __str__(self) -> str:
        what = "the nearest" if self.top == 1 else f"the {self.top:,} nearest"
        return f"exact: {what} of each item, at any distance"

    @property
    def exact(self) -> bool:
        """Whether no neighbour is missed."""
        return True

    @property
    def reached(self) -> float:
        """The probability that one of the nearest is found."""
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return {"exact": True, "top": self.top, "neighbours": "sets", "reached": 1.0}
