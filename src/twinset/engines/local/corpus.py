"""The documents of a run by number: what was found out about each when it was read, and a way to read its text again.

Texts stay in memory while they fit; else the sources are read again when texts are needed. Sketches stay in memory
while they fit; else they are read block by block from their file.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates.banding import Banded
from twinset.documents.parts import Block, Part
from twinset.engines.local.ids import DocumentIds
from twinset.engines.local.threads import Threads
from twinset.schema import Bytes, Hashes, Numbers
from twinset.system.arrays import Room
from twinset.system.scratch import Spool

_Out = TypeVar("_Out")


@dataclass(frozen=True)
class Span:
    """Where a block of rows belongs: part, first row in the part, first document number, rows."""

    part: int
    first_row: int
    first: int
    rows: int


@dataclass
class ReadReport:
    """What reading found besides the documents."""

    unreadable: list[tuple[int, str]] = field(default_factory=list)
    """Rows that could not be read, by document number, with the reason."""
    replaced: int = 0
    """Documents in which bytes that are not text were replaced."""
    text_bytes: int = 0
    own_ids: bool = True
    """Whether all ids come from the sources."""
    replaced_in: list[int] = field(default_factory=list)
    """The first documents with replaced bytes, by number."""
    rows: int | None = None
    """Rows that the documents were made of, where those are groups of rows."""


@dataclass
class Corpus:
    """Documents by number. Numbers from `border` on, if there is one, are of the source compared against."""

    parts: list[Part]
    spans: list[Span]
    border: int | None
    status: Bytes
    counts: Numbers
    digests: Hashes
    names: DocumentIds
    keys: Spool
    sketches: Spool
    n_bands: int
    lengths: Hashes
    sources: Numbers
    held: dict[int, Block]
    batch_bytes: int
    noticed: Callable[[Span, Block], None] | None = None
    """Called with every block that is read, by the thread that has read it."""
    repeats: Numbers = field(default_factory=lambda: np.zeros(0, np.uint32))
    """How many shingles of each document are surely repeats; empty where that was not looked at."""
    report: ReadReport = field(default_factory=ReadReport)
    _by_part: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for index, span in enumerate(self.spans):
            self._by_part.setdefault(span.part, []).append(index)

    @property
    def documents(self) -> int:
        """All documents that were read, those compared against included."""
        return len(self.status)

    @property
    def own(self) -> int:
        """Documents of the sources themselves."""
        return self.documents if self.border is None else self.border

    def most_distinct(self) -> Numbers:
        """How many distinct shingles each document has at most."""
        return self.counts - self.repeats if len(self.repeats) else self.counts

    def bytes_per_document(self) -> float:
        """Bytes of keys and sketches a document."""
        return (self.keys.nbytes + self.sketches.nbytes) / max(1, self.documents)

    def sketch_blocks(self, most_bytes: int) -> list[range]:
        """Ranges of spans whose keys and sketches take about `most_bytes` together."""
        limit = most_bytes / max(1.0, self.bytes_per_document())
        blocks: list[range] = []
        first, rows = 0, 0
        for index, span in enumerate(self.spans):
            if rows and rows + span.rows > limit:
                blocks.append(range(first, index))
                first, rows = index, 0
            rows += span.rows
        if first < len(self.spans):
            blocks.append(range(first, len(self.spans)))
        return blocks

    def banded(self, block: range, wanted: npt.NDArray[np.bool_], threads: Threads) -> Banded:
        """Keys and sketches of the wanted documents of some spans."""
        first, last = self.spans[block[0]].first, self.spans[block[-1]].first + self.spans[block[-1]].rows
        numbers = (np.flatnonzero(wanted[first:last]) + first).astype(np.uint32)
        width = self.sketches.nbytes // max(1, self.documents)
        banded = Banded(
            numbers,
            np.empty((self.n_bands, len(numbers)), np.uint64),
            np.empty((len(numbers), width), np.uint8),
        )

        # In the dtype of the numbers: else every search would make a copy of them all.
        places = np.searchsorted(numbers, np.array([self.spans[index].first for index in block], np.uint32))

        room = Room()

        def fill(index: int) -> None:
            span, at = self.spans[index], int(places[index - block.start])
            chosen = np.flatnonzero(wanted[span.first : span.first + span.rows])
            keys = self.keys.read(index, room).reshape(self.n_bands, span.rows)
            for band in range(self.n_bands):
                np.take(keys[band], chosen, out=banded.keys[band, at : at + len(chosen)], mode="clip")
            rows = self.sketches.read(index, room).reshape(span.rows, width)
            np.take(rows, chosen, axis=0, out=banded.sketches[at : at + len(chosen)], mode="clip")

        for _ in threads.map(fill, (index for index in block if wanted[self._documents_of(index)].any())):
            pass
        return banded

    def _documents_of(self, index: int) -> slice:
        span = self.spans[index]
        return slice(span.first, span.first + span.rows)

    def read(
        self,
        threads: Threads,
        work: Callable[[Span, Block], _Out],
        *,
        wanted: npt.NDArray[np.bool_] | None = None,
        whole: bool = False,
        parts: range | None = None,
    ) -> Iterator[tuple[Span, _Out]]:
        """work(span, block) for each block that has a wanted document, in order.

        `whole` for writing, else texts only. Writing comes last, so what is in memory is let go as it is handed out.
        """

        def run(task: tuple[Span, Callable[[], Block]]) -> tuple[Span, _Out]:
            span, get = task
            block = get()
            if self.noticed is not None:
                self.noticed(span, block)
            return span, work(span, block)

        def tasks() -> Iterator[tuple[Span, Callable[[], Block]]]:
            for number in parts if parts is not None else range(len(self.parts)):
                yield from self._tasks(number, wanted, whole)

        return threads.map(run, tasks())

    def _tasks(
        self, number: int, wanted: npt.NDArray[np.bool_] | None, whole: bool
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        part = self.parts[number]
        mine = [(index, self.spans[index]) for index in self._by_part.get(number, ())]

        def needed(span: Span) -> bool:
            return wanted is None or bool(wanted[span.first : span.first + span.rows].any())

        if all(index in self.held for index, _ in mine):
            for index, span in mine:
                block = self.held.pop(index) if whole else self.held[index]
                if needed(span):
                    yield span, lambda block=block: block  # type: ignore[misc]
            return
        if not any(needed(span) for _, span in mine):
            return
        part.check_unchanged()
        spans = (span for _, span in mine)
        for span, chunk in itertools.zip_longest(spans, part.chunks(self.batch_bytes)):
            if span is None or chunk is None or chunk.rows != span.rows:
                part.check_unchanged()
                raise RuntimeError(f"{part.name} was cut into other chunks than before")
            if needed(span):
                yield span, lambda chunk=chunk: chunk.read(whole=whole, texts_only=not whole)  # type: ignore[misc]
        part.check_unchanged()

    def take_ids(self, numbers: npt.NDArray[Any]) -> pa.Array:
        """The ids of some documents."""
        return self.names.take(numbers)
