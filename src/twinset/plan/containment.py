"""The plan of a search for containment: the number of shingles under which a set is filed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from twinset.wording import counted, share

_ROUNDING = 1e-15
"""What a share of 1 may lose in a division."""


@dataclass(frozen=True)
class ContainmentPlan:
    """The plan for a minimum containment and a recall.

    Attributes
    ----------
    threshold, recall
        As requested; the recall of an exact plan is 1.

    Examples
    --------
    >>> print(ContainmentPlan(0.8, 0.99))
    each document is filed under 3 shingles or more: a pair at containment 0.8 is found with probability 0.9900
    >>> print(ContainmentPlan(0.8, 1.0))
    exact: every pair at containment 0.8 and above is found
    """

    threshold: float
    recall: float

    def __str__(self) -> str:
        if self.exact:
            return f"exact: every pair at containment {self.threshold:g} and above is found"
        return (
            f"each document is filed under {counted(self.draws, 'shingle')} or more: a pair at containment "
            f"{self.threshold:g} is found with probability {share(self.reached)}"
        )

    @property
    def exact(self) -> bool:
        """Whether no pair is missed."""
        return self.recall >= 1

    @property
    def loss(self) -> float:
        """Maximum probability of missing a pair exactly at the threshold."""
        return 0.0 if self.exact else 1.0 - self.recall

    @property
    def draws(self) -> int:
        """The fewest shingles under which a large set is filed, drawn from all of them; 0 if the plan is exact.

        Sets whose shingles are common are filed under more, drawn from the rarest.
        """
        return self.draws_from(1.0) or 0

    def draws_from(self, rarest: float) -> int | None:
        """Return the shingles under which a large set is filed, drawn from this share of it, the rarest.

        None if the share is too small: all of it may be missing in a set that contains the rest.

        Examples
        --------
        >>> [ContainmentPlan(0.8, 0.99).draws_from(rarest) for rarest in (1.0, 0.5, 0.25, 0.1)]
        [3, 6, 21, None]
        """
        missing = (1.0 - self.threshold) / rarest
        if self.exact or missing >= 1.0 - _ROUNDING:
            return None
        allowed = self.loss * (1 + 1e-9)
        return 1 if missing <= allowed else math.ceil(math.log(allowed) / math.log(missing))

    @property
    def reached(self) -> float:
        """The least probability that a pair exactly at the threshold is found, whatever the sizes."""
        return self.recall

    def p_found(self, containment: float) -> float:
        """Return the probability that a pair of this containment is found if it is filed under the fewest shingles."""
        if self.exact:
            return 1.0
        return -math.expm1(self.draws * math.log1p(-containment)) if containment < 1 else 1.0

    def curve(self, points: int = 10) -> list[tuple[float, float]]:
        """Return containments from 1/points to 1, each with the probability of being found."""
        return [(i / points, self.p_found(i / points)) for i in range(1, points + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return {**asdict(self), "exact": self.exact, "draws": self.draws, "reached": self.reached}
