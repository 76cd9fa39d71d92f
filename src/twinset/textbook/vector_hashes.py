"""Hashes of vectors beyond hyperplanes: p-stable strips, cross-polytopes, and the order of probing.

The probability that two vectors have the same hash falls with their distance: let it be p₁ at the distance R, and p₂
at c·R. How good a method is follows from both (`search_exponent`).
"""

import heapq
import math
from collections.abc import Iterator, Sequence

from twinset.textbook.vectors import scalar_product

__all__ = [
    "cheapest_moves",
    "corner_agreement",
    "cross_polytope_corner",
    "hadamard",
    "random_rotation",
    "search_exponent",
    "strip",
    "strip_agreement",
    "strips",
]

Vector = Sequence[float]


def strip(vector: Vector, direction: Vector, offset: float, width: float) -> int:
    """Return the strip of a vector: the p-stable hash ⌊(a·v + b) / w⌋.

    A line in the direction a is cut into pieces of width w; b moves the cuts. The hash is the piece onto which the
    vector is projected.

    Parameters
    ----------
    vector
        The vector v.
    direction
        The direction a: independent normal numbers.
    offset
        The offset b: uniform from 0 to the width.
    width
        The width w.

    Returns
    -------
    int
        The number of the strip.

    Examples
    --------
    >>> [strip(point, direction=[1.0, 0.0], offset=1.0, width=4.0) for point in ([0, 9], [2.9, 0], [3, 0], [-2, 0])]
    [0, 0, 1, -1]
    """
    return math.floor((scalar_product(vector, direction) + offset) / width)


def strips(vector: Vector, directions: Sequence[Vector], offsets: Sequence[float], width: float) -> tuple[int, ...]:
    """Return the strips of a vector in several directions: its signature.

    `candidates` splits a signature of L·k strips into L tables of k strips.

    Examples
    --------
    >>> strips([3, 5], directions=[[1, 0], [0, 1], [1, 1]], offsets=[0.0, 0.0, 1.0], width=4.0)
    (0, 1, 2)
    """
    return tuple(strip(vector, a, b, width) for a, b in zip(directions, offsets, strict=True))


def strip_agreement(distance: float, width: float) -> float:
    """Return the probability that two vectors at a Euclidean distance are in the same strip.

    The normal distribution is 2-stable: the projections of two vectors at distance d differ by d·z, where z is a normal
    number. Both are in one strip of width w with probability 1 - |d·z|/w, if that is positive. This is the mean over z:

        1 - 2Φ(-u) - 2/(√(2π)·u) · (1 - exp(-u²/2)),  u = w/d.

    Examples
    --------
    >>> [round(strip_agreement(d, width=4.0), 2) for d in (0, 1, 2, 4, 8, 16)]
    [1.0, 0.8, 0.61, 0.37, 0.2, 0.1]
    """
    if not distance:
        return 1.0
    u = width / distance
    outside = math.erfc(u / math.sqrt(2))  # 2Φ(-u)
    return 1 - outside + 2 / (math.sqrt(2 * math.pi) * u) * math.expm1(-u * u / 2)


def hadamard(vector: Vector) -> list[float]:
    """Return the Walsh–Hadamard transform of a vector, with 2ⁿ coordinates: sums and differences, by halves.

    It costs d·log d additions. Divided by √d, it is a rotation or a reflection: lengths and angles are unchanged.

    Examples
    --------
    >>> hadamard([1, 0, 0, 0]), hadamard([1, 2, 3, 4])
    ([1, 1, 1, 1], [10, -2, -4, 0])
    """
    if len(vector) == 1:
        return list(vector)
    half = len(vector) // 2
    low, high = hadamard(vector[:half]), hadamard(vector[half:])
    return [a + b for a, b in zip(low, high, strict=True)] + [a - b for a, b in zip(low, high, strict=True)]


