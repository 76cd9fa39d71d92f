"""The documents and scored pairs of an earlier run, by document number; texts are read again where they are needed."""

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinset.documents.parts import Block, Chunk, Part
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.ids import DocumentIds, column_of
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.threads import Threads
from twinset.errors import SourceError, StateError
from twinset.results.reopen_sources import check_lengths
from twinset.results.stored import StoredResult
from twinset.schema import Flags, Hashes, Numbers, Scores, Shares, equal_scores, limited_columns, limited_score
from twinset.system import batch_sizes
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool
from twinset.wording import counted


class StoredIds(DocumentIds):
    """Recorded ids, and columns read again."""

    def __init__(self, ids: pa.Array, column: Callable[[str], pa.ChunkedArray]) -> None:
        super().__init__(Spool(Path("names"), "u1"), 0)  # the spool is never written
        self._ids = ids
        self._column = column

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a column of all documents."""
        return self._column(name)


class StoredCorpus(Corpus):
    """A corpus of recorded documents without sketches; its parts are opened when texts are first needed."""

    def __init__(self, recorded: StoredResult, threads: Threads, batch_bytes: int) -> None:
        self.recorded, self.threads = recorded, threads
        table = recorded.documents
        part = np.asarray(table["part"])
        edges = np.flatnonzero(np.diff(part, prepend=-1, append=-1)) if len(part) else np.zeros(1, np.int64)
        spans = [
            Span(int(part[first]), 0, int(first), int(last - first))
            for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        none = Spool(Path("sketches"), "u1")
        super().__init__(
            parts=[],
            spans=spans,
            border=recorded.own if recorded.options.against else None,
            status=np.asarray(table["status"]),
            counts=np.asarray(table["shingles"]),
            digests=np.zeros((0, 2), np.uint64),
            names=StoredIds(recorded.ids, self._read_column),
            keys=none,
            sketches=none,
            n_bands=0,  # nothing is sketched again
            lengths=np.asarray(table["length"]),
            sources=np.asarray(table["source"]),
            cached_blocks={},
            batch_bytes=batch_bytes,
        )

    def content_digests(self) -> Hashes:
        """Return the recorded digests of the contents."""
        return self.recorded.digests

    def verbatim(self, copies: Copies) -> Numbers:
        """Return the recorded first documents with the same bytes."""
        return np.asarray(self.recorded.documents["verbatim"])

    def copies(self) -> Copies:
        """Group the documents by content."""
        return Copies.of(np.asarray(self.recorded.documents["content"]), self.status)

    def open(self) -> "StoredCorpus":
        """Open the sources, if they are not open yet."""
        self.parts = self.recorded.sources.parts
        return self

    def _read_tasks(
        self, number: int, wanted: Flags | None, whole: bool, texts_only: bool
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        return self._read_checked(number, wanted, lambda chunk: chunk.read(whole=whole, texts_only=texts_only))

    def _read_checked(
        self, number: int, wanted: Flags | None, read: Callable[[Chunk], Block]
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        """Yield the blocks of a part in its present chunks, each checked against the records."""
        first, rows = self._range(number)
        if wanted is not None and not wanted[first : first + rows].any():
            return
        part = self.recorded.sources.trusted(number)
        rows_read = 0
        for chunk in part.chunks(self.batch_bytes):
            span = Span(number, rows_read, first + rows_read, chunk.rows)
            rows_read += chunk.rows
            if rows_read > rows:
                break
            if wanted is None or wanted[span.documents].any():
                yield span, lambda chunk=chunk, span=span: self._check_block(part, span, read(chunk))  # type: ignore[misc]
        if rows_read != rows:
            expected = counted(rows, "document")
            raise SourceError(f"it does not have the {expected} that it had in that run", where=part.name)
        part.check_unchanged()

    def _range(self, number: int) -> tuple[int, int]:
        """Return the first document of a part, and the number of its documents."""
        return next(((span.first, span.rows) for span in self.spans if span.part == number), (0, 0))

    def _check_block(self, part: Part, span: Span, block: Block) -> Block:
        check_lengths(part, block.texts, self.lengths[span.documents])
        return block

    def _read_column(self, name: str) -> pa.ChunkedArray:
        """Read a column of a keep policy from the sources."""
        self.open()
        for part in self.parts:
            part.wanted = frozenset({name})
        parts = (self._read_checked(number, None, lambda chunk: chunk.read()) for number in range(len(self.parts)))
        tasks = itertools.chain.from_iterable(parts)
        return column_of([block.columns[name] for block in self.threads.map(lambda task: task[1](), tasks)], name)


class StoredPairs:
    """Pairs of distinct contents: rows (left, right, row of pairs.parquet) and similarities, or negated distances."""

    def __init__(self, recorded: StoredResult, copies: Copies, scratch: Path, limit: int) -> None:
        self.recorded, self.scratch, self.limit = recorded, scratch, limit
        self.measure = recorded.options.measure
        self.rows, self.similarities = Spool(scratch / "scored", "<u4", 3), Spool(scratch / "similarities", "<f8")
        against = bool(recorded.options.against)
        start = 0
        columns = ("left", "right", *limited_columns(self.measure))
        for batch in recorded.batches("pairs", columns, batch_sizes.RECUT_PAIRS):
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
        scores = {name: np.asarray(batch[name]) for name in limited_columns(self.measure)}
        return rows, limited_score(scores, self.measure, one_sided=against)

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


class RemovalScores:
    """The scores of each removed document with the kept one, by number."""

    def __init__(self, scores: Scores, measure: str) -> None:
        self._scores, self.measure = scores, measure

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return the scores of removed documents on the left."""
        return {name: values[left] for name, values in self._scores.items()}
