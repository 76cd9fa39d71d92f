"""The indexes of a service, by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from urllib.parse import urlsplit

from twinset.errors import OptionError, TwinsetError
from twinset.index.served import Change, ServedIndex
from twinset.system.memory import default_threads
from twinset.web.answers import Refused
from twinset.web.api.changes import ChangeQueue
from twinset.web.api.metrics import Metrics
from twinset.web.api.queries import QueryQueue

WAIT_SECONDS = 10.0
"""Seconds to wait for another process that writes to an index."""
FIELDS = {
    "text": "text", "records": "record", "items": "items", "weighted": "weights", "codes": "code", "vectors": "vector",
}  # fmt: skip
"""What the documents of an index are called in a request, by kind."""


class IndexService:
    """One index: a queue of queries, and unless it is read-only a queue of changes."""

    def __init__(self, name: str, where: str, metrics: Metrics, *, read_only: bool) -> None:
        self.name, self.where = name, where
        with ServedIndex.open(where, read_only=read_only) as index:
            kind, self.shown = index.item_kind, index.name
            if kind not in FIELDS:
                raise OptionError(f"{index.name} holds pictures, which are files; a service has no files")
            self.field, self.stores_texts = FIELDS[kind], index.settings.options.store == "text"
            self.shingle = index.settings.options.shingle
            self.threshold = index.settings.options.threshold
            if self.field == "text":
                index.answer(["this loads the kernels before the first request waits for them"], {})
        opened: Callable[[], ServedIndex] = partial(ServedIndex.open, where, read_only=True)
        self.queries = QueryQueue(name, opened, max(2, default_threads()), metrics)
        self._changes: ChangeQueue | None = None
        if not read_only:
            self._changes = ChangeQueue(name, partial(ServedIndex.open, where), WAIT_SECONDS, metrics)

    @property
    def changes(self) -> ChangeQueue:
        """The queue of changes; a read-only service refuses them."""
        if self._changes is None:
            raise Refused(403, "read_only", "the service was started with --read-only")
        return self._changes

    @property
    def waiting(self) -> tuple[int, int]:
        """The numbers of queries and of changes that wait."""
        return len(self.queries), 0 if self._changes is None else len(self._changes)

    def prepare(self, ids: Sequence[object], values: Sequence[object], **more: object) -> Change:
        """Prepare documents for writing, in any thread."""
        index = self.changes.index
        if index is None:
            raise Refused(503, "state", f"{self.name}: the index cannot be written to now; ask again later", after=1)
        return index.prepare(ids, values, **more)

    @contextmanager
    def own_name(self) -> Iterator[None]:
        """Name the index in errors as requests do, not by its path."""
        try:
            yield
        except TwinsetError as error:
            refused = Refused.of(error)
            refused.message = refused.message.replace(self.shown, self.name).replace(self.where, self.name)
            raise refused from error

    def close(self) -> None:
        """End the queues: what waits is done first."""
        self.queries.close()
        if self._changes is not None:
            self._changes.close()


class Service:
    """All indexes of a server, and the threads that prepare documents for them."""

    def __init__(self, places: Iterable[str], *, read_only: bool = False) -> None:
        self.metrics = Metrics()
        self.read_only = read_only
        self.indexes: dict[str, IndexService] = {}
        self.threads = ThreadPoolExecutor(default_threads(), thread_name_prefix="prepare")
        try:
            for where in places:
                name = name_of(where)
                if name in self.indexes:
                    raise OptionError(f"two indexes have the name {name!r}; rename one of the files")
                self.indexes[name] = IndexService(name, where, self.metrics, read_only=read_only)
        except BaseException:
            self.close()
            raise

    def find(self, name: str) -> IndexService:
        """Return the index of a name."""
        if name not in self.indexes:
            raise Refused(404, "unknown_index", f"there is no index {name[:100]!r}; GET /indexes lists them")
        return self.indexes[name]

    def close(self) -> None:
        """Close all indexes."""
        self.threads.shutdown(wait=True, cancel_futures=True)
        for index in self.indexes.values():
            index.close()


def name_of(where: str) -> str:
    """Return the name of an index in requests: its file without the ending, or its schema in a database.

    Examples
    --------
    >>> name_of("data/news.twinset"), name_of("postgresql://db/texts?schema=news"), name_of("postgresql://db/texts")
    ('news', 'news', 'texts')
    """
    if "://" in where:
        parts = urlsplit(where)
        schema = next((one[7:] for one in parts.query.split("&") if one.startswith("schema=")), "")
        return schema or parts.path.strip("/") or "index"
    return PurePath(os.path.realpath(where)).stem
