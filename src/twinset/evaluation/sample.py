"""Sample a collection by pieces, with weights that extrapolate to the whole; find the similar pairs of the sample.

A piece is about 1 MiB. All pieces are scanned to count the documents, but only the chosen ones are read. Two documents
of one piece are sampled together; two of different pieces only if both pieces are. So pairs have different weights, and
the estimates are unbiased even where copies are adjacent.
"""

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from twinset.documents.normalize import hash_values
from twinset.documents.parts import Chunk
from twinset.engines.local.run import LocalRun
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import READ, sketch_block
from twinset.errors import SourceError
from twinset.options import ShingleOptions
from twinset.pairs.sets import Sets
from twinset.plan import Plan
from twinset.schema import Flags, Hashes, Numbers, Places, Shares, Shingles
from twinset.system.arrays import pair_words

PIECE = 2**20
MOST_DOCUMENTS = 30_000
MOST_SHINGLES = 16_000_000
MOST_MEETINGS = 20_000_000
"""Maximum number of pairs to compare; a sample with more is cut down."""

_SMALLEST = Plan(1.0, 0.5, 8, 1, 8, 8)  # used without bands: only contents are distinguished
_BY_SEED = 0xB1


@dataclass(frozen=True)
class DrawnSample:
    """Distinct contents of some pieces of a collection, in random order.

    documents, own: documents of the whole collection, and of its sources without those compared against.
    drawn, read, empty: documents in the pieces read, those of them in the sample, and those without a token.
    text_bytes: text of the whole collection, extrapolated.
    texts, counts, salts: a text for each content, its number of shingles with repeats, and a salt that differs where
        rows are not compared.
    pieces, others, copies: for each content its piece, whether it belongs to the source compared against, and its
        number of documents in the sample.
    n_pieces, chosen_pieces: pieces of the collection, and how many were read.
    """

    documents: int
    own: int
    drawn: int
    read: int
    empty: int
    text_bytes: int
    texts: pa.Array
    counts: Numbers
    salts: Hashes
    pieces: Numbers
    others: Flags
    copies: Numbers
    n_pieces: int
    chosen_pieces: int

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def share(self) -> float:
        """Probability that a document of the collection is in the sample."""
        return self.chosen_pieces / max(1, self.n_pieces) * self.read / max(1, self.drawn)

    def weights(self, lefts: Numbers, rights: Numbers, of: int) -> Shares:
        """Number of pairs of the collection that each pair among the first `of` contents represents."""
        apart = self.stands_for(of)
        # Pieces are sampled whole: contents of one piece are sampled together.
        together = apart * max(1, self.chosen_pieces - 1) / max(1, self.n_pieces - 1)
        same = self.pieces[lefts] == self.pieces[rights]
        rare = self._rarity(np.union1d(lefts, rights))
        often = (self.copies[lefts] > 1) | (self.copies[rights] > 1)
        # A content with copies in many pieces is sampled independently of the piece of its first copy.
        alone = rare[lefts] * rare[rights] / self.share**2 * _pairs(len(self)) / _pairs(of)
        counts: Shares = np.where(often, alone, np.where(same, together, apart) * rare[lefts] * rare[rights])
        return np.maximum(counts, 1.0)

    def stands_for(self, of: int) -> float:
        """Number of pairs of the collection that a pair of different pieces represents, of the first `of` contents."""
        whole, some = self.n_pieces, self.chosen_pieces
        apart = whole * (whole - 1) / (some * (some - 1)) if some > 1 else whole / some
        return apart * _pairs(self.drawn) / _pairs(self.read) * _pairs(len(self)) / _pairs(of)

    def _rarity(self, members: Numbers) -> Shares:
        """Sampling probability of a single document relative to that of each content.

        A content seen c > 1 times in a share f of the documents is assumed to occur c/f times, and so to be sampled
        almost surely. Some contents seen once have an unseen copy: for each content seen twice, 2(1-f)/f contents that
        occur twice are seen once. That share is estimated from the contents `members`.
        """
        share = float(np.clip(self.share, 1e-12, 1 - 1e-12))
        met = -np.expm1(self.copies / share * np.log1p(-share))
        once, twice = (int(np.count_nonzero(self.copies[members] == count)) for count in (1, 2))
        doubled = min(1.0, twice * 2 * (1 - share) / share / max(1, once))
        rarity: Shares = np.where(self.copies > 1, self.share / met, 1 - doubled / 2)
        return rarity

    def sets(self, options: ShingleOptions, seed: int, of: int) -> Sets:
        """Shingle sets of the first `of` contents; contents that are never compared share no shingle."""
        pieces: list[Shingles] = []
        for portion in shingled(self.texts.slice(0, of), options, seed).portions:
            salted = portion.hashes ^ np.repeat(self.salts[portion.rows], np.diff(portion.offsets))
            salted[salted == 0] = 1  # zero marks a free place in hash tables
            pieces.append(Shingles(portion.rows, portion.offsets, salted))
        counts = np.zeros(of, np.int64)
        for portion in pieces:
            counts[portion.rows] = np.diff(portion.offsets)
        filled = Sets.with_room(counts)
        for portion in pieces:
            filled.fill(portion, np.arange(len(portion.rows)), portion.rows)
        return filled


