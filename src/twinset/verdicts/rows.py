"""The verdicts on the pairs of a result, as one array that follows the store: for filters, counts and the next pair."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from twinset.schema import DIGEST_BYTES
from twinset.verdicts.events import PAIR_KINDS, Subject
from twinset.verdicts.store import VerdictStore

Digests: TypeAlias = npt.NDArray[np.uint8]
"""(n, 16): the digest of each row."""
CODES: dict[str | None, int] = {None: 0, **{kind: code for code, kind in enumerate(PAIR_KINDS, 1)}, "principal": 1}
"""The code of each verdict in `RowVerdicts.codes`; 0 is undecided."""


class RowVerdicts:
    """The verdict on each row of a table of pairs, or of documents (then without `rights`).

    `codes` has 0 where a row is undecided, 1 for ``duplicate`` (of a document: ``principal``), 2 for ``different``, 3
    for ``unsure``. Call `refresh` before reading it; it takes the time of what has changed, not of the table. Rows of
    identical contents cannot be judged and are not `open`.

    Examples
    --------
    >>> import numpy as np
    >>> from twinset.verdicts import Content, VerdictStore
    >>> digests = np.arange(48, dtype=np.uint8).reshape(3, 16)
    >>> a, b, c = (Content(row.tobytes(), str(number)) for number, row in enumerate(digests))
    >>> with VerdictStore("OUT.verdicts") as store:
    ...     rows = RowVerdicts(store, digests[[0, 0]], digests[[1, 2]])
    ...     _ = store.judge("different", b, a, who="Ann")
    ...     rows.refresh(), rows.codes, rows.next_undecided(-1)
    (array([0]), array([2, 0], dtype=int8), 1)
    """

    def __init__(self, store: VerdictStore, lefts: Digests, rights: Digests | None = None) -> None:
        self._store, self._paired = store, rights is not None
        names = _names(lefts)
        if rights is not None:
            others = _names(rights)
            self.open = names != others
            smaller = np.where(names < others, names, others), np.where(names < others, others, names)
            names = np.concatenate([one.view(np.uint8).reshape(-1, DIGEST_BYTES) for one in smaller], axis=1)
            names = names.reshape(-1).view(f"S{2 * DIGEST_BYTES}")
        else:
            self.open = np.ones(len(names), np.bool_)
        self._order = np.argsort(names, kind="stable")
        self._names = names[self._order]
        self.codes: npt.NDArray[np.int8] = np.zeros(len(names), np.int8)
        self._seen = 0
        self.refresh()

    def refresh(self) -> npt.NDArray[np.int64]:
        """Follow the store; return the rows whose verdict may have changed."""
        now = self._store.sequence
        subjects = [one for one in self._store.changes(self._seen) if bool(one[1]) == self._paired]
        self._seen = now
        if not subjects or not len(self._names):
            return np.zeros(0, np.int64)
        codes = np.array([CODES[verdict] for verdict in self._store.verdicts(subjects)], np.int8)
        width = self._names.dtype.itemsize
        wanted = np.frombuffer(b"".join(map(_joined, subjects)), f"V{width}").view(f"S{width}")
        first = np.searchsorted(self._names, wanted, "left")
        counts = np.searchsorted(self._names, wanted, "right") - first
        places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        rows: npt.NDArray[np.int64] = self._order[places]
        self.codes[rows] = np.repeat(codes, counts)
        return np.sort(rows)

    def rows_of(self, subject: Subject) -> npt.NDArray[np.int64]:
        """Return the rows of a subject."""
        width = self._names.dtype.itemsize
        if len(_joined(subject)) != width:
            return np.zeros(0, np.int64)
        wanted = np.frombuffer(_joined(subject), f"S{width}")
        first, last = (int(np.searchsorted(self._names, wanted, side)[0]) for side in ("left", "right"))
        rows: npt.NDArray[np.int64] = np.sort(self._order[first:last])
        return rows

    def next_undecided(self, after: int, chosen: npt.NDArray[np.int64] | None = None) -> int | None:
        """Return the first undecided row after a place, around the end if need be; None if all are decided.

        `chosen` are rows in the order of a list; `after` is then a place in it, and so is the answer.
        """
        rows = np.arange(len(self.codes)) if chosen is None else chosen
        undecided = np.flatnonzero((self.codes[rows] == 0) & self.open[rows])
        if not len(undecided):
            return None
        return int(undecided[np.searchsorted(undecided, after, "right") % len(undecided)])


def _names(digests: Digests) -> npt.NDArray[np.bytes_]:
    """Return digests as strings of bytes, which compare as the digests do."""
    return np.ascontiguousarray(digests, np.uint8).reshape(-1, DIGEST_BYTES).view(f"S{DIGEST_BYTES}").reshape(-1)


def _joined(subject: Subject) -> bytes:
    return subject[0] + subject[1]
