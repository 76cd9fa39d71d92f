"""Documents on their way into an index, or queries on their way to one: read in batches, prepared in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pyarrow as pa

from twinset.documents.parts import Chunk, Part
from twinset.documents.sources import open_sources
from twinset.engines.threads import Threads
from twinset.errors import SourceError
from twinset.index_options import AddOptions

MOST_ID_BYTES = 1024
_BATCH = 4 * 2**20

_Made = TypeVar("_Made")


@dataclass
class Batch:
    """Some documents: ids, texts (strings or bytes, null for empty), and where they come from."""

    ids: list[str]
    texts: Any
    where: str
    unreadable: int = 0


def batches(
    source: Any, words: dict[str, Any], prepare: Callable[[Batch], _Made], options: AddOptions | None = None
) -> Iterator[_Made]:
    """Read a source, or a list of them, and prepare each batch in a thread; in order."""
    options = options or AddOptions.of(**words)
    several = isinstance(source, tuple) and all(isinstance(one, (str, os.PathLike)) for one in source)
    threads = Threads(options.thread_count)
    try:
        with TemporaryDirectory(prefix="twinset-", dir=options.scratch) as scratch:
            found = open_sources(source if several else (source,), options, scratch=Path(scratch))
            work = ((part, chunk) for part in found.parts for chunk in part.chunks(min(options.batch_bytes, _BATCH)))
            yield from threads.map(lambda task: prepare(_batch(*task)), work)
            for part in found.parts:
                part.check_unchanged()
    finally:
        threads.close()


def _batch(part: Part, chunk: Chunk) -> Batch:
    block = chunk.read()
    ids, texts = part.row_ids(block), block.texts
    if block.unreadable:
        wrong = {row for row, _ in block.unreadable}
        rows = pa.array([row for row in range(block.rows) if row not in wrong], pa.int64())
        ids, texts = ids.take(rows), texts.take(rows)
    return Batch(checked_ids(ids.to_pylist()), texts, part.name, len(block.unreadable))


def checked_ids(ids: Any) -> list[str]:
    """Ids as strings that an index can hold."""
    listed = ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids) if not isinstance(ids, str) else [ids]
    for place, id in enumerate(listed):
        if type(id) is int:
            listed[place] = id = str(id)
        if not isinstance(id, str):
            raise SourceError(f"ids are strings or whole numbers, this is {type(id).__name__}: {id!r}")
        try:
            size = len(id.encode())
        except UnicodeEncodeError as error:
            raise SourceError(f"the id {id!r} holds half of a surrogate pair, which no UTF-8 can hold") from error
        if size > MOST_ID_BYTES:
            raise SourceError(f"the id {id[:40]!r}… has {size} bytes; an id has {MOST_ID_BYTES} at most")
    return listed


def texts_array(texts: Any) -> pa.Array:
    """Texts as an Arrow array; null counts as empty."""
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        kind = whole.type
        if not any(is_kind(kind) for is_kind in _TEXTS):
            raise SourceError(f"texts are strings, these are {kind}")
        return whole
    listed: Sequence[Any] = [texts] if isinstance(texts, str) else list(texts)
    for place, text in enumerate(listed):
        if text is not None and not isinstance(text, str):
            raise SourceError(f"texts are strings, number {place} is {type(text).__name__}")
    try:
        return pa.array(listed, pa.large_string())
    except UnicodeEncodeError as error:
        raise SourceError(
            f"a text holds half of a surrogate pair ({error.object[error.start]!r} at {error.start}), "
            "which no UTF-8 can hold; take it out, or decode the text another way"
        ) from error


_TEXTS = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary,
    pa.types.is_string_view, pa.types.is_binary_view, pa.types.is_dictionary, pa.types.is_null,
)  # fmt: skip
