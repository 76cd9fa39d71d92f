"""Candidates by banding: documents whose sketches agree in all slots of at least one band.

Documents are joined block by block, a block with itself or with another, so that at most two blocks of sketches are in
memory. The pairs do not depend on the block size.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinset.candidates import banding_kernels
from twinset.plan import Plan
from twinset.schema import Bytes, CandidatePairs, Hashes, Numbers, Places, Sketches

_ROOM = 1 << 16  # pairs per batch
_PARTITION = 1 << 15  # keys: with their buckets they fit the second-level cache
_MOST_BITS = 10  # key bits that choose its partition: writing to more partitions at once is slower


@dataclass(frozen=True)
class Banded:
    """Sketches of some documents, in ascending order of their numbers, split into bands.

    numbers uint32 (m); keys uint64 (bands, m); sketches uint8 (m, width): the low bytes of the slots, padded to a
    multiple of 8.
    """

    numbers: Numbers
    keys: Hashes
    sketches: Bytes


def width(n_hashes: int) -> int:
    """Bytes of a row of `Banded.sketches`."""
    return (n_hashes + 7) // 8 * 8


def band_keys(sketches: Sketches, salts: Hashes, plan: Plan) -> Hashes:
    """Key of each band of each document, (bands, n); documents of different salts never share a key."""
    keys = np.empty((plan.n_bands, len(sketches)), np.uint64)
    banding_kernels.band_keys(sketches, salts, plan.n_bands, plan.rows_per_band, keys)
    return keys


@dataclass(frozen=True)
class Partitions:
    """Keys of two sides grouped by their high bits, and scratch tables to join one partition at a time.

    words, middles, ends, mask: from `banding_kernels.partition`. heads uint32, before uint32, shift: scratch for
    `banding_kernels.join`.
    """

    words: Hashes
    middles: Places
    ends: Places
    mask: np.uint64
    heads: Numbers
    before: Numbers
    shift: np.uint64

    @classmethod
    def of(cls, left: Hashes, right: Hashes, offset: int = 0) -> "Partitions":
        """Partition keys; positions of the right side start at `offset`."""
        count = len(left) + len(right)
        bits = min(_MOST_BITS, max(1, (count // _PARTITION).bit_length()))
        position_bits = max(len(left), len(right) + offset).bit_length()
        bucket_bits = min(max(1, (count >> bits).bit_length()), 64 - bits - position_bits)
        mask = np.uint64((1 << position_bits) - 1)
        words, middles, ends = np.empty(count, np.uint64), np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int64)
        banding_kernels.partition(left, right, offset, mask, np.uint64(64 - bits), middles, ends, words)
        largest = int(np.diff(ends, prepend=0).max())
        heads, before = np.empty(1 << bucket_bits, np.uint32), np.empty(largest, np.uint32)
        return cls(words, middles, ends, mask, heads, before, np.uint64(64 - bits - bucket_bits))


def within(block: Banded, band: int, plan: Plan, border: int | None = None) -> Iterator[CandidatePairs]:
    """Yield the candidates whose first common band is `band`.

    With `border`, only pairs across that document number.
    """
    if border is not None:
        yield from across(block, block, band, plan, border)
    else:
        yield from _joined(block, block, Partitions.of(block.keys[band], block.keys[band, :0]), True, band, plan)


def across(left: Banded, right: Banded, band: int, plan: Plan, border: int | None = None) -> Iterator[CandidatePairs]:
    """As `within`, between two blocks; `left` has the smaller numbers."""
    below, above = len(left.numbers), 0
    if border is not None:
        below, above = (int(np.searchsorted(block.numbers, np.uint32(border))) for block in (left, right))
    if below and above < len(right.numbers):
        partitions = Partitions.of(left.keys[band, :below], right.keys[band, above:], above)
        yield from _joined(left, right, partitions, False, band, plan)


def _joined(
    left: Banded, right: Banded, partitions: Partitions, inside: bool, band: int, plan: Plan
) -> Iterator[CandidatePairs]:
    """Join right words with left words or, `inside` one block, each word with those before it."""
    state = np.array([0, -1, -1])
    lefts, rights = np.empty(_ROOM, np.uint32), np.empty(_ROOM, np.uint32)
    minimum = plan.min_matches + left.sketches.shape[1] - plan.n_hashes
    while state[0] >= 0:
        count = banding_kernels.join(
            partitions.words, partitions.middles, partitions.ends, inside, state, partitions.mask, partitions.shift,
            partitions.heads, partitions.before, left.keys, right.keys, left.sketches, right.sketches,
            band, minimum, lefts, rights,
        )  # fmt: skip
        if count:
            yield np.stack([left.numbers[lefts[:count]], right.numbers[rights[:count]]], axis=1)


def first_of_equals(digests: Hashes) -> Numbers:
    """Number of the first document with an equal digest, for each document, to collapse identical contents."""
    first = np.empty(len(digests), np.uint32)
    partitions = Partitions.of(digests[:, 0], digests[:0, 0])
    banding_kernels.first_of_equals(
        partitions.words,
        partitions.ends,
        partitions.mask,
        partitions.shift,
        partitions.heads,
        partitions.before,
        digests,
        first,
    )
    return first
