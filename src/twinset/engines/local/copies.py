"""Expand pairs of distinct contents to pairs of documents.

Identical copies have all the pairs of the first document with their content.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinset.candidates.banding import first_of_equals
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.steps.sketch import READ
from twinset.schema import Bytes, Hashes, Numbers, Places
from twinset.system import batch_sizes
from twinset.system.arrays import offsets_of, ranges
from twinset.system.scratch import Spool

SAME = 0xFFFFFFFF
"""The shared count of a pair of identical contents, whose set size may be unknown."""


@dataclass(frozen=True)
class Copies:
    """Documents by content: document f and its copies are members[starts[f]:starts[f] + counts[f]]."""

    first: Numbers
    members: Numbers
    starts: Places
    counts: Numbers

    @classmethod
    def of(cls, first: Numbers, status: Bytes) -> "Copies":
        """Group documents by their first appearance; those without shingles are in no group."""
        read = np.flatnonzero(status == READ).astype(np.uint32)
        counts = np.bincount(first[read], minlength=len(first)).astype(np.uint32)
        starts = offsets_of(counts)
        # Each group begins with its first member; only the others are sorted.
        is_first = first[read] == read
        later = read[~is_first]
        members, is_later = np.empty(len(read), np.uint32), np.ones(len(read), np.bool_)
        members[starts[read[is_first]]] = read[is_first]
        is_later[starts[read[is_first]]] = False
        members[is_later] = later[np.argsort(first[later], kind="stable")]
        return cls(first, members, starts[:-1], counts)

    def verbatim(self, texts: Hashes | None) -> Numbers:
        """Return the first document with the same bytes, for each document.

        Bytes are the same if the contents are equal, by digests of 128 bits, and so are hashes of all bytes, of 64 bits
        and without a key. Without hashes, equal contents have equal bytes.
        """
        if texts is None:
            return self.first
        same = np.arange(len(self.first), dtype=np.uint32)
        copied = np.flatnonzero(self.counts[self.first] > 1).astype(np.uint32)
        if len(copied):
            keys = np.stack([texts[copied], self.first[copied].astype(np.uint64)], axis=1)
            same[copied] = copied[first_of_equals(keys)]
        return same

    @property
    def identical_pairs(self) -> int:
        """Count the pairs of identical documents."""
        counts = self.counts.astype(np.int64)
        return int((counts * (counts - 1) // 2).sum())

    def count_pairs(self, lefts: Numbers, rights: Numbers) -> int:
        """Count the pairs of documents that pairs of contents on two sides expand to."""
        return int((self.counts[lefts].astype(np.int64) * self.counts[rights]).sum())

    @property
    def extra(self) -> int:
        """The number of documents that are not the first of their content."""
        return int(len(self.members) - np.count_nonzero(self.counts))


def expanded(copies: Copies, pairs: Spool, *, link: bool, one_sided: bool) -> Iterator[Rows]:
    """Yield unordered rows (left, right, shared) of documents.

    With `link`, each copy is paired with its first appearance only. With `one_sided` (one source against another),
    identical documents of one side are not pairs, and `link` omits only the copies on the right.
    """
    if not one_sided:
        yield from _identical_pairs(copies, link)
    for record in pairs.chunks():
        if link and not one_sided:
            yield record
            continue
        left_counts = copies.counts[record[:, 0]].astype(np.int64)
        lefts = copies.members[ranges(copies.starts[record[:, 0]], left_counts)]
        rights = np.repeat(record[:, 1], left_counts)
        counts = np.ones(len(rights), np.int64) if link else copies.counts[rights].astype(np.int64)
        yield from _pair_members(copies, lefts, copies.starts[rights], counts, np.repeat(record[:, 2], left_counts))


def _identical_pairs(copies: Copies, link: bool) -> Iterator[Rows]:
    """Yield pairs of documents of equal content."""
    if link:
        later = copies.members[copies.first[copies.members] != copies.members]
        if len(later):
            yield np.stack([copies.first[later], later, np.full(len(later), SAME, np.uint32)], axis=1)
        return
    groups = np.flatnonzero(copies.counts > 1)
    positions = ranges(copies.starts[groups], copies.counts[groups].astype(np.int64))
    ends = np.repeat(copies.starts[groups] + copies.counts[groups], copies.counts[groups])
    shared = np.full(len(positions), SAME, np.uint32)
    yield from _pair_members(copies, copies.members[positions], positions + 1, ends - positions - 1, shared)


def _pair_members(
    copies: Copies, lefts: Numbers, starts: Places, counts: Places, shared: Numbers
) -> Iterator[Rows]:
    """Pair each left with members[start:start + count], about a million rows at a time."""
    reach = np.cumsum(counts)
    at = 0
    while at < len(lefts):
        done = int(reach[at - 1]) if at else 0
        end = max(at + 1, int(np.searchsorted(reach, done + batch_sizes.COPY_PAIRS, side="right")))
        rights = copies.members[ranges(starts[at:end], counts[at:end])]
        left = np.repeat(lefts[at:end], counts[at:end])
        if len(left):
            codes = np.repeat(shared[at:end], counts[at:end])
            yield np.stack([np.minimum(left, rights), np.maximum(left, rights), codes], axis=1)
        at = end
