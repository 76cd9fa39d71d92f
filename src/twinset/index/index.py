"""The public class `Index`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from twinset.engines.progress import Progress, ProgressChoice, Silent, reporting
from twinset.errors import OptionError, StateError
from twinset.index import export as exporting
from twinset.index.backend import create_backend, named_damage, open_backend
from twinset.index.kinds.base import initial_settings
from twinset.index.read_batches import Batch, checked_ids
from twinset.index.reader import IndexReader
from twinset.index.settings import FORMAT, Settings
from twinset.index.write import ChangeCounts, IndexWriter
from twinset.options.index import IndexOptions

TIMEOUT = 30.0  # seconds to wait for another writer


class Index(IndexReader):
    """An index of documents, in one SQLite file or in a PostgreSQL database.

    `Index.create` makes one, and `Index.open` opens one. Changes by `add`, `update` and `remove` are durable when the
    call returns. One process writes at a time; any number of processes read.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> with twinset.Index.create("news.twinset", shingle="word:3", seed=1) as index:
    ...     added = index.add(["a", "b"], [rose, "something else altogether"])
    ...     index.query(rose + " hall")["id"].to_pylist()
    ['a']
    """

    @classmethod
    def create(cls, where: str | os.PathLike[str], **options: Any) -> Self:
        """Make an empty index.

        Parameters
        ----------
        where
            The path of one SQLite file, or the URL of a PostgreSQL database (``postgresql://…``).
        **options
            The options of ``twinset index create``, by the same names.
        """
        return cls(create_backend(where, initial_settings(IndexOptions.of(**options)).to_rows()))

    @classmethod
    def open(
        cls, where: str | os.PathLike[str], *, read_only: bool = False, untouched: bool = False, **options: Any
    ) -> Self:
        """Open an existing index.

        Parameters
        ----------
        where
            The path or URL.
        read_only
            Refuse to write. An index of an older format opens only in this way until it is migrated.
        untouched
            With `read_only`: make no file beside the index either, not even for a moment, unless another process
            writes to it. If one begins to, reading raises `StateError`, and the index is to be opened again.
        **options
            Options to compare with those of the index; a different value raises `OptionError`.
        """
        backend = open_backend(where, read_only=read_only, untouched=untouched)
        try:
            index = cls(backend)
            index.settings.check_options(options, backend.name)
            index.settings.warn_of_normalization(backend.name)
            if index.settings.format < FORMAT and not read_only:
                raise StateError(
                    f"{backend.name}: the index has the older format {index.settings.format}; open it read-only, or "
                    "convert it with twinset index migrate"
                )
        except BaseException:
            backend.close()
            raise
        return index

    @classmethod
    def migrate(cls, where: str | os.PathLike[str], *, timeout: float = TIMEOUT) -> int:
        """Convert an index of an older format to the newest, and return the format that it had."""
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

    def add(
        self, ids: Any, texts: Any = None, *, timeout: float = TIMEOUT, progress: ProgressChoice = None, **options: Any
    ) -> ChangeCounts:
        """Add documents. A document whose id and text the index already has is left unchanged.

        Parameters
        ----------
        ids
            Ids, with `texts` of the same length; all are committed in one transaction. Or a source of both (a mapping
            id → text, a table, a path), which is committed in several transactions.
        texts
            The texts, or other documents of the kind that the index holds.
        timeout
            Seconds to wait for another writer.
        progress
            Receives the progress of the work.
        **options
            How to read a source: the options of ``twinset index add``, by the same names.

        Returns
        -------
        ChangeCounts
            How many documents were added, and how many were unchanged.
        """
        return self._change("adding", ids, texts, timeout, progress, options, replace=False)

    def update(
        self, ids: Any, texts: Any = None, *, timeout: float = TIMEOUT, progress: ProgressChoice = None, **options: Any
    ) -> ChangeCounts:
        """Add documents, and replace those that have another text under the same id. Takes the arguments of `add`."""
        return self._change("updating", ids, texts, timeout, progress, options, replace=True)

    def _change(
        self, doing: str, ids: Any, texts: Any, timeout: float, progress: ProgressChoice, options: Any, *,
        replace: bool,
    ) -> ChangeCounts:  # fmt: skip
        with self._writer(timeout, doing) as writer:
            if texts is not None:
                if options:
                    raise OptionError(f"{next(iter(options))} is for sources; leave it out with ids and texts")
                batch = Batch(checked_ids(ids), writer.kind.from_values(texts), f"{writer.kind.name}s")
                return writer.add_batch(batch, replace=replace)
            with reporting(progress) as reporter:
                return writer.add_source(ids, options, reporter, replace=replace)

    def remove(self, ids: str | Iterable[str], *, timeout: float = TIMEOUT) -> int:
        """Remove documents in one transaction, and return their number. An unknown id raises `UnknownIdError`."""
        wanted = checked_ids(ids)
        with self._writer(timeout, "removing") as writer:
            return writer.remove(wanted)

    @contextmanager
    def _writer(self, timeout: float, doing: str) -> Iterator[IndexWriter]:
        """Hold the writer lock of the index."""
        if self._backend.read_only:
            raise StateError(f"{self.name}: the index was opened read-only and cannot be changed")
        with self._mutex.within(timeout, doing), self._backend.writer(timeout, doing):
            writer = IndexWriter(self._backend, self._kind.settings)
            try:
                with named_damage(self.name):
                    yield writer
            finally:
                self.settings = writer.settings

    def compact(self, *, timeout: float = TIMEOUT) -> None:
        """Return the space of removed documents to the disk."""
        with self._writer(timeout, "compacting"):
            self._backend.compact()

    @classmethod
    def import_from(
        cls, path: str | os.PathLike[str], where: str | os.PathLike[str], *, progress: Progress | None = None
    ) -> Self:
        """Make an index from an exported file, in any back end; an interrupted import resumes."""
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
