"""Learned bit codes of vectors: spectral hashing and iterative quantisation, fitted on a sample of the collection.

Random hyperplanes ignore the data. These codes use it: where vectors lie near a few directions, as images and
embeddings do, the same number of bits separates them better. But the codes belong to the data they were fitted on: when
it drifts, they must be fitted again, and no theory relates a distance to a number of differing bits.

- ``"spectral"`` (Weiss, Torralba, Fergus, NIPS 2008): the data is modelled as a box along its principal directions, and
  its lowest modes of vibration, one direction each, are cut at their zeros. Long sides of the box get several bits. It
  is good for few bits and where a few directions have most of the variance; high modes oscillate, and random
  hyperplanes do better.
- ``"itq"`` (Gong, Lazebnik, CVPR 2011): the principal directions are rotated to minimise the quantisation error of the
  signs. One bit a direction. On digits and on descriptors of photographs it is by far the better of the two.

The learned codes are a few plain arrays (`LearnedCodes.arrays`), stored with an index. NumPy fits them in 64-bit
floats, deterministically on one machine; codes are computed by our own sums, the same on every machine.
"""

import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.compiled import vector_kernels
from twinset.errors import OptionError, StateError
from twinset.schema import Codes, Vectors
from twinset.sketches.vectors import projection_kernels as kernels
from twinset.sketches.vectors.hyperplane import padded_directions

METHODS = ("spectral", "itq")
MOST_BITS = 4096
FORMAT = 1

