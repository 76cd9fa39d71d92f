"""Vectors: cosine, angle and distance, and the bits of random hyperplanes."""

import math
from collections.abc import Sequence

__all__ = [
    "angle",
    "cosine",
    "cosine_of_distance",
    "euclidean_distance",
    "hyperplane_agreement",
    "hyperplane_bit",
    "hyperplane_bits",
    "near_or_far",
    "scalar_product",
]

Vector = Sequence[float]


def scalar_product(left: Vector, right: Vector) -> float:
    """Return the scalar product of two vectors: the sum of the products of their coordinates.

    Examples
    --------
    >>> scalar_product([1, 2], [3, 4])
    11.0
    """
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of the angle between two vectors: 1 in the same direction, 0 at a right angle.

    A zero vector has no direction; its cosine is 0.

    Examples
    --------
    >>> cosine([3, 4], [6, 8]), cosine([3, 4], [4, -3]), cosine([3, 4], [4, 3])
    (1.0, 0.0, 0.96)
    """
    lengths = math.hypot(*left) * math.hypot(*right)
    return max(-1.0, min(1.0, scalar_product(left, right) / lengths)) if lengths else 0.0


def angle(left: Vector, right: Vector) -> float:
    """Return the angle between two vectors, from 0 to π.

    Examples
    --------
    >>> math.degrees(angle([1, 0], [0, 2])), round(math.degrees(angle([1, 0], [1, 1])))
    (90.0, 45)
    """
    return math.acos(cosine(left, right))


def hyperplane_bit(vector: Vector, normal: Vector) -> int:
    """Return the side of a hyperplane through the origin: 1 on the side its normal points to.

    Examples
    --------
    >>> [hyperplane_bit(vector, normal=[1, -1]) for vector in ([3, 1], [1, 3])]
    [1, 0]
    """
    return int(scalar_product(vector, normal) >= 0)


def hyperplane_bits(vector: Vector, normals: Sequence[Vector]) -> tuple[int, ...]:
    """Return the bits of a vector for several hyperplanes, with normally distributed normals.

    The bits are a signature: `candidates` splits those of L·k hyperplanes into L tables of k bits.

    Examples
    --------
    >>> hyperplane_bits([3, 1], normals=[[1, -1], [-1, 2], [0, 1]])
    (1, 0, 1)
    """
    return tuple(hyperplane_bit(vector, normal) for normal in normals)


def hyperplane_agreement(left: Vector, right: Vector) -> float:
    """Return the probability that two vectors lie on the same side of a random hyperplane: 1 - angle/π.

    The hyperplane intersects the plane of the two vectors in a line of uniformly random direction. It separates them if
    that line runs through the angle between them.

    Examples
    --------
    >>> [round(hyperplane_agreement([1, 0], other), 2) for other in ([2, 0], [1, 1], [0, 1], [-1, 0])]
    [1.0, 0.75, 0.5, 0.0]
    """
    return 1 - angle(left, right) / math.pi


def euclidean_distance(left: Vector, right: Vector) -> float:
    """Return the Euclidean distance of two points.

    Examples
    --------
    >>> euclidean_distance([1, 1], [4, 5])
    5.0
    """
    return math.dist(left, right)


def cosine_of_distance(distance: float) -> float:
    """Return the cosine of two vectors of length 1 at this distance: 1 - d²/2.

    Examples
    --------
    >>> cosine_of_distance(0.0), cosine_of_distance(1.0), cosine_of_distance(2.0)
    (1.0, 0.5, -1.0)
    """
    return 1 - distance * distance / 2


def near_or_far(left: Vector, right: Vector, radius: float, factor: float) -> str:
    """Classify a point for (R, cR) search: to be found, not to be found, or either.

    Approximate search guarantees that a point within R is found with at least a probability p₁, and one beyond c·R with
    at most a smaller p₂. In between nothing is guaranteed. k bits and L tables drive the two probabilities apart;
    checking the true distance removes what is too far.

    Examples
    --------
    >>> [near_or_far([0, 0], point, radius=1, factor=2) for point in ([0, 1], [0, 1.5], [3, 0])]
    ['near', 'between', 'far']
    """
    distance = euclidean_distance(left, right)
    if distance <= radius:
        return "near"
    return "far" if distance > factor * radius else "between"
