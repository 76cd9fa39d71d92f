"""Sketches to candidates by banding: documents that agree in all slots of at least one band.

Work is done on blocks of documents, a block with itself or with another, so that the sketches in memory are those of
two blocks at most. Which pairs come out does not depend on how the documents are cut into blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.candidates import banding_kernels
from twinset.plan import Plan
from twinset.schema import Bytes, Hashes, Numbers, Sketches

CandidatePairs = npt.NDArray[np.uint32]
"""(n, 2): document numbers, the lesser first."""

_LEAST_ROOM = 1 << 16


@dataclass(frozen=True)
class Banded:
    """Sketches of some documents, in ascending order of their numbers, cut into bands.

    numbers uint32 (m); keys uint64 (bands, m); sketches uint8 (m, width): the low bytes of the slots, padded to a
    multiple of 8.
    """

    numbers: Numbers
    keys: Hashes
    sketches: Bytes


def width(n_hashes: int) -> int:
    """Bytes of a document's row in `Banded.sketches`."""
    return (n_hashes + 7) // 8 * 8


def band_keys(sketches: Sketches, salts: Hashes, plan: Plan) -> Hashes:
    """The key of each band of each document, (bands, n); documents of different salt never share one."""
    keys = np.empty((plan.n_bands, len(sketches)), np.uint64)
    banding_kernels.band_keys(sketches, salts, plan.n_bands, plan.rows_per_band, keys)
    return keys


def _buckets(count: int) -> tuple[np.uint64, Numbers, Numbers]:
    """Empty buckets for so many keys: the shift from a key to its bucket, the buckets, and room for what is in them."""
    bits = max(1, (count - 1).bit_length())
    return np.uint64(64 - bits), np.zeros(1 << bits, np.uint32), np.empty(count, np.uint32)


def within(block: Banded, band: int, plan: Plan, border: int | None = None) -> Iterator[CandidatePairs]:
    """Candidates that `band` is the first to bring together.

    With `border`, only pairs from both sides of that document number.
    """
    place = -1 if border is None else int(np.searchsorted(block.numbers, border))
    shift, heads, before = _buckets(len(block.numbers))
    banding_kernels.chain(block.keys[band], place, shift, heads, before)
    state = np.array([max(0, place), -1])
    lefts, rights = np.empty(_LEAST_ROOM, np.uint32), np.empty(_LEAST_ROOM, np.uint32)
    least = plan.min_matches + block.sketches.shape[1] - plan.n_hashes
    while state[0] >= 0:
        count = banding_kernels.join_within(before, state, block.keys, block.sketches, band, least, lefts, rights)
        if count:
            yield np.stack([block.numbers[lefts[:count]], block.numbers[rights[:count]]], axis=1)


def across(left: Banded, right: Banded, band: int, plan: Plan, border: int | None = None) -> Iterator[CandidatePairs]:
    """As `within`, between two blocks of which `left` has the lesser numbers."""
    left, right = _sides(left, right, border)
    if not len(left.numbers) or not len(right.numbers):
        return
    bits = np.uint64((1 << max(1, max(len(left.numbers), len(right.numbers)).bit_length())) - 1)
    words = []
    for block in (left, right):
        one: Hashes = (block.keys[band] & ~bits) | np.arange(len(block.numbers), dtype=np.uint64)
        one.sort()
        words.append(one)
    state = np.zeros(2, np.int64)
    room = max(_LEAST_ROOM, len(words[1]))
    lefts, rights = np.empty(room, np.uint32), np.empty(room, np.uint32)
    least = plan.min_matches + left.sketches.shape[1] - plan.n_hashes
    while state[0] >= 0:
        count = banding_kernels.join_across(
            words[0], words[1], state, bits, left.keys, right.keys, left.sketches, right.sketches,
            band, least, lefts, rights,
        )  # fmt: skip
        if count:
            yield np.stack([left.numbers[lefts[:count]], right.numbers[rights[:count]]], axis=1)


def _sides(left: Banded, right: Banded, border: int | None) -> tuple[Banded, Banded]:
    """With a border: the documents of the left block below it, those of the right block from it on."""
    if border is None:
        return left, right
    below, above = int(np.searchsorted(left.numbers, border)), int(np.searchsorted(right.numbers, border))
    return (
        Banded(left.numbers[:below], np.ascontiguousarray(left.keys[:, :below]), left.sketches[:below]),
        Banded(right.numbers[above:], np.ascontiguousarray(right.keys[:, above:]), right.sketches[above:]),
    )


def first_of_equals(digests: Hashes) -> Numbers:
    """For each document the number of the first with an equal digest.

    Identical contents, collapsed before any pairing.
    """
    first = np.empty(len(digests), np.uint32)
    banding_kernels.first_of_equals(digests, *_buckets(len(digests)), first)
    return first
