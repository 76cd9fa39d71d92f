"""The scored pairs of an earlier run, by document numbers; only so many at a time are in memory."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.sort_pairs import Rows
from twinset.errors import StateError
from twinset.pairs.sets import Shares
from twinset.results.stored import StoredResult
from twinset.schema import SCORES, Numbers, Scores, equal_scores
from twinset.system import batch_sizes
from twinset.system.scratch import Spool

Words = npt.NDArray[np.uint64]


class StoredPairs:
    """Pairs of distinct contents: rows (left, right, row of pairs.parquet), and how near they are beside them.

    That is their similarity; of what has a distance, its negative, so that more is nearer everywhere.
    """

    def __init__(self, recorded: StoredResult, copies: Copies, scratch: Path, limit: int) -> None:
        self.recorded, self.scratch, self.limit = recorded, scratch, limit
        self.columns = SCORES[recorded.options.measure]
        self.score = self.columns[0].name
        self.rows, self.similarities = Spool(scratch / "scored", "<u4", 3), Spool(scratch / "similarities", "<f8")
        against = bool(recorded.options.against)
        start = 0
        for batch in recorded.batches("pairs", ("left", "right", self.score), batch_sizes.RECUT_PAIRS):
            rows, similarity = self._numbered(batch, start, against)
            start += batch.num_rows
            left, right = rows[:, 0], rows[:, 1]
            # Copies are no pairs of their own; against another source each of them is listed, the first among them.
            distinct = copies.first[left] == left if against else copies.first[left] != copies.first[right]
            self.rows.append(rows[distinct])
            self.similarities.append(similarity[distinct])
            self._forget(self.rows, self.similarities)
        self.count = start

    def _forget(self, *spools: Spool) -> None:
        if sum(spool.nbytes for spool in spools) > self.limit:
            for spool in spools:
                spool.forget()

    def _numbered(self, batch: pa.Table, start: int, against: bool) -> tuple[Rows, Shares]:
        numbers_of = self.recorded.numbers_of
        ids = [batch[side].combine_chunks() for side in ("left", "right")]
        if against:
            left, right = numbers_of(ids[0]), numbers_of(ids[1], self.recorded.own)
        else:
            left, right = np.split(numbers_of(pa.concat_arrays(ids)), 2)
        if start + batch.num_rows >= SAME or (left >= right).any():
            raise StateError(f"{self.recorded.folder / 'pairs.parquet'} is not a table of pairs; run dedup again")
        rows = np.stack([left, right, np.arange(start, start + batch.num_rows)], axis=1).astype(np.uint32)
        found = np.asarray(batch[self.score]).astype(np.float64, copy=False)
        return rows, -found if self.recorded.options.by_distance else found

    def _chunks(self) -> Iterator[tuple[Rows, Shares]]:
        return zip(self.rows.chunks(), self.similarities.chunks(), strict=True)

    @cached_property
    def steps(self) -> Shares:
        """Every similarity that there is, ascending; of distances their negatives."""
        found = [np.unique(similarity) for _, similarity in self._chunks()]
        return np.unique(np.concatenate(found)) if found else np.zeros(0)

    def near(self, threshold: float) -> Spool:
        """The rows that reach a threshold; of distances its negative."""
        out = Spool(self.scratch / "near", "<u4", 3)
        for rows, similarity in self._chunks():
            out.append(rows[similarity >= threshold])
            self._forget(out)
        out.close()
        return out

    def places_of(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """The row of pairs.parquet of each pair of contents, SAME where there is none."""
        asked = _words(lefts, rights)
        order = np.argsort(asked)
        places = np.full(len(asked), SAME, np.uint32)
        for rows, _ in self._chunks():
            words = _words(rows[:, 0], rows[:, 1])
            sorting = np.argsort(words)
            at = np.minimum(np.searchsorted(words[sorting], asked[order]), max(0, len(words) - 1))
            if len(words):
                hit = words[sorting[at]] == asked[order]
                places[order[hit]] = rows[sorting[at[hit]], 2]
        return places

    def scores(self, places: Numbers) -> Scores:
        """The scores of some rows of pairs.parquet."""
        wanted, back = np.unique(places, return_inverse=True)
        scores = equal_scores(self.recorded.options.measure, len(wanted))
        start = 0
        for batch in self.recorded.batches("pairs", list(scores), batch_sizes.RECUT_PAIRS) if len(wanted) else ():
            first, last = np.searchsorted(wanted, [start, start + batch.num_rows])
            for name, values in scores.items():
                values[first:last] = np.asarray(batch[name])[wanted[first:last] - np.uint32(start)]
            start += batch.num_rows
        return {name: values[back] for name, values in scores.items()}


def _words(lefts: Numbers, rights: Numbers) -> Words:
    return (lefts.astype(np.uint64) << np.uint64(32)) | rights
