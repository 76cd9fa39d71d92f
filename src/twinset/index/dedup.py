"""Deduplicate new documents against an index, and add those that are kept.

The run holds the writer lock from its first query. The kept documents are added in one transaction, which is committed
when the result is in place: all of them are added, or none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.parts import Block
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.run import LocalRun
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.cluster_beside_index import IndexMatches, recall_at
from twinset.engines.local.steps.sketch import READ, UNREADABLE
from twinset.engines.local.write.tables import ResultTables
from twinset.errors import DuplicateIdError, OptionError, OutputError, StateError, TwinsetError
from twinset.index.backend import Backend, Int64s
from twinset.index.index import Index
from twinset.index.kinds.text_entries import Entries, SketchedBatch, make_entries, sketch_texts
from twinset.index.kinds.text_queries import TextSearcher
from twinset.index.query import Answers, Limits
from twinset.index.read_batches import checked_ids
from twinset.index.settings import FORMAT, Settings
from twinset.index.write import IndexWriter
from twinset.options import DedupOptions
from twinset.options.checks import AUTO
from twinset.options.index import IndexOptions
from twinset.schema import SCORES, Flags, Numbers
from twinset.system import batch_sizes
from twinset.wording import counted, quoted

_IDS = 1 << 16
_OWN_OPTIONS = {
    *("threshold", "contained", "text", "group", "item", "weight", "codes", "vectors", "images", "distance"),
}
"""Options of a run that are not those of the index, though some have the same names."""


@contextmanager
def open_index(where: object, *, read_only: bool = False) -> Iterator[Index]:
    """Open the index at a path or URL, and close it afterwards; an open `Index` stays open.

    With `read_only` nothing is added, but an index to which nothing can be added is still refused.
    """
    if isinstance(where, Index):
        if where._backend.read_only:
            raise StateError(f"{where.name}: the index was opened read-only, so kept documents cannot be added to it")
        yield where
    elif isinstance(where, (str, os.PathLike)):
        with Index.open(where, read_only=read_only) as index:
            if index.settings.format < FORMAT:
                raise StateError(
                    f"{index.name}: the index has the older format {index.settings.format}, to which nothing can be "
                    "added; convert it with twinset index migrate"
                )
            yield index
    else:
        raise OptionError(
            f"index is a {type(where).__name__}; allowed: the path of an index, its URL (postgresql://…), or an open "
            "twinset.Index"
        )


def dedup_options(given: dict[str, Any], index: Index) -> DedupOptions:
    """Return the options of a run: those given, and for the hashing those of the index."""
    stored = index.settings.options
    if stored.item_kind != "text":
        raise OptionError(
            f"{index.name}: the index holds {stored.documents_are}; dedup --index needs an index of texts; use twinset "
            "index query, or remove copies with dedup --against"
        )
    if stored.store == "none":
        raise OptionError(
            f"{index.name}: the index stores only sketches (store is 'none'), so its similarities are estimates, which "
            "do not justify a removal; make an index with --store text or --store shingles for dedup"
        )
    known = {name for name, _ in DedupOptions.specs()} - _OWN_OPTIONS
    fixed = [name for name, _ in IndexOptions.specs() if name in known]
    # The shingles of the index are also those that `auto` stands for.
    compared = {name: given[name] for name in fixed if name in given and (name, given[name]) != ("shingle", AUTO)}
    index.settings.check_options(compared, index.name)
    sizes = {name: getattr(index.settings.bands, name) for name in ("n_hashes", "n_bands", "rows_per_band")}
    inherited = {name: getattr(stored, name) for name in fixed} | sizes
    threshold = given.get("threshold", stored.threshold)
    column = {} if stored.text is None else {"text": stored.text}
    options = DedupOptions.of(**{**column, **given, **inherited, "threshold": threshold, "index": index.name})
    if options.floor is not None and options.floor > options.threshold:
        raise OptionError(
            f"floor is {options.floor:g}, above the threshold, {options.threshold:g}; allowed: a number up to the "
            "threshold; lower the floor or raise the threshold"
        )
    if options.least < stored.threshold:
        name = "threshold" if options.floor is None else "floor"
        recall = recall_at(index.settings.bands, options.least)
        raise OptionError(
            f"{name} is {options.least:g}, and the index {index.name} was planned for {stored.threshold:g}: a document "
            f"at {options.least:g} would be found only with probability {recall:.4f}; give {stored.threshold:g} or "
            f"more, or make another index with --threshold {options.least:g}"
        )
    return options


class IndexedDedup:
    """A dedup run against an index. Use it in a `with` statement, and call its steps in order."""

    def __init__(self, index: Index, run: LocalRun) -> None:
        self.index, self.run = index, run
        self._stack = ExitStack()
        self._open_writer: IndexWriter | None = None
        self._already_indexed: Flags = np.zeros(0, np.bool_)
        self._other_texts: tuple[Numbers, Int64s] = np.zeros(0, np.uint32), np.zeros(0, np.int64)
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, value, trace)

    @property
    def writer(self) -> IndexWriter:
        """The writer of the index; its lock is acquired once and held to the end."""
        if self._open_writer is None:
            timeout = self.run.options.timeout if isinstance(self.run.options, DedupOptions) else 0
            self._open_writer = self._stack.enter_context(self.index._writer(timeout, "dedup"))
        return self._open_writer

    def find_matches(self, corpus: Corpus, copies: Copies) -> IndexMatches:
        """Query the index with every distinct document."""
        since = time.perf_counter()
        writer = self.writer
        documents = len(self.index)
        left_out = self._look_up(corpus, writer)
        searcher = _EarlierSearcher(writer.backend, writer.settings, left_out)
        wanted = (copies.first == np.arange(corpus.documents, dtype=np.uint32)) & (corpus.status == READ)
        limits = Limits(self.run.options.least, 1)
        contents, ids, parts = [np.zeros(0, np.uint32)], [pa.array([], pa.string())], list[Answers]()

        def prepare(span: Span, block: Block) -> tuple[Numbers, SketchedBatch]:
            numbers, texts = _chosen(span, block, wanted)
            return numbers, sketch_texts(texts, writer.settings, sets=True)

        self.run.progress.stage("querying the index", int(np.count_nonzero(wanted)), "documents")
        for _, (numbers, queries) in corpus.read(self.run.threads, prepare, wanted=wanted):
            searcher.own = self._own_numbers(numbers, copies)
            near, names = searcher.nearest(queries, limits)
            contents.append(numbers[near.queries])
            ids.append(names)
            parts.append(near)
            self.run.progress.advance(len(numbers))
        self.facts = {"documents": documents - len(left_out)}
        self.run.timed("index", since)
        every = np.concatenate(contents)
        order = np.argsort(every)
        scores = Answers.concat(parts, "jaccard").scores
        columns = {column.name: values[order] for column, values in zip(SCORES["jaccard"], scores, strict=True)}
        already_indexed = np.flatnonzero(self._already_indexed & (corpus.status == READ)).astype(np.uint32)
        return IndexMatches(every[order], pa.concat_arrays(ids).take(pa.array(order)), columns, already_indexed)

    def _look_up(self, corpus: Corpus, writer: IndexWriter) -> Int64s:
        """Look up the ids of the arrivals; return the index numbers of those with the same text, ascending."""
        numbers, theirs = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)]
        readable = np.flatnonzero(corpus.status != UNREADABLE).astype(np.uint32)
        for start in range(0, len(readable), _IDS):
            some = readable[start : start + _IDS]
            names = corpus.take_ids(some).to_pylist()
            stored = writer.backend.numbers(names)
            found = np.array([stored.get(name, -1) for name in names], np.int64)
            numbers.append(some[found >= 0])
            theirs.append(found[found >= 0])
        ours, index_numbers = np.concatenate(numbers), np.concatenate(theirs)
        same = np.isin(ours, self._same(corpus, ours, writer))
        self._already_indexed = np.zeros(corpus.documents, np.bool_)
        self._already_indexed[ours[same]] = True
        self._other_texts = ours[~same], index_numbers[~same]
        return np.sort(index_numbers[same])

    def _same(self, corpus: Corpus, ours: Numbers, writer: IndexWriter) -> Numbers:
        """Return those of the arrivals `ours` that have the same text in the index."""
        wanted = np.zeros(corpus.documents, np.bool_)
        wanted[ours] = True
        found = [np.zeros(0, np.uint32)]
        for numbers, new in self._entries(corpus, wanted):
            same = writer._same(new, writer.backend.numbers(new.ids))
            found.append(numbers[[id in same for id in new.ids]])
        return np.concatenate(found)

    def _entries(self, corpus: Corpus, wanted: Flags) -> Iterator[tuple[Numbers, Entries]]:
        """Yield the wanted documents, ready to be written."""

        def prepare(span: Span, block: Block) -> tuple[Numbers, Entries]:
            numbers, texts = _chosen(span, block, wanted)
            ids = checked_ids(corpus.take_ids(numbers).to_pylist())
            return numbers, make_entries(ids, texts, self.index.settings)

        if wanted.any():
            for _, entries in corpus.read(self.run.threads, prepare, wanted=wanted):
                yield entries

    def _own_numbers(self, contents: Numbers, copies: Copies) -> Int64s:
        """Return pairs, (n, 2), of a content and the index document that has the id of its arrival and another text.

        Such a document must not match its own arrival. If the content has copies under other ids, it may match those.
        """
        documents, numbers = self._other_texts
        alone = copies.counts[copies.first[documents]] == 1
        firsts, numbers = copies.first[documents[alone]], numbers[alone]
        places = np.minimum(np.searchsorted(contents, firsts), max(0, len(contents) - 1))
        rows = np.flatnonzero(contents[places] == firsts) if len(contents) else np.zeros(0, np.int64)
        return np.stack([places[rows].astype(np.int64), numbers[rows]], axis=1)

    def add(self, results: ResultTables, clusters: Clusters) -> None:
        """Add the kept documents to the index; `commit` commits them. An id with another text is refused.

        Empty documents are added too, so that the index has everything that was kept. No query finds them.
        """
        since, corpus = time.perf_counter(), results.corpus
        self._refuse_other_texts(results, clusters)
        wanted = clusters.kept & ~self._already_indexed
        writer, count = self.writer, int(np.count_nonzero(wanted))
        self._stack.enter_context(writer.transaction())
        self.run.progress.stage("adding to the index", count, "documents")
        added = waiting = size = 0
        for numbers, new in self._entries(corpus, wanted):
            added += writer.put(new, replace=False).added
            waiting, size = waiting + len(numbers), size + new.nbytes
            # Bounds the memory for postings: a long document has many samples.
            if waiting >= batch_sizes.INDEX_COMMIT or size >= batch_sizes.INDEX_COMMIT_BYTES:
                writer.write_postings()
                waiting = size = 0
            self.run.progress.advance(len(numbers))
        writer.write_postings()
        writer.backend.flush()  # a lack of space must show before the result is in place
        if added != count:
            raise TwinsetError(
                f"rows were lost: {added} of {counted(count, 'kept document')} were added to the index; please report "
                "this, and do not use the result"
            )
        self.facts |= {"added": added, "there": int(np.count_nonzero(clusters.kept & self._already_indexed))}
        self.run.timed("add", since)

    def _refuse_other_texts(self, results: ResultTables, clusters: Clusters) -> None:
        documents = self._other_texts[0]
        names = results.corpus.take_ids(documents)
        # They are kept, or were removed with a copy because of the index document with their id.
        wrong = names.filter(pc.equal(names, results.kept_ids(clusters, documents)))
        if len(wrong):
            name = wrong[0].as_py()
            more = f" (and {len(wrong) - 1:,} more such ids)" if len(wrong) > 1 else ""
            raise DuplicateIdError(
                f"{self.index.name}: the index holds a document with the id {quoted(name)} and another text{more}; "
                "remove the old text with twinset index remove and run this again, or name a column of ids that are "
                "never reused with --id"
            )

    def summary(self, removed: int) -> dict[str, Any]:
        """Return the index part of the summary; `removed` arrivals matched an earlier document."""
        recall = recall_at(self.index.settings.bands, self.run.options.threshold)
        return {"name": self.index.name, **self.facts, "matched": removed, "recall": recall}

    def commit(self, path: Path | None) -> None:
        """Commit what was added, after the result is in place."""
        try:
            self._stack.close()
        except (OutputError, StateError) as error:
            if path is None:
                raise
            raise type(error)(
                f"{error}; {path} is complete, but its kept documents are not in the index; run again with --force"
            ) from error


class _EarlierSearcher(TextSearcher):
    """Finds the most similar document of the index, excluding the arrivals themselves.

    The documents `left_out` (ascending) are never answers. `own` are pairs of a query and a document that is not an
    answer to it.
    """

    def __init__(self, backend: Backend, settings: Settings, left_out: Int64s) -> None:
        super().__init__(backend, settings)
        self.left_out = left_out
        self.own: Int64s = np.zeros((0, 2), np.int64)

    def nearest(self, queries: SketchedBatch, limits: Limits) -> tuple[Answers, pa.Array]:
        """Return the answers, one for each query that has any, and their ids."""
        self.ids = {}
        with self.backend.snapshot():
            near = Answers.concat(self.find(queries, limits), "jaccard")
        return near, pa.array([self.ids[number] for number in near.numbers.tolist()], pa.string())

    def _candidates(self, queries: SketchedBatch, first: int, last: int) -> Iterator[tuple[Int64s, Int64s]]:
        for query_rows, numbers in super()._candidates(queries, first, last):
            stay = np.ones(len(numbers), np.bool_)
            if len(self.left_out):
                at = np.minimum(np.searchsorted(self.left_out, numbers), len(self.left_out) - 1)
                stay &= self.left_out[at] != numbers
            if len(self.own):
                stay &= ~np.isin((query_rows << 32) | numbers, (self.own[:, 0] << 32) | self.own[:, 1])
            yield query_rows[stay], numbers[stay]


def _chosen(span: Span, block: Block, wanted: Flags) -> tuple[Numbers, Any]:
    """Return the numbers and texts of the wanted documents of a block."""
    rows = np.flatnonzero(wanted[span.first : span.first + span.rows])
    texts = block.texts
    if len(rows) < span.rows:
        if pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type):
            texts = texts.cast(pa.large_binary())  # Arrow cannot take rows of views
        texts = texts.take(pa.array(rows))
    return (rows + span.first).astype(np.uint32), texts