def draw(run: LocalRun, pieces: int, seed: int) -> DrawnSample:
    """Read some pieces of the sources of a run, chosen by the seed."""
    dice = random.Random(seed)
    chosen: list[tuple[float, int, int, Chunk]] = []
    documents = own = n_pieces = 0
    for number, chunk in _pieces(run):
        documents += chunk.rows
        own += chunk.rows if number < run.against else 0
        # The pieces with the highest random marks stay; every piece draws one.
        entry = (dice.random(), -n_pieces, number, chunk)
        if len(chosen) < pieces:
            heapq.heappush(chosen, entry)
        else:
            heapq.heappushpop(chosen, entry)
        n_pieces += 1
    if not documents:
        raise SourceError("the sources hold no documents; name another source")
    rows = _Rows(run)
    for _, place, number, chunk in sorted(chosen, key=lambda one: -one[1]):
        rows.add(-place, number, chunk)
    return rows.sample(documents, own, n_pieces, len(chosen), seed)


def _pieces(run: LocalRun) -> Iterator[tuple[int, Chunk]]:
    for number, part in enumerate(run.parts):
        for chunk in part.chunks(PIECE):
            yield number, chunk
            run.progress.advance(chunk.rows)


class _Rows:
    """Rows collected from pieces."""

    def __init__(self, run: LocalRun) -> None:
        self.run = run
        self.texts: list[pa.Array] = []
        self.columns: list[tuple[Numbers, Hashes, Hashes, Numbers, Flags]] = []
        self.empty = self.text_bytes = self.rows = 0

    def add(self, place: int, number: int, chunk: Chunk) -> None:
        """Read a piece; rows without shingles are only counted."""
        run, other = self.run, number >= self.run.against
        block = chunk.read()
        done = sketch_block(block, run.parts[number], run.options, _SMALLEST, other, False)
        good = np.flatnonzero(done.status == READ)
        by = run.options.by
        salts = np.zeros(block.rows, np.uint64) if by is None else hash_values(block.by, _BY_SEED)
        texts = block.texts.combine_chunks() if isinstance(block.texts, pa.ChunkedArray) else block.texts
        self.texts.append(texts.take(pa.array(good)).cast(pa.large_binary()))
        self.columns.append(
            (
                done.counts[good],
                done.digests[good],
                salts[good],
                np.full(len(good), place, np.uint32),
                np.full(len(good), other, np.bool_),
            )
        )
        self.rows += block.rows
        self.empty += block.rows - len(good)
        self.text_bytes += done.text_bytes

    def sample(self, documents: int, own: int, n_pieces: int, chosen: int, seed: int) -> DrawnSample:
        """Shuffle the rows, keep as many as fit, and identify equal contents."""
        counts, digests, salts, pieces, others = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        order = np.random.default_rng(seed).permutation(len(counts))
        reach = np.cumsum(counts[order], dtype=np.int64)
        kept = order[: max(1, min(MOST_DOCUMENTS, int(np.searchsorted(reach, MOST_SHINGLES, side="right"))))]
        _, first, copies = np.unique(digests[kept], axis=0, return_index=True, return_counts=True)
        by_chance = np.argsort(first)
        contents = kept[first[by_chance]]
        return DrawnSample(
            documents=documents,
            own=own,
            drawn=len(counts),
            read=len(kept),
            empty=self.empty,
            text_bytes=round(self.text_bytes / max(1, self.rows) * documents),
            texts=pa.concat_arrays(self.texts).take(pa.array(contents)),
            counts=counts[contents],
            salts=salts[contents],
            pieces=pieces[contents],
            others=others[contents],
            copies=copies[by_chance].astype(np.uint32),
            n_pieces=n_pieces,
            chosen_pieces=chosen,
        )


