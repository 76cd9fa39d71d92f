"""What an index must know of its documents: one class a kind, and a file each.

Homes, writer, checking and exporting know nothing of kinds. To add one, write its class, and name it in `kind_for`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.normalize import buffers_of
from twinset.errors import RowError
from twinset.index.backend import Backend, Document, SketchRows
from twinset.index.kinds.text_entries import Entries, Keys, SketchedBatch
from twinset.index.query import Limits, Searcher
from twinset.index.settings import Settings
from twinset.options.index import IndexedOptions, IndexOptions, QueryOptions, SourceOptions
from twinset.schema import Sketches
from twinset.wording import at_row

if TYPE_CHECKING:
    from twinset.index.read_batches import Batch

STATE = "state"
"""The row of `settings` that is another after every change."""
_NONE = np.zeros(0, np.int64)
_NOTHING = QueryOptions()  # asked for in particular


class Kind(ABC):
    """The documents of one index: how they come, what is kept of them, what they are filed under, how they compare."""

    name: ClassVar[str]
    """One of them, for messages."""
    empty: ClassVar[str]
    """What an empty one lacks, for messages."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    tracks_changes: ClassVar[bool] = False
    """Whether every change is told to those who hold something of the index in memory."""

    @property
    def is_planned(self) -> bool:
        """Whether all is known that the first documents have to tell."""
        return self.settings.plan is not None

    def plan_from(self, rows: pa.Array) -> Settings:
        """The settings, with what the first documents tell; as they were where these tell nothing."""
        return self.settings

    def facts(self) -> dict[str, Any]:
        """What else there is to say about them, in plain values."""
        return {}

    @property
    @abstractmethod
    def slots(self) -> int:
        """The 32-bit numbers of a sketch; 0 while that is not known."""

    @property
    def content(self) -> pa.Field | None:
        """The column of an exported file for what is kept of a document besides its sketch, if anything is."""
        return None

    def export_contents(self, documents: list[Document]) -> list[Any]:
        """That column."""
        return []

    def import_contents(self, batch: pa.RecordBatch, path: Path) -> list[bytes] | None:
        """What is kept, out of an exported file."""
        return None

    @property
    def are_texts(self) -> bool:
        """Whether what is kept are texts."""
        return False

    @abstractmethod
    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Words that say what a document of a source is; what the options say themselves goes first."""

    @abstractmethod
    def is_single(self, what: Any) -> bool:
        """Whether a query is a single document, not a source of many."""

    @abstractmethod
    def from_values(self, values: Any) -> pa.Array:
        """Documents that a program holds, as those of a source are read."""

    def check_batch(self, batch: Batch) -> Batch:
        """Documents of a source without those that cannot be any of this index, or an error that names the first."""
        return batch

    @abstractmethod
    def keys(self, slots: Sketches) -> Keys:
        """What documents are filed under, (n, bands), by their sketches."""

    @abstractmethod
    def entries(self, ids: list[str], rows: pa.Array) -> Entries:
        """Documents ready to be written; safe in any thread."""

    @abstractmethod
    def queries(self, rows: pa.Array) -> SketchedBatch:
        """Documents to be asked for; safe in any thread."""

    @abstractmethod
    def query_from(self, kept: SketchRows, document: Document) -> SketchedBatch:
        """A document of the index, to be asked for."""

    def query_limits(self, k: int | None, threshold: float | None, distance: float | None, force: bool) -> Limits:
        """What is asked, of words that were not looked at yet."""
        if k is None and threshold is None and distance is None:
            return self.limits(_NOTHING)
        return self.limits(QueryOptions.of(k=k, threshold=threshold, distance=distance, force=force))

    @abstractmethod
    def limits(self, options: QueryOptions) -> Limits:
        """What is asked; what the index was not planned for is refused, unless it is forced."""

    @abstractmethod
    def searcher(self, backend: Backend) -> Searcher:
        """What answers."""

    @abstractmethod
    def mismatches(self, documents: list[Document], kept: SketchRows) -> Iterator[tuple[Document, str]]:
        """Documents whose sketch is not that of what is kept of them, or none at all."""

    def content_error(self, documents: list[Document]) -> str | None:
        """What is wrong where documents have contents that they should not have, or lack them."""
        if all(one.content is None for one in documents):
            return None
        return f"documents have contents that an index of {self.name}s has not"


class FixedWidthKind(Kind):
    """Documents that are numbers of a fixed size each: what is kept of one are its bytes, as slots of 32 bits."""

    @property
    @abstractmethod
    def width(self) -> int | None:
        """Bytes of a document, if that is known."""

    @abstractmethod
    def size(self, width: int) -> str:
        """Say how large a document of so many bytes is."""

    @abstractmethod
    def valid_slots(self, slots: Sketches) -> npt.NDArray[np.bool_]:
        """Which sketches are of this kind, bit by bit."""

    @property
    def slots(self) -> int:
        """Codes are filled up to whole words of 64 bits."""
        return -(-(self.width or 0) // 4) if self.is_planned else 0

    def check_batch(self, batch: Batch) -> Batch:
        """Leave out what is of another width, where that was asked for."""
        sizes = self._sizes(batch.texts)
        width = self.width or next(iter(sizes[sizes > 0].tolist()), 0)
        odd = np.flatnonzero((sizes != width) & (sizes > 0))
        if not len(odd):
            return batch
        reasons = [
            f"the {self.name} has {self.size(size)}, and those of the index have {self.size(width)}"
            for size in sizes[odd].tolist()
        ]
        if batch.on_error != "skip":
            raise RowError(reasons[0], where=at_row(batch.where, batch.row_of(int(odd[0]))))
        names = [f"{batch.where}:{batch.row_of(row)}" for row in odd.tolist()]
        stay = np.flatnonzero((sizes == width) | (sizes == 0))
        batch.unreadable = [*batch.unreadable, *zip(names, reasons, strict=True)]
        batch.ids = [batch.ids[row] for row in stay.tolist()]
        batch.texts = batch.texts.take(pa.array(stay))
        return batch

    def _sizes(self, rows: pa.Array) -> npt.NDArray[np.int64]:
        sizes = np.diff(buffers_of(rows)[1]).astype(np.int64)
        return np.where(np.asarray(rows.is_null()), 0, sizes) if rows.null_count else sizes

    def sketched(self, rows: pa.Array) -> SketchedBatch:
        """Documents with their bytes, without keys; those without any are empty."""
        sizes = self._sizes(rows)
        slots = np.zeros((len(rows), self.slots), np.uint32)
        there = np.flatnonzero(sizes)
        if len(there) and self.width:
            data, offsets = buffers_of(rows)
            size = self.width
            starts = offsets[:-1][there]
            whole = slots.view(np.uint8)
            if len(there) == len(rows) and (np.diff(starts) == size).all():  # one after the other, as they mostly are
                whole[:, :size] = data[starts[0] : starts[0] + size * len(rows)].reshape(len(rows), size)
            else:
                whole[there, :size] = data[starts[:, None] + np.arange(size)]
        none = np.zeros((len(rows), 0), np.int32)
        return SketchedBatch((sizes > 0).astype(np.uint32), slots, none, None, _NONE)

    def entries(self, ids: list[str], rows: pa.Array) -> Entries:
        """Documents ready to be written."""
        made = self.sketched(rows)
        made.keys = self.keys(made.slots)
        return Entries(ids, made, None, are_texts=False)

    def queries(self, rows: pa.Array) -> SketchedBatch:
        """Documents to be asked for."""
        return self.sketched(rows)

    def query_from(self, kept: SketchRows, document: Document) -> SketchedBatch:
        """A document of the index, to be asked for."""
        return SketchedBatch(kept.shingles, kept.slots, np.zeros((len(kept.slots), 0), np.int32), None, _NONE)

    def mismatches(self, documents: list[Document], kept: SketchRows) -> Iterator[tuple[Document, str]]:
        """Documents whose sketch cannot be one."""
        some = kept.shingles == 1
        right = np.where(some, self.valid_slots(kept.slots), (kept.shingles == 0) & ~kept.slots.any(axis=1))
        wrong = set(kept.numbers[~right].tolist())
        yield from ((one, f"what is kept of it is no {self.name}") for one in documents if one.number in wrong)


@lru_cache(maxsize=8)
def kind_for(settings: Settings) -> Kind:
    """The kind of an index's documents."""
    name = settings.options.item_kind
    if name in ("codes", "images"):
        from twinset.index.kinds.codes import CodeKind, PictureKind

        return PictureKind(settings) if name == "images" else CodeKind(settings)
    if name == "vectors":
        from twinset.index.kinds.vectors import VectorKind

        if settings.options.learned is not None:
            from twinset.index.kinds.learned_codes import LearnedKind

            return LearnedKind(settings)
        return VectorKind(settings)
    from twinset.index.kinds.texts import TextKind

    return TextKind(settings)


def initial_settings(options: IndexOptions) -> Settings:
    """The settings of a new index."""
    settings = Settings.create(dataclasses.replace(options, sample=()))
    if options.learned is not None:
        from twinset.index.kinds.learned_codes import fit_settings

        settings = fit_settings(settings, options.sample)
    return kind_for(settings).plan_from(pa.nulls(0, pa.large_binary()))


def source_options(kind: Kind, words: dict[str, Any]) -> SourceOptions:
    """How sources are read for an index: its documents are what its first ones were."""
    options = SourceOptions.of(**words)
    said = kind.source_columns(options)
    values = {name: getattr(options, name) for name, _ in SourceOptions.words()}
    return IndexedOptions.of(**{**values, **said})


def as_sequence(values: Any) -> Sequence[Any]:
    """What a program holds as a sequence, whatever can be gone through."""
    return values if isinstance(values, Sequence) else list(values)
