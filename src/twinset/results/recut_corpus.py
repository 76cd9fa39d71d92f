"""The documents of an earlier run as a corpus: what was recorded of each, and its text if it must be read again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
    """Ids as they were recorded, and columns read again."""

    def __init__(self, ids: pa.Array, column: Callable[[str], pa.ChunkedArray]) -> None:
        super().__init__(Spool(Path("names"), "u1"), 0)  # the spool is never written
        self._ids = ids
        self._column = column

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of all documents."""
        return self._column(name)


class StoredCorpus(Corpus):
    """A corpus without sketches, made of what was recorded; its parts are opened when texts are needed first."""

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
            names=StoredIds(recorded.ids, self._column_again),
            keys=none,
            sketches=none,
            n_bands=0,  # nothing is sketched again
            lengths=np.asarray(table["length"]),
            sources=np.asarray(table["source"]),
            held={},
            batch_bytes=batch_bytes,
        )

    def copies(self) -> Copies:
        """The documents by content."""
        return Copies.of(np.asarray(self.recorded.documents["content"]), self.status)

    def open(self) -> "StoredCorpus":
        """Open the sources, if they are not yet."""
        self.parts = self.recorded.sources.parts
        return self

    def _read_tasks(
        self, number: int, wanted: npt.NDArray[np.bool_] | None, whole: bool
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        return self._again(number, wanted, lambda chunk: chunk.read(whole=whole, texts_only=not whole))

    def _again(
        self, number: int, wanted: npt.NDArray[np.bool_] | None, read: Callable[[Chunk], Block]
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        """The blocks of a part, in whichever chunks it comes now, each checked against what was recorded."""
        first, rows = self._range(number)
        if wanted is not None and not wanted[first : first + rows].any():
            return
        part = self.recorded.sources.trusted(number)
        seen = 0
        for chunk in part.chunks(self.batch_bytes):
            span = Span(number, seen, first + seen, chunk.rows)
            seen += chunk.rows
            if seen > rows:
                break
            if wanted is None or wanted[span.first : span.first + span.rows].any():
                yield span, lambda chunk=chunk, span=span: self._checked(part, span, read(chunk))  # type: ignore[misc]
        if seen != rows:
            had = counted(rows, "document")
            raise SourceError(f"it does not have the {had} that it had in that run", where=part.name)
        part.check_unchanged()

    def _range(self, number: int) -> tuple[int, int]:
        """The first document of a part, and how many there are."""
        return next(((span.first, span.rows) for span in self.spans if span.part == number), (0, 0))

    def _checked(self, part: Part, span: Span, block: Block) -> Block:
        check_lengths(part, block.texts, self.lengths[span.first : span.first + span.rows])
        return block

    def _column_again(self, name: str) -> pa.ChunkedArray:
        """A column of a keep policy, read out of the sources."""
        self.open()
        for part in self.parts:
            part.wanted = frozenset({name})
        tasks = (task for number in range(len(self.parts)) for task in self._again(number, None, _with_columns))
        return column_of([block.columns[name] for block in self.threads.map(_taken, tasks)], name)


def _with_columns(chunk: Chunk) -> Block:
    return chunk.read()


def _taken(task: tuple[Span, Callable[[], Block]]) -> Block:
    return task[1]()


class RemovalScores:
    """The scores of each removed document with the kept one, by its number."""

    def __init__(self, scores: Scores, measure: str) -> None:
        self._scores, self.measure = scores, measure

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """The scores of removed documents on the left."""
        return {name: values[left] for name, values in self._scores.items()}


def kept_rows(corpus: StoredCorpus, threads: Threads, kept: npt.NDArray[np.bool_]) -> list[Any]:
    """The kept rows of every part, as tables."""
    corpus.open()
    tables = []
    for number in sorted({span.part for span in corpus.spans if span.first < corpus.own}):
        taking = corpus.parts[number].taking()
        for span, block in corpus.read(threads, lambda span, block: block, whole=True, parts=range(number, number + 1)):
            taking.write(block, kept[span.first : span.first + span.rows])
        tables += taking.tables()
    return tables
