"""The interface of a kind of documents: one class for each kind, in a file of its own.

Back ends, writing, verifying and exporting do not depend on the kind. To add a kind, write its class and name it in
`kind_for`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.normalize import buffers_of
from twinset.documents.parts import PictureSketch
from twinset.documents.python_sources import is_table
from twinset.engines.local.steps.shingle_length import choose_shingle, measure_texts
from twinset.engines.progress import Silent
from twinset.errors import OptionError, RowError
from twinset.index.backend import Backend, Document, SketchRows
from twinset.index.kinds.text_entries import Entries, Keys, RaggedKeys, SketchedBatch
from twinset.index.query import Limits, Searcher
from twinset.index.settings import Settings
from twinset.options.checks import AUTO
from twinset.options.index import IndexedOptions, IndexOptions, PassageQueryOptions, QueryOptions, SourceOptions
from twinset.schema import Sketches
from twinset.wording import at_row

if TYPE_CHECKING:
    from twinset.index.kinds.passage_queries import PassageSearcher
    from twinset.index.read_batches import Batch

STATE = "state"
"""The row of `settings` that gets a new value with every change."""
_NONE = np.zeros(0, np.int64)
_DEFAULTS = QueryOptions()


class Kind(ABC):
    """How the documents of one index are read, stored, looked up and compared."""

    name: ClassVar[str]
    """The name of one document, for messages."""
    empty: ClassVar[str]
    """What an empty document lacks, for messages."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    tracks_changes: ClassVar[bool] = False
    """Whether a change must be noticed by processes that cache data of the index."""

    @property
    def is_planned(self) -> bool:
        """Whether the index has a plan; some kinds make it from the first documents."""
        return self.settings.plan is not None

    def plan_from(self, rows: pa.Array) -> Settings:
        """Return the settings with a plan made from the first documents, or unchanged if these do not suffice."""
        return self.settings

    def facts(self) -> dict[str, Any]:
        """Return facts about this kind for `stats`, in plain values."""
        return {}

    @property
    @abstractmethod
    def slots(self) -> int:
        """The number of 32-bit values in a sketch; 0 without a plan."""

    @property
    def content(self) -> pa.Field | None:
        """The column of an exported file for the contents, or None if only sketches are stored."""
        return None

    def export_contents(self, documents: list[Document]) -> list[Any]:
        """Return the values of that column."""
        return []

    def import_contents(self, batch: pa.RecordBatch, path: Path) -> list[bytes] | None:
        """Return the contents from a batch of an exported file."""
        return None

    @property
    def are_texts(self) -> bool:
        """Whether the contents are texts."""
        return False

    @abstractmethod
    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Return the source options that say what a document is; those given in `options` take precedence."""

    @abstractmethod
    def is_single(self, what: Any) -> bool:
        """Whether a query is a single document rather than a source."""

    @abstractmethod
    def from_values(self, values: Any) -> pa.Array:
        """Return documents of a Python program in the form in which sources are read."""

    def check_batch(self, batch: Batch) -> Batch:
        """Drop documents that do not fit the index, or raise `RowError` for the first, as the options say."""
        return batch

    def picture_sketch(self, *, any_orientation: bool = False) -> PictureSketch | None:
        """Return the function that makes sketches of pictures, or those of all eight orientations."""
        return None

    @abstractmethod
    def keys(self, slots: Sketches) -> Keys:
        """Return the keys of sketches in the table `bands`, (n, bands)."""

    def content_keys(self, contents: Sequence[bytes | None]) -> dict[str, RaggedKeys]:
        """Return the keys that follow from stored contents, by table: `anchors`, `samples`.

        A content that is missing or damaged raises `DamagedError`.
        """
        return {}

    @property
    def content_tables(self) -> tuple[str, ...]:
        """The tables that `content_keys` fills."""
        return ()

    @abstractmethod
    def entries(self, ids: list[str], rows: pa.Array) -> Entries:
        """Prepare documents for writing; thread-safe."""

    @abstractmethod
    def queries(self, rows: pa.Array) -> SketchedBatch:
        """Prepare documents as queries; thread-safe."""

    @abstractmethod
    def query_from(self, sketches: SketchRows, document: Document) -> SketchedBatch:
        """Make a query from a document of the index."""

    def query_limits(self, **options: Any) -> Limits:
        """Check the options of a query, and return its limits."""
        if all(value is None or value is False for value in options.values()):
            return self.limits(_DEFAULTS)
        given = QueryOptions.of(**options)
        if given.any_orientation and self.settings.options.item_kind != "images":
            raise OptionError(
                f"--any-orientation needs an index of pictures, and this index holds {self.name}s; leave it out"
            )
        if given.contained is None:
            return self.limits(given)
        return self.containment_limits(given)

    @abstractmethod
    def limits(self, options: QueryOptions) -> Limits:
        """Return the limits of a query; limits beyond the plan are refused without `force`."""

    def measure(self, limits: Limits) -> str:
        """Return the score of the answers to a query with these limits."""
        return self.settings.options.measure

    def containment_limits(self, options: QueryOptions) -> Limits:
        """Return the limits of a query for containment; kinds that contain nothing raise `OptionError`."""
        raise OptionError(
            f"--contained needs an index of texts or sets, and this index holds {self.name}s; leave it out"
        )

    @property
    def contained_by(self) -> str:
        """What queries for containment choose documents by: ``samples``, or ``all`` if all are compared."""
        return "all"

    def nearest_by(self, backend: Backend) -> str:
        """Return what the k nearest of a query are chosen from.

        ``all``: all documents. ``sketches``: those whose sketches share a slot. ``codes``: the best by their learned
        codes. ``bands`` or ``tables``: those that share a band or a bucket, so that less similar ones may be missed.
        """
        return "all"

    def passage_searcher(self, backend: Backend, options: PassageQueryOptions) -> PassageSearcher:
        """Return the object that answers queries for passages; kinds without words raise `OptionError`."""
        raise OptionError(
            f"passages are found in an index of texts, and {backend.name} holds {self.name}s; use twinset index query "
            "without --passages"
        )

    @abstractmethod
    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Return the object that answers queries with these limits."""

    @abstractmethod
    def mismatches(self, documents: list[Document], sketches: SketchRows) -> Iterator[tuple[Document, str]]:
        """Yield documents whose sketch does not fit their content, with the reason."""

    def content_error(self, documents: list[Document]) -> str | None:
        """Return an error if documents lack contents, or have contents that this kind does not store."""
        if all(one.content is None for one in documents):
            return None
        return f"documents have contents, which an index of {self.name}s does not store"