def random_rotation(vector: Vector, signs: Sequence[Vector], order: Sequence[int] | None = None) -> list[float]:
    """Rotate a vector as a random matrix would, in d·log d steps: random signs, then a transform, three times.

    Parameters
    ----------
    vector
        The vector; it is padded with zeros to the length of the signs.
    signs
        Three rows of 1 and -1, each of 2ⁿ.
    order
        A permutation of the coordinates, applied between the rounds; none by default. It helps vectors of few non-zero
        coordinates.

    Returns
    -------
    list of float
        The rotated vector, of the same length.

    Examples
    --------
    >>> signs = [[1, -1, 1, 1], [1, 1, -1, 1], [-1, 1, 1, 1]]
    >>> turned = random_rotation([3, 4], signs)
    >>> turned, math.hypot(*turned)
    ([-4.0, 0.0, -3.0, 0.0], 5.0)
    """
    size = len(signs[0])
    turned = [*vector, *[0.0] * (size - len(vector))]
    for turn, row in enumerate(signs):
        if turn and order is not None:
            turned = [turned[place] for place in order]
        turned = hadamard([sign * x for sign, x in zip(row, turned, strict=True)])
    return [x / size ** (len(signs) / 2) for x in turned]


def cross_polytope_corner(rotated: Vector) -> int:
    """Return the nearest corner of the cross-polytope: the hash of a vector that was rotated at random.

    The cross-polytope has the 2·d corners ±e₁ … ±e_d; in three dimensions it is the octahedron. The nearest one is on
    the axis of the largest coordinate, on the side of its sign. Corner 2j is +e_j, corner 2j+1 is -e_j.

    Examples
    --------
    >>> cross_polytope_corner([0.1, -0.9, 0.4]), cross_polytope_corner([0.1, 0.3, 0.95])
    (3, 4)
    """
    axis = max(range(len(rotated)), key=lambda j: abs(rotated[j]))
    return 2 * axis + (rotated[axis] < 0)


def corner_agreement(distance: float, dimensions: int) -> float:
    """Return the probability, up to lower terms, that two unit vectors have the same corner: d^(-τ²/(4-τ²)).

    Examples
    --------
    >>> [round(corner_agreement(t, 128), 3) for t in (0.0, 0.5, 1.0, 1.414)]
    [1.0, 0.724, 0.198, 0.008]
    """
    return float(dimensions ** (-distance * distance / (4 - distance * distance)))


def search_exponent(p_near: float, p_far: float) -> float:
    """Return ρ = ln p₁ / ln p₂, which says how the work of a query grows: as n^ρ, where comparing all grows as n.

    k hashes are joined to a key, so that of n far vectors about one has the key of the query: n·p₂ᵏ = 1. A near vector
    has it with probability p₁ᵏ = n^-ρ, so about n^ρ tables are needed to find it.

    Examples
    --------
    Twice the distance, with strips, hyperplanes and cross-polytopes of 128 dimensions, for unit vectors at 0.5 and 1.
    The last one is the leading term, as if there were very many dimensions; for 128 it is 0.37 in truth:

    >>> planes = [1 - math.acos(1 - d * d / 2) / math.pi for d in (0.5, 1.0)]
    >>> corners = [corner_agreement(d, 128) for d in (0.5, 1.0)]
    >>> rows = [strip_agreement(d, width=2.0) for d in (0.5, 1.0)]
    >>> [round(search_exponent(*both), 2) for both in (rows, planes, corners)]
    [0.45, 0.43, 0.2]
    """
    return math.log(p_near) / math.log(p_far)


def cheapest_moves(costs: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """Yield sets of moves, the cheapest sum of costs first: the order in which multi-probe search visits buckets.

    A move changes one place of a key: it flips a bit, or goes to the next strip. It costs the squared distance of the
    vector from that border, because a neighbour is on the other side the more likely the nearer the border is.
    From each set follow two: its most expensive move is replaced by the next one, or the next one is added.

    Examples
    --------
    Bits at distances of 0.9, 0.1 and 0.3 from their hyperplanes. Flipping the second and the third comes before the
    first:

    >>> list(cheapest_moves([0.81, 0.01, 0.09]))
    [(1,), (2,), (1, 2), (0,), (0, 1), (0, 2), (0, 1, 2)]
    """
    order = sorted(range(len(costs)), key=costs.__getitem__)
    heap: list[tuple[float, tuple[int, ...]]] = [(costs[order[0]], (0,))] if order else []
    while heap:
        _, ranks = heapq.heappop(heap)
        yield tuple(sorted(order[rank] for rank in ranks))
        following = ranks[-1] + 1
        if following < len(order):
            for ranks_after in ((*ranks[:-1], following), (*ranks, following)):
                heapq.heappush(heap, (sum(costs[order[rank]] for rank in ranks_after), ranks_after))
