"""The verdicts that a run obeys: read from the file once, then found among the contents of the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.errors import OptionError
from twinset.schema import DIGEST_BYTES, Flags, Hashes, Numbers
from twinset.system.arrays import offsets_of, pair_words, ranges
from twinset.verdicts.conflicts import Conflict
from twinset.verdicts.present import State
from twinset.verdicts.store import VerdictStore

NAMED = 100
"""Conflicts to name in a summary."""
_MOST_LINKS = 50_000_000
_Pairs = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Links:
    """Verdicts between the contents of a run, by the number of the first document of each.

    duplicates, different (n, 2): the smaller number first, sorted. principals: contents, ascending. `report` counts the
    verdicts for the summary.
    """

    duplicates: _Pairs
    different: _Pairs
    principals: Numbers
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def duplicate_words(self) -> Hashes:
        """The duplicates as sorted words."""
        return pair_words(self.duplicates[:, 0], self.duplicates[:, 1])

    @property
    def different_words(self) -> Hashes:
        """The different pairs as sorted words."""
        return pair_words(self.different[:, 0], self.different[:, 1])


@dataclass(frozen=True)
class Judgements:
    """The verdicts of a file that stand."""

    name: str
    event: int
    states: Sequence[State]
    conflicts: Sequence[Conflict]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Judgements:
        """Read a file of verdicts."""
        with VerdictStore(path, read_only=True) as store:
            return cls(os.fspath(path), store.sequence, store.states(), store.conflicts())

    def find(self, basis: str, digests: Hashes, first: Numbers, readable: Flags, border: int | None) -> Links:
        """Find the contents of the verdicts among those of a run.

        Parameters
        ----------
        basis
            How the run compares contents; verdicts on contents that were compared in another way are left out.
        digests
            (n, 2): the digest of each document's content.
        first
            The first document of equal content.
        readable
            The documents that are compared.
        border
            The first document compared against. Verdicts on two documents of one side are then left out, since these
            are not compared.
        """
        usable = [one for one in self.states if one.basis == basis]
        contents = _Contents(digests, first, readable, usable)
        report: dict[str, Any] = {"file": self.name, "event": self.event}
        unused = {"unsure": 0, "absent": 0, "other_basis": 0, "one_side": 0}
        pairs: dict[str, _Pairs] = {}
        for kind in ("duplicate", "different"):
            chosen = [one for one in usable if one.verdict == kind]
            pairs[kind], used = contents.pairs(chosen, border)
            report[kind] = int(np.count_nonzero(used == _USED))
            unused["absent"] += int(np.count_nonzero(used == _ABSENT))
            unused["one_side"] += int(np.count_nonzero(used == _ONE_SIDE))
        named = [one for one in usable if one.verdict == "principal"]
        places = [contents.numbers(one.left.digest) for one in named]
        report["principal"] = sum(len(some) > 0 for some in places)
        unused["absent"] += len(named) - report["principal"]
        unused["unsure"] = sum(one.verdict == "unsure" for one in usable)
        unused["other_basis"] = len(self.states) - len(usable)
        report["unused"] = unused
        there = [one for one in self.conflicts if all(len(contents.numbers(id.digest)) for id in one.contents)]
        report["in_conflict"] = len(there)
        report["conflicts"] = [[content.id for content in one.contents] for one in there[:NAMED]]
        principals = np.unique(np.concatenate([np.zeros(0, np.uint32), *places])).astype(np.uint32)
        return Links(pairs["duplicate"], pairs["different"], principals, report)


_USED, _ABSENT, _ONE_SIDE = range(3)


class _Contents:
    """The contents of a run that verdicts name, by digest. One digest may have several: in other groups or sides."""

    def __init__(self, digests: Hashes, first: Numbers, readable: Flags, states: Sequence[State]) -> None:
        wanted = b"".join(one.left.digest + (one.right.digest if one.right else b"") for one in states)
        words = np.unique(np.frombuffer(wanted, "<u8").reshape(-1, 2)[:, 0])
        numbers = np.flatnonzero(readable & (first == np.arange(len(first), dtype=np.uint32)))
        if len(words):  # by half of the digest first: nearly all contents have none
            heads = digests[numbers, 0]
            numbers = numbers[words[np.minimum(np.searchsorted(words, heads), len(words) - 1)] == heads]
        else:
            numbers = numbers[:0]
        names = _as_strings(np.ascontiguousarray(digests[numbers], "<u8").tobytes())
        order = np.argsort(names, kind="stable")
        self._names, self._numbers = names[order], numbers[order].astype(np.uint32)

    def numbers(self, digest: bytes) -> Numbers:
        """Return the contents with a digest."""
        start, end = (int(np.searchsorted(self._names, _as_strings(digest), side)[0]) for side in ("left", "right"))
        return self._numbers[start:end]

    def pairs(self, states: Sequence[State], border: int | None) -> tuple[_Pairs, npt.NDArray[np.int8]]:
        """Return the pairs of contents that verdicts are on, and for each verdict whether it has one."""
        starts, counts = [], []
        for digests in (
            b"".join(one.left.digest for one in states), b"".join(one.right.digest for one in states if one.right),
        ):  # fmt: skip
            names = _as_strings(digests)
            start = np.searchsorted(self._names, names, "left")
            starts.append(start)
            counts.append(np.searchsorted(self._names, names, "right") - start)
        made = counts[0] * counts[1]
        if made.sum() > _MOST_LINKS:
            raise OptionError(
                f"verdicts on contents that many documents have link {made.sum():,} pairs, more than {_MOST_LINKS:,}; "
                "withdraw those on short documents, or raise --least-shingles"
            )
        # Each content of the left digest with each of the right one.
        lefts = np.repeat(ranges(starts[0], counts[0]), np.repeat(counts[1], counts[0]))
        rights = ranges(np.repeat(starts[1], counts[0]), np.repeat(counts[1], counts[0]))
        pairs = np.sort(np.stack([self._numbers[lefts], self._numbers[rights]], axis=1), axis=1)
        across = np.ones(len(pairs), np.bool_)
        if border is not None:
            across = (pairs[:, 0] < border) & (pairs[:, 1] >= border)
        reach = offsets_of(made)
        usable = np.diff(np.concatenate([[0], np.cumsum(across)])[reach]) > 0
        state = np.where(usable, _USED, np.where(made > 0, _ONE_SIDE, _ABSENT)).astype(np.int8)
        return np.unique(pairs[across], axis=0).astype(np.uint32).reshape(-1, 2), state


def _as_strings(digests: bytes) -> npt.NDArray[np.bytes_]:
    return np.frombuffer(digests, f"S{DIGEST_BYTES}")
