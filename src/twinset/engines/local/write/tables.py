"""Write the tables of a result: ids and scores for document numbers."""

from __future__ import annotations

from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.parts import Block, KeptWriter
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.sketch import EMPTY, UNREADABLE
from twinset.engines.local.threads import Threads
from twinset.engines.local.write.table_file import TableFile
from twinset.engines.progress import Progress
from twinset.schema import (
    CLUSTERS,
    DIGEST_BYTES,
    SCORES,
    SOURCES,
    Flags,
    Hashes,
    Numbers,
    Scores,
    documents_schema,
    flags_schema,
    pairs_schema,
    removed_schema,
)
from twinset.schema import EMPTY as EMPTY_SCHEMA
from twinset.schema import UNREADABLE as UNREADABLE_SCHEMA
from twinset.system import batch_sizes
from twinset.system.scratch import cannot_write

if TYPE_CHECKING:
    from twinset.engines.local.steps.cluster_beside_index import IndexMatches
    from twinset.engines.local.write.kept_file import KeptFile


class Scoring(Protocol):
    """Scores pairs of documents: a join of a run, or of sketches."""

    @property
    def measure(self) -> str:
        """The name of the measure."""

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return the scores of pairs of documents; the code is SAME for identical contents."""


class ResultTables:
    """Makes the tables of a result; `earlier` are matches in an index, because of which documents are removed."""

    def __init__(self, corpus: Corpus, copies: Copies, scoring: Scoring, earlier: IndexMatches | None = None) -> None:
        self.corpus, self.copies, self.earlier = corpus, copies, earlier
        self._scores, self.measure = scoring.scores, scoring.measure
        self.set_sizes: Numbers | None = getattr(scoring, "set_sizes", None)  # of a join by containment

    @cached_property
    def verbatim(self) -> Numbers:
        """The first document with the same bytes, for each document."""
        return self.corpus.verbatim(self.copies)

    def pairs(self, rows: Rows) -> pa.Table:
        """Make the table of some pairs."""
        left, right = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
        ids = {"left": self.corpus.take_ids(left), "right": self.corpus.take_ids(right)}
        return pa.table({**ids, **self._scores(left, right, rows[:, 2])}, schema=pairs_schema(self.measure))

    def write_pairs(self, path: Path, portions: Any) -> int:
        """Write pairs; return their number."""
        with TableFile(path, pairs_schema(self.measure)) as file:
            for rows in portions:
                for start in range(0, len(rows), batch_sizes.TABLE_ROWS):
                    file.write(self.pairs(rows[start : start + batch_sizes.TABLE_ROWS]))
        return file.rows

    def reasons(self, clusters: Clusters, numbers: Numbers) -> tuple[pa.Array, Scores]:
        """Return the id of the kept document for each removed one, and the scores of the pair, the removed one left."""
        scores = self._scores(numbers, clusters.kept_by[numbers], clusters.shared[numbers])
        if self.earlier is not None:
            scores = self.earlier.rescore(scores, self.copies.first[numbers])
        return self.kept_ids(clusters, numbers), scores

    def kept_ids(self, clusters: Clusters, numbers: Numbers) -> pa.Array:
        """Return the id of the document that replaces each: a kept one, or a document of an index."""
        names = self.corpus.take_ids(clusters.kept_by[numbers])
        return names if self.earlier is None else self.earlier.rename(names, self.copies.first[numbers])

    def clusters(self, clusters: Clusters) -> int:
        """Count the clusters, including those of documents of an index."""
        if self.earlier is not None:
            return self.earlier.clusters(clusters, self.copies)
        leading = np.zeros(self.corpus.documents, np.bool_)
        leading[clusters.kept_by[clusters.removed]] = True
        return int(np.count_nonzero(leading))

    def write_removed(self, path: Path, clusters: Clusters) -> None:
        """Write one row for each removed document."""
        removed = np.flatnonzero(clusters.removed).astype(np.uint32)
        schema = removed_schema(self.measure, judged=clusters.links is not None)
        judged = clusters.judged(self.copies.first)
        with TableFile(path, schema) as file:
            for start in range(0, len(removed), batch_sizes.TABLE_ROWS):
                numbers = removed[start : start + batch_sizes.TABLE_ROWS]
                because, scores = self.reasons(clusters, numbers)
                named = {column.removed: scores[column.name] for column in SCORES[self.measure]}
                ids = {"id": self.corpus.take_ids(numbers), "because_of": because}
                verdicts = pa.array(np.full(len(numbers), "duplicate"), pa.string(), mask=~judged[numbers])
                columns = {**ids, **named, **({} if clusters.links is None else {"verdict": verdicts})}
                file.write(pa.table(columns, schema=schema))

    def write_clusters(self, path: Path, clusters: Clusters) -> None:
        """Write one row for each readable document; a cluster is named after its kept document."""
        members = np.flatnonzero(clusters.kept | clusters.removed).astype(np.uint32)
        with TableFile(path, CLUSTERS) as file:
            for start in range(0, len(members), batch_sizes.TABLE_ROWS):
                numbers = members[start : start + batch_sizes.TABLE_ROWS]
                names = [self.corpus.take_ids(numbers), self.kept_ids(clusters, numbers)]
                file.write(pa.table([*names, pa.array(clusters.kept[numbers])], schema=CLUSTERS))

    def flags(self, clusters: Clusters, span: Span) -> pa.Table:
        """Make the columns of --flag for a block of rows."""
        numbers = np.arange(span.first, span.first + span.rows, dtype=np.uint32)
        read = self.corpus.status[numbers] != UNREADABLE
        removed = clusters.removed[numbers]
        because, scores = self.reasons(clusters, numbers)
        score = SCORES[self.measure][0].name
        nothing = pa.scalar(None, pa.string())
        columns = {
            "cluster": pc.if_else(pa.array(read), because, nothing),
            "duplicate_of": pc.if_else(pa.array(removed), because, nothing),
            score: pa.array(scores[score], mask=~removed),
        }
        return pa.table(columns, schema=flags_schema(self.measure))


def write_documents(
    corpus: Corpus, path: Path, content: Numbers, verbatim: Numbers, set_sizes: Numbers | None = None
) -> None:
    """Write one row for each document by number: its position, its status, and the first of equal content and bytes.

    `set_sizes` are written where documents were ordered by them.
    """
    schema = documents_schema(ordered_by_size=set_sizes is not None)
    digests = corpus.content_digests()
    with TableFile(path, schema) as file:
        for span in corpus.spans:
            numbers = np.arange(span.first, span.first + span.rows, dtype=np.uint32)
            columns = [
                np.full(span.rows, span.part, np.uint32),
                np.arange(span.first_row, span.first_row + span.rows, dtype=np.uint64),
                corpus.sources[numbers],
                corpus.status[numbers],
                content[numbers],
                verbatim[numbers],
                corpus.lengths[numbers],
                corpus.counts[numbers],
                as_binary(digests[numbers]),
                *([] if set_sizes is None else [set_sizes[numbers]]),
            ]
            file.write(pa.table([corpus.take_ids(numbers), *map(pa.array, columns)], schema=schema))


def as_binary(digests: Hashes) -> pa.Array:
    """Return digests as a column of 16 bytes."""
    words = np.ascontiguousarray(digests, "<u8")
    return pa.Array.from_buffers(pa.binary(DIGEST_BYTES), len(words), [None, pa.py_buffer(words)])


def write_left_out(corpus: Corpus, folder: Path) -> None:
    """Write the empty documents and the unreadable rows of the sources."""
    own = np.arange(corpus.documents) < corpus.own
    empty = np.flatnonzero((corpus.status == EMPTY) & own).astype(np.uint32)
    with TableFile(folder / "empty.parquet", EMPTY_SCHEMA) as file:
        for start in range(0, len(empty), batch_sizes.TABLE_ROWS):
            numbers = empty[start : start + batch_sizes.TABLE_ROWS]
            file.write(pa.table([corpus.take_ids(numbers)], schema=EMPTY_SCHEMA))
    own_rows = [(number, reason) for number, reason in corpus.report.unreadable if number < corpus.own]
    with TableFile(folder / "unreadable.parquet", UNREADABLE_SCHEMA) as file:
        names = corpus.take_ids(np.array([number for number, _ in own_rows], np.uint32))
        reasons = pa.array([reason for _, reason in own_rows], pa.string())
        file.write(pa.table([names, reasons], schema=UNREADABLE_SCHEMA))


def write_kept(
    tables: ResultTables, clusters: Clusters, out: Path, threads: Threads, progress: Progress, *, own_parts: int,
    flag: bool, copy: bool, rows: KeptFile | None = None,
) -> None:  # fmt: skip
    """Write the kept rows of the first `own_parts` parts, those of the sources, each in its format or all to `rows`."""
    corpus = tables.corpus
    mask: Flags = clusters.kept | clusters.removed if flag else clusters.kept
    progress.stage("writing", corpus.own, "documents")
    if rows is None:
        (out / "kept").mkdir()
    for number, part in enumerate(corpus.parts[:own_parts]):
        writer: KeptWriter = part.open_writer(out, flag=flag, copy=copy) if rows is None else rows.open_writer(part)
        try:

            def ready(span: Span, block: Block) -> tuple[Block, pa.Table | None]:
                return block, tables.flags(clusters, span) if flag else None

            for span, (block, flags) in corpus.read(threads, ready, whole=True, parts=range(number, number + 1)):
                writer.write(block, mask[span.documents], flags)
                progress.advance(span.rows)
            writer.close()
        except OSError as error:
            writer.abort()
            raise cannot_write(out, error) from error
        except BaseException:
            writer.abort()
            raise
    if rows is not None:
        rows.finish()


def write_sources(corpus: Corpus, path: Path, against: int, digests: list[Future[str] | None]) -> None:
    """Write every source with its size and digest."""
    rows = [0] * len(corpus.parts)
    for span in corpus.spans:
        rows[span.part] += span.rows
    listed = []
    for number, (part, digest) in enumerate(zip(corpus.parts, digests, strict=True)):
        listed.append(
            {
                "path": part.name,
                "format": part.format,
                "documents": rows[number],
                "bytes": part.size if digest is not None else None,
                "sha256": digest.result() if digest is not None else None,
                "role": "against" if number >= against else "source",
                "version": part.version,
            }
        )
    with TableFile(path, SOURCES) as file:
        file.write(pa.Table.from_pylist(listed, schema=SOURCES))
