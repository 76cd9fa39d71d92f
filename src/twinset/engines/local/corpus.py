"""The documents of a run by number, and access to their texts and sketches.

Texts and sketches stay in memory while they fit. Otherwise texts are read from the sources again, and sketches from
their file block by block.
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
from twinset.engines.local.copies import Copies
from twinset.engines.local.ids import DocumentIds
from twinset.engines.local.steps.sketch import UNREADABLE, unsalted
from twinset.engines.local.threads import Threads
from twinset.schema import Bytes, Flags, Hashes, Numbers, Places
from twinset.system.arrays import Room
from twinset.system.scratch import Spool

_COMPARED_IDS = 4096
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class Span:
    """The position of a block: its part, first row in the part, first document number and number of rows."""

    part: int
    first_row: int
    first: int
    rows: int

    @property
    def documents(self) -> slice:
        """The numbers of its documents."""
        return slice(self.first, self.first + self.rows)


@dataclass
class ReadReport:
    """Counts and faults found while reading."""

    unreadable: list[tuple[int, str]] = field(default_factory=list)
    """Rows that could not be read, by document number, with the reason."""
    replaced: int = 0
    """Documents in which invalid bytes were replaced."""
    text_bytes: int = 0
    own_ids: bool = True
    """Whether all ids come from the sources."""
    replaced_in: list[int] = field(default_factory=list)
    """Numbers of the first documents with replaced bytes."""
    repeated_ids: int = 0
    """Rows whose id an earlier row has, if rows are named by their position for that reason."""
    rows: int | None = None
    """Source rows, where documents are groups of rows."""
    unranked: dict[str, int] = field(default_factory=dict)
    """Documents without a readable value in a column of the keep policy, by column."""


@dataclass
class Corpus:
    """Documents by number. Those from `border` on, if set, belong to the source compared against."""

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
    cached_blocks: dict[int, Block]
    batch_bytes: int
    noticed: Callable[[Span, Block], None] | None = None
    """Called with every block by the thread that reads it."""
    repeats: Numbers = field(default_factory=lambda: np.zeros(0, np.uint32))
    """A lower bound on the repeated shingles of each document; empty if not counted."""
    salts: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    """What keeps the digests of the groups of ``--by`` apart; empty without it."""
    texts: Spool | None = None
    """Hashes of texts and records byte for byte; empty for other kinds."""
    report: ReadReport = field(default_factory=ReadReport)
    _by_part: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for index, span in enumerate(self.spans):
            self._by_part.setdefault(span.part, []).append(index)

    @property
    def documents(self) -> int:
        """The number of all documents, including those compared against."""
        return len(self.status)

    @property
    def own(self) -> int:
        """The number of documents of the sources themselves."""
        return self.documents if self.border is None else self.border

    def content_digests(self) -> Hashes:
        """Return the digests of the contents, the same for both sides of a comparison and in every group."""
        return unsalted(self.digests, self.salts, self.border)

    def verbatim(self, copies: Copies) -> Numbers:
        """Return the first document with the same bytes, for each document."""
        return copies.verbatim(self.texts.all() if self.texts is not None and len(self.texts) else None)

    def most_distinct(self) -> Numbers:
        """Return an upper bound on the distinct shingles of each document."""
        return self.counts - self.repeats if len(self.repeats) else self.counts

    def bytes_per_document(self) -> float:
        """Return the bytes of keys and sketches per document."""
        return (self.keys.nbytes + self.sketches.nbytes) / max(1, self.documents)

    def sketch_blocks(self, max_bytes: int) -> list[range]:
        """Cut the spans into ranges whose keys and sketches take about `max_bytes`."""
        return cut_ranges([span.rows for span in self.spans], max_bytes / max(1.0, self.bytes_per_document()))

    def banded(self, block: range, wanted: Flags, threads: Threads) -> Banded:
        """Load keys and sketches of the wanted documents of some spans."""
        first, last = self.spans[block[0]].first, self.spans[block[-1]].first + self.spans[block[-1]].rows
        numbers = (np.flatnonzero(wanted[first:last]) + first).astype(np.uint32)
        width = self.sketches.nbytes // max(1, self.documents)
        keys, sketches = np.empty((self.n_bands, len(numbers)), np.uint64), np.empty((len(numbers), width), np.uint8)
        banded = Banded(numbers, keys, sketches)
        # Of the same dtype as the numbers, or searchsorted copies them all.
        positions = np.searchsorted(numbers, np.array([self.spans[index].first for index in block], np.uint32))
        room = Room()

        def fill(index: int) -> None:
            span, at = self.spans[index], int(positions[index - block.start])
            chosen = np.flatnonzero(wanted[span.documents])
            keys = self.keys.read(index, room).reshape(self.n_bands, span.rows)
            for band in range(self.n_bands):
                np.take(keys[band], chosen, out=banded.keys[band, at : at + len(chosen)], mode="clip")
            rows = self.sketches.read(index, room).reshape(span.rows, width)
            np.take(rows, chosen, axis=0, out=banded.sketches[at : at + len(chosen)], mode="clip")

        threads.run(fill, (index for index in block if wanted[self.spans[index].documents].any()))
        return banded

    def read(
        self,
        threads: Threads,
        work: Callable[[Span, Block], _Out],
        *,
        wanted: Flags | None = None,
        whole: bool = False,
        texts_only: bool = True,
        parts: range | None = None,
    ) -> Iterator[tuple[Span, _Out]]:
        """Yield work(span, block) in order for each block with a wanted document.

        `whole` reads whole rows for writing, else texts, and unless `texts_only` the columns that options name. Writing
        comes last, so it frees blocks in memory.
        """

        def run(task: tuple[Span, Callable[[], Block]]) -> tuple[Span, _Out]:
            span, get = task
            block = get()
            if self.noticed is not None:
                self.noticed(span, block)
            return span, work(span, block)

        def tasks() -> Iterator[tuple[Span, Callable[[], Block]]]:
            for number in parts if parts is not None else range(len(self.parts)):
                yield from self._read_tasks(number, wanted, whole, texts_only and not whole)

        return threads.map(run, tasks())

    def _read_tasks(
        self, number: int, wanted: Flags | None, whole: bool, texts_only: bool
    ) -> Iterator[tuple[Span, Callable[[], Block]]]:
        part = self.parts[number]
        mine = [(index, self.spans[index]) for index in self._by_part.get(number, ())]

        def needed(span: Span) -> bool:
            return wanted is None or bool(wanted[span.documents].any())

        if all(index in self.cached_blocks for index, _ in mine):
            for index, span in mine:
                block = self.cached_blocks.pop(index) if whole else self.cached_blocks[index]
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
                raise RuntimeError(f"{part.name} was split into other chunks than before")
            if needed(span):
                yield span, lambda chunk=chunk: chunk.read(whole=whole, texts_only=texts_only)  # type: ignore[misc]
        part.check_unchanged()

    def locate(self, number: int) -> tuple[int, int]:
        """Return the part of a document, and its row in it."""
        span = next(span for span in self.spans if span.first <= number < span.first + span.rows)
        return span.part, span.first_row + number - span.first

    def repeated(self, hashes: Hashes) -> Places:
        """Return the readable documents whose id has the hash of an earlier one, in order."""
        readable = np.flatnonzero(self.status != UNREADABLE)
        order = readable[np.argsort(hashes[readable], kind="stable")]
        return np.sort(order[1:][hashes[order[1:]] == hashes[order[:-1]]])

    def find_repeated_id(self, hashes: Hashes) -> tuple[str, int, int] | None:
        """Return an id that two documents of one side have, and their numbers; ids with equal hashes are compared."""
        repeated = self.repeated(hashes)
        for at in range(0, len(repeated), _COMPARED_IDS):
            some = repeated[at : at + _COMPARED_IDS]
            upto = int(some[-1]) + 1
            suspects = np.flatnonzero(np.isin(hashes[:upto], hashes[some]) & (self.status[:upto] != UNREADABLE))
            seen: dict[tuple[bool, str], int] = {}
            for number, name in zip(suspects.tolist(), self.take_ids(suspects).to_pylist(), strict=True):
                other = seen.setdefault((number >= self.own, name), number)
                if other != number:
                    return name, other, number
        return None

    def take_ids(self, numbers: npt.NDArray[Any]) -> pa.Array:
        """Return the ids of some documents."""
        return self.names.take(numbers)


def cut_ranges(sizes: list[int], limit: float) -> list[range]:
    """Cut consecutive things into ranges of up to `limit` in size; one that is larger is alone.

    Examples
    --------
    >>> cut_ranges([2, 3, 9, 1], limit=5)
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    ranges: list[range] = []
    first = total = 0
    for index, size in enumerate(sizes):
        if total and total + size > limit:
            ranges.append(range(first, index))
            first, total = index, 0
        total += size
    return [*ranges, range(first, len(sizes))] if sizes else []
