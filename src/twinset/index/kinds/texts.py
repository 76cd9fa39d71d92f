"""Texts and sets in an index: sketches, bands, and contents for verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.errors import DamagedError, OptionError
from twinset.index.backend import Backend, Document, SketchRows
from twinset.index.content_lists import are_listed
from twinset.index.kinds.base import Kind
from twinset.index.kinds.containment import ContainmentSearcher
from twinset.index.kinds.pack_text import pack, unpack, unpack_text
from twinset.index.kinds.passage_queries import PassageLimits, PassageSearcher
from twinset.index.kinds.text_entries import (
    Entries,
    Keys,
    RaggedKeys,
    SketchedBatch,
    are_whole,
    content_keys,
    count_short,
    keys_of,
    make_entries,
    sets_of,
    sketch_texts,
    slots_of,
    stored_width,
    unpacked_rows,
)
from twinset.index.kinds.text_queries import MOST_READ, TextSearcher
from twinset.index.query import MOST_SCANNED, Limits, Searcher
from twinset.index.read_batches import texts_array
from twinset.options.index import PassageQueryOptions, QueryOptions, SourceOptions
from twinset.plan import band_probability
from twinset.schema import Sketches


class TextKind(Kind):
    """Texts, and sets as lists of elements."""

    name = "text"
    empty = "word"

    @property
    def slots(self) -> int:
        """The number of hashes in a sketch."""
        return self.settings.bands.n_hashes

    @property
    def _store(self) -> str:
        return self.settings.options.store

    @property
    def _of_sets(self) -> bool:
        return self.settings.options.item_kind == "items"

    @property
    def content(self) -> pa.Field | None:
        """Texts, or shingle hashes."""
        return {
            "text": pa.field("text", pa.large_string(), nullable=False),
            "shingles": pa.field("hashes", pa.large_binary(), nullable=False),
        }.get(self._store)

    def export_contents(self, documents: list[Document]) -> list[Any]:
        """Return unpacked texts, or hashes as they are stored."""
        if any(one.content is None for one in documents):
            raise DamagedError("the index is damaged: the content of a document is missing; run twinset index verify")
        return [unpack_text(one.content) if self.are_texts else one.content for one in documents]

    def import_contents(self, batch: pa.RecordBatch, path: Path) -> list[bytes] | None:
        """Return packed texts, or hashes as they were exported."""
        if self.content is None:
            return None
        if self.are_texts:
            return [pack(text.encode()) for text in batch.column("text").to_pylist()]
        contents: list[bytes] = batch.column("hashes").to_pylist()
        counts = stored_width(self.settings) * np.asarray(batch.column("shingles")).astype(np.int64)
        if [len(one) for one in contents] != counts.tolist():
            raise DamagedError(f"{path} is damaged: the number of shingle hashes of a document is wrong")
        return contents

    @property
    def are_texts(self) -> bool:
        """Whether texts are stored."""
        return self._store == "text"

    def source_columns(self, options: SourceOptions) -> dict[str, Any]:
        """Return the columns of the index, unless others are given."""
        ours, name = self.settings.options, "sets" if self._of_sets else "texts"
        if options.item_kind == "weighted":
            raise OptionError(f"--weight does not fit: the index holds {name}; leave it out")
        other = options.item_flag if options.item_kind not in ("text", "items", "groups") else None
        if not self._of_sets and options.item_kind != "text" and other is None:
            flag, column = ("--items", options.items) if options.items is not None else ("--group", options.group)
            raise OptionError(f"{flag} {column} is for sets, but the index holds texts; leave it out")
        if other is not None:
            raise OptionError(f"{other} does not fit: the index holds {name}; leave it out")
        if options.group is not None and ours.bag:
            raise OptionError("--group makes sets, but the index holds bags (--bag); add lists with --items")
        if not self._of_sets:
            return {} if ours.text is None or options.was_given("text") else {"text": ours.text}
        if options.group is not None or options.items is not None:
            return {}
        return {name: getattr(ours, name) for name in ("items", "group", "item")}

    def is_single(self, what: Any) -> bool:
        """Whether a query is one document: a string, or in an index of sets a set."""
        return isinstance(what, str) or (self._of_sets and isinstance(what, Set))

    def from_values(self, values: Any) -> pa.Array:
        """Return texts, or lists of elements as texts."""
        return texts_array(values, sets=self._of_sets)

    def keys(self, slots: Sketches) -> Keys:
        """Return band keys."""
        return keys_of(slots, self.settings)

    def content_keys(self, contents: Sequence[bytes | None]) -> dict[str, RaggedKeys]:
        """Return the keys of samples and of anchors."""
        return content_keys(contents, self.settings)

    @property
    def content_tables(self) -> tuple[str, ...]:
        """The tables that the options ask for."""
        options = self.settings.options
        return (("samples",) if options.contained else ()) + (("anchors",) if options.passages is not None else ())

    def entries(self, ids: list[str], rows: pa.Array) -> Entries:
        """Sketch documents and pack their contents."""
        return make_entries(ids, rows, self.settings)

    def queries(self, rows: pa.Array) -> SketchedBatch:
        """Sketch queries, with their shingle sets if answers are verified."""
        made = sketch_texts(rows, self.settings, sets=self._store != "none")
        made.short = count_short(rows, made.shingles, self.settings)
        return made

    def query_from(self, sketches: SketchRows, document: Document) -> SketchedBatch:
        """Make a query from the stored sketch and content."""
        sets = sets_of([document.content], self.settings) if self._store != "none" else None
        return SketchedBatch(sketches.shingles, sketches.slots, self.keys(sketches.slots), sets, np.zeros(0, np.int64))

    def limits(self, options: QueryOptions) -> Limits:
        """Default to the threshold of the index, or to none for the k nearest."""
        plan = self.settings.bands
        if options.distance is not None:
            raise OptionError("distance does not apply to an index of texts or sets; give a threshold (--threshold)")
        if options.threshold is None:
            return Limits(0.0 if options.k is not None else plan.threshold, options.k)
        if options.threshold < plan.threshold and not options.force:
            found = band_probability(options.threshold, plan.n_bands, plan.rows_per_band) * (1 - self.settings.loss)
            raise OptionError(
                f"threshold is {options.threshold:g}, and the index was planned for {plan.threshold:g}: a document at "
                f"{options.threshold:g} would be found only with probability {found:.4f}; use {plan.threshold:g} "
                "or more, query the k nearest, or accept the lower recall with --force"
            )
        return Limits(options.threshold, options.k)

    def containment_limits(self, options: QueryOptions) -> Limits:
        """Return the minimum containment and the maximum number of answers."""
        if self._store == "none":
            raise OptionError(
                "--contained needs the contents of the documents, and the index was made with --store none; create an "
                "index that stores them"
            )
        return Limits(float(options.contained or 0.0), options.k, contained=True)

    @property
    def contained_by(self) -> str:
        """Samples, if the index stores them."""
        return "samples" if self.settings.options.contained else "all"

    def passage_searcher(self, backend: Backend, options: PassageQueryOptions) -> PassageSearcher:
        """Search by anchors and contents."""
        stored = self.settings.options.passages
        if stored is None:
            raise OptionError(
                f"{backend.name}: the index stores no anchors, which queries for passages need; create an index with "
                "--passages N (in Python passages=N), and add the documents to it"
            )
        if options.least is not None and options.least < stored:
            raise OptionError(
                f"least is {options.least}, and the index was made for passages of {stored} words or more; give "
                f"{stored} or more, or make another index with --passages {options.least}"
            )
        return PassageSearcher(backend, self.settings, PassageLimits(options.least or stored, options.crowd))

    def nearest_by(self, backend: Backend) -> str:
        """Compare all contents if they can be listed in memory, else all sketches, or what shares a band."""
        documents = backend.count()
        if self._store != "none" and (documents <= MOST_READ or are_listed(backend, self.settings)):
            return "all"
        return "sketches" if documents <= MOST_SCANNED else "bands"

    def searcher(self, backend: Backend, limits: Limits) -> Searcher:
        """Search by bands, sketches and contents; for containment, by contents."""
        return (ContainmentSearcher if limits.contained else TextSearcher)(backend, self.settings)

    def content_error(self, documents: list[Document]) -> str | None:
        """Return an error if contents do not fit the option `store`; texts are checked one by one."""
        if self._store == "text" or not any((one.content is None) == (self._store == "shingles") for one in documents):
            return None
        return f"documents lack contents, or have contents that an index with store {self._store!r} does not store"

    def mismatches(self, documents: list[Document], sketches: SketchRows) -> Iterator[tuple[Document, str]]:
        """Yield documents whose sketch does not fit their content."""
        if self._store == "none":
            return
        whole = documents
        if not are_whole([one.content for one in documents], self.settings):
            whole = [one for one in documents if are_whole([one.content], self.settings)]
            numbers = {one.number for one in whole}
            lost = (one for one in documents if one.number not in numbers)
            yield from ((one, f"its stored {self._store} cannot be read") for one in lost)
        again = self._sketched_again(whole)
        by_number = {number: row for row, number in enumerate(sketches.numbers.tolist())}
        for place, one in enumerate(whole):
            row = by_number.get(one.number)
            if row is None or sketches.shingles[row] != again.shingles[place]:
                yield one, f"the number of shingles does not match the stored {self._store}"
            elif again.shingles[place] and (sketches.slots[row] != again.slots[place]).any():
                yield one, f"the sketch does not match the stored {self._store}"

    def _sketched_again(self, documents: list[Document]) -> SketchRows:
        """Sketch documents again from their contents."""
        contents = [one.content or b"" for one in documents]
        numbers = np.array([one.number for one in documents], np.int64)
        if self.are_texts:
            texts = unpacked_rows([unpack(content) for content in contents], self.settings)
            sketched = sketch_texts(texts, self.settings, sets=False)
            return SketchRows(numbers, sketched.shingles, sketched.slots)
        sets = sets_of(contents, self.settings)
        return SketchRows(numbers, sets.sizes, slots_of(sets, self.settings))
