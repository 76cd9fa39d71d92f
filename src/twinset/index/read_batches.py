"""Read documents or queries in batches, and prepare them in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
import pyarrow as pa

from twinset.documents.items.pack import column_values
from twinset.documents.normalize import buffers_of
from twinset.documents.own_files import exclude_files
from twinset.documents.parts import MAX_ROW_BYTES, Chunk, Part, PictureSketch
from twinset.documents.sources import open_sources
from twinset.engines.local.steps.open import tell_unexpected, total_rows
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.errors import RowError, SourceError
from twinset.options.index import SourceOptions
from twinset.schema import Places
from twinset.system.memory import temporary_folder
from twinset.wording import at_row

MOST_ID_BYTES = 1024

_Made = TypeVar("_Made")


@dataclass
class Batch:
    """A batch of documents: ids, texts (strings or bytes, null for empty), and their source.

    `unreadable` are the rows that were skipped, each with the reason. `undecoded` counts texts with invalid UTF-8.
    """

    ids: list[str]
    texts: Any
    where: str
    first_row: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    undecoded: int = 0
    on_error: str = "replace"
    rows: Sequence[int] | None = None
    """Their rows, counted from `first_row`, if some rows were skipped."""

    def row_of(self, place: int) -> int:
        """Return the row of a document in its source."""
        return self.first_row + (place if self.rows is None else self.rows[place])

    def note(self, replaced: Places) -> None:
        """Count the rows with invalid UTF-8, or raise `RowError` if that was requested."""
        self.undecoded += len(replaced)
        if self.on_error == "stop" and self.undecoded:
            row = int(replaced[0]) + self.first_row if len(replaced) else self.first_row
            raise RowError(
                "the text holds bytes that are not UTF-8; name its encoding with --encoding, or replace the bytes with "
                "--on-error replace",
                where=at_row(self.where, row),
            )


class DocumentBatches:
    """The documents of a source, in batches.

    `own` are the files of the index itself. They are excluded if they are in a folder that is read. `picture_sketch`
    makes the sketches of pictures.
    """

    def __init__(
        self, source: Any, options: SourceOptions, progress: Progress, own: Sequence[str],
        picture_sketch: PictureSketch | None = None,
    ) -> None:  # fmt: skip
        several = isinstance(source, tuple) and all(isinstance(one, (str, os.PathLike)) for one in source)
        self.sources: tuple[Any, ...] = source if several else (source,)
        self.options = exclude_files(options, self.sources, own)
        self.progress = progress
        self.skipped: list[tuple[str, str]] = []
        self.picture_sketch = picture_sketch

    def read(self, prepare: Callable[[Batch], _Made], doing: str) -> Generator[_Made, None, None]:
        """Read all batches, prepare each in a thread, and yield them in order. Close it to stop early."""

        def prepared(task: tuple[Part, Chunk]) -> _Made:
            made = prepare(_batch(*task))
            pa.default_memory_pool().release_unused()  # each thread's heap keeps several times what it uses
            return made

        options = self.options
        with closing(Threads(options.thread_count)) as threads, temporary_folder(options.scratch) as scratch:
            sources = open_sources(self.sources, options, scratch=Path(scratch), progress=self.progress)
            sources.fetch()
            for part in sources.parts:
                part.picture_sketch = self.picture_sketch
            self.skipped = sources.skipped
            tell_unexpected(sources.skipped, sources.parts, self.progress)
            self.progress.stage(doing, total_rows(sources.parts), "documents")
            work = ((part, chunk) for part in sources.parts for chunk in part.chunks(options.batch_bytes))
            yield from threads.map(prepared, work)
            for part in sources.parts:
                part.check_unchanged()


def _batch(part: Part, chunk: Chunk) -> Batch:
    block = chunk.read()
    ids, texts = part.row_ids(block), block.texts
    unreadable: list[tuple[str, str]] = []
    stay: list[int] | None = None
    if block.unreadable:
        unreadable = [(f"{part.name}:{block.first_row + row}", reason) for row, reason in block.unreadable]
        wrong = {row for row, _ in block.unreadable}
        stay = [row for row in range(block.rows) if row not in wrong]
        rows = pa.array(stay, pa.int64())
        ids, texts = ids.take(rows), texts.take(rows)
    names = checked_ids(ids.to_pylist())
    return Batch(names, texts, part.name, block.first_row, unreadable, len(block.replaced), part.options.on_error, stay)


def checked_ids(ids: Any) -> list[str]:
    """Return ids as strings; raise `SourceError` if an index cannot hold one."""
    listed = ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids) if not isinstance(ids, str) else [ids]
    for place, id in enumerate(listed):
        if isinstance(id, Integral) and not isinstance(id, bool):  # also those of NumPy and pandas
            listed[place] = id = str(int(id))
        if not isinstance(id, str):
            raise SourceError(f"ids must be strings or whole numbers, not {type(id).__name__}: {id!r}")
        try:
            size = len(id.encode())
        except UnicodeEncodeError as error:
            raise SourceError(f"the id {id!r} contains an unpaired surrogate, which UTF-8 cannot encode") from error
        if size > MOST_ID_BYTES:
            raise SourceError(f"the id {id[:40]!r}… has {size} bytes; the maximum is {MOST_ID_BYTES}")
    return listed


def texts_array(texts: Any, *, sets: bool = False) -> pa.Array:
    """Return texts as an Arrow array; null counts as empty. In an index of sets, a list of elements is a text."""
    if sets:
        texts = _written(texts)
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        kind = whole.type
        if not any(is_kind(kind) for is_kind in _TEXTS):
            raise SourceError(f"texts must be strings, not {kind}")
        return _not_too_long(whole)
    listed: Sequence[Any] = [texts] if isinstance(texts, str) else list(texts)
    for place, text in enumerate(listed):
        if text is not None and not isinstance(text, str):
            raise SourceError(f"texts must be strings, but number {place} is {type(text).__name__}")
    try:
        return _not_too_long(pa.array(listed, pa.large_string()))
    except UnicodeEncodeError as error:
        raise SourceError.unpaired_surrogate("a text", error) from error


def _written(sets: Any) -> Any:
    """Return sets as an index of sets stores them."""
    if isinstance(sets, (str, pa.Array, pa.ChunkedArray)):
        return sets
    options = SourceOptions.of(items="items")
    texts = []
    for one in sets:
        values = [one] if one is None or isinstance(one, str) else column_values(options, one)
        if isinstance(values, str):
            raise SourceError(values)
        texts.append(values[0] if not isinstance(values[0], list) else orjson.dumps(values[0]).decode())
    return texts


def _not_too_long(texts: pa.Array) -> pa.Array:
    """Return the texts; raise `SourceError` if one is longer than a text of a file may be."""
    if texts.nbytes > MAX_ROW_BYTES:
        longest = int(np.diff(buffers_of(texts)[1]).max())
        if longest > MAX_ROW_BYTES:
            raise SourceError(f"a text has {longest:,} bytes; the maximum is {MAX_ROW_BYTES:,}")
    return texts


_TEXTS = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary,
    pa.types.is_string_view, pa.types.is_binary_view, pa.types.is_dictionary, pa.types.is_null,
)  # fmt: skip