_TURNS = 50  # iterations; the authors' number
# Exceptions of NumPy and zipfile for a damaged, truncated or foreign file.
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, AttributeError, RuntimeError, zipfile.BadZipFile, zlib.error)
_ROWS = 1 << 12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LearnedCodes:
    """Parameters of learned codes.

    method: ``"spectral"`` or ``"itq"``.
    mean: float32 (d): mean of the sample.
    directions: float32 (m, d): directions of projection of vectors minus the mean.
    lows, spans: float32 (m): minimum projection of the sample, and its range; unused by ``"itq"``.
    places, waves: int64 (bits): the direction of each bit, and its number of half waves over the span; 0 waves is the
        sign.
    """

    method: str
    mean: Vectors
    directions: Vectors
    lows: Vectors
    spans: Vectors
    places: npt.NDArray[np.int64]
    waves: npt.NDArray[np.int64]

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return len(self.places)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the parameters as named arrays, for `from_arrays`."""
        return {
            "about": np.array([FORMAT, METHODS.index(self.method)], np.int64),
            **{name: getattr(self, name) for name in _SHAPES},
        }


_SHAPES = {
    "mean": (np.float32, "d"),
    "directions": (np.float32, "md"),
    "lows": (np.float32, "m"),
    "spans": (np.float32, "m"),
    "places": (np.int64, "b"),
    "waves": (np.int64, "b"),
}


def fit(sample: Vectors, bits: int, method: str = "itq", seed: int = 1) -> LearnedCodes:
    """Learn codes from a sample.

    sample: float32 (n, d), at least two vectors; some ten thousand are plenty. For cosines pass vectors of length 1.
    bits: bits of a code.
    method: ``"spectral"`` or ``"itq"``.
    seed: of the initial rotation of ``"itq"``.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0, 0], [0, 1], [9, 0], [9, 1]], np.float32)
    >>> learned = fit(corners, bits=2, method="spectral")
    >>> learned.places.tolist(), learned.waves.tolist()
    ([0, 0], [1, 2])
    """
    if method not in METHODS:
        raise OptionError(f"method is {method!r}; allowed: {' or '.join(METHODS)}")
    if not 1 <= bits <= MOST_BITS:
        raise OptionError(f"bits is {bits}; allowed: a whole number from 1 to {MOST_BITS}")
    if len(sample) < 2:
        raise OptionError(f"the sample has {len(sample)} vectors; allowed: 2 or more, and some thousands are better")
    mean = sample.mean(axis=0, dtype=np.float64)
    principal = _principal(sample, mean, min(bits, sample.shape[1]))
    if method == "itq":
        return _quantised(sample, mean, principal, bits, seed)
    return _spectral(sample, mean, principal, bits)


def codes(vectors: Vectors, learned: LearnedCodes) -> Codes:
    """Return the code of each vector.

    vectors: float32 (n, d).
    learned: the result of `fit`.
    Returns uint64 (n, ⌈bits / 64⌉); bit b is in word b // 64, at place b mod 64.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0, 0], [0, 1], [9, 0], [9, 1]], np.float32)
    >>> found = codes(corners, fit(corners, bits=1, method="spectral"))[:, 0]
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """
    directions = padded_directions(learned.directions)
    words = np.empty((len(vectors), -(-learned.bits // 64)), np.uint64)
    for start in range(0, len(vectors), _ROWS):
        rows = slice(start, start + _ROWS)
        centred = vectors[rows] - learned.mean
        projections = np.empty((len(directions), len(centred)), np.float32)
        kernels.project(centred, directions, projections)
        kernels.pack_waves(projections, learned.lows, learned.spans, learned.places, learned.waves, words[rows])
    return words


def from_arrays(arrays: Mapping[str, npt.NDArray[np.generic]], where: str = "the learned codes") -> LearnedCodes:
    """Restore learned codes from `LearnedCodes.arrays`; refuse anything else.

    Examples
    --------
    >>> import numpy as np
    >>> learned = fit(np.eye(4, dtype=np.float32), bits=3)
    >>> from_arrays(learned.arrays()).bits
    3
    """
    about = arrays.get("about")
    if about is None or about.shape != (2,) or about.dtype != np.int64 or about[0] != FORMAT:
        raise StateError(f"{where}: not learned codes of format {FORMAT}; fit them again")
    sizes: dict[str, int] = {}
    for name, (kind, shape) in _SHAPES.items():
        array = arrays.get(name)
        if array is None or array.dtype != kind or array.ndim != len(shape):
            raise StateError(f"{where}: the array {name!r} is missing or of another kind; fit the codes again")
        for letter, size in zip(shape, array.shape, strict=True):
            if sizes.setdefault(letter, size) != size or size == 0:
                raise StateError(f"{where}: the array {name!r} has a length of {size}; fit the codes again")
    named = {name: np.ascontiguousarray(arrays[name]) for name in _SHAPES}
    method, floats = int(about[1]), ("mean", "directions", "lows", "spans")
    if not 0 <= method < len(METHODS) or not all(np.isfinite(named[name]).all() for name in floats):
        raise StateError(f"{where}: not learned codes of format {FORMAT}; fit them again")
    if named["places"].min() < 0 or named["places"].max() >= sizes["m"] or named["waves"].min() < 0:
        raise StateError(f"{where}: a bit has no direction; fit the codes again")
    return LearnedCodes(METHODS[method], **named)


def save(learned: LearnedCodes, path: str | os.PathLike[str]) -> None:
    """Write learned codes to a file of plain arrays (.npz).

    Examples
    --------
    >>> import numpy as np
    >>> save(fit(np.eye(4, dtype=np.float32), bits=3), "codes.npz")
    >>> load("codes.npz").bits
    3
    """
    with open(path, "wb") as file:
        np.savez(file, **learned.arrays())  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> LearnedCodes:
    """Read a file of `save`; a damaged or foreign file raises an error that names it.

    Examples
    --------
    >>> import numpy as np
    >>> save(fit(np.eye(4, dtype=np.float32), bits=3, method="spectral"), "codes.npz")
    >>> load("codes.npz").method
    'spectral'
    """
    name = os.fspath(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except FileNotFoundError:
        raise StateError(f"{name}: there is no such file; give the file that was written by save") from None
    except _UNREADABLE as error:
        raise StateError(f"{name}: not a file of learned codes, or damaged; fit them again") from error
    return from_arrays(arrays, name)


def _principal(sample: Vectors, mean: Floats, count: int) -> Floats:
    """Directions of largest variance, (count, d), with their largest component positive."""
    scatter = np.zeros((sample.shape[1], sample.shape[1]))
    for start in range(0, len(sample), _ROWS):
        centred = sample[start : start + _ROWS] - mean
        scatter += centred.T @ centred
    _, vectors = np.linalg.eigh(scatter)
    directions = vectors[:, ::-1][:, :count].T
    largest = np.abs(directions).argmax(axis=1)
    return directions * np.where(directions[np.arange(count), largest] < 0, -1.0, 1.0)[:, None]


def _spectral(sample: Vectors, mean: Floats, principal: Floats, bits: int) -> LearnedCodes:
    projected = np.concatenate(
        [(sample[start : start + _ROWS] - mean) @ principal.T for start in range(0, len(sample), _ROWS)]
    )
    lows = projected.min(axis=0)
    spans = np.maximum(projected.max(axis=0) - lows, 1e-30)
    # The mode of w half waves over a span has the eigenvalue (w / span)², up to a constant. The lowest are taken, ties
    # by the order of the directions.
    waves = np.arange(1, bits + 1)
    order = np.argsort((waves[None, :] / spans[:, None]).ravel(), kind="stable")[:bits]
    places, counts = order // bits, waves[order % bits]
    return LearnedCodes(
        "spectral", mean.astype(np.float32), np.ascontiguousarray(principal, np.float32), lows.astype(np.float32),
        np.maximum(spans, 1e-30).astype(np.float32), places.astype(np.int64), counts.astype(np.int64),
    )  # fmt: skip


def _quantised(sample: Vectors, mean: Floats, principal: Floats, bits: int, seed: int) -> LearnedCodes:
    drawn = np.empty(bits * bits, np.float32)
    vector_kernels.normals(np.uint64(seed), np.uint64(0), drawn)
    rotation, upper = np.linalg.qr(drawn.reshape(bits, bits).astype(np.float64))
    rotation *= np.where(np.diag(upper) < 0, -1.0, 1.0)
    projected = np.zeros((len(sample), bits))  # dimensions beyond the directions are zero, and are rotated as well
    for start in range(0, len(sample), _ROWS):
        projected[start : start + _ROWS, : len(principal)] = (sample[start : start + _ROWS] - mean) @ principal.T
    for _ in range(_TURNS):
        signs = np.where(projected @ rotation >= 0, 1.0, -1.0)
        left, _, right = np.linalg.svd(signs.T @ projected)
        rotation = right.T @ left.T
    directions = rotation[: len(principal)].T @ principal
    none = np.zeros(bits, np.float32)
    return LearnedCodes(
        "itq", mean.astype(np.float32), np.ascontiguousarray(directions, np.float32), none, none + np.float32(1),
        np.arange(bits, dtype=np.int64), np.zeros(bits, np.int64),
    )  # fmt: skip
