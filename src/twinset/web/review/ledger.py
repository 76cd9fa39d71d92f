"""The verdicts on the documents shown: what stands on each pair, who said it when, and what contradicts what."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twinset.verdicts.conflicts import Conflict
from twinset.verdicts.events import Content, Event, Subject, subject_of
from twinset.verdicts.present import State
from twinset.verdicts.store import VerdictStore
from twinset.web.review.data import ReviewData
from twinset.web.review.items import DIFFERENT, DUPLICATE, IDENTICAL, UNDECIDED, UNSURE, ReviewItems

_NUMBERS = {"duplicate": DUPLICATE, "different": DIFFERENT, "unsure": UNSURE}
_ABSENT = -1

Codes = npt.NDArray[np.uint64]


@dataclass
class _PairIndex:
    """The pairs of a list by their contents: those of a key are order[i] where keys[i] equals it."""

    items: ReviewItems
    keys: Codes
    order: npt.NDArray[np.int64]

    def pairs(self, key: int) -> npt.NDArray[np.int64]:
        """The pairs of the list with these two contents."""
        first, last = (np.searchsorted(self.keys, np.uint64(key), side=side) for side in ("left", "right"))
        return self.order[first:last]


class Ledger:
    """Verdicts by documents instead of digests, and the states of the lists, which follow every change of the file.

    Parameters
    ----------
    data
        The result.
    store
        The file of verdicts; other programs may write to it, too.
    digests
        The digest of the content of each document shown: uint64 (n, 2), as it is stored.
    """

    def __init__(self, data: ReviewData, store: VerdictStore, digests: Codes) -> None:
        self.data, self.store, self._digests = data, store, digests
        self._lock = threading.Lock()
        self._unique, self._code = _numbered(digests)
        self._indexes = [self._index(view.items) for view in data.views.values()]
        self._seen = 0
        self._conflicts: list[Conflict] = []
        self.refresh()

    def _index(self, items: ReviewItems) -> _PairIndex:
        left, right = (self._code[side].astype(np.uint64) for side in (items.left, items.right))
        items.state[left == right] = IDENTICAL
        keys = np.minimum(left, right) << np.uint64(32) | np.maximum(left, right)
        order = np.argsort(keys, kind="stable")
        return _PairIndex(items, keys[order], order)

    def refresh(self) -> int:
        """Read what was written since the last call; return the number of the last event."""
        with self._lock:
            last = self.store.sequence
            if last == self._seen:
                return last
            changed = [one for one in self.store.changes(self._seen) if one[1]]
            for subject, verdict in zip(changed, self.store.verdicts(changed), strict=True):
                key = self._key(subject)
                for index in self._indexes if key != _ABSENT else ():
                    pairs = index.pairs(key)
                    free = pairs[index.items.state[pairs] != IDENTICAL]
                    index.items.state[free] = UNDECIDED if verdict is None else _NUMBERS[verdict]
            self._conflicts = self.store.conflicts()
            self._mark_conflicts()
            self._seen = last
            return last

    def _mark_conflicts(self) -> None:
        """Mark the pairs whose verdicts are part of a conflict."""
        subjects = {subject for conflict in self._conflicts for subject in conflict.subjects if subject[1]}
        keys = [key for key in map(self._key, subjects) if key != _ABSENT]
        for index in self._indexes:
            found = self.data.conflicts[index.items.name]
            found.clear()
            for key in keys:
                found.update(index.pairs(key).tolist())

    def _key(self, subject: Subject) -> int:
        """The key of two contents; -1 if the documents shown lack one."""
        codes = [self._code_of(digest) for digest in subject]
        return _ABSENT if _ABSENT in codes else min(codes) << 32 | max(codes)

    def _code_of(self, digest: bytes) -> int:
        wanted = np.frombuffer(digest, self._unique.dtype)
        place = int(np.searchsorted(self._unique, wanted)[0])
        return place if place < len(self._unique) and self._unique[place] == wanted[0] else _ABSENT

    def place_of(self, digest: bytes) -> int | None:
        """A document shown with this content; None if there is none."""
        code = self._code_of(digest)
        return None if code == _ABSENT else int(np.flatnonzero(self._code == code)[0])

    def pair_of(self, items: ReviewItems, subject: Subject) -> int | None:
        """The first pair of a list with these two contents; None if it has none."""
        key = self._key(subject)
        index = next(one for one in self._indexes if one.items is items)
        pairs = index.pairs(key) if key != _ABSENT else ()
        return int(min(pairs)) if len(pairs) else None

    def content(self, place: int) -> Content:
        """The content of a document, with its id as it is shown."""
        return Content(self._digests[place].tobytes(), self.data.shown.id(place))

    def subject(self, left: int, right: int) -> Subject:
        """What a verdict on two documents is on."""
        return subject_of(self.content(left).digest, self.content(right).digest)

    def state(self, left: int, right: int) -> State | None:
        """The verdict that stands on two documents."""
        return self.store.pair(self.content(left).digest, self.content(right).digest)

    def principal(self, place: int) -> State | None:
        """The verdict that a document is to be the kept one; None if there is none."""
        return self.store.principal(self.content(place).digest)

    def history(self, left: int, right: int) -> list[tuple[Event, Event | None]]:
        """The events on two documents, each with the one that took it back."""
        return self.store.history(self.content(left).digest, self.content(right).digest)

    def conflicts(self) -> list[Conflict]:
        """All conflicts of the file."""
        return self._conflicts

    def conflicts_of(self, left: int, right: int) -> list[Conflict]:
        """The conflicts that the verdict on two documents is part of."""
        subject = self.subject(left, right)
        return [one for one in self._conflicts if subject in one.subjects]

    def members(self, items: ReviewItems, item: int) -> list[int]:
        """The documents of an item: in a cluster the kept one first; one for each content."""
        pairs = items.pairs_of(item)
        places = [int(items.left[pairs[0]]), *(int(items.right[pair]) for pair in pairs)]
        return list({int(self._code[place]): place for place in reversed(places)}.values())[::-1]


def _numbered(digests: Codes) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """Return the distinct digests in order, and the place of each document's digest among them."""
    raw = np.ascontiguousarray(digests).view(np.dtype((np.void, 16))).reshape(-1)
    unique, code = np.unique(raw, return_inverse=True)
    return unique, code.reshape(-1)