def _pairs(count: int) -> float:
    return max(1.0, count * (count - 1) / 2)


def near_pairs(sets: Sets, floor: float, most: int = MOST_MEETINGS) -> tuple[int, Numbers, Numbers]:
    """Return every pair of sets that may be at least `floor` similar, smaller number first, sorted (prefix filter).

    Similar sets share at least the share `floor` of the larger. So one of the first n - ceil(floor n) + 1 of its n
    shingles, rarest first, is shared. The first value is the number of sets compared: all, or fewer if too many
    collide.

    Examples
    --------
    >>> three = Sets.with_room(np.array([3, 3, 3]))
    >>> hashes = np.array([1, 2, 3, 2, 3, 4, 7, 8, 9], np.uint64) << np.uint64(50)
    >>> three.fill(Shingles(np.arange(3), np.array([0, 3, 6, 9]), hashes), np.arange(3), np.arange(3))
    >>> count, lefts, rights = near_pairs(three, 0.5)
    >>> count, lefts.tolist(), rights.tolist()
    (3, [0], [1])
    """
    count = len(sets.sizes)
    while count > 1:
        places, numbers = _postings(sets, count, floor)
        runs = np.diff(np.append(np.flatnonzero(np.diff(places, prepend=-1)), len(places)))
        meetings = int((runs * (runs - 1) // 2).sum())
        if meetings <= most or count == 2:
            return count, *_met(runs, numbers)
        count = max(2, min(count - 1, int(count * math.sqrt(most / meetings))))
    none = np.zeros(0, np.uint32)
    return count, none, none


def _postings(sets: Sets, count: int, floor: float) -> tuple[Places, Numbers]:
    """Shared shingles among the rarest of each of the first `count` sets: their positions, sorted, and their owners."""
    sizes = sets.sizes[:count].astype(np.int64)
    starts = np.repeat(sets.starts[:count] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
    hashes: Hashes = sets.hashes[starts + np.arange(len(starts))]
    bits = np.uint64(max(1, (count - 1).bit_length()))
    mask = (np.uint64(1) << bits) - np.uint64(1)
    # The high bits of a hash above the set's number: sets are few, so enough of the hash remains.
    words = (hashes & ~mask) | np.repeat(np.arange(count, dtype=np.uint64), sizes)
    words.sort()
    begins = np.flatnonzero(np.diff(words >> bits, prepend=np.uint64(0)) != 0)
    begins = begins if len(begins) and begins[0] == 0 else np.append(0, begins)[: len(words)]
    frequency = np.diff(np.append(begins, len(words)))
    often = np.repeat(frequency, frequency)
    owner = (words & mask).astype(np.int64)
    alone = np.bincount(owner[often == 1], minlength=count)
    shared = often > 1
    place = np.repeat(np.arange(len(frequency)), frequency)[shared]
    owner, often = owner[shared], often[shared]
    order = np.lexsort((place, often, owner))
    owner, place = owner[order], place[order]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner) + alone[owner]
    kept = rank < sizes[owner] - np.ceil(floor * sizes[owner] * (1 - 1e-12)) + 1
    owner, place = owner[kept], place[kept]
    order = np.lexsort((owner, place))
    return place[order], owner[order].astype(np.uint32)


def _met(runs: Places, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Every pair of numbers within a run, once."""
    ends = np.cumsum(runs)
    at = np.arange(len(numbers)) - np.repeat(ends - runs, runs)  # each pairs with all before it in its run
    later = np.repeat(np.arange(len(numbers)), at)
    earlier = np.arange(len(later)) - np.repeat(np.cumsum(at) - at, at) + np.repeat(ends - runs, runs)[later]
    words = np.unique(pair_words(numbers[earlier], numbers[later]))
    return (words >> np.uint64(32)).astype(np.uint32), words.astype(np.uint32)
