"""The documents of an earlier run as a corpus: their records, and their texts if these must be read again."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.parts import Block, Chunk, Part
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.ids import DocumentIds, column_of
from twinset.engines.local.threads import Threads
from twinset.errors import SourceError
from twinset.results.reopen_sources import check_lengths
from twinset.results.stored import StoredResult
from twinset.schema import Numbers, Scores
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

    def copies(self) -> Copies:
        """Group the documents by content."""
        return Copies.of(np.asarray(self.recorded.documents["content"]), self.status)

    def open(self) -> "StoredCorpus":
        """Open the sources, if they are not open yet."""
        self.parts = self.recorded.sources.parts
        return self

    def _read_tasks(
        self, number: int, wanted: npt.NDArray[np.bool_] | None, whole: bool
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        return self._read_checked(number, wanted, lambda chunk: chunk.read(whole=whole, texts_only=not whole))

    def _read_checked(
        self, number: int, wanted: npt.NDArray[np.bool_] | None, read: Callable[[Chunk], Block]
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


class RemovalScores:
    """The scores of each removed document with the kept one, by number."""

    def __init__(self, scores: Scores, measure: str) -> None:
        self._scores, self.measure = scores, measure

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return the scores of removed documents on the left."""
        return {name: values[left] for name, values in self._scores.items()}
