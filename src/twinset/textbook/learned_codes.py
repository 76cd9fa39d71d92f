"""Codes that are fitted to the data: spectral hashing and iterative quantisation (ITQ), with NumPy.

Random hyperplanes ignore the data. Both methods begin with its principal directions, in which it varies most, and
differ in how they make bits of the projections. Vectors are rows of a matrix.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = [
    "itq_codes",
    "itq_rotations",
    "principal_directions",
    "quantisation_error",
    "spectral_codes",
    "spectral_modes",
]

Matrix = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint8]


def principal_directions(points: Matrix, count: int) -> Matrix:
    """Return the directions of largest variance as rows, largest first: eigenvectors of the covariance matrix.

    Examples
    --------
    Points along the diagonal:

    >>> points = np.array([[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [3.0, 2.9]])
    >>> principal_directions(points, 1).round(1).tolist()
    [[0.7, 0.7]]
    """
    centred = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)  # smallest eigenvalue first
    directions = vectors[:, ::-1][:, :count].T
    largest = np.abs(directions).argmax(axis=1)
    # An eigenvector may be turned round. The one whose largest coordinate is positive is taken.
    signs = np.sign(directions[np.arange(len(directions)), largest])
    rows: Matrix = directions * signs[:, None]
    return rows


def spectral_modes(spans: npt.ArrayLike, n_bits: int) -> list[tuple[int, int]]:
    """Return the lowest modes of a box, each as a direction and a number of half waves.

    The best codes for a graph of neighbours are the signs of its first eigenvectors. For many points that fill a box
    evenly, these are standing waves along its sides: w half waves along a side of length s have the frequency w/s.
    The lowest are taken, ties by direction; so a long side gets several bits.

    Examples
    --------
    >>> spectral_modes([8.0, 3.0, 2.0], 6)
    [(0, 1), (0, 2), (1, 1), (0, 3), (0, 4), (2, 1)]
    """
    lengths = np.asarray(spans, dtype=np.float64)
    waves = ((count / length, side, count) for side, length in enumerate(lengths) for count in range(1, n_bits + 1))
    return [(side, count) for _, side, count in sorted(waves)[:n_bits]]


def spectral_codes(points: Matrix, n_bits: int) -> Bits:
    """Return the spectral hashing codes of points, fitted to the same points: a row of bits each.

    The points are projected on their principal directions, and their range is taken for a box. Bit by bit, it is
    1 where the standing wave sin(π/2 + w·π·x/s) is not negative, with x counted from the lower end of its side.

    Examples
    --------
    A line of points: one half wave cuts it in the middle, two cut it into quarters.

    >>> spectral_codes(np.array([[0.0], [2.0], [4.0], [6.0], [8.0]]), n_bits=2).tolist()
    [[1, 1], [1, 1], [1, 0], [0, 0], [0, 1]]
    """
    directions = principal_directions(points, n_bits)
    x = (points - points.mean(axis=0)) @ directions.T
    x -= x.min(axis=0)
    spans = x.max(axis=0)
    columns = [
        np.sin(math.pi / 2 + waves * math.pi * x[:, side] / spans[side]) >= 0
        for side, waves in spectral_modes(spans, n_bits)
    ]
    return np.stack(columns, axis=1).astype(np.uint8)


def quantisation_error(projected: Matrix, rotation: Matrix) -> float:
    """Return what is lost if rotated projections are replaced by their signs: ‖sign(V·R) - V·R‖².

    Examples
    --------
    Two points on the axes lie on borders between signs; turned by 45 degrees they do not:

    >>> points, turn = np.array([[math.sqrt(2), 0.0], [0.0, math.sqrt(2)]]), math.sqrt(0.5)
    >>> round(quantisation_error(points, np.eye(2)), 2)
    2.34
    >>> round(quantisation_error(points, np.array([[turn, turn], [-turn, turn]])), 2)
    0.0
    """
    turned = projected @ rotation
    return float(((_signs(turned) - turned) ** 2).sum())


def itq_rotations(projected: Matrix, start: Matrix, turns: int) -> Iterator[Matrix]:
    """Yield a rotation and its improvements: each lowers the quantisation error, or leaves it as it is.

    Two steps alternate. The nearest corner of the cube {-1, 1}ᵏ to each point is the row of its signs. The rotation
    that brings the points nearest to these corners follows from a singular value decomposition (Procrustes).

    Examples
    --------
    >>> points = np.array([[4.0, 1.0], [1.0, -3.0], [-4.0, -1.0], [-1.0, 3.0]])
    >>> [round(quantisation_error(points, turn), 1) for turn in itq_rotations(points, np.eye(2), turns=2)]
    [26.0, 20.8, 20.8]
    """
    rotation = start
    yield rotation
    for _ in range(turns):
        left, _, right = np.linalg.svd(_signs(projected @ rotation).T @ projected)
        rotation = right.T @ left.T
        yield rotation


def itq_codes(points: Matrix, start: Matrix, turns: int = 50) -> Bits:
    """Return the ITQ codes of points, fitted to the same points: one bit per principal direction, after rotation.

    Parameters
    ----------
    points
        The points; at least as many dimensions as bits.
    start
        A random rotation, a square matrix with as many rows as a code has bits.
    turns
        Number of improvements.

    Returns
    -------
    array
        A row of bits per point.

    Examples
    --------
    Two groups of two:

    >>> points = np.array([[5.0, 1.0], [5.0, -1.0], [-5.0, 1.0], [-5.0, -1.0]])
    >>> itq_codes(points, np.eye(2)).tolist()
    [[1, 1], [1, 0], [0, 1], [0, 0]]
    """
    projected = (points - points.mean(axis=0)) @ principal_directions(points, len(start)).T
    *_, rotation = itq_rotations(projected, start, turns)
    codes: Bits = (projected @ rotation >= 0).astype(np.uint8)
    return codes


def _signs(values: Matrix) -> Matrix:
    return np.where(values >= 0, 1.0, -1.0)
