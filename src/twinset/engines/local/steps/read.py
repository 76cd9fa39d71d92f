"""The first stage: read, shingle and sketch every document once.

Texts stay in memory only while they fit.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.parts import Block, Chunk, Part
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus, ReadReport, Span
from twinset.engines.local.ids import DocumentIds
from twinset.engines.local.state import RunState
from twinset.engines.local.steps.open import total_rows
from twinset.engines.local.steps.sketch import READ, UNREADABLE, SketchedBlock, WorkOptions, hash_ids, sketch_block
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.errors import DuplicateIdError
from twinset.plan import Plan
from twinset.schema import Bytes, Hashes, Numbers, Places
from twinset.system import batch_sizes
from twinset.system.scratch import Spool
from twinset.wording import counted

STAGE = "sketches"
OF_ONE_WIDTH = ("codes", "vectors", "images")
_SPOOLS = {
    "status": ("u1", 1), "counts": ("<u4", 1), "digests": ("<u8", 2), "keys": ("<u8", 1), "bytes": ("u1", 1),
    "names": ("u1", 1), "lengths": ("<u8", 1), "sources": ("<u4", 1), "repeats": ("<u4", 1), "salts": ("<u8", 1),
    "texts": ("<u8", 1),
}  # fmt: skip


class DocumentReader:
    """Reads parts into a corpus; the parts from `against` on are compared against."""

    def __init__(
        self, parts: list[Part], against: int, options: WorkOptions, plan: Plan | None, budget: Budget, state: RunState,
        threads: Threads, progress: Progress, *, batch_bytes: int, whole: bool, by_length: bool,
        needs_ids: str = "",
    ) -> None:  # fmt: skip
        self.parts, self.against, self.options, self.plan = parts, against, options, plan
        self.budget, self.state, self.threads, self.progress = budget, state, threads, progress
        self.batch_bytes, self.whole, self.by_length, self.needs_ids = batch_bytes, whole, by_length, needs_ids
        self._cached_blocks: dict[int, Block] = {}
        self._caching = True
        self._cached_bytes = self._documents = 0

    def corpus(self) -> Corpus:
        """Read the corpus, or restore it from the state of an interrupted run."""
        done = self.state.recall(STAGE)
        if done is not None:
            facts, spools = done
            self.progress.note("resuming an interrupted run: documents were read already")
            return self._make_corpus(facts, spools)
        spools = {name: self.state.spool(name, *kind) for name, kind in _SPOOLS.items()}
        facts = self._read_all(spools)
        self.state.finish(STAGE, facts, spools)
        return self._make_corpus(facts, spools)

    def _read_all(self, spools: dict[str, Spool]) -> dict[str, Any]:
        id_hashes = Spool(self.state.scratch / "id-hashes", "<u8")
        names = DocumentIds(spools["names"], 0)
        spans: list[list[int]] = []
        unreadable: list[tuple[int, str]] = []
        replaced_in: list[int] = []
        first, replaced, text_bytes, own_ids = 0, 0, 0, True
        for part in self.parts:
            part.prepare(
                self.threads.map, lambda total: self.progress.stage("grouping", total, "rows"), self.progress.advance
            )
        stage = "reading" if self.plan is None else "reading and sketching"
        self.progress.stage(stage, total_rows(self.parts), "documents")
        for (number, chunk, block), done in self.threads.map(self._sketch, self._chunks()):
            spans.append([number, chunk.first_row, first, done.rows])
            self._keep_texts(len(spans) - 1, block)
            names.append(done.ids, done.columns)
            for name, array in (
                ("status", done.status), ("counts", done.counts), ("digests", done.digests), ("keys", done.keys),
                ("bytes", done.sketches), ("lengths", done.lengths), ("sources", done.sources),
                ("repeats", done.repeats), ("salts", done.salts), ("texts", done.texts),
            ):  # fmt: skip
                spools[name].append(array)
            id_hashes.append(done.id_hashes)
            self._free_records((*spools.values(), id_hashes))
            unreadable += [(first + row, reason) for row, reason in done.unreadable]
            replaced += len(done.replaced)
            replaced_in += [first + row for row in done.replaced[: batch_sizes.NAMED - len(replaced_in)]]
            text_bytes += done.text_bytes
            own_ids = own_ids and done.own_ids
            first += done.rows
            self.progress.advance(done.rows)
        facts: dict[str, Any] = {
            "spans": spans, "unreadable": unreadable, "replaced": replaced, "text_bytes": text_bytes,
            "own_ids": own_ids, "replaced_in": replaced_in, "repeated_ids": 0, "row_named": [],
            "rows": sum(part.rows_read for part in self.parts[: self.against]),
        }  # fmt: skip
        hashes = id_hashes.all()
        id_hashes.remove()
        self._settle_ids(facts, spools, hashes)
        if self.options.item_kind in OF_ONE_WIDTH:
            self._settle_width(facts, spools)
        for part in self.parts:
            part.check_unchanged()
        return facts

    def _chunks(self) -> Iterator[tuple[int, Chunk]]:
        for number, part in enumerate(self.parts):
            for chunk in part.chunks(self.batch_bytes):
                yield number, chunk

    def _sketch(self, task: tuple[int, Chunk]) -> tuple[tuple[int, Chunk, Block | None], SketchedBlock]:
        number, chunk = task
        holding = self._caching
        block = chunk.read(whole=self.whole and holding)
        done = sketch_block(block, self.parts[number], self.options, self.plan, number >= self.against, self.by_length)
        return (number, chunk, block if holding else None), done

    def _keep_texts(self, span: int, block: Block | None) -> None:
        """Keep texts in memory while all of them fit; once they do not, keep none."""
        if block is None or not self._caching:
            return
        self._cached_blocks[span] = block
        self._cached_bytes += block.nbytes
        self._documents += block.rows
        if self._cached_bytes > self.budget.beside(self._documents).texts:
            self._caching = False
            self._cached_blocks.clear()

    def _free_records(self, spools: Sequence[Spool]) -> None:
        """Free the records in memory if they are too many, as for many short documents."""
        if sum(spool.nbytes for spool in spools) > self.budget.records:
            for spool in spools:
                spool.forget()

    def _settle_width(self, facts: dict[str, Any], spools: dict[str, Spool]) -> None:
        """Mark codes and vectors as unreadable unless they have the most frequent width."""
        width, odd, counts = find_width(spools["status"].all(), spools["counts"].all())
        spans = [Span(*row) for row in facts["spans"]]
        places = np.searchsorted([span.first for span in spans], odd, side="right") - 1
        for number, count, place in zip(odd.tolist(), counts[odd].tolist(), places.tolist(), strict=True):
            span, found = spans[place], list[tuple[int, str]]()
            reason = width_reason(self.options.item_kind, count, width)
            self.parts[span.part].bad_row(found, number, span.first_row + number - span.first, reason, lines=False)
            facts["unreadable"] += found
        facts["unreadable"].sort()
        facts["width"] = width

    def _make_corpus(self, facts: dict[str, Any], spools: dict[str, Spool]) -> Corpus:
        spans = [Span(*row) for row in facts["spans"]]
        row_names = self._row_names(spans, facts["row_named"])
        names = DocumentIds(spools["names"], self.budget.beside(self._documents).names, row_names)
        names.finish(np.array([span.first for span in spans], np.int64))
        own = sum(span.rows for span in spans if span.part < self.against)
        status, counts = spools["status"].all(), spools["counts"].all()
        if facts.get("width") is not None:
            status = np.where((status == READ) & (counts != facts["width"]), UNREADABLE, status).astype(np.uint8)
        return Corpus(
            parts=self.parts,
            spans=spans,
            border=own if self.against < len(self.parts) else None,
            status=status,
            counts=counts,
            digests=spools["digests"].all().reshape(-1, 2),
            names=names,
            keys=spools["keys"],
            sketches=spools["bytes"],
            n_bands=self.plan.n_bands if self.plan else 0,
            lengths=spools["lengths"].all(),
            sources=spools["sources"].all(),
            repeats=spools["repeats"].all() if "repeats" in spools else np.zeros(0, np.uint32),
            salts=spools["salts"].all(),
            texts=spools["texts"],
            cached_blocks=self._cached_blocks if self._caching else {},
            batch_bytes=self.batch_bytes,
            report=_make_report(facts),
        )

    def _settle_ids(self, facts: dict[str, Any], spools: dict[str, Spool], hashes: Hashes) -> None:
        """Refuse repeated ids; those of the default column are replaced by the names of the rows."""
        ordered = np.sort(hashes)
        if (ordered[1:] != ordered[:-1]).all():
            return
        corpus = self._make_corpus(facts, spools)
        repeated = corpus.find_repeated_id(hashes)
        if repeated is None:
            return
        name, *numbers = repeated
        places = [corpus.locate(number) for number in numbers]
        default = [number for number, part in enumerate(self.parts) if part.has_default_ids]
        if self.needs_ids or facts["row_named"] or not any(part in default for part, _ in places):
            one, other = ((self.parts[part].name, row) for part, row in places)
            raise DuplicateIdError.of(name, one, other, self.needs_ids)
        count = len(corpus.repeated(hashes))
        facts |= {"row_named": default, "repeated_ids": count, "own_ids": False}
        self._settle_ids(facts, spools, self._hash_names(facts, spools))
        column = next(self.parts[part].id_name for part, _ in places if part in default)
        self.progress.note(
            f"the column {column} repeats ({counted(count, 'row')}, such as {name!r}): rows are named file:row instead"
        )

    def _hash_names(self, facts: dict[str, Any], spools: dict[str, Spool]) -> Hashes:
        """Hash the ids of all documents again, after rows were named."""
        corpus = self._make_corpus(facts, spools)
        hashes = [
            hash_ids(corpus.names.block_ids(index), span.part >= self.against)
            for index, span in enumerate(corpus.spans)
        ]
        return np.concatenate(hashes)

    def _row_names(self, spans: list[Span], named: list[int]) -> Callable[[int], pa.Array | None] | None:
        """Return the function that names the rows of a block, if the rows of some parts are named so."""

        def names(index: int) -> pa.Array | None:
            span = spans[index]
            return self.parts[span.part].row_names(span.first_row, span.rows) if span.part in named else None

        return names if named else None


def find_width(status: Bytes, counts: Numbers) -> tuple[int | None, Places, npt.NDArray[np.uint32]]:
    """Return the most frequent width (the first of ties), the items of another width, and the widths of all.

    Examples
    --------
    >>> width, odd, _ = find_width(np.zeros(4, np.uint8), np.array([8, 8, 4, 8], np.uint32))
    >>> width, odd.tolist()
    (8, [2])
    """
    known = status == READ
    first_width = int(counts[np.argmax(known)]) if known.any() else None
    if first_width is None or not ((counts != first_width) & known).any():  # nearly always
        return first_width, np.zeros(0, np.int64), counts
    read = np.flatnonzero(known)
    widths, first, many = np.unique(counts[read], return_index=True, return_counts=True)
    width = int(widths[np.lexsort((first, -many))[0]])
    return width, read[counts[read] != width], counts


def width_reason(kind: str, count: int, width: int | None) -> str:
    """Say why an item of another width cannot be compared."""
    if kind == "vectors":
        return f"the vector has {count} dimensions, and most have {width}; only vectors of one width can be compared"
    return f"the code has {8 * count} bits, and most have {8 * (width or 0)}; pad shorter codes with zeros"


def _make_report(facts: dict[str, Any]) -> ReadReport:
    names = ("replaced", "text_bytes", "own_ids", "replaced_in", "repeated_ids")
    unreadable = [(number, reason) for number, reason in facts["unreadable"]]
    return ReadReport(unreadable, rows=facts["rows"] or None, **{name: facts[name] for name in names})
