"""The kept rows of a result: a mask of the rows of its sources, and the rows themselves."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.files import format_of
from twinset.documents.long_tables.write import GroupsCollector
from twinset.documents.open_parts import SourceFile, file_part
from twinset.documents.parts import Part, add_columns
from twinset.engines.local.corpus import Span
from twinset.engines.local.steps.sketch import UNREADABLE
from twinset.engines.local.threads import Threads
from twinset.engines.local.write.result import join_tables, read_kept_rows
from twinset.errors import StateError
from twinset.options import DedupOptions
from twinset.results.stored import StoredResult
from twinset.results.stored_corpus import StoredCorpus
from twinset.schema import SCORES, Flags, flags_schema
from twinset.system.memory import default_threads

_BATCH_BYTES = 2**24
_Rows = npt.NDArray[np.bool_]


def readable(recorded: StoredResult) -> _Rows:
    """Return which documents of the sources could be read."""
    status = np.asarray(recorded.documents["status"])[: recorded.own]
    found: _Rows = status != UNREADABLE
    return found


def kept_documents(recorded: StoredResult) -> _Rows:
    """Return which documents of the sources are kept, in input order."""
    kept = np.zeros(recorded.own, np.bool_)
    kept[readable(recorded)] = np.asarray(recorded.clusters["kept"])
    return kept


def kept_rows_mask(recorded: StoredResult, documents: _Rows) -> _Rows:
    """Return which rows of the sources belong to some documents; only rows of a long table are read for it."""
    if recorded.options.group is None:
        return documents
    with closing(Threads(default_threads())) as threads:
        corpus = _open(recorded, threads)
        collector = corpus.parts[0].collector()  # all tables of the sources are one part
        for span, block in corpus.read(threads, lambda span, block: block, whole=True, parts=range(1)):
            collector.write(block, documents[span.documents])
        masks = collector.masks() if isinstance(collector, GroupsCollector) else []
    return np.concatenate([np.zeros(0, np.bool_), *masks])


def flag_columns(recorded: StoredResult) -> pa.Table:
    """Make the columns of ``--flag``, with a row for each document of the sources."""
    schema = flags_schema(recorded.options.measure)
    read, kept = np.flatnonzero(readable(recorded)), kept_documents(recorded)
    removed = np.setdiff1d(read, np.flatnonzero(kept))
    score = SCORES[recorded.options.measure][0].removed
    columns = [
        _placed(recorded.clusters["cluster"], read, recorded.own),
        _placed(recorded.removed["because_of"], removed, recorded.own),
        _placed(recorded.removed[score], removed, recorded.own),
    ]
    return pa.table([one.cast(kind.type) for one, kind in zip(columns, schema, strict=True)], schema=schema)


def _placed(values: pa.ChunkedArray, rows: npt.NDArray[np.int64], total: int) -> pa.ChunkedArray:
    """Return a column of `total` rows that has the values at some rows, and nulls elsewhere."""
    places = np.full(total, -1, np.int64)
    places[rows] = np.arange(len(rows))
    return values.take(pa.array(places, mask=places < 0))


def read_sources(recorded: StoredResult) -> pa.Table:
    """Read the kept rows from the sources; if the run only flagged them, all rows with the columns of ``--flag``."""
    kept, flags = kept_documents(recorded), None
    if recorded.options.flag:
        kept, columns = readable(recorded), flag_columns(recorded)

        def flags(span: Span) -> pa.Table:
            return columns.slice(span.first, span.rows)

    with closing(Threads(default_threads())) as threads:
        corpus = _open(recorded, threads)
        parts = sorted({span.part for span in corpus.spans if span.first < corpus.own})
        return join_tables(read_kept_rows(corpus, threads, parts, _padded(recorded, kept), flags))


def read_folder(recorded: StoredResult) -> pa.Table:
    """Read the rows of kept/; those of text files, which it only lists, from the sources."""
    names = recorded.summary["input"].get("kept")
    if not names or None in names:
        return read_sources(recorded)
    tables, ids, start = [], None, 0
    for number, name in enumerate(names):
        part = _kept_part(recorded.folder / name, number, recorded.options)
        found = _tables_of(part)
        if not found:  # it has no rows, and its columns are not known
            continue
        table = join_tables(found)
        if "id" in table.column_names and "id" not in part.column_names:
            ids = ids if ids is not None else _kept_ids(recorded)
            table = table.set_column(table.column_names.index("id"), "id", ids.slice(start, table.num_rows))
        tables.append(table)
        start += table.num_rows
    return _with_flags(recorded, join_tables(tables))


def _with_flags(recorded: StoredResult, rows: pa.Table) -> pa.Table:
    """Put the columns of ``--flag`` last, with their types, which not all formats keep."""
    if not recorded.options.flag or recorded.options.group is not None:
        return rows
    flags = flag_columns(recorded)
    rows = rows.select([name for name in rows.column_names if name not in flags.column_names])
    return add_columns(rows, readable(recorded), flags)


def _kept_part(path: Path, number: int, options: DedupOptions) -> Part:
    if not path.is_file():
        raise StateError(f"{path}: there is no such file; run dedup again")
    file = SourceFile(path, str(path), number, (path.name,), 1, *format_of(path.name))
    return file_part(file, PurePosixPath(path.name), options)


def _tables_of(part: Part) -> list[pa.Table]:
    """Read all rows of a part, with all columns."""
    if part.options.group is not None:
        part.forget_ids()  # rows of a group have none
    collector = part.collector()
    for chunk in part.chunks(_BATCH_BYTES):
        block = chunk.read(whole=True)
        collector.write(block, np.ones(block.rows, np.bool_))
    return collector.tables()


def _kept_ids(recorded: StoredResult) -> pa.Array:
    """Return the ids of the rows of kept/; those without an id are named after their place in the source."""
    rows = readable(recorded) if recorded.options.flag else kept_documents(recorded)
    return recorded.ids.slice(0, recorded.own).filter(pa.array(rows)).cast(pa.string())


def _open(recorded: StoredResult, threads: Threads) -> StoredCorpus:
    return StoredCorpus(recorded, threads, DedupOptions.defaults()["batch_bytes"]).open()


def _padded(recorded: StoredResult, documents: _Rows) -> Flags:
    """Return flags of all documents, including those compared against."""
    return np.concatenate([documents, np.zeros(recorded.documents.num_rows - recorded.own, np.bool_)])
