"""Passages that two documents share: maximal runs of equal words, or runs joined over gaps."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.pairs import passages_kernels as kernels
from twinset.schema import Flags, Hashes, Numbers, Places
from twinset.system.arrays import pair_words

Runs = npt.NDArray[np.uint32]
"""(n, 5): left and right document, first word left and right, number of words."""
Joined = npt.NDArray[np.uint32]
"""(n, 7): left and right document, first and last word (exclusive) left, the same right, words in common."""

_CHAINED = 1024


@dataclass(frozen=True)
class LoadedWords:
    """Word hashes of some documents: those of document d are words[starts[d]:starts[d] + lengths[d]]."""

    words: Hashes
    starts: Places
    lengths: Numbers


def diagonal_order(rows: Numbers) -> Places:
    """Return the order of rows by both documents, by right minus left place, and by the left place."""
    shift = rows[:, 3].astype(np.int64) - rows[:, 2]
    return np.lexsort((rows[:, 2], shift, pair_words(rows[:, 0], rows[:, 1])))


@dataclass(frozen=True)
class CrowdedWindows:
    """Windows that crowded anchors keep: from the document and window of a key (sorted) up to window `lasts`."""

    keys: Hashes
    lasts: Numbers

    @classmethod
    def of(cls, documents: Numbers, first: Numbers, last: Numbers) -> "CrowdedWindows":
        """Make them from the windows `first` to `last` of documents, in order."""
        return cls(pair_words(documents, first), last)


NO_CROWDS = CrowdedWindows(np.zeros(0, np.uint64), np.zeros(0, np.uint32))


def maximal_runs(hits: Numbers, loaded: LoadedWords, least: int, crowds: CrowdedWindows = NO_CROWDS) -> Runs:
    """Extend pairs of equal places to maximal runs of at least `least` words, in `diagonal_order`.

    Runs whose windows are all kept by crowded anchors are left out.
    """
    hits = np.ascontiguousarray(hits[diagonal_order(hits)])
    runs = np.empty((len(hits), 5), np.uint32)
    count = kernels.maximal_runs(
        loaded.words, loaded.starts, loaded.lengths, hits, least, crowds.keys, crowds.lasts, runs
    )
    return runs[:count].copy()


def union(some: Runs, others: Runs) -> Runs:
    """Return the runs of both, each once, in `diagonal_order`."""
    runs = np.concatenate([some, others])
    runs = np.ascontiguousarray(runs[diagonal_order(runs)])
    fresh = np.ones(len(runs), np.bool_)
    fresh[1:] = (runs[1:] != runs[:-1]).any(axis=1)
    return runs[fresh]


def without_parts(ties: Runs, runs: Runs) -> Flags:
    """Return which ties are no part of a run; both are sorted by `diagonal_order`."""
    inside = np.empty(len(ties), np.bool_)
    kernels.inside_runs(ties, runs, inside)
    return ~inside


def spans_of(runs: Runs) -> Joined:
    """Return runs as passages, each word of which is shared."""
    ends = runs[:, 2:4] + runs[:, 4:]
    columns = [runs[:, 0], runs[:, 1], runs[:, 2], ends[:, 0], runs[:, 3], ends[:, 1], runs[:, 4]]
    return np.stack(columns, axis=1)


def joined_runs(runs: Runs, loaded: LoadedWords, least: int, run: int, gap: int) -> Joined:
    """Join runs of the same two documents over gaps of up to `gap` words on either side.

    Each run, in the order of its left place, that no passage holds yet begins one: the nearest run after it is added,
    then the nearest after that, and the same to the left. Passages of which both sides overlap, or are at most `gap`
    words apart, are merged. Those with at least `least` words in common are returned; where runs of one side overlap,
    the side with fewer words counts.
    """
    order = np.lexsort((runs[:, 3], runs[:, 2], pair_words(runs[:, 0], runs[:, 1])))
    runs = runs[order]
    cuts = np.flatnonzero(np.diff(pair_words(runs[:, 0], runs[:, 1]))) + 1
    found = []
    for group in np.split(runs, cuts) if len(runs) else ():
        left, right = int(group[0, 0]), int(group[0, 1])
        for pieces in _chains(group, loaded, run, gap):
            shared = min(_covered(pieces[:, side], pieces[:, side] + pieces[:, 2]) for side in (0, 1))
            if shared >= least:
                ends = (pieces[:, :2] + pieces[:, 2:]).max(axis=0)
                first = pieces[:, :2].min(axis=0)
                found.append((left, right, first[0], ends[0], first[1], ends[1], shared))
    return np.array(found, np.uint32).reshape(-1, 7)


def _chains(group: Runs, loaded: LoadedWords, run: int, gap: int) -> list[Places]:
    """Return the joined runs of one pair of documents: arrays of first words left and right, and lengths."""
    left, right = int(group[0, 0]), int(group[0, 1])
    seen: set[tuple[int, int]] = set()
    chains: list[Places] = []
    room = np.empty((_CHAINED, 3), np.int64)
    for i, j, _ in group[:, 2:].tolist():
        if (i, j) in seen:
            continue
        while True:
            count = kernels.chain(
                loaded.words, int(loaded.starts[left]), int(loaded.starts[right]), int(loaded.lengths[left]),
                int(loaded.lengths[right]), i, j, run, gap, left == right, room,
            )  # fmt: skip
            if count >= 0:
                break
            room = np.empty((2 * len(room), 3), np.int64)
        chains.append(room[:count].copy())
        seen.update((x, y) for x, y, _ in chains[-1].tolist())
    return _merged(chains, gap, left == right)


def _merged(chains: list[Places], gap: int, same: bool) -> list[Places]:
    """Merge passages of which both sides overlap or are at most `gap` words apart, until none are left.

    With `same` both sides are one document; they must not overlap after it.
    """
    boxes = [[*one[:, :2].min(axis=0).tolist(), *(one[:, :2] + one[:, 2:]).max(axis=0).tolist()] for one in chains]
    order = sorted(range(len(chains)), key=lambda number: boxes[number])
    merged: list[tuple[list[int], list[Places]]] = []
    for number in order:
        box, pieces = boxes[number], [chains[number]]
        while True:
            near = next((one for one in merged if _are_near(one[0], box, gap, same)), None)
            if near is None:
                break
            merged.remove(near)
            box = [min(box[0], near[0][0]), min(box[1], near[0][1]), max(box[2], near[0][2]), max(box[3], near[0][3])]
            pieces += near[1]
        merged.append((box, pieces))
    return [np.concatenate(pieces) for _, pieces in merged]


def _are_near(one: list[int], other: list[int], gap: int, same: bool) -> bool:
    """Whether two boxes (first words left and right, ends left and right) are at most `gap` words apart."""
    if same and max(one[2], other[2]) > min(one[1], other[1]):
        return False
    return all(
        max(one[side], other[side]) - min(one[side + 2], other[side + 2]) <= gap for side in (0, 1)
    )


def _covered(starts: Places, ends: Places) -> int:
    """Return the number of words in the union of spans."""
    order = np.argsort(starts)
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    before = np.concatenate([[0], ends[:-1]])
    return int(np.maximum(0, ends - np.maximum(starts, before)).sum())
