"""The index: add, query, remove."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from twinset.engines.progress import Progress, Silent
from twinset.errors import DamagedError, OptionError, StateError, UnknownIdError
from twinset.index import export as exporting
from twinset.index import verify as checking
from twinset.index.backend import Backend, create_backend, open_backend
from twinset.index.kinds.base import Kind, initial_settings, kind_for, source_options
from twinset.index.kinds.text_entries import SketchedBatch
from twinset.index.query import Limits, QueryCounts, with_query_column
from twinset.index.read_batches import Batch, DocumentBatches, checked_ids
from twinset.index.settings import FORMAT, Settings
from twinset.index.write import ChangeCounts, IndexWriter
from twinset.options.index import IndexOptions
from twinset.plan.from_summary import AnyPlan
from twinset.schema import answers_schema
from twinset.system.locks import Turn

TIMEOUT = 30.0
"""Seconds to wait for another writer."""
_PAGE = 10_000


class Index:
    """Documents kept for years: each is checked against everything seen before.

    Made by `Index.create` or `Index.open`, in one file or, by a URL, in a PostgreSQL database. What `add`, `update` and
    `remove` have done is durable when they return. One process writes at a time, any number read.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> with twinset.Index.create("news.twinset", shingle="word:3", seed=1) as index:
    ...     added = index.add(["a", "b"], [rose, "something else altogether"])
    ...     index.query(rose + " hall")["id"].to_pylist()
    ['a']
    """

    def __init__(self, backend: Backend, settings: Settings | None = None) -> None:
        self._backend = backend
        self._mutex = Turn(backend.name)
        self.settings = settings or Settings.from_rows(backend.settings(), backend.name)
        self._known: tuple[Settings, Kind] | None = None

    @classmethod
    def create(cls, where: str | os.PathLike[str], **words: Any) -> Index:
        """Make an empty index.

        Parameters
        ----------
        where
            A path for one SQLite file, or the URL of a PostgreSQL database (``postgresql://…``).
        **words
            The options of ``twinset index create``, by the same words.
        """
        return cls(create_backend(where, initial_settings(IndexOptions.of(**words)).to_rows()))

    @classmethod
    def open(cls, where: str | os.PathLike[str], *, read_only: bool = False, **words: Any) -> Index:
        """Open an index that is there.

        Parameters
        ----------
        where
            The path or URL.
        read_only
            Refuse to write. An index of an older format can be opened in no other way, until it is migrated.
        **words
            Options that the index must have been made with; others are refused.
        """
        backend = open_backend(where, read_only=read_only)
        try:
            index = cls(backend)
            index.settings.check_options(words, backend.name)
            index.settings.warn_of_normalization(backend.name)
            if index.settings.format < FORMAT and not read_only:
                raise StateError(
                    f"{backend.name}: the index has the older format {index.settings.format}; open it read-only, or "
                    "bring it up to date with twinset index migrate"
                )
        except BaseException:
            backend.close()
            raise
        return index

    @classmethod
    def migrate(cls, where: str | os.PathLike[str], *, timeout: float = TIMEOUT) -> int:
        """Bring an index of an older format up to date, and return the format that it had."""
        backend = open_backend(where, read_only=False)
        try:
            with backend.writer(timeout, "migrating"):
                before = Settings.from_rows(backend.settings(), backend.name)
                if before.format < FORMAT:
                    with backend.transaction():
                        backend.migrate()
                        backend.change_settings({"format": str(FORMAT)})
            return before.format
        finally:
            backend.close()

    @property
    def plan(self) -> AnyPlan | None:
        """The hashes, bands and rows of the index; of codes and vectors there is none before the first are added."""
        return self._kind.settings.plan

    @property
    def _kind(self) -> Kind:
        """What the documents are. What the first ones tell may have been written down by someone else meanwhile."""
        if self.settings.plan is None:
            with self._mutex, self._backend.snapshot():
                if "plan" in (rows := self._backend.settings()):
                    self.settings = Settings.from_rows({**rows, "format": str(self.settings.format)}, self.name)
        if self._known is None or self._known[0] is not self.settings:
            self._known = self.settings, kind_for(self.settings)
        return self._known[1]

    @property
    def name(self) -> str:
        """The path or address of the index."""
        return self._backend.name

    @property
    def files(self) -> list[str]:
        """The files that the index is kept in; none where it lives in a database server."""
        return self._backend.files()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index; what was committed stays."""
        if not self._mutex.ended:
            with self._mutex:
                self._mutex.ended = True
                self._backend.close()

    def __len__(self) -> int:
        with self._mutex:
            return self._backend.count()

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str) or id.encode("utf-8", "ignore").decode() != id:
            return False  # with half of a surrogate pair it is no id
        with self._mutex:
            return bool(self._backend.numbers([id]))

    def __iter__(self) -> Iterator[str]:
        """Ids, in the order in which they were added; one that is replaced meanwhile may come a second time."""
        last = 0
        while True:
            with self._mutex, self._backend.snapshot():
                numbers = self._backend.page(last, _PAGE)
                documents = self._backend.documents(numbers, contents=False)
            if not len(numbers):
                return
            yield from (one.id for one in documents)
            last = int(numbers[-1])

    def add(
        self, ids: Any, texts: Any = None, *, timeout: float = TIMEOUT, progress: Progress | None = None, **words: Any
    ) -> ChangeCounts:
        """Add documents. One whose id and text are there already is left as it is.

        Parameters
        ----------
        ids
            The ids, with `texts` beside them: all of them are committed together. Or anything that holds both: a
            mapping id → text, a table, a path; that is committed portion by portion.
        texts
            The texts.
        timeout
            Seconds to wait for another writer.
        progress
            Told how the work goes.
        **words
            How a source is read: the options of ``twinset index add``, by the same words.

        Returns
        -------
        ChangeCounts
            How many documents were added, and how many were there.
        """
        return self._change("adding", ids, texts, timeout, progress, words, replace=False)

    def update(
        self, ids: Any, texts: Any = None, *, timeout: float = TIMEOUT, progress: Progress | None = None, **words: Any
    ) -> ChangeCounts:
        """Add documents, and replace those whose ids are there with another text. Takes what `add` takes."""
        return self._change("updating", ids, texts, timeout, progress, words, replace=True)

    def _change(
        self, doing: str, ids: Any, texts: Any, timeout: float, progress: Progress | None, words: Any, *, replace: bool
    ) -> ChangeCounts:
        with self._writer(timeout, doing) as writer:
            if texts is not None:
                if words:
                    raise OptionError(f"{next(iter(words))} has no meaning where ids and texts are given themselves")
                given = Batch(checked_ids(ids), writer.kind.from_values(texts), f"{writer.kind.name}s")
                return writer.add_batch(given, replace=replace)
            return writer.add_source(ids, words, progress or Silent(), replace=replace)

    def remove(self, ids: str | Iterable[str], *, timeout: float = TIMEOUT) -> int:
        """Remove documents, all together; an id that is not there is refused. Returns how many."""
        wanted = checked_ids(ids)
        with self._writer(timeout, "removing") as writer:
            return writer.remove(wanted)

    @contextmanager
    def _writer(self, timeout: float, doing: str) -> Iterator[IndexWriter]:
        """Be the only writer."""
        if self._backend.read_only:
            raise StateError(f"{self.name}: the index was opened read-only, and cannot be changed")
        with self._mutex.within(timeout, doing), self._backend.writer(timeout, doing):
            writer = IndexWriter(self._backend, self._kind.settings)
            try:
                yield writer
            finally:
                self.settings = writer.settings

    def query(
        self,
        what: Any,
        *,
        k: int | None = None,
        threshold: float | None = None,
        distance: float | None = None,
        force: bool = False,
        **words: Any,
    ) -> pa.Table:
        """Find documents that are similar to a text, or to each of many.

        Parameters
        ----------
        what
            A text; or a code, or a vector, as the documents of the index are. Or many: a list of texts, a mapping id →
            text, a table, an array, or a path (`pathlib.Path`).
        k
            The k most similar documents, also beyond the threshold of the index unless `threshold` or `distance` is
            given.
        threshold
            Least similarity of an answer; that of the index unless given.
        distance
            Greatest distance of an answer, where the index goes by distance; that of the index unless given.
        force
            Ask for less than the index was planned for, and find less than was promised.
        **words
            How a source is read: the options of ``twinset index query``, by the same words.

        Returns
        -------
        pyarrow.Table
            Best first: `id`, `similarity`, `query_in_document`, `document_in_query`, `estimate` and `recall`, the least
            probability with which a document this similar is found. Vectors have no containment; codes, pictures and
            vectors by distance have `distance` in place of `similarity`. With many queries also `query`, the id of
            each.
        """
        kind = self._kind
        if kind.is_single(what):
            if words:
                raise OptionError(f"{next(iter(words))} has no meaning where the {kind.name} itself is given")
            batch = kind.check_batch(Batch([""], kind.from_values([what]), "the query"))
            limits = kind.query_limits(k, threshold, distance, force)
            return self._answers(kind, None, kind.queries(batch.texts), limits)
        found = list(self.each_query(what, k=k, threshold=threshold, distance=distance, force=force, **words))
        return pa.concat_tables([with_query_column(self.answers).empty_table(), *found])

    def each_query(
        self,
        what: Any,
        *,
        k: int | None = None,
        threshold: float | None = None,
        distance: float | None = None,
        force: bool = False,
        progress: Progress | None = None,
        asked: QueryCounts | None = None,
        **words: Any,
    ) -> Generator[pa.Table, None, None]:
        """As `query` with many texts, but the answers come portion by portion.

        `progress` is told how the work goes, and in `asked` it is counted; the other words are those of `query`.
        """
        kind, told, counts = self._kind, progress or Silent(), asked or QueryCounts()
        limits = kind.query_limits(k, threshold, distance, force)

        def prepare(batch: Batch) -> tuple[Batch, SketchedBatch]:
            queries = kind.queries(kind.check_batch(batch).texts)
            batch.note(queries.replaced)
            batch.texts = None  # it waits for its answers without them
            return batch, queries

        incoming = DocumentBatches(what, source_options(kind, words), told, self._backend.files())
        with closing(incoming.batches(prepare, "asking")) as coming:
            for batch, queries in coming:
                found = self._answers(kind, batch.ids, queries, limits)
                counts.count(batch, queries, found)
                told.advance(len(queries))
                yield found
        counts.skipped = incoming.skipped

    def similar_to(
        self,
        id: str,
        *,
        k: int | None = None,
        threshold: float | None = None,
        distance: float | None = None,
        force: bool = False,
    ) -> pa.Table:
        """Find documents that are similar to one of the index; itself is not among them."""
        kind = self._kind
        limits = kind.query_limits(k, threshold, distance, force)
        with self._mutex, self._backend.snapshot():
            number = self._backend.numbers(checked_ids([id])).get(str(id))
            if number is None:
                raise UnknownIdError(f"{self.name}: the index holds no document with the id {id!r}")
            kept = self._backend.sketches(np.array([number])).padded_to(kind.slots)
            if kept.slots.shape != (1, kind.slots):
                raise DamagedError(f"{self.name} is damaged: {id!r} has no sketch; run twinset index verify")
            [document] = self._backend.documents(kept.numbers, contents=True)
            return kind.searcher(self._backend).answer(None, kind.query_from(kept, document), limits, without=number)

    @property
    def answers(self) -> pa.Schema:
        """The columns of answers to a single query."""
        return answers_schema(self.settings.options.measure)

    def _answers(self, kind: Kind, names: list[str] | None, queries: SketchedBatch, limits: Limits) -> pa.Table:
        with self._mutex, self._backend.snapshot():
            return kind.searcher(self._backend).answer(names, queries, limits)

    def band_keys(self, texts: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The keys of texts in the table `bands`, (texts, bands): for look-ups by one's own SQL."""
        kind = self._kind
        rows = kind.check_batch(Batch([], kind.from_values(texts), f"{kind.name}s")).texts
        return kind.entries([""] * len(rows), rows).sketched.keys

    def texts(self, ids: Sequence[str]) -> list[str]:
        """The texts of documents, in the order asked for; only an index that stores texts has them."""
        if not self._kind.are_texts:
            why = "store is " + repr(self.settings.options.store) if self._kind.name == "text" else "it holds no texts"
            raise OptionError(f"{self.name}: the index stores no texts ({why})")
        with self._mutex, self._backend.snapshot():
            return exporting.texts_of(self._backend, checked_ids(ids))

    def stats(self) -> dict[str, Any]:
        """What the index holds, how large it is, and what it was made with, in plain values."""
        with self._mutex, self._backend.snapshot():
            return checking.stats(self._backend, self._kind.settings)

    def verify(self, progress: Progress | None = None) -> list[str]:
        """Check every promise that the index's tables make; returns what is wrong, nothing if all is well."""
        with self._mutex, self._backend.snapshot():
            return checking.problems(self._backend, self._kind, progress or Silent())

    def compact(self, *, timeout: float = TIMEOUT) -> None:
        """Give the space of removed documents back to the disk."""
        with self._writer(timeout, "compacting"):
            self._backend.compact()

    def export(self, path: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None) -> int:
        """Write all documents to a Parquet file, from which `import_from` makes an equal index anywhere."""
        with self._mutex, self._backend.snapshot():
            return exporting.export(self._backend, self._kind, Path(path), force, progress or Silent())

    @classmethod
    def import_from(
        cls, path: str | os.PathLike[str], where: str | os.PathLike[str], *, progress: Progress | None = None
    ) -> Index:
        """Make an index of an exported file, in any backend; one that was stopped on the way goes on."""
        settings = exporting.read_settings(Path(path))
        exporting.check_digest(Path(path), progress or Silent())
        index = cls(exporting.backend_for(where, settings), settings)
        try:
            with index._writer(TIMEOUT, "importing") as writer:
                exporting.import_all(Path(path), writer, progress or Silent())
        except BaseException:
            index.close()
            raise
        return index
