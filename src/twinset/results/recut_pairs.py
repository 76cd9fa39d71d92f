"""The scored pairs of an earlier run by document numbers, in batches that fit in memory."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.sort_pairs import Rows
from twinset.errors import StateError
from twinset.pairs.sets import Shares
from twinset.results.stored import StoredResult
from twinset.schema import SCORES, Numbers, Scores, equal_scores
from twinset.system import batch_sizes
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool


class StoredPairs:
    """Pairs of distinct contents: rows (left, right, row of pairs.parquet) and similarities, or negated distances."""

    def __init__(self, recorded: StoredResult, copies: Copies, scratch: Path, limit: int) -> None:
        self.recorded, self.scratch, self.limit = recorded, scratch, limit
        self.columns = SCORES[recorded.options.measure]
        self.score = self.columns[0].name
        self.rows, self.similarities = Spool(scratch / "scored", "<u4", 3), Spool(scratch / "similarities", "<f8")
        against = bool(recorded.options.against)
        start = 0
        for batch in recorded.batches("pairs", ("left", "right", self.score), batch_sizes.RECUT_PAIRS):
            rows, similarity = self._number_rows(batch, start, against)
            start += batch.num_rows
            left, right = rows[:, 0], rows[:, 1]
            # Copies are not pairs of distinct contents; against another source all copies are listed.
            distinct = copies.first[left] == left if against else copies.first[left] != copies.first[right]
            self.rows.append(rows[distinct])
            self.similarities.append(similarity[distinct])
            if self.rows.nbytes + self.similarities.nbytes > limit:
                self.rows.forget()
                self.similarities.forget()
        self.count = start

    def _number_rows(self, batch: pa.Table, start: int, against: bool) -> tuple[Rows, Shares]:
        numbers_of = self.recorded.numbers_of
        ids = [batch[side].combine_chunks() for side in ("left", "right")]
        if against:
            left, right = numbers_of(ids[0]), numbers_of(ids[1], self.recorded.own)
        else:
            left, right = np.split(numbers_of(pa.concat_arrays(ids)), 2)
        if start + batch.num_rows >= SAME or (left >= right).any():
            raise StateError(f"{self.recorded.folder / 'pairs.parquet'} is not a table of pairs; run dedup again")
        rows = np.stack([left, right, np.arange(start, start + batch.num_rows)], axis=1).astype(np.uint32)
        scores = np.asarray(batch[self.score]).astype(np.float64, copy=False)
        return rows, -scores if self.recorded.options.by_distance else scores

    def _chunks(self) -> Iterator[tuple[Rows, Shares]]:
        return zip(self.rows.chunks(), self.similarities.chunks(), strict=True)

    @cached_property
    def steps(self) -> Shares:
        """All distinct similarities, or negated distances, ascending."""
        return np.unique(np.concatenate([np.zeros(0), *map(np.unique, self.similarities.chunks())]))

    def near(self, threshold: float) -> Spool:
        """Return the rows that reach a threshold, or a negated distance."""
        out = Spool(self.scratch / "near", "<u4", 3)
        for rows, similarity in self._chunks():
            out.append(rows[similarity >= threshold], self.limit)
        out.close()
        return out

    def rows_of(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """Return the row of pairs.parquet of each pair of contents, or SAME."""
        wanted = pair_words(lefts, rights)
        order = np.argsort(wanted)
        places = np.full(len(wanted), SAME, np.uint32)
        for rows, _ in self._chunks():
            words = pair_words(rows[:, 0], rows[:, 1])
            sorted_rows = np.argsort(words)
            at = np.minimum(np.searchsorted(words[sorted_rows], wanted[order]), max(0, len(words) - 1))
            if len(words):
                matches = words[sorted_rows[at]] == wanted[order]
                places[order[matches]] = rows[sorted_rows[at[matches]], 2]
        return places

    def scores(self, places: Numbers) -> Scores:
        """Read the scores of some rows of pairs.parquet."""
        wanted, inverse = np.unique(places, return_inverse=True)
        scores = equal_scores(self.recorded.options.measure, len(wanted))
        start = 0
        for batch in self.recorded.batches("pairs", list(scores), batch_sizes.RECUT_PAIRS) if len(wanted) else ():
            first, last = np.searchsorted(wanted, [start, start + batch.num_rows])
            for name, values in scores.items():
                values[first:last] = np.asarray(batch[name])[wanted[first:last] - np.uint32(start)]
            start += batch.num_rows
        return {name: values[inverse] for name, values in scores.items()}
