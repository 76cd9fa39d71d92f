"""Add, replace and remove documents of an index, in transactions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as changed_to
from itertools import chain
from typing import Any

import numpy as np

from twinset.engines.progress import Progress
from twinset.errors import DamagedError, DuplicateIdError, OptionError, StateError, UnknownIdError
from twinset.index.backend import Backend, Int64s, SketchRows
from twinset.index.kinds.base import STATE, Kind, kind_for, source_options
from twinset.index.kinds.pack_text import unpack
from twinset.index.kinds.text_entries import Entries, packed_bands, runs
from twinset.index.read_batches import Batch, DocumentBatches
from twinset.index.settings import Settings
from twinset.system import batch_sizes
from twinset.wording import counted

_UNIQUE = "ids of an index must be unique: name a column of such ids with --id, or name rows file:row with --no-id"


@dataclass
class ChangeCounts:
    """Counts of documents that a call added, replaced, and left unchanged.

    Of these, `empty` counts documents without a token, and `undecoded` those with invalid UTF-8. `unreadable` counts
    rows that were skipped, and `named` has the first thousand of them, each with the reason. `skipped` are files that
    were not read.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    empty: int = 0
    undecoded: int = 0
    unreadable: int = 0
    named: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def copy(self) -> ChangeCounts:
        """Return a copy of the counts."""
        return changed_to(self, named=list(self.named))

    def count(self, other: ChangeCounts) -> None:
        """Add the counts of another."""
        for name in ("added", "replaced", "unchanged", "empty", "undecoded", "unreadable"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.named += other.named[: batch_sizes.NAMED - len(self.named)]


class IndexWriter:
    """Changes an index, while the writer lock is held."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self.backend, self.settings = backend, settings
        self._postings: dict[str, list[Int64s]] = {}
        self._began = backend.most_number + 1
        """The first number that the current call assigns; above all numbers unless the call adds a source."""
        self._unchanged = bytearray()
        """One bit for each earlier number: whether the current call had the same text under its id."""

    @property
    def kind(self) -> Kind:
        """The kind of the documents."""
        return kind_for(self.settings)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything that is put inside; postings are written last, in one batch."""
        before = self.settings
        try:
            with self.backend.transaction():
                yield
                self.write_postings()
                if self.kind.tracks_changes:
                    self.backend.change_settings({STATE: secrets.token_hex(8)})
        except BaseException:
            self.settings = before  # the plan was not stored either
            raise
        finally:
            self._postings = {}

    def entries(self, batch: Batch) -> Entries:
        """Prepare documents for writing, and store the plan if they are the first; within `transaction`."""
        if not self.kind.is_planned:
            planned = self.kind.plan_from(batch.texts)
            if planned != self.settings:
                self.backend.change_settings(planned.to_rows())
                self.settings = planned
        return self._prepare(batch)

    def _prepare(self, batch: Batch) -> Entries:
        kind = self.kind
        checked = kind.check_batch(batch)
        new = kind.entries(checked.ids, checked.texts)
        batch.note(new.sketched.replaced)
        return new

    def add_batch(self, batch: Batch, *, replace: bool) -> ChangeCounts:
        """Add all documents of a batch in one transaction."""
        if len(batch.ids) != len(batch.texts):
            what, ids, texts = self.kind.name, len(batch.ids), len(batch.texts)
            raise OptionError(f"there are {ids} ids and {texts} {what}s; each id needs one {what}")
        _refuse_repeated_ids(batch.ids)
        done = ChangeCounts()
        with self.transaction():
            by_bytes = batch_sizes.INDEX_DOCUMENT_BYTES * len(batch.ids) // max(1, batch.texts.nbytes)
            many = max(1, min(batch_sizes.INDEX_DOCUMENTS, by_bytes))
            for first in range(0, len(batch.ids), many):
                last = first + many
                some = Batch(batch.ids[first:last], batch.texts[first:last], batch.where, first)
                done.count(self.put(self.entries(some), replace=replace))
        return done

    def add_source(self, source: Any, options: dict[str, Any], progress: Progress, *, replace: bool) -> ChangeCounts:
        """Add the documents of a source, in several transactions."""

        def prepare(batch: Batch) -> tuple[Batch, Entries | None]:
            if not self.kind.is_planned:
                return batch, None  # without a plan there are no keys
            new = self._prepare(batch)
            batch.texts = None
            return batch, new

        done = ChangeCounts()
        try:
            reading, sketch = source_options(self.kind, options, source), self.kind.picture_sketch()
            documents = DocumentBatches(source, reading, progress, self.backend.files(), sketch)
            self._began = self.backend.last_number() + 1
            self._unchanged = bytearray(self._began // 8 + 1)
            # An interruption closes it too: it holds a temporary folder with the input from stdin.
            with closing(documents.read(prepare, "updating" if replace else "adding")) as batches:
                for first in batches:
                    done = self._add_portion(chain([first], batches), done.copy(), progress, replace=replace)
        except KeyboardInterrupt as stop:
            stop.add_note(_committed_message(done))
            raise
        done.skipped = documents.skipped
        return done

    def _add_portion(
        self, batches: Iterator[tuple[Batch, Entries | None]], counts: ChangeCounts, progress: Progress, *,
        replace: bool,
    ) -> ChangeCounts:  # fmt: skip
        """Add batches in one transaction up to its maximum size, and return the counts."""
        rows, size = 0, 0
        with self.transaction():
            for batch, made in batches:
                new = self.entries(batch) if made is None else made
                for some in _split_repeated_ids(new):
                    counts.count(self.put(some, replace=replace))
                named = batch.unreadable
                counts.count(ChangeCounts(undecoded=batch.undecoded, unreadable=len(named), named=named))
                rows += len(new)
                size += new.nbytes
                progress.advance(len(new))
                if rows >= batch_sizes.INDEX_COMMIT or size >= batch_sizes.INDEX_COMMIT_BYTES:
                    break
        return counts

    def put(self, new: Entries, *, replace: bool) -> ChangeCounts:
        """Write documents; within `transaction` only."""
        _refuse_repeated_ids(new.ids)
        stored, first = self.backend.numbers(new.ids), self.backend.last_number() + 1
        changed = ChangeCounts(empty=int(np.count_nonzero(new.sketched.shingles == 0)))
        if stored:
            same = self._same(new, stored)
            others = [id for id in new.ids if id in stored and id not in same]
            twice = [id for id in others if self._was_seen(stored[id])]
            if twice:
                raise DuplicateIdError(
                    f"the id {twice[0]!r} appears twice, with different {self.kind.name}s, among the documents to be "
                    f"{'updated' if replace else 'added'}; {_UNIQUE}"
                )
            if others and not replace:
                raise DuplicateIdError(
                    f"{self.backend.name}: the index holds a document with the id {others[0]!r} and another "
                    f"{self.kind.name}; replace it with twinset index update, or give this one another id"
                )
            if others:
                self._delete(np.array(sorted(stored[id] for id in others), np.int64))
            for number in (stored[id] for id in same if stored[id] >> 3 < len(self._unchanged)):
                self._unchanged[number >> 3] |= 1 << (number & 7)
            changed.unchanged, changed.replaced = len(same), len(others)
            new = new.take([row for row, id in enumerate(new.ids) if id not in same])
        if first + len(new) - 1 > self.backend.most_number:
            raise StateError(
                f"{self.backend.name}: the index has used all {self.backend.most_number} document numbers; export it "
                "and import it again, which frees the numbers of removed documents"
            )
        if len(new):
            numbers = np.arange(first, first + len(new), dtype=np.int64)
            self.backend.insert(numbers, new)
            for table, rows in new.postings(numbers).items():
                self._postings.setdefault(table, []).append(rows)
        changed.added = len(new) - changed.replaced
        return changed

    def _was_seen(self, number: int) -> bool:
        """Whether the current call already had this document."""
        bits = self._unchanged[number >> 3] if number >> 3 < len(self._unchanged) else 0
        return number >= self._began or bool(bits >> (number & 7) & 1)

    def write_postings(self) -> None:
        """Write the postings that wait; within `transaction` only."""
        for table, parts in self._postings.items():
            rows = np.concatenate(parts)
            rows.sort(kind="stable")  # merges sorted parts
            self.backend.insert_postings(table, rows)
        self._postings = {}

    def _same(self, new: Entries, known: dict[str, int]) -> set[str]:
        """Return the ids that the index has with the same content."""
        places = {known[id]: row for row, id in enumerate(new.ids) if id in known}
        numbers = np.array(sorted(places), np.int64)
        if new.contents is None:
            stored = self._sketches(numbers)
            rows = [places[number] for number in stored.numbers.tolist()]
            done = new.sketched
            equal = (stored.slots == done.slots[rows]).all(axis=1) & (stored.shingles == done.shingles[rows])
            return {new.ids[row] for row, is_equal in zip(rows, equal.tolist(), strict=True) if is_equal}
        whole = unpack if new.are_texts else bytes
        same: set[str] = set()
        for first in range(0, len(numbers), batch_sizes.INDEX_DOCUMENTS):
            for one in self.backend.documents(numbers[first : first + batch_sizes.INDEX_DOCUMENTS], contents=True):
                if whole(one.content or b"") == whole(new.contents[places[one.number]]):
                    same.add(one.id)
        return same

    def remove(self, ids: Sequence[str]) -> int:
        """Remove documents in one transaction, and return their number."""
        with self.transaction():
            return self.remove_some(ids)

    def remove_some(self, ids: Sequence[str]) -> int:
        """Remove documents, and return their number; within `transaction` only."""
        wanted = list(dict.fromkeys(ids))
        stored = self.backend.numbers(wanted)
        unknown = [id for id in wanted if id not in stored]
        if unknown:
            more = f" (nor {len(unknown) - 1:,} more of the given ids)" if len(unknown) > 1 else ""
            raise UnknownIdError(
                f"{self.backend.name}: the index holds no document with the id {unknown[0]!r}{more}; "
                "nothing was removed"
            )
        self._delete(np.array(sorted(stored.values()), np.int64))
        return len(wanted)

    def _delete(self, numbers: Int64s) -> None:
        self.write_postings()  # some may be those of the documents to delete
        kind = self.kind
        many = max(1, min(batch_sizes.INDEX_DOCUMENTS, batch_sizes.INDEX_DOCUMENT_BYTES // (4 * max(1, kind.slots))))
        for first in range(0, len(numbers), many):
            sketches = self._sketches(numbers[first : first + many])
            keys = kind.keys(sketches.slots)
            # Contents are read only for the rows that follow from them.
            most = batch_sizes.INDEX_SHINGLES if kind.content_tables else 2**62
            for low, high in runs(sketches.shingles, most):
                some = sketches.numbers[low:high]
                postings = {"bands": packed_bands(some, keys[low:high])}
                self.backend.delete(some, postings | self._content_postings(some))

    def _content_postings(self, numbers: Int64s) -> dict[str, Int64s]:
        """Return the rows that follow from the contents of documents, by table."""
        if not self.kind.content_tables:
            return {}
        documents = self.backend.documents(numbers, contents=True)
        keys = self.kind.content_keys([one.content for one in documents])
        return {table: some.postings(numbers) for table, some in keys.items()}

    def _sketches(self, numbers: Int64s) -> SketchRows:
        """Return the sketches of all of these documents; raise `DamagedError` if one is missing."""
        sketches = self.backend.sketches(numbers).padded_to(self.kind.slots)
        if sketches.slots.shape != (len(numbers), self.kind.slots):
            raise DamagedError(
                f"{self.backend.name} is damaged: a document has no sketch, or a sketch of another plan; nothing was "
                "changed; run twinset index verify"
            )
        return sketches


def _split_repeated_ids(new: Entries) -> Iterator[Entries]:
    """Split documents so that no id repeats in a part: the result must not depend on where a batch ends."""
    begin, seen = 0, set[str]()
    for row, id in enumerate(new.ids):
        if id in seen:
            yield new.take(range(begin, row))
            begin, seen = row, set()
        seen.add(id)
    yield new.take(range(begin, len(new))) if begin else new


def _committed_message(done: ChangeCounts) -> str:
    """Say what an interrupted call has committed."""
    count = done.added + done.replaced + done.unchanged
    if not count:
        return "none of these documents was committed; run the same command again"
    number = f"{counted(count, 'document')} {'is' if count == 1 else 'are'}"
    return f"{number} committed; run the same command again to resume"


def _refuse_repeated_ids(ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(id for id in ids if id in seen or seen.add(id))  # type: ignore[func-returns-value]
        raise DuplicateIdError(f"the id {twice!r} appears twice among the documents to be added; {_UNIQUE}")
