"""The events of the log: verdicts, notes, undo and redo, and the pairs of a sample.

Events are never changed or removed. The present state follows from all of them (`present.py`).
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from twinset.errors import OptionError
from twinset.options.checks import shown_value
from twinset.schema import DIGEST_BYTES

__all__ = ["DOCUMENT_KINDS", "PAIR_KINDS", "Content", "Event", "Subject", "subject_of"]

PAIR_KINDS = ("duplicate", "different", "unsure")
"""The verdicts on a pair of contents."""
DOCUMENT_KINDS = ("principal",)
"""The verdicts on one content."""
UNDECIDED, NOTE, UNDO, REDO, SAMPLE, SAMPLED = "undecided", "note", "undo", "redo", "sample", "sampled"
KINDS = (*PAIR_KINDS, *DOCUMENT_KINDS, UNDECIDED, NOTE, UNDO, REDO, SAMPLE, SAMPLED)
"""All kinds of events. ``undecided`` withdraws a verdict, ``note`` changes the note on one, ``sample`` describes a
sample, and ``sampled`` is a pair of it."""
MOST_NAME, MOST_NOTE, MOST_ID = 200, 10_000, 100_000


class Content(NamedTuple):
    """A content that is judged: its digest of 16 bytes, and the id of a document that has it, as it was shown."""

    digest: bytes
    id: str


Subject: TypeAlias = tuple[bytes, bytes]
"""What a verdict is on: two digests, the smaller first; for one content its digest and empty bytes."""


def subject_of(left: bytes, right: bytes = b"") -> Subject:
    """Return what a verdict on these contents is on.

    Examples
    --------
    >>> subject_of(b"b", b"a"), subject_of(b"b")
    ((b'a', b'b'), (b'b', b''))
    """
    return (right, left) if right and right < left else (left, right)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the log.

    `mark` is its name in every copy of the log. `step` is the mark of the first event of the same action, which is
    undone as a whole. `of` is the step that an ``undo`` or ``redo`` is about. `time` is in microseconds since 1970, in
    UTC, and grows from event to event. `basis` says how contents were compared. `data` has the numbers of a sample, as
    JSON. `number` is the place in this file.
    """

    mark: str
    step: str
    time: int
    who: str
    kind: str
    left: bytes
    right: bytes
    left_id: str
    right_id: str
    note: str
    of: str
    basis: str
    data: str
    number: int = 0

    @property
    def order(self) -> tuple[int, str]:
        """The place in the order of events, the same in every copy of the log."""
        return self.time, self.mark

    @property
    def subject(self) -> Subject:
        """What the event is on."""
        return subject_of(self.left, self.right)

    @property
    def contents(self) -> tuple[Content, Content | None]:
        """The contents, as they were shown."""
        return Content(self.left, self.left_id), Content(self.right, self.right_id) if self.right else None

    def numbered(self, number: int) -> Event:
        """Return the event with its place in the file."""
        return replace(self, number=number)

    def check(self, before: bytes) -> bytes:
        """Return the check value of the event and of all before it: 8 bytes."""
        texts = (self.mark, self.step, str(self.time), self.who, self.kind, self.left_id, self.right_id, self.note,
                 self.of, self.basis, self.data)  # fmt: skip
        parts = [before, self.left, self.right, *(text.encode() for text in texts)]
        lengths = struct.pack("<14I", *map(len, parts))
        return hashlib.blake2b(lengths + b"".join(parts), digest_size=8).digest()


def check_content(content: Content) -> Content:
    """Refuse a digest that is none; return the content with an id that can be stored."""
    if not isinstance(content.digest, bytes) or len(content.digest) != DIGEST_BYTES:
        raise OptionError(f"a digest is {shown_value(content.digest)}; allowed: {DIGEST_BYTES} bytes")
    text = content.id.encode("utf-8", "backslashreplace").decode()
    return Content(content.digest, text[:MOST_ID])


def check_name(who: str) -> str:
    """Refuse a name that cannot be shown."""
    if not isinstance(who, str) or not who.strip() or len(who) > MOST_NAME or not who.isprintable():
        raise OptionError(
            f"the name of the person is {shown_value(who)}; allowed: 1 to {MOST_NAME} characters that can be printed"
        )
    return who.strip()


def check_note(note: str) -> str:
    """Refuse a note that cannot be stored."""
    fits = isinstance(note, str) and len(note) <= MOST_NOTE and "\0" not in note
    if not fits or any("\ud800" <= letter <= "\udfff" for letter in note):
        raise OptionError(
            f"a note is {shown_value(note)}; allowed: up to {MOST_NOTE:,} characters, without NUL and unpaired "
            "surrogates"
        )
    return note