class FixedWidthKind(Kind):
    """Documents of a fixed number of bytes, which are stored as the slots of the sketch."""

    @property
    @abstractmethod
    def width(self) -> int | None:
        """Bytes of a document, or None if unknown."""

    @abstractmethod
    def size(self, width: int) -> str:
        """Describe the size of a document of `width` bytes."""

    @abstractmethod
    def valid_slots(self, slots: Sketches) -> npt.NDArray[np.bool_]:
        """Return which sketches are valid documents of this kind."""

    @property
    def slots(self) -> int:
        """The bytes of a document, in 32-bit values."""
        return -(-(self.width or 0) // 4) if self.is_planned else 0

    def check_batch(self, batch: Batch) -> Batch:
        """Drop documents of another width, or raise `RowError`, as the options say."""
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
        """Pack documents into slots, without keys; documents without bytes are empty."""
        sizes = self._sizes(rows)
        slots = np.zeros((len(rows), self.slots), np.uint32)
        filled = np.flatnonzero(sizes)
        if len(filled) and self.width:
            data, offsets = buffers_of(rows)
            size = self.width
            starts = offsets[:-1][filled]
            whole = slots.view(np.uint8)
            if len(filled) == len(rows) and (np.diff(starts) == size).all():  # contiguous, the usual case
                whole[:, :size] = data[starts[0] : starts[0] + size * len(rows)].reshape(len(rows), size)
            else:
                whole[filled, :size] = data[starts[:, None] + np.arange(size)]
        none = np.zeros((len(rows), 0), np.int32)
        return SketchedBatch((sizes > 0).astype(np.uint32), slots, none, None, _NONE)

    def entries(self, ids: list[str], rows: pa.Array) -> Entries:
        """Prepare documents for writing."""
        sketched = self.sketched(rows)
        sketched.keys = self.keys(sketched.slots)
        return Entries(ids, sketched, None, are_texts=False)

    def queries(self, rows: pa.Array) -> SketchedBatch:
        """Prepare documents as queries."""
        return self.sketched(rows)

    def query_from(self, sketches: SketchRows, document: Document) -> SketchedBatch:
        """Make a query from a document of the index."""
        no_keys = np.zeros((len(sketches.slots), 0), np.int32)
        return SketchedBatch(sketches.shingles, sketches.slots, no_keys, None, _NONE)

    def mismatches(self, documents: list[Document], sketches: SketchRows) -> Iterator[tuple[Document, str]]:
        """Yield documents whose sketch is not valid."""
        some = sketches.shingles == 1
        right = np.where(some, self.valid_slots(sketches.slots), (sketches.shingles == 0) & ~sketches.slots.any(axis=1))
        wrong = set(sketches.numbers[~right].tolist())
        yield from ((one, f"its sketch is not a {self.name}") for one in documents if one.number in wrong)


@lru_cache(maxsize=8)
def kind_for(settings: Settings) -> Kind:
    """Return the kind of the documents of an index."""
    name = settings.options.item_kind
    if name == "codes":
        from twinset.index.kinds.codes import CodeKind

        return CodeKind(settings)
    if name == "images":
        from twinset.index.kinds.pictures import LayoutKind, PictureKind

        return LayoutKind(settings) if settings.has_layouts else PictureKind(settings)
    if name == "vectors":
        from twinset.index.kinds.vectors import VectorKind

        if settings.options.learned is not None:
            from twinset.index.kinds.learned_codes import LearnedKind

            return LearnedKind(settings)
        return VectorKind(settings)
    if name == "records":
        from twinset.index.kinds.columns.records import RecordKind

        return RecordKind(settings)
    if name == "weighted":
        from twinset.index.kinds.columns.weighted import WeightedKind

        return WeightedKind(settings)
    from twinset.index.kinds.texts import TextKind

    return TextKind(settings)


def initial_settings(options: IndexOptions) -> Settings:
    """Return the settings of a new index."""
    if options.shingle == AUTO:
        options = _with_measured_shingle(options)
    settings = Settings.create(dataclasses.replace(options, sample=()))
    if options.learned is not None:
        from twinset.index.kinds.learned_codes import fit_settings

        settings = fit_settings(settings, options.sample)
    return kind_for(settings).plan_from(pa.nulls(0, pa.large_binary()))


def _with_measured_shingle(options: IndexOptions) -> IndexOptions:
    """Replace the shingle `auto` by one that fits the texts of the sample."""
    from twinset.index.read_batches import DocumentBatches  # this module is imported there

    source = options.sample[0] if len(options.sample) == 1 else tuple(options.sample)
    columns = {} if options.text is None else {"text": options.text}
    documents = DocumentBatches(source, IndexedOptions.of(**columns), Silent(), [])
    measured = documents.read(lambda batch: measure_texts(batch.texts, options), "measuring texts")
    return dataclasses.replace(options, shingle=choose_shingle(measured, options.threshold)["shingle"], sample=())


def source_options(kind: Kind, given: dict[str, Any], source: Any) -> SourceOptions:
    """Return the options for reading a source into an index, with the columns of its kind."""
    options = SourceOptions.of(**given)
    columns = kind.source_columns(options)
    if columns.get("group") is not None and _holds_sets(source):  # a program has no columns
        weight = None if columns.get("weight") is None else "weights"
        columns |= {"group": None, "item": None, "items": "items", "weight": weight}
    values = {name: getattr(options, name) for name, _ in SourceOptions.specs()}
    return IndexedOptions.of(**{**values, **columns})


def _holds_sets(source: Any) -> bool:
    """Whether a source of a program is a mapping or a list of sets, not of rows or of names of files."""
    if isinstance(source, Mapping):
        return not any(is_table(one) for one in source.values())
    first = next((one for one in source if one is not None), None) if isinstance(source, (list, tuple)) else None
    weighted = isinstance(first, Mapping) and all(isinstance(one, Real) for one in first.values())
    return weighted or isinstance(first, (list, tuple, Set, np.ndarray))


def as_sequence(values: Any) -> Sequence[Any]:
    """Return any iterable as a sequence."""
    return values if isinstance(values, Sequence) else list(values)
