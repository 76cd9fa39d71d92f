"""How two items differ that have no words and no elements: the bits of codes, and where vectors point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

_OCTET = 8


@dataclass(frozen=True)
class CodeDifference:
    """Two bit codes, compared so that a person can follow.

    Attributes
    ----------
    left, right
        The bytes of the codes, of one length.

    Examples
    --------
    >>> found = CodeDifference(bytes.fromhex("ff00"), bytes.fromhex("fe01"))
    >>> found.distance, found.bits, found.differing
    (2, 16, (7, 15))
    >>> found.parts()
    [(True, '1111111', '1111111'), (False, '1 ', '0 '), (True, '0000000', '0000000'), (False, '0', '1')]
    """

    left: bytes
    right: bytes

    @property
    def bits(self) -> int:
        """The bits of a code."""
        return _OCTET * len(self.left)

    @property
    def differing(self) -> tuple[int, ...]:
        """The bits that differ (0 is the highest bit)."""
        ours, theirs = _written(self.left), _written(self.right)
        return tuple(place for place in range(self.bits) if ours[place] != theirs[place])

    @property
    def distance(self) -> int:
        """How many bits differ."""
        return (int.from_bytes(self.left, "big") ^ int.from_bytes(self.right, "big")).bit_count()

    def parts(self, most: int | None = None, row: int | None = None) -> list[tuple[bool, str, str]]:
        """The bits of both in runs that are equal or not: the first `most` bits, `row` bytes a line, spaces between."""
        ours, theirs = _written(self.left), _written(self.right)
        bits = list(enumerate(zip(ours, theirs, strict=True)))[:most]
        found = []
        for equal, run in groupby(bits, key=lambda one: one[1][0] == one[1][1]):
            some = [(bit, _gap(at + 1, len(bits), row)) for at, bit in run]
            left, right = ("".join(bit[side] + gap for bit, gap in some) for side in (0, 1))
            found.append((equal, left, right))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON."""
        return {
            "distance": self.distance,
            "bits": self.bits,
            "left": self.left.hex(),
            "right": self.right.hex(),
            "differing": list(self.differing),
        }


def _gap(after: int, bits: int, row: int | None) -> str:
    """What stands after so many bits of a code."""
    if after % _OCTET or after == bits:
        return ""
    return "\n" if row and not after % (_OCTET * row) else " "


def _written(code: bytes) -> str:
    return "".join(f"{one:08b}" for one in code)


@dataclass(frozen=True)
class VectorDifference:
    """Two vectors, compared so that a person can follow.

    Which of many dimensions differ most says nothing: they have no meaning one by one. Whether two point elsewhere, or
    one is only longer, does.

    Attributes
    ----------
    distance, cosine
        Euclidean, and of the angle between them; None where one has no direction.
    left_length, right_length, dimensions
        How long each is, and of how many numbers.
    """

    distance: float
    cosine: float | None
    left_length: float
    right_length: float
    dimensions: int

    @property
    def angle(self) -> float | None:
        """The angle between the two in degrees."""
        return None if self.cosine is None else math.degrees(math.acos(max(-1.0, min(1.0, self.cosine))))

    @classmethod
    def of(cls, left: Sequence[float], right: Sequence[float]) -> VectorDifference:
        """Compare two vectors.

        Examples
        --------
        >>> found = VectorDifference.of([3.0, 4.0], [6.0, 8.0])
        >>> found.distance, found.cosine, found.left_length, found.right_length
        (5.0, 1.0, 5.0, 10.0)
        """
        lengths = math.hypot(*left), math.hypot(*right)
        dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
        cosine = dot / (lengths[0] * lengths[1]) if lengths[0] and lengths[1] else None
        return cls(math.dist(left, right), cosine, *lengths, len(left))

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON."""
        return {
            "distance": self.distance,
            "cosine": self.cosine,
            "angle": self.angle,
            "left_length": self.left_length,
            "right_length": self.right_length,
            "dimensions": self.dimensions,
        }
