"""An index behind a service: queries in batches, and changes of many requests in one transaction."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from twinset.errors import DuplicateIdError, OptionError, SourceError, StateError, TwinsetError, UnknownIdError
from twinset.index.backend import REQUESTS, Backend
from twinset.index.index import TIMEOUT, Index
from twinset.index.kinds.pack_text import unpack_text
from twinset.index.kinds.text_entries import Entries
from twinset.index.read_batches import Batch, checked_ids
from twinset.index.write import IndexWriter
from twinset.options.index import PassageQueryOptions
from twinset.schema import PASSAGES

KEPT_DAYS = 7
"""Days for which the answer to a request with a key is stored."""
_DAY = 86_400
_DROP_SECONDS = 3_600.0


@dataclass
class Series:
    """Changes that follow each other: after one that failed, the others are refused."""

    failed: bool = False


@dataclass(frozen=True)
class Change:
    """A request to add documents (`batch`, and `entries` if they are prepared) or to remove some (`removed`).

    A request with a `key` is carried out once: repeated, it gets the same answer. `digest` is that of its content.
    """

    batch: Batch | None = None
    entries: Entries | None = None
    removed: tuple[str, ...] = ()
    replace: bool = False
    key: str | None = None
    digest: str = ""
    series: Series | None = None

    @property
    def size(self) -> int:
        """The number of documents."""
        return len(self.removed) if self.batch is None else len(self.batch.ids)


Answer = dict[str, Any]
"""What a change did: counts, and the version of the index after it."""


class ServedIndex(Index):
    """An index behind a service; one thread uses it at a time."""

    _dropped = -_DROP_SECONDS
    """When old answers to requests were last deleted."""

    @property
    def item_kind(self) -> str:
        """The kind of the documents, as `IndexOptions.item_kind` names it."""
        return self.settings.options.item_kind

    def version(self) -> int:
        """Return the number of changes of the index."""
        with self._mutex:
            return self._backend.version()

    def answer(self, values: Sequence[Any], limits: dict[str, Any]) -> tuple[int, list[list[dict[str, Any]]]]:
        """Return the version of the index, and the answers to each of several queries with the same limits."""
        kind = self._kind
        checked = kind.query_limits(**limits)
        batch = kind.check_batch(Batch([""] * len(values), kind.from_values(values), "the query"))
        queries = kind.queries(batch.texts)
        names = [str(row) for row in range(len(values))]
        with self._reading():
            version = self._backend.version()
            table = kind.searcher(self._backend, checked).answer(names, queries, checked)
        return version, _by_query(table, len(values))

    def answer_similar(self, id: str, limits: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        """Return the version of the index, and the documents that are similar to one of its documents."""
        with self._reading():
            return self._backend.version(), self.similar_to(id, **limits).to_pylist()

    def answer_passages(
        self, text: str | None, id: str | None, limits: dict[str, Any]
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return the version of the index, and the passages that its documents share with a text or a document."""
        with self._reading():
            version = self._backend.version()
            searcher = self._kind.passage_searcher(self._backend, PassageQueryOptions.of(**limits))
            if id is not None:
                found = self.passages_of(id, **limits)
            else:
                found = searcher.answer(["query"], searcher.prepared(self._kind.from_values([text])))
        return version, found.select(PASSAGES.names).to_pylist()

    def document(self, id: str) -> tuple[int, dict[str, Any]]:
        """Return the version of the index, and a document: its id, and its text if texts are stored."""
        with self._reading():
            version, number = self._backend.version(), self._number_of(id)
            [document] = self._backend.documents(np.array([number], np.int64), contents=self._kind.are_texts)
        text = unpack_text(document.content) if self._kind.are_texts else None
        return version, {"id": document.id, "text": text}

    def texts_of(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of those documents that the index has; none if it stores no texts."""
        if not self._kind.are_texts:
            return {}
        with self._reading():
            numbers = np.array(sorted(self._backend.numbers(list(ids)).values()), np.int64)
            return {one.id: unpack_text(one.content) for one in self._backend.documents(numbers, contents=True)}

    def prepare(self, ids: Sequence[Any], values: Sequence[Any], **more: Any) -> Change:
        """Return the change that adds documents, prepared for writing; thread-safe.

        Where the first documents of an index determine its plan, they are prepared when they are written.
        """
        kind = self._kind
        batch = Batch(checked_ids(ids), kind.from_values(values), "the documents")
        if not kind.is_planned:
            return Change(batch, **more)
        batch = kind.check_batch(batch)
        return Change(batch, kind.entries(batch.ids, batch.texts), **more)

    def change(self, changes: Sequence[Change], *, timeout: float = TIMEOUT) -> list[Answer | TwinsetError]:
        """Carry out changes in one durable transaction; return for each its answer, or the error that refuses it."""
        if len(changes) > 1 and not self._kind.is_planned:
            return [one for change in changes for one in self.change([change], timeout=timeout)]
        try:
            with self._writer(timeout, "serving") as writer, writer.transaction():
                return self._all_of(writer, changes)
        except BaseException as error:
            for series in (one.series for one in changes if one.series is not None):
                series.failed = True
            if not isinstance(error, (SourceError, OptionError)):
                raise
            if len(changes) > 1:
                raise
            return [error]  # of the first documents of an index

    def _all_of(self, writer: IndexWriter, changes: Sequence[Change]) -> list[Answer | TwinsetError]:
        """Carry out changes within a transaction."""
        backend = self._backend
        before = backend.version()
        if time.monotonic() > self._dropped + _DROP_SECONDS:
            backend.drop_requests(_stamp(time.time() - KEPT_DAYS * _DAY))
            self._dropped = time.monotonic()
        answers = [_change(backend, writer, one, before + 1) for one in changes]
        if not any(map(_is_change, changes, answers)):
            for answer in answers:
                if isinstance(answer, dict) and "repeated" not in answer:
                    answer["version"] = before
        return answers


def _is_change(change: Change, answer: Answer | TwinsetError) -> bool:
    """Whether a request has written something; one with a key has at least written its answer."""
    if not isinstance(answer, dict) or "repeated" in answer:
        return False
    return change.key is not None or any(answer.get(name) for name in ("added", "replaced", "removed"))


def _change(backend: Backend, writer: IndexWriter, change: Change, version: int) -> Answer | TwinsetError:
    """Carry out one change within a transaction, unless it was carried out before."""
    name = None
    if change.key is not None:
        name = REQUESTS + hashlib.sha256(change.key.encode()).hexdigest()
        if (stored := backend.settings(name).get(name)) is not None:
            return _repeated(stored, change)
    if change.series is not None and change.series.failed:
        return StateError("not added: an earlier part of the stream failed")
    try:
        answer = _carry_out(writer, change) | {"version": version}
    except (DuplicateIdError, UnknownIdError) as error:  # nothing of it was written
        if change.series is not None:
            change.series.failed = True
        return error
    if name is not None:
        value = {"digest": change.digest, "answer": answer}
        backend.change_settings({name: _stamp(time.time()) + orjson.dumps(value).decode()})
    return answer


def _carry_out(writer: IndexWriter, change: Change) -> Answer:
    if change.batch is None:
        return {"removed": writer.remove_some(change.removed)}
    counts = writer.put(change.entries or writer.entries(change.batch), replace=change.replace)
    return {"added": counts.added, "replaced": counts.replaced, "unchanged": counts.unchanged}


def _repeated(stored: str, change: Change) -> Answer | TwinsetError:
    """Return the stored answer to an earlier request with the same key."""
    value = orjson.loads(stored[len(_stamp(0)) :])
    if value["digest"] != change.digest:
        return OptionError("an earlier request with this Idempotency-Key had another content; use a new key")
    return {**value["answer"], "repeated": True}


def _stamp(seconds: float) -> str:
    """Return a time as text that sorts by time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime(seconds))


def _by_query(table: pa.Table, count: int) -> list[list[dict[str, Any]]]:
    """Return the rows of each query; queries without answers have none."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    rows = table.column("query").to_pylist()
    for query, row in zip(rows, table.drop_columns(["query"]).to_pylist(), strict=True):
        found[int(query)].append(row)
    return found
