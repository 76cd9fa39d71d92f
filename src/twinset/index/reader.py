"""Read an index: its documents, queries, checks and exports."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from twinset.engines.progress import Progress, Silent
from twinset.errors import DamagedError, OptionError, UnknownIdError
from twinset.index import export as exporting
from twinset.index import verify as checking
from twinset.index.backend import Backend, named_damage
from twinset.index.kinds.anchors import AnchoredTexts
from twinset.index.kinds.base import Kind, kind_for, source_options
from twinset.index.kinds.text_entries import SketchedBatch
from twinset.index.query import Limits, QueryCounts, with_query_column
from twinset.index.read_batches import Batch, DocumentBatches, checked_ids
from twinset.index.settings import Settings
from twinset.options.index import PassageQueryOptions
from twinset.plan.from_summary import AnyPlan
from twinset.schema import PASSAGES, answers_schema
from twinset.system import batch_sizes
from twinset.system.locks import Turn

CROWD: int = PassageQueryOptions.defaults()["crowd"]


class IndexReader:
    """What can be done with an index without changing it; `Index` adds the changes."""

    def __init__(self, backend: Backend, settings: Settings | None = None) -> None:
        self._backend = backend
        self._mutex = Turn(backend.name)
        self.settings = settings or Settings.from_rows(backend.settings(), backend.name)
        self._kind_cache: tuple[Settings, Kind] | None = None

    @property
    def plan(self) -> AnyPlan | None:
        """The hashes, bands and rows of the index; None while an index of codes or vectors is empty."""
        return self._kind.settings.plan

    @property
    def _kind(self) -> Kind:
        """The kind of the documents. Another process may have stored the plan since the index was opened."""
        if self.settings.plan is None:
            with self._mutex, self._backend.snapshot():
                if "plan" in (rows := self._backend.settings()):
                    self.settings = Settings.from_rows({**rows, "format": str(self.settings.format)}, self.name)
        if self._kind_cache is None or self._kind_cache[0] is not self.settings:
            self._kind_cache = self.settings, kind_for(self.settings)
        return self._kind_cache[1]

    @property
    def name(self) -> str:
        """The path or URL of the index, without user and password."""
        return self._backend.name

    @property
    def files(self) -> list[str]:
        """The files of the index; none if it is in a database server."""
        return self._backend.files()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        if not self._mutex.ended:
            with self._mutex:
                self._mutex.ended = True
                self._backend.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Take a turn, and see one state of the index; errors of damaged contents name the index."""
        with self._mutex, self._backend.snapshot(), named_damage(self.name):
            yield

    def __len__(self) -> int:
        with self._mutex:
            return self._backend.count()

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str) or id.encode("utf-8", "ignore").decode() != id:
            return False  # an unpaired surrogate cannot be in an id
        with self._mutex:
            return bool(self._backend.numbers([id]))

    def __iter__(self) -> Iterator[str]:
        """Yield ids in the order of adding. An id that is updated during the iteration may come a second time."""
        last = 0
        while True:
            with self._reading():
                numbers = self._backend.page(last, batch_sizes.INDEX_PAGE)
                documents = self._backend.documents(numbers, contents=False)
            if not len(numbers):
                return
            yield from (one.id for one in documents)
            last = int(numbers[-1])

    def query(
        self,
        what: Any,
        *,
        k: int | None = None,
        threshold: float | None = None,
        contained: float | None = None,
        distance: float | None = None,
        any_orientation: bool = False,
        force: bool = False,
        **options: Any,
    ) -> pa.Table:
        """Find documents that are similar to one text, or to each of many.

        Parameters
        ----------
        what
            A text, a set, a code or a vector, like the documents of the index; a record is a mapping from column to
            text, a weighted set one from element to weight. Or many: a list of texts, a mapping id → text, a table, an
            array, or a path (`pathlib.Path`).
        k
            Return the k most similar documents, even those below the threshold of the index, unless `threshold` or
            `distance` is given. Pictures are then compared by their colour layouts, and by their hashes if a `distance`
            is given or the index was made before layouts were stored.
        threshold
            Minimum similarity of an answer; by default the threshold of the index.
        contained
            Instead of a threshold: minimum share of the query's shingles that the document has, or of the document's
            shingles that the query has. For an index of texts or sets that stores contents.
        distance
            Maximum distance of an answer, for an index that uses distances; by default the distance of the index.
        any_orientation
            For an index of pictures: compare each of the eight orientations of the query; the least distance counts.
        force
            Allow a threshold below (or a distance above) that of the index, at a lower recall.
        **options
            How to read a source: the options of ``twinset index query``, by the same names.

        Returns
        -------
        pyarrow.Table
            Best first: `id`, the scores, `estimate` and `recall`, the minimum probability that a document of this
            similarity is found. Texts and sets have the scores of pairs, from the side of the query: `similarity`,
            `query_in_document` and so on. Vectors have `similarity` alone. Codes, pictures and vectors by distance have
            `distance`. With many queries, `query` is the id of the query.
        """
        kind = self._kind
        limiting: dict[str, Any] = {
            "k": k, "threshold": threshold, "contained": contained, "distance": distance,
            "any_orientation": any_orientation, "force": force,
        }  # fmt: skip
        if kind.is_single(what):
            if options:
                raise OptionError(f"{next(iter(options))} is for sources; leave it out with a single {kind.name}")
            batch = kind.check_batch(Batch([""], kind.from_values([what]), "the query"))
            limits = kind.query_limits(**limiting)
            return self._answers(kind, None, kind.queries(batch.texts), limits)
        tables = self.each_query(what, **limiting, **options)
        return pa.concat_tables([with_query_column(self.answers_to(**limiting)).empty_table(), *tables])

    def each_query(
        self,
        what: Any,
        *,
        k: int | None = None,
        threshold: float | None = None,
        contained: float | None = None,
        distance: float | None = None,
        any_orientation: bool = False,
        force: bool = False,
        progress: Progress | None = None,
        counts: QueryCounts | None = None,
        **options: Any,
    ) -> Generator[pa.Table, None, None]:
        """Query with many texts, like `query`, and yield the answers in portions.

        `progress` receives the progress of the work, and `counts` its counts. The other arguments are those of `query`.
        """
        kind, progress, counts = self._kind, progress or Silent(), counts or QueryCounts()
        limits = kind.query_limits(
            k=k, threshold=threshold, contained=contained, distance=distance, any_orientation=any_orientation,
            force=force,
        )  # fmt: skip

        def prepare(batch: Batch) -> tuple[Batch, SketchedBatch]:
            queries = kind.queries(kind.check_batch(batch).texts)
            batch.note(queries.replaced)
            batch.texts = None  # not needed while the batch waits for its answers
            return batch, queries

        reading, sketch = source_options(kind, options, what), kind.picture_sketch(any_orientation=any_orientation)
        documents = DocumentBatches(what, reading, progress, self._backend.files(), sketch)
        with closing(documents.read(prepare, "querying")) as batches:
            for batch, queries in batches:
                answers = self._answers(kind, batch.ids, queries, limits)
                counts.count(batch, queries, answers)
                progress.advance(len(queries))
                yield answers
        counts.skipped = documents.skipped

    def similar_to(
        self,
        id: str,
        *,
        k: int | None = None,
        threshold: float | None = None,
        contained: float | None = None,
        distance: float | None = None,
        force: bool = False,
    ) -> pa.Table:
        """Find documents that are similar to a document of the index, excluding itself."""
        kind = self._kind
        limits = kind.query_limits(k=k, threshold=threshold, contained=contained, distance=distance, force=force)
        with self._reading():
            number = self._number_of(id)
            sketch = self._backend.sketches(np.array([number])).padded_to(kind.slots)
            if sketch.slots.shape != (1, kind.slots):
                raise DamagedError(f"{self.name} is damaged: {id!r} has no sketch; run twinset index verify")
            [document] = self._backend.documents(sketch.numbers, contents=True)
            query, searcher = kind.query_from(sketch, document), kind.searcher(self._backend, limits)
            return searcher.answer(None, query, limits, without=number)

    def _number_of(self, id: str) -> int:
        """Return the number of a document; raise `UnknownIdError` if there is none with this id."""
        number = self._backend.numbers(checked_ids([id])).get(str(id))
        if number is None:
            raise UnknownIdError(f"{self.name}: the index holds no document with the id {id!r}")
        return number

    def passages(self, what: Any, *, least: int | None = None, crowd: int = CROWD, **options: Any) -> pa.Table:
        """Find the passages that documents share with one text, or with each of many, in an index with `passages`.

        A passage is a run of words that both texts have and that cannot be made longer.

        Parameters
        ----------
        what
            A text, or many: as for `query`.
        least
            Minimum number of words of a passage; by default, and at least, that of the index.
        crowd
            Text in more documents than this is boilerplate, and only the first of them is reported.
        **options
            How to read a source: the options of ``twinset index query``, by the same names.

        Returns
        -------
        pyarrow.Table
            The columns of `twinset.find_passages`: `left` is the id of the query (``query`` for a single text), `right`
            that of the document. The documents that share most words with a query come first.

        Examples
        --------
        >>> import twinset
        >>> with twinset.Index.create("plays.twinset", passages=6) as index:
        ...     added = index.add(["hamlet"], ["To be, or not to be: that is the question"])
        ...     [found] = index.passages("I say to be or not to be, that is it").to_pylist()
        >>> found["right"], found["words"], found["left_start"], found["left_end"]
        ('hamlet', 8, 6, 33)
        """
        kind = self._kind
        if kind.is_single(what):
            searcher = kind.passage_searcher(self._backend, PassageQueryOptions.of(least=least, crowd=crowd))
            if options:
                raise OptionError(f"{next(iter(options))} is for sources; leave it out with a single text")
            queries = searcher.prepared(kind.from_values([what]))
            with self._reading():
                return searcher.answer(["query"], queries)
        tables = self.each_passages(what, least=least, crowd=crowd, **options)
        return pa.concat_tables([PASSAGES.empty_table(), *tables])

    def each_passages(
        self,
        what: Any,
        *,
        least: int | None = None,
        crowd: int = CROWD,
        progress: Progress | None = None,
        counts: QueryCounts | None = None,
        **options: Any,
    ) -> Generator[pa.Table, None, None]:
        """Find the passages of many texts, like `passages`, and yield them in portions."""
        kind, progress, counts = self._kind, progress or Silent(), counts or QueryCounts()
        searcher = kind.passage_searcher(self._backend, PassageQueryOptions.of(least=least, crowd=crowd))

        def prepare(batch: Batch) -> tuple[Batch, AnchoredTexts]:
            queries = searcher.prepared(kind.check_batch(batch).texts)
            batch.note(queries.replaced)
            return batch, queries

        documents = DocumentBatches(what, source_options(kind, options, what), progress, self._backend.files())
        with closing(documents.read(prepare, "querying")) as batches:
            for batch, queries in batches:
                with self._reading():
                    passages = searcher.answer(batch.ids, queries)
                counts.count_passages(batch, queries.lengths, searcher.limits.least, passages)
                progress.advance(len(queries))
                yield passages
        counts.skipped = documents.skipped

    def passages_of(self, id: str, *, least: int | None = None, crowd: int = CROWD) -> pa.Table:
        """Find the passages that other documents share with a document of the index."""
        searcher = self._kind.passage_searcher(self._backend, PassageQueryOptions.of(least=least, crowd=crowd))
        with self._reading():
            number, text = self._number_of(id), exporting.texts_of(self._backend, [str(id)])
            return searcher.answer([str(id)], searcher.prepared(pa.array(text, pa.large_string())), number)

    def nearest_by(self) -> str:
        """Return what the k nearest are chosen from: all, sketches, codes, bands or tables; only `all` misses none."""
        return self._kind.nearest_by(self._backend)

    def contained_by(self) -> str:
        """Return what queries for containment choose documents by: their samples, or all are compared."""
        return self._kind.contained_by

    @property
    def answers(self) -> pa.Schema:
        """The schema of the answers to a single query without options."""
        return self.answers_to()

    def answers_to(self, **options: Any) -> pa.Schema:
        """The schema of the answers to a single query with these options of `query`."""
        kind = self._kind
        return answers_schema(kind.measure(kind.query_limits(**options)))

    def _answers(self, kind: Kind, names: list[str] | None, queries: SketchedBatch, limits: Limits) -> pa.Table:
        with self._reading():
            return kind.searcher(self._backend, limits).answer(names, queries, limits)

    def band_keys(self, texts: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the keys of texts in the table `bands`, (texts, bands), for look-ups by your own SQL."""
        kind = self._kind
        rows = kind.check_batch(Batch([], kind.from_values(texts), f"{kind.name}s")).texts
        return kind.entries([""] * len(rows), rows).sketched.keys

    def texts(self, ids: Sequence[str]) -> list[str]:
        """Return the texts of documents in the order of the ids; the index must store texts."""
        if not self._kind.are_texts:
            ours = self.settings.options
            why = f"store is {ours.store!r}" if ours.measure == "jaccard" else "it holds no texts"
            raise OptionError(f"{self.name}: the index stores no texts ({why})")
        with self._reading():
            return exporting.texts_of(self._backend, checked_ids(ids))

    def stats(self) -> dict[str, Any]:
        """Return the number of documents, the size and the options of the index, in plain values."""
        with self._reading():
            return checking.stats(self._backend, self._kind.settings)

    def verify(self, progress: Progress | None = None) -> list[str]:
        """Check the tables of the index; return a list of problems, which is empty if there are none."""
        with self._reading():
            return checking.problems(self._backend, self._kind, progress or Silent())

    def export(self, path: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None) -> int:
        """Write all documents to a Parquet file, from which `import_from` makes an equal index in any back end."""
        with self._reading():
            return exporting.export(self._backend, self._kind, Path(path), force, progress or Silent())
