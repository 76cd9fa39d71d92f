"""Changing an index: what is added, replaced and removed together."""

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
from twinset.index.backend import Home, Kept, Whole
from twinset.index.kinds.base import STATE, Kind, kind_of, reading
from twinset.index.kinds.pack_text import unpack
from twinset.index.kinds.text_entries import Entries, Keys
from twinset.index.read_batches import Batch, Incoming
from twinset.index.settings import Settings
from twinset.system import batch_sizes
from twinset.wording import counted


@dataclass
class Changed:
    """What a call did: documents added, replaced, and found there already with the same text.

    Of all of these, how many hold no token (`empty`), and how many held bytes that were no text (`undecoded`). Rows
    that could not be read were left out: `unreadable` counts them, and `named` has the first thousand, each with the
    reason. `skipped` are files that were passed over.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    empty: int = 0
    undecoded: int = 0
    unreadable: int = 0
    named: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def copy(self) -> Changed:
        """The same counts, to count on from."""
        return changed_to(self, named=list(self.named))

    def count(self, other: Changed) -> None:
        """Count another's in."""
        for name in ("added", "replaced", "unchanged", "empty", "undecoded", "unreadable"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.named += other.named[: batch_sizes.NAMED - len(self.named)]


class Writing:
    """The writer of an index, while it is the only one."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.home, self.settings = home, settings
        self._bands: list[tuple[Whole, Keys]] = []
        self._began = home.most_number + 1
        """The first number that the call under way can give; it is more than all where a call cannot meet itself."""
        self._unchanged = bytearray()
        """A bit for each earlier number: whether the call under way has met it with the same text."""

    @property
    def kind(self) -> Kind:
        """What the documents are."""
        return kind_of(self.settings)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is put inside is committed together; the bands go last, all at once."""
        before = self.settings
        try:
            with self.home.transaction():
                yield
                self._write_bands()
                if self.kind.tells_state:
                    self.home.change_settings({STATE: secrets.token_hex(8)})
        except BaseException:
            self.settings = before  # what the first documents told is not written down either
            raise
        finally:
            self._bands = []

    def entries(self, batch: Batch) -> Entries:
        """Documents ready to be written; within `transaction`, where the first have something to tell."""
        if not self.kind.is_settled:
            settled = self.kind.settled(batch.texts)
            if settled != self.settings:
                self.home.change_settings(settled.to_rows())
                self.settings = settled
        return self._prepared(batch)

    def _prepared(self, batch: Batch) -> Entries:
        kind = self.kind
        checked = kind.checked(batch)
        new = kind.entries(checked.ids, checked.texts)
        batch.note(new.sketched.replaced)
        return new

    def together(self, batch: Batch, *, replace: bool) -> Changed:
        """Add all documents of a batch in one transaction."""
        if len(batch.ids) != len(batch.texts):
            what, ids, texts = self.kind.name, len(batch.ids), len(batch.texts)
            raise OptionError(f"there are {ids} ids and {texts} {what}s; each id needs one {what}")
        _refuse_twice(batch.ids)
        done = Changed()
        with self.transaction():
            by_bytes = batch_sizes.INDEX_DOCUMENT_BYTES * len(batch.ids) // max(1, batch.texts.nbytes)
            many = max(1, min(batch_sizes.INDEX_DOCUMENTS, by_bytes))
            for first in range(0, len(batch.ids), many):
                last = first + many
                some = Batch(batch.ids[first:last], batch.texts[first:last], batch.where, first)
                done.count(self.put(self.entries(some), replace=replace))
        return done

    def portions(self, source: Any, words: dict[str, Any], progress: Progress, *, replace: bool) -> Changed:
        """Add the documents of a source, a transaction for every so many."""

        def prepare(batch: Batch) -> tuple[Batch, Entries | None]:
            if not self.kind.is_settled:
                return batch, None  # what keys they have is not known yet
            new = self._prepared(batch)
            batch.texts = None
            return batch, new

        done = Changed()
        try:
            incoming = Incoming(source, reading(self.kind, words), progress, self.home.files())
            self._began = self.home.last_number() + 1
            self._unchanged = bytearray(self._began // 8 + 1)
            # Closed here also when a stop is on its way out: it holds a folder with what came from stdin.
            with closing(incoming.batches(prepare, "updating" if replace else "adding")) as coming:
                for first in coming:
                    done = self._portion(chain([first], coming), done.copy(), progress, replace=replace)
        except KeyboardInterrupt as stop:
            stop.add_note(_committed(done))
            raise
        done.skipped = incoming.skipped
        return done

    def _portion(
        self, coming: Iterator[tuple[Batch, Entries | None]], held: Changed, progress: Progress, *, replace: bool
    ) -> Changed:
        """Add so many documents in one transaction, and count them in."""
        rows, size = 0, 0
        with self.transaction():
            for batch, made in coming:
                new = self.entries(batch) if made is None else made
                for some in _apart(new):
                    held.count(self.put(some, replace=replace))
                named = batch.unreadable
                held.count(Changed(undecoded=batch.undecoded, unreadable=len(named), named=named))
                rows += len(new)
                size += new.nbytes
                progress.advance(len(new))
                if rows >= batch_sizes.INDEX_COMMIT or size >= batch_sizes.INDEX_COMMIT_BYTES:
                    break
        return held

    def put(self, new: Entries, *, replace: bool) -> Changed:
        """Write documents; within `transaction`."""
        _refuse_twice(new.ids)
        there, first = self.home.numbers(new.ids), self.home.last_number() + 1
        changed = Changed(empty=int(np.count_nonzero(new.sketched.shingles == 0)))
        if there:
            same = self._same(new, there)
            others = [id for id in new.ids if id in there and id not in same]
            twice = [id for id in others if self._was_met(there[id])]
            if twice:
                raise DuplicateIdError(
                    f"the id {twice[0]!r} appears twice, with different {self.kind.name}s, among the documents to be "
                    f"{'updated' if replace else 'added'}; ids must differ"
                )
            if others and not replace:
                raise DuplicateIdError(
                    f"{self.home.name}: the index holds a document with the id {others[0]!r} and another "
                    f"{self.kind.name}; replace it with twinset index update, or give this one another id"
                )
            if others:
                self._delete(np.array(sorted(there[id] for id in others), np.int64))
            for number in (there[id] for id in same if there[id] >> 3 < len(self._unchanged)):
                self._unchanged[number >> 3] |= 1 << (number & 7)
            changed.unchanged, changed.replaced = len(same), len(others)
            new = new.take([row for row, id in enumerate(new.ids) if id not in same])
        if first + len(new) - 1 > self.home.most_number:
            raise StateError(
                f"{self.home.name}: the index has given all of its {self.home.most_number} numbers; export it, and "
                "import it again: then those of removed documents are free"
            )
        if len(new):
            numbers = np.arange(first, first + len(new), dtype=np.int64)
            self.home.insert(numbers, new)
            some = new.sketched.shingles > 0
            self._bands.append((numbers[some], new.sketched.keys[some]))
        changed.added = len(new) - changed.replaced
        return changed

    def _was_met(self, number: int) -> bool:
        """Whether the call under way had this document before."""
        bits = self._unchanged[number >> 3] if number >> 3 < len(self._unchanged) else 0
        return number >= self._began or bool(bits >> (number & 7) & 1)

    def _write_bands(self) -> None:
        if self._bands:
            numbers, keys = (np.concatenate(column) for column in zip(*self._bands, strict=True))
            self._bands = []
            self.home.insert_bands(numbers, keys)

    def _same(self, new: Entries, there: dict[str, int]) -> set[str]:
        """The ids that are there with the same content."""
        places = {there[id]: row for row, id in enumerate(new.ids) if id in there}
        numbers = np.array(sorted(places), np.int64)
        if new.contents is None:
            kept = self._sketches(numbers)
            rows = [places[number] for number in kept.numbers.tolist()]
            done = new.sketched
            equal = (kept.slots == done.slots[rows]).all(axis=1) & (kept.shingles == done.shingles[rows])
            return {new.ids[row] for row, is_equal in zip(rows, equal.tolist(), strict=True) if is_equal}
        whole = unpack if new.are_texts else bytes
        same: set[str] = set()
        for first in range(0, len(numbers), batch_sizes.INDEX_DOCUMENTS):
            for one in self.home.documents(numbers[first : first + batch_sizes.INDEX_DOCUMENTS], contents=True):
                if whole(one.content or b"") == whole(new.contents[places[one.number]]):
                    same.add(one.id)
        return same

    def remove(self, ids: Sequence[str]) -> int:
        """Remove documents in one transaction."""
        wanted = list(dict.fromkeys(ids))
        with self.transaction():
            there = self.home.numbers(wanted)
            unknown = [id for id in wanted if id not in there]
            if unknown:
                more = f", nor {len(unknown) - 1} more of those named" if len(unknown) > 1 else ""
                raise UnknownIdError(
                    f"{self.home.name}: the index holds no document with the id {unknown[0]!r}{more}; "
                    "nothing was removed"
                )
            self._delete(np.array(sorted(there.values()), np.int64))
        return len(wanted)

    def _delete(self, numbers: Whole) -> None:
        self._write_bands()  # some of them may be those of the documents to be deleted
        kind = self.kind
        many = max(1, min(batch_sizes.INDEX_DOCUMENTS, batch_sizes.INDEX_DOCUMENT_BYTES // (4 * max(1, kind.slots))))
        for first in range(0, len(numbers), many):
            some = numbers[first : first + many]
            self.home.delete(some, kind.keys(self._sketches(some).slots))

    def _sketches(self, numbers: Whole) -> Kept:
        """The sketches of all of these documents."""
        kept = self.home.sketches(numbers).fitted(self.kind.slots)
        if kept.slots.shape != (len(numbers), self.kind.slots):
            raise DamagedError(
                f"{self.home.name} is damaged: a document has no sketch, or not one of this plan; nothing was changed; "
                "run twinset index verify"
            )
        return kept


def _apart(new: Entries) -> Iterator[Entries]:
    """Documents, those with an id that came before apart from it: where a batch ends must make no difference."""
    begin, seen = 0, set[str]()
    for row, id in enumerate(new.ids):
        if id in seen:
            yield new.take(range(begin, row))
            begin, seen = row, set()
        seen.add(id)
    yield new.take(range(begin, len(new))) if begin else new


def _committed(done: Changed) -> str:
    """What a call that was stopped has done for good."""
    count = done.added + done.replaced + done.unchanged
    if not count:
        return "none of these documents was committed yet, and the same command again begins anew"
    number = f"{counted(count, 'document')} {'is' if count == 1 else 'are'}"
    return f"{number} committed and stay{'s' if count == 1 else ''}, and the same command again goes on from there"


def _refuse_twice(ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(id for id in ids if id in seen or seen.add(id))  # type: ignore[func-returns-value]
        raise DuplicateIdError(f"the id {twice!r} appears twice among the documents to be added; ids must differ")
