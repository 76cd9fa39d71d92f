"""Collision probability of two vectors in a hash table: by theory, and for probed keys by seeded simulation.

For random hyperplanes, strips and rotations it depends only on the cosine, or on distance and width. So a few thousand
pairs with that cosine or distance are drawn, in as many coordinates as the table uses, and the rank of the key at which
one finds the other is recorded. The random numbers are the same every time.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from twinset.compiled import vector_kernels
from twinset.plan.bands import binomial
from twinset.plan.codes import bit_differs

SIGNATURE_BITS = (64, 128)  # the first word of a signature, and all of it
MOST_ALTERNATIVES = 15  # corners of one cross-polytope tried besides the nearest

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_AT_ONCE = 2048


def padded_size(dimensions: int) -> int:
    """Return the number of coordinates of a rotated vector: a power of two, at least 64.

    Examples
    --------
    >>> padded_size(2), padded_size(128), padded_size(300)
    (64, 128, 512)
    """
    return max(64, 1 << (dimensions - 1).bit_length())


def side_agrees(cosine: float) -> float:
    """Return the probability that two vectors lie on the same side of a random hyperplane: 1-θ/π.

    Examples
    --------
    >>> side_agrees(0.0), round(side_agrees(0.9), 4), side_agrees(1.0)
    (0.5, 0.8564, 1.0)
    """
    return 1.0 - bit_differs(cosine)


def strip_agrees(distance: float) -> float:
    """Return the probability that two vectors lie in one strip; the distance is in widths.

    Datar, Immorlica, Indyk, Mirrokni, SoCG 2004, for the normal distribution.

    Examples
    --------
    >>> strip_agrees(0.0), round(strip_agrees(0.25), 4), round(strip_agrees(1.0), 4)
    (1.0, 0.8005, 0.3687)
    """
    if distance <= 0:
        return 1.0
    ratio = 1.0 / distance
    return math.erf(ratio / math.sqrt(2)) - math.sqrt(2 / math.pi) / ratio * -math.expm1(-ratio * ratio / 2)


def parity_differs(distance: float) -> float:
    """Return the probability that the strips of two vectors differ in parity; the distance is in widths.

    Examples
    --------
    >>> parity_differs(0.0), round(parity_differs(0.25), 4), round(parity_differs(2.0), 4)
    (0.0, 0.1995, 0.5)
    """
    if distance < 0.02:
        return distance * math.sqrt(2 / math.pi)  # too close for two borders: the mean of |normal|
    terms = (math.exp(-((m * math.pi * distance) ** 2) / 2) / m**2 for m in range(1, 200, 2))
    return 0.5 - 4 / math.pi**2 * math.fsum(terms)


def corner_agrees(cosine: float, width: int, size: int) -> float:
    """Return the probability that two vectors have the same nearest corner of a cross-polytope, by simulation.

    cosine: of the two vectors; below 0 the corner is taken as random.
    width: coordinates of the cross-polytope.
    size: coordinates of the rotated vectors, which include these.

    Examples
    --------
    >>> round(corner_agrees(0.9, 128, 128), 1), corner_agrees(1.0, 128, 128)
    (0.4, 1.0)
    """
    return math.exp(float(np.interp(cosine, *_corners_agree(width, size))))


@lru_cache(maxsize=64)
def _corners_agree(width: int, size: int) -> tuple[Floats, Floats]:
    """Cosines from 0 to 1, with the logarithms of their probabilities."""
    cosines = np.linspace(0.0, 1.0, 21)
    left, across = _rotated(1024, 1, width, size, 0)
    corners = _corners(left)
    shares = np.array([(_corners(_turned(left, across, cosine)) == corners).mean() for cosine in cosines.tolist()])
    return cosines, np.log(np.maximum.accumulate(np.maximum(shares, 0.5 / width)))


@lru_cache(maxsize=4096)
def signatures_pass(most_first: int, most: int, differs: float) -> float:
    """Return the probability that two signatures differ in few enough of the first 64 bits and of all bits.

    most_first, most: maximum number of differing bits: of the first word, and of all.
    differs: the probability that a bit differs.

    Examples
    --------
    >>> round(signatures_pass(21, 34, 0.1436), 4), signatures_pass(21, 34, 0.5) < 1e-6
    (0.9999, True)
    """
    first, rest = SIGNATURE_BITS[0], SIGNATURE_BITS[1] - SIGNATURE_BITS[0]
    ways = (binomial(i, first, differs) * _at_most(most - i, rest, differs) for i in range(min(most_first, most) + 1))
    return min(1.0, math.fsum(ways))


@lru_cache(maxsize=256)
def most_differing(bits: int, differs: float, loss: float) -> int:
    """Return the minimum number of differing bits to allow, so that at most the share `loss` of pairs has more.

    Examples
    --------
    >>> most_differing(64, 0.1436, 1.15e-4)
    21
    """
    below = 0.0
    for count in range(bits):
        below += binomial(count, bits, differs)
        if below >= 1 - loss:
            return count
    return bits


def _at_most(count: int, n: int, p: float) -> float:
    """Probability of at most `count` successes in n trials."""
    return 1.0 if count >= n else math.fsum(binomial(i, n, p) for i in range(count + 1))


class Ranks:
    """Ranks of the key at which one of two vectors finds the other: 0 is its own, `probes` + 1 is none.

    method: ``"hyperplane"``, ``"cross-polytope"`` or ``"p-stable"``.
    likeness: the cosine of the two; for ``"p-stable"`` their distance in widths.
    functions: bits, cross-polytopes or strips of a key.
    probes: maximum number of keys tried besides the vector's own.
    width, size: coordinates of a cross-polytope, and of the rotated vector.
    pairs: number of simulated pairs.

    Examples
    --------
    >>> ranks = Ranks("hyperplane", 0.9, 16, probes=8)
    >>> [round(ranks.chance(probes, sides=2), 2) for probes in (0, 1, 8)]
    [0.08, 0.19, 0.45]
    """

    def __init__(
        self,
        method: str,
        likeness: float,
        functions: int,
        probes: int,
        width: int = 0,
        size: int = 0,
        pairs: int = 2048,
    ) -> None:
        self.pairs = pairs
        one, other = [], []
        for first in range(0, pairs, _AT_ONCE):
            some = min(_AT_ONCE, pairs - first)
            if method == "p-stable":
                forth, back = _strip_moves(likeness, some, functions, first)
            elif method == "hyperplane":
                forth, back = _side_moves(likeness, some, functions, first)
            else:
                forth, back = _corner_moves(likeness, some, functions, width, size, probes, first)
            one.append(_ranks(*forth, probes))
            other.append(_ranks(*back, probes))
        self.one, self.other = np.concatenate(one), np.concatenate(other)
        self.at_once = {"p-stable": strip_agrees, "hyperplane": side_agrees}.get(method)
        self.own = self.at_once(likeness) ** functions if self.at_once else None

    def chance(self, probes: int, sides: int) -> float:
        """Return the probability that one finds the other: `sides` is 2 if both look, 1 if only one does."""
        best = np.minimum(self.one, self.other) if sides == 2 else self.one
        if self.own is None:
            return float((best <= probes).mean())
        return self.own + float(((best > 0) & (best <= probes)).mean())  # theory gives the first term

    def least_chance(self, probes: int, sides: int) -> float:
        """Return a lower bound of the probability, at 2 %: two standard errors below the estimate."""
        chance = self.chance(probes, sides)
        drawn = chance - (self.own or 0.0)
        if self.own is not None and probes == 0:
            return chance
        return max(chance - 2 * math.sqrt(max(drawn * (1 - drawn), 1 / self.pairs) / self.pairs), self.own or 0.0)


_Drawn = tuple[npt.NDArray[np.float32], npt.NDArray[np.uint64], npt.NDArray[np.uint8], npt.NDArray[np.uint64]]
"""Costs, turns and groups of moves from a key 0, and the key of the other vector."""


def _ranks(
    costs: npt.NDArray[np.float32],
    turns: npt.NDArray[np.uint64],
    groups: npt.NDArray[np.uint8],
    wanted: npt.NDArray[np.uint64],
    probes: int,
) -> Counts:
    tried = np.empty((len(costs), probes + 1), np.uint64)
    vector_kernels.next_keys(np.zeros(len(costs), np.uint64), costs, turns, groups, tried)
    met = tried == wanted[:, None]
    return np.where(met.any(axis=1), met.argmax(axis=1), probes + 1)


def _side_moves(cosine: float, pairs: int, bits: int, first: int) -> tuple[_Drawn, _Drawn]:
    """Signed distances from the hyperplanes are normal, with the cosine as their correlation."""
    left, other = _normals(1, first, pairs, bits), _normals(2, first, pairs, bits)
    right = cosine * left + math.sqrt(max(0.0, 1 - cosine * cosine)) * other
    turns = np.uint64(1) << np.arange(bits, dtype=np.uint64)
    crossed = ((left >= 0) != (right >= 0)) @ turns.astype(np.float64)
    wanted, groups = crossed.astype(np.uint64), np.arange(bits, dtype=np.uint8)
    return (
        ((left**2).astype(np.float32), turns[None, :], groups, wanted),
        ((right**2).astype(np.float32), turns[None, :], groups, wanted),
    )


def _strip_moves(distance: float, pairs: int, functions: int, first: int) -> tuple[_Drawn, _Drawn]:
    """Positions in a strip are uniform; those of the other vector differ by a normal number times the distance."""
    drawn_evenly = np.empty(pairs * functions, np.float64)
    vector_kernels.uniforms(np.uint64(1003), np.uint64(first * functions), drawn_evenly)
    left = drawn_evenly.reshape(pairs, functions)
    right = left + distance * _normals(4, first, pairs, functions)
    steps = np.clip(np.floor(right), -2, 2).astype(np.int64)
    right -= np.floor(right)
    shifts = 2 * np.arange(functions)
    turns = (np.array([1, 2])[None, :] << shifts[:, None]).astype(np.uint64).reshape(1, -1)
    groups = np.repeat(np.arange(functions, dtype=np.uint8), 2)
    drawn = []
    for places, names in ((left, [3, 1, 0, 2, 3]), (right, [3, 2, 0, 1, 3])):  # 1 is below, 2 above, 3 further away
        costs = np.stack([places**2, (1 - places) ** 2], axis=2).reshape(pairs, -1).astype(np.float32)
        codes = np.array(names, np.uint64)[steps + 2] << shifts.astype(np.uint64)
        drawn.append((costs, turns, groups, np.bitwise_or.reduce(codes, axis=1)))
    return drawn[0], drawn[1]


def _corner_moves(
    cosine: float, pairs: int, functions: int, width: int, size: int, probes: int, first: int
) -> tuple[_Drawn, _Drawn]:
    alternatives = min(probes, width - 1, MOST_ALTERNATIVES)
    left, across = _rotated(pairs, functions, width, size, first)
    right = _turned(left, across, cosine)
    shifts = 4 * np.arange(functions, dtype=np.uint64)
    numbers = np.arange(1, alternatives + 1, dtype=np.uint64)
    turns = (numbers[None, :] << shifts[:, None]).reshape(1, -1)
    groups = np.repeat(np.arange(functions, dtype=np.uint8), alternatives)
    drawn = []
    for own, other in ((left, right), (right, left)):
        sizes = np.abs(own) - 1e-9 * np.arange(width)  # ties: first coordinate first
        order = np.argpartition(-sizes, alternatives, axis=2)[:, :, : alternatives + 1]
        order = np.take_along_axis(order, np.argsort(-np.take_along_axis(sizes, order, 2), axis=2), 2)
        values = np.take_along_axis(own, order, 2)
        gaps = np.abs(values[:, :, :1]) - np.abs(values[:, :, 1:])
        met = 2 * order + (values < 0) == _corners(other)[:, :, None]
        ranks = np.where(met.any(axis=2), met.argmax(axis=2), 0)
        wanted = np.bitwise_or.reduce(ranks.astype(np.uint64) << shifts, axis=1)
        wanted = np.where(met.any(axis=2).all(axis=1), wanted, np.uint64(2**63))
        drawn.append(((gaps**2).reshape(pairs, -1).astype(np.float32), turns, groups, wanted))
    return drawn[0], drawn[1]


def _corners(rotated: Floats) -> Counts:
    places: Counts = np.abs(rotated).argmax(axis=2)
    negative: npt.NDArray[np.bool_] = np.take_along_axis(rotated, places[:, :, None], 2)[:, :, 0] < 0
    return 2 * places + negative


def _rotated(pairs: int, functions: int, width: int, size: int, first: int) -> tuple[Floats, Floats]:
    """Coordinates of a vector after random rotations, and of an orthogonal one of the same length.

    Both are (pairs, functions, width). As many functions as fit share a rotation, and agree less often than independent
    ones would. Unused coordinates matter only by their sums of squares and products, which are drawn directly.
    """
    together = min(functions, size // width)
    rotations = -(-functions // together)
    shape, seen = (pairs, rotations, together * width), together * width
    left = _normals(5, first, pairs, rotations * seen).reshape(shape)
    other = _normals(6, first, pairs, rotations * seen).reshape(shape)
    rest = size - seen
    drawn = _normals(7, first, pairs, 3 * rotations).reshape(pairs, rotations, 3)
    left_rest = np.maximum(0.0, rest + math.sqrt(2 * rest) * drawn[:, :, 0])
    product_rest = np.sqrt(left_rest) * drawn[:, :, 1]
    other_rest = np.maximum(0.0, rest + math.sqrt(2 * rest) * drawn[:, :, 2])
    square = (left**2).sum(axis=2) + left_rest
    product = (left * other).sum(axis=2) + product_rest
    other -= (product / square)[:, :, None] * left
    other_square = (other**2).sum(axis=2) + other_rest  # only the part of the rest orthogonal to the left one matters
    other *= np.sqrt(square / other_square)[:, :, None]
    split = (pairs, rotations * together, width)
    return left.reshape(split)[:, :functions], other.reshape(split)[:, :functions]


def _turned(left: Floats, across: Floats, cosine: float) -> Floats:
    """The vector at this cosine to the left one."""
    return cosine * left + math.sqrt(max(0.0, 1 - cosine * cosine)) * across


def _normals(stream: int, first: int, count: int, columns: int) -> Floats:
    values = np.empty(count * columns, np.float32)
    vector_kernels.normals(np.uint64(1000 + stream), np.uint64(first * columns), values)
    return values.reshape(count, columns).astype(np.float64)
