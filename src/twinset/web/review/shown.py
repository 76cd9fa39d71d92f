"""The documents that a review can show: their ids, sources, sizes and contents, and a search over their beginnings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.progress import Progress
from twinset.errors import SourceError, StateError
from twinset.options.items import VECTORS
from twinset.report.item_differences import listed
from twinset.report.numbers import Whole
from twinset.results.stored import StoredResult
from twinset.schema import DIGEST_BYTES
from twinset.web.review.texts import BEGINNING, TextFile, beginning_of, read_items

Flags = npt.NDArray[np.bool_]

_FEW = 5_000
"""Occurrences of a rare word."""
_UNKNOWN = 0xFFFFFFFF
"""The part and the content of a document of an index."""


@dataclass
class ShownDocuments:
    """Documents by place: those that some list has, in the order of their numbers.

    Attributes
    ----------
    numbers
        Their numbers in the run; those of an index come last.
    ids
        Their ids.
    part
        The row of each in sources.parquet.
    content
        The number of the first document with the same content.
    digests
        The digest of the content of each: uint8 (n, 16); zeros for those of an index, which cannot be judged.
    length, shingles
        Characters (or elements), and shingles with repeats; 0 for those of an index.
    sources
        The names of the parts.
    kind
        The kind of items.
    texts
        Their texts; empty if they cannot be read, for the reason in `without_texts`.
    """

    numbers: Whole
    ids: pa.Array
    part: npt.NDArray[np.uint32]
    content: npt.NDArray[np.uint32]
    digests: npt.NDArray[np.uint8]
    length: npt.NDArray[np.uint64]
    shingles: npt.NDArray[np.uint32]
    sources: list[str]
    texts: TextFile
    kind: str = "text"
    without_texts: str = ""
    _haystack: pa.ChunkedArray = field(default_factory=lambda: pa.chunked_array([], pa.large_string()))
    _pieces: list[tuple[Whole, pa.Array]] = field(default_factory=list)

    @classmethod
    def of(cls, recorded: StoredResult, numbers: Whole, scratch: str | None) -> ShownDocuments:
        """Take the documents of some numbers, which ascend; texts are read by `read_texts`."""
        own = int(np.searchsorted(numbers, len(recorded.ids)))
        ids = recorded.ids.take(pa.array(numbers[:own]))
        if own < len(numbers):
            earlier = recorded.earlier_ids.take(pa.array(numbers[own:] - len(recorded.ids)))
            ids = pa.concat_arrays([ids, earlier.combine_chunks() if isinstance(earlier, pa.ChunkedArray) else earlier])
        table = recorded.documents.take(pa.array(numbers[:own])) if own else recorded.documents.slice(0, 0)
        beyond = len(numbers) - own

        def column(name: str, missing: int) -> npt.NDArray[Any]:
            values = np.asarray(table[name])
            return np.concatenate([values, np.full(beyond, missing, values.dtype)])

        content = column("content", 0)
        content[own:] = numbers[own:]
        digests = np.zeros((len(numbers), DIGEST_BYTES), np.uint8)
        digests[:own] = np.ascontiguousarray(recorded.digests[numbers[:own]]).view(np.uint8)
        return cls(
            numbers, ids, column("part", _UNKNOWN), content, digests, column("length", 0), column("shingles", 0),
            [str(name) for name in recorded.table("sources")["path"].to_pylist()], TextFile(len(numbers), scratch),
            recorded.options.item_kind,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.numbers)

    def read_texts(self, recorded: StoredResult, progress: Progress) -> None:
        """Read all texts and make the search; if that fails, the documents are shown without."""
        progress.stage("reading texts", len(self), "documents")
        try:
            if self.kind != "images":
                for places, texts in read_items(recorded, self.numbers, progress.advance):
                    self.texts.add(places, texts)
                    self._index(places, [self._beginning(text) for text in texts])
        except (SourceError, StateError) as error:
            if recorded.moved:  # the sources were named for this run: a wrong name is a mistake, not a loss
                raise
            self.without_texts = str(error)
        self.finish()

    def _beginning(self, data: bytes | None) -> str:
        """The beginning of an item as it is read; empty for those without words."""
        if not data or self.kind in ("codes", *VECTORS, "images"):
            return ""
        return beginning_of(data if self.kind == "text" else listed(data.decode(), self.kind).encode())

    def beginning(self, place: int) -> str:
        """The beginning of the text of a document; empty if there is none."""
        whole = self.kind != "text"
        return self._beginning(self.texts.bytes_of(place, None if whole else 8 * BEGINNING))

    @property
    def unit(self) -> str:
        """What lengths are of; empty where all are equal."""
        units = {"text": "character", "records": "character", "images": "pixel"}
        units.update(dict.fromkeys(("codes", *VECTORS), ""))
        return units.get(self.kind, "element")

    def _index(self, places: Whole, beginnings: Sequence[str]) -> None:
        """Add some documents to the search."""
        texts = pc.utf8_lower(pa.array(beginnings, pa.large_string()))
        names = pc.utf8_lower(self.ids.take(pa.array(places)))
        # Words have no white space: none reaches from a document into the next.
        end, space = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
        joined = pc.binary_join_element_wise(names, texts, end, space)
        self._pieces.append((places, joined))

    def finish(self) -> None:
        """Make the search; documents without a text are found by their ids."""
        indexed = np.zeros(len(self), np.bool_)
        for places, _ in self._pieces:
            indexed[places] = True
        rest = np.flatnonzero(~indexed)
        if len(rest):
            self._index(rest, [""] * len(rest))
        order = np.concatenate([places for places, _ in self._pieces]) if self._pieces else np.zeros(0, np.int64)
        self._haystack = pa.chunked_array([piece for _, piece in self._pieces], pa.large_string())
        self._pieces = []
        if (order[1:] < order[:-1]).any():
            self._haystack = self._haystack.take(pa.array(np.argsort(order)))

    def id(self, place: int) -> str:
        """The id of a document."""
        return str(self.ids[place].as_py())

    def source(self, place: int) -> str:
        """The name of the source of a document; empty for one of an index."""
        part = int(self.part[place])
        return "" if part == _UNKNOWN else self.sources[part]

    def search(self, words: Sequence[str]) -> Flags:
        """Mark the documents that have every word in their id, in the name of their source or in their beginning."""
        found = np.ones(len(self), np.bool_)
        for word in words:
            wanted = pc.utf8_lower(pa.scalar(word)).as_py()
            parts = np.array([wanted in name.lower() for name in self.sources], np.bool_)
            among = np.flatnonzero(found)
            here = self._matches(wanted) if len(among) == len(self) else self._matches(wanted, among)
            if parts.any():
                of_run = self.part[among] != _UNKNOWN
                here = here | (of_run & parts[np.where(of_run, self.part[among], 0)])
            found[among] = here
        return found

    def _matches(self, wanted: str, among: Whole | None = None) -> Flags:
        """Mark documents, or those at some places, that have a word in their id or beginning."""
        if among is not None:
            return np.asarray(pc.match_substring(self._haystack.take(pa.array(among)), wanted))
        # A word of few documents is found soonest in the bytes of all, one of many by looking at each document.
        found, pattern, room, first = np.zeros(len(self), np.bool_), re.compile(re.escape(wanted.encode())), _FEW, 0
        for chunk in self._haystack.chunks:
            ends = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset + 1 : chunk.offset + 1 + len(chunk)]
            data = memoryview(chunk.buffers()[2] or b"")[: int(ends[-1]) if len(ends) else 0]
            places = [match.start() for match in islice(pattern.finditer(data), room + 1)]
            room -= len(places)
            if room < 0:
                return np.asarray(pc.match_substring(self._haystack, wanted))
            found[first + np.searchsorted(ends, places, side="right")] = True
            first += len(chunk)
        return found
