"""Choose the blocks of bits of a Hamming join, so that few pairs beyond the distance collide.

The choice depends on the data. A bit in which all codes agree is in no block; a block gets more bits where they are
nearly always zero. No choice misses a pair: only the time differs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.candidates.hamming import blocks_kernels as kernels
from twinset.candidates.hamming.join_kernels import LANES
from twinset.schema import Codes, Hashes, Numbers

MOST_BLOCKS = 32

# Nanoseconds on one core: grouping a code by a block, a slot of the table, visiting two buckets, starting to compare a
# code with a bucket, comparing two codes of two buckets, and two of all codes. Only the choice of blocks uses them.
_JOIN_COSTS = np.array([6.0, 1.0, 6.0, 2.7, 0.15, 0.15])
_QUERY_COSTS = np.array(
    [0.0, 4.0, 15.0, 15.0, 0.2]
)  # of one query; the slot of the table is divided by the number of codes
_COUNTED = 4096  # codes whose one bits are counted
_SAMPLED = 128  # codes compared with each other to check that blocks pay
_LEAST_GAIN = 0.7


@dataclass(frozen=True)
class Side:
    """Codes as the kernels take them: uint64 (words, n + LANES), and their numbers, uint32 (n)."""

    codes: Hashes
    numbers: Numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, codes: Codes, numbers: Numbers) -> "Side":
        """Convert codes given as rows (n, words)."""
        return cls.copied(codes.T, numbers)

    @classmethod
    def copied(cls, words: Hashes, numbers: Numbers) -> "Side":
        """Copy (words, n) with padding."""
        codes = np.empty((len(words), words.shape[1] + LANES), np.uint64)
        codes[:, : words.shape[1]] = words
        codes[:, words.shape[1] :] = 0
        return cls(codes, numbers)

    def part(self, start: int, end: int) -> "Side":
        """Slice of the codes."""
        return Side.copied(self.codes[:, start:end], self.numbers[start:end])


@dataclass(frozen=True)
class BitBlock:
    """A block of bits, masks uint64 (words). Two codes collide if they differ in at most `radius` of these bits."""

    masks: Hashes
    radius: int

    @property
    def width(self) -> int:
        """Bits in the block."""
        return sum(int(mask).bit_count() for mask in self.masks)


@dataclass(frozen=True)
class Choice:
    """The blocks for a join of two sides.

    Pairs within the distance collide in at least one of `blocks`; without blocks all pairs are compared. `possible` is
    false if every pair differs in too many fixed bits.
    """

    blocks: tuple[BitBlock, ...]
    possible: bool = True


def choose(left: Side, right: Side, same: bool, distance: int) -> Choice:
    """Choose blocks for joining two sides (the same codes if `same`)."""
    free, differing = _free_bits(left, right)
    if differing > distance:
        return Choice((), possible=False)
    rest = distance - differing
    bits = sum(int(word).bit_count() for word in free)
    if bits <= rest or not bits:
        return Choice(())
    half = 0.5 if same else 1.0
    pairs = half * len(left) * len(right)
    every = pairs * float(_JOIN_COSTS[5])
    blocks, cost = _cut(left, right, free, rest, half, _JOIN_COSTS)
    if cost >= _LEAST_GAIN * every:
        return Choice(())
    shares = _sampled_shares(left, right, same, blocks)
    measured = pairs * float(_JOIN_COSTS[4]) * float(shares.sum())
    return Choice(blocks if measured < _LEAST_GAIN * every else ())


def choose_for_queries(side: Side, distance: int) -> tuple[BitBlock, ...]:
    """Choose blocks of a table for queries: at least one, of all informative bits, or of one bit if none is."""
    free, _ = _free_bits(side, side)
    if not free.any():
        free = np.zeros_like(free)
        free[0] = 1
    bits = sum(int(word).bit_count() for word in free)
    single = Side(side.codes, side.numbers[: min(1, len(side))])
    costs = _QUERY_COSTS / np.array([1.0, max(1, len(side)), 1.0, 1.0, 1.0])  # so that the tables have about n slots
    blocks, _ = _cut(single, side, free, min(distance, bits - 1), 1.0, costs)
    return blocks


def _free_bits(left: Side, right: Side) -> tuple[Hashes, int]:
    """Bits in which pairs may differ, and the number of others in which all pairs differ."""
    fixed = np.empty((2, 2, len(left.codes)), np.uint64)
    for side, bits in ((left, fixed[0]), (right, fixed[1])):
        kernels.fixed_bits(side.codes, len(side), bits)
    (every, some), (theirs, any_of_them) = fixed
    settled = ~(every ^ some) & ~(theirs ^ any_of_them)
    differing = settled & (some ^ any_of_them)
    return ~settled, sum(int(word).bit_count() for word in differing)


def _cut(
    left: Side, right: Side, free: Hashes, distance: int, half: float, costs: npt.NDArray[np.float64]
) -> tuple[tuple[BitBlock, ...], float]:
    """Cheapest blocks of the free bits, and their expected cost."""
    shares = [_shares_of_ones(side) for side in (left, right)]
    agree = shares[0] * shares[1] + (1.0 - shares[0]) * (1.0 - shares[1])
    places = np.flatnonzero(np.unpackbits(free.view(np.uint8), bitorder="little"))
    # Neighbouring bits are often correlated, so they go to different blocks.
    order = places[np.argsort(np.round(agree[places], 2), kind="stable")]
    chosen = np.empty(len(order), np.int64)
    radii = np.empty(MOST_BLOCKS, np.int64)
    cost = float(
        kernels.choose_blocks(
            agree[order], distance, MOST_BLOCKS, float(len(left)), float(len(right)), half, costs, chosen, radii
        )
    )
    blocks = []
    for number, radius in enumerate(radii[radii >= 0].tolist()):
        masks = np.zeros(len(free), np.uint64)
        for place in order[chosen == number].tolist():
            masks[place // 64] |= np.uint64(1 << (place % 64))
        blocks.append(BitBlock(masks, radius))
    return tuple(blocks), cost


def _shares_of_ones(side: Side) -> npt.NDArray[np.float64]:
    counts = np.empty(64 * len(side.codes), np.int64)
    step = max(1, len(side) // _COUNTED)
    kernels.count_ones(side.codes, len(side), step, counts)
    return counts / max(1, len(range(0, len(side), step)))


def _sampled_shares(left: Side, right: Side, same: bool, blocks: tuple[BitBlock, ...]) -> npt.NDArray[np.float64]:
    """Share of pairs that collide in each block, among a few codes: bits may depend on each other."""
    few = []
    for side in (left, right):
        step = max(1, len(side) // _SAMPLED)
        few.append(np.ascontiguousarray(side.codes[:, : len(side) : step]))
    masks = np.stack([block.masks for block in blocks])
    radii = np.array([block.radius for block in blocks])
    shares = np.empty(len(blocks))
    kernels.meeting_shares(few[0], few[0].shape[1], few[1], few[1].shape[1], same, masks, radii, shares)
    return shares
