"""Weighted sets of an index: JSON objects from element to weight, and hashes with weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from twinset.documents.items.pack import element_sets
from twinset.documents.items.weighted import packed_weighted
from twinset.documents.normalize import buffers_of
from twinset.errors import DamagedError
from twinset.pairs.sets import Sets
from twinset.schema import Numbers, Shares, WeightedSets
from twinset.system.arrays import offsets_of, ranges

BYTES = 16
"""Bytes of an element: its hash and its weight."""


@dataclass(frozen=True)
class SetsWithWeights(Sets):
    """Sets one after the other, the hashes of each ascending, with a weight above 0 for each."""

    weights: Shares

    @classmethod
    def from_words(cls, words: npt.NDArray[np.uint64], sizes: Numbers) -> SetsWithWeights:
        """Make sets of these sizes from elements and the bits of their weights, by turns."""
        pairs = words.reshape(-1, 2)
        return cls(pairs[:, 0].copy(), offsets_of(sizes), sizes, pairs[:, 1].copy().view(np.float64))

    @property
    def weighted(self) -> WeightedSets:
        """The sets as they are compared."""
        return WeightedSets(offsets_of(self.sizes), self.hashes, self.weights)

    def packed(self, row: int) -> bytes:
        """Return a set as it is stored."""
        some = slice(int(self.starts[row]), int(self.starts[row]) + int(self.sizes[row]))
        return np.stack([self.hashes[some], self.weights[some].view(np.uint64)], axis=1).tobytes()

    def take(self, rows: npt.NDArray[np.int64]) -> SetsWithWeights:
        """Return some sets."""
        sizes = self.sizes[rows]
        places = ranges(self.starts[rows], sizes.astype(np.int64))
        return SetsWithWeights(self.hashes[places], offsets_of(sizes), sizes, self.weights[places])

    @classmethod
    def concat(cls, parts: Sequence[SetsWithWeights]) -> SetsWithWeights:
        """Concatenate sets."""
        hashes, sizes, weights = (
            np.concatenate([getattr(one, name) for one in parts]) for name in ("hashes", "sizes", "weights")
        )
        return cls(hashes, offsets_of(sizes), sizes, weights)


def read_objects(objects: Sequence[str | bytes | None]) -> SetsWithWeights:
    """Read weighted sets from JSON objects; raise `ValueError` if one is not such an object.

    Examples
    --------
    >>> sets = read_objects(['{"Ran": 4.5, "Alien": 3}', None, "{}"])
    >>> sets.sizes.tolist(), sorted(sets.weights.tolist())
    ([2, 0, 0], [3.0, 4.5])
    """
    names: list[str] = []
    weights: list[float] = []
    counts = []
    for row, one in enumerate(objects):
        weight_of = {} if one is None else _parsed(one, row)
        names.extend(weight_of)
        weights.extend(weight_of.values())
        counts.append(len(weight_of))
    offsets = pa.array(offsets_of(np.array(counts, np.int64)))
    elements = pa.LargeListArray.from_arrays(offsets, pa.array(names, pa.large_string()))
    values = pa.LargeListArray.from_arrays(offsets, pa.array(np.array(weights, np.float64)))
    rows, bad = packed_weighted(element_sets(elements), values)
    if bad:
        raise ValueError(f"set number {bad[0][0]}: {bad[0][1]}")
    data, ends = buffers_of(rows)
    words = np.frombuffer(data[ends[0] : ends[-1]].tobytes(), "<u8")
    return SetsWithWeights.from_words(words, (np.diff(ends) // BYTES).astype(np.uint32))


def _parsed(text: str | bytes, row: int) -> dict[str, float]:
    """Parse a JSON object of elements and weights."""
    try:
        found: Any = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"set number {row} is not JSON: {error}") from error
    if not isinstance(found, dict) or not all(type(weight) in (int, float) for weight in found.values()):
        raise ValueError(
            f'set number {row} is not an object from element to weight, such as {{"Ran": 4.5, "Alien": 3}}'
        )
    return found


def written(texts: Any) -> list[bytes]:
    """Return weighted sets as they are stored: JSON objects, by element, so that equal sets are equal texts."""
    objects = ({} if text is None else orjson.loads(text) for text in texts.to_pylist())
    return [orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in objects]


def stored_sets(contents: Sequence[bytes]) -> SetsWithWeights:
    """Return weighted sets from stored hashes and weights; raise `DamagedError` if they are not such."""
    sizes = np.array([len(one) // BYTES for one in contents], np.uint32)
    sets = SetsWithWeights.from_words(np.frombuffer(bytearray().join(contents), "<u8"), sizes)
    ascending = np.ones(len(sets.hashes), np.bool_)
    np.greater(sets.hashes[1:], sets.hashes[:-1], out=ascending[1:])
    ascending[sets.starts[:-1][sizes > 0]] = True
    if not ascending.all() or not (np.isfinite(sets.weights) & (sets.weights > 0)).all():
        raise DamagedError("the index is damaged: the stored hashes and weights of a document are not those of a set")
    return sets
