"""The verdicts on the documents shown: what stands on each pair, who said it when, and what contradicts what."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from twinset.verdicts import Conflict, Content, Event, RowVerdicts, State, Subject, VerdictStore, subject_of
from twinset.verdicts.sample import Sample, samples_of
from twinset.web.review.data import ReviewData
from twinset.web.review.items import FIXED, ReviewItems

Digests = npt.NDArray[np.uint8]


class Ledger:
    """Verdicts by documents instead of digests, and the states of the lists, which follow every change of the file.

    Parameters
    ----------
    data
        The result.
    store
        The file of verdicts; other programs may write to it, too.
    """

    def __init__(self, data: ReviewData, store: VerdictStore) -> None:
        self.data, self.store = data, store
        self._digests: Digests = data.shown.digests
        self._lock = threading.Lock()
        self._rows: dict[str, RowVerdicts] = {}
        self._judged: dict[str, npt.NDArray[np.bool_]] = {}
        for name, view in data.views.items():
            self._add(name, view.items)
        self._seen = -1
        self._conflicts: list[Conflict] = []
        self.samples: list[Sample] = []
        self.refresh()

    def _add(self, name: str, items: ReviewItems) -> None:
        """Follow the verdicts on the pairs of a list; those with a document of an index cannot be judged."""
        rows = RowVerdicts(self.store, self._digests[items.left], self._digests[items.right])
        known = np.array(self._digests.any(axis=1), np.bool_)
        judged = np.array(rows.open, np.bool_) & known[items.left] & known[items.right]
        self._rows[name], self._judged[name] = rows, judged
        items.state[:] = np.where(self._judged[name], rows.codes, FIXED)

    def refresh(self) -> int:
        """Read what was written since the last call; return the number of the last event."""
        with self._lock:
            last = self.store.sequence
            if last == self._seen:
                return last
            for name, rows in self._rows.items():
                changed = rows.refresh()
                state, judged = self.data.views[name].items.state, self._judged[name]
                state[changed] = np.where(judged[changed], rows.codes[changed], FIXED)
            self._conflicts = self.store.conflicts()
            subjects = {subject for conflict in self._conflicts for subject in conflict.subjects if subject[1]}
            for name, rows in self._rows.items():
                found = self.data.conflicts[name]
                found.clear()
                for subject in subjects:
                    found.update(rows.rows_of(subject).tolist())
            self._read_samples()
            self._seen = last
            return last

    def _read_samples(self) -> None:
        """Find the pairs of the samples in the list of pairs."""
        view = self.data.views.get("pairs")
        if view is None:
            return
        samples = samples_of(self.store)
        found = [
            [self.pair_of(view.items, subject_of(one.left.digest, one.right.digest)) for one in sample.pairs]
            for sample in samples
        ]
        view.samples = [np.array([one for one in pairs if one is not None], np.int64) for pairs in found]
        self.samples = samples  # last: whoever sees a sample finds its pairs

    def pair_of(self, items: ReviewItems, subject: Subject) -> int | None:
        """The first pair of a list with these two contents; None if it has none."""
        rows = self._rows[items.name].rows_of(subject)
        return int(rows[0]) if len(rows) else None

    def content(self, place: int) -> Content:
        """The content of a document, with its id as it is shown."""
        return Content(self._digests[place].tobytes(), self.data.shown.id(place))

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
        subject = subject_of(self.content(left).digest, self.content(right).digest)
        return [one for one in self._conflicts if subject in one.subjects]

    def members(self, items: ReviewItems, item: int) -> list[Content]:
        """The distinct contents of an item: in a cluster that of the kept document first."""
        pairs = items.pairs_of(item)
        places = [int(items.left[pairs[0]]), *items.right[pairs.start : pairs.stop].tolist()]
        found: dict[bytes, Content] = {}
        for one in map(self.content, places):
            found.setdefault(one.digest, one)
        return list(found.values())
