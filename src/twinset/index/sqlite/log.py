"""The log beside a SQLite file (`-wal`), and a note of what it must hold.

SQLite takes a log for whole up to its first damaged frame: what was committed behind that would be gone without a
word, or half of it, if it was being moved to the file. So every transaction counts itself in the table `settings`, and
the lock file has a note of the count, against which opening holds the index. The note says only what is on the disk
already and need not be durable itself, but for one case: before a log is emptied.
"""

from __future__ import annotations

import struct
import time
import zlib
from dataclasses import dataclass
from typing import Any

import apsw

from twinset.errors import DamagedError
from twinset.system.locks import WriterLock

CHANGES = "changes"
"""The row of `settings` that counts transactions."""
_COUNT = (
    "INSERT INTO settings VALUES (?, '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1 "
    "RETURNING CAST(value AS INTEGER)"
)
_COUNTED = "SELECT CAST(value AS INTEGER) FROM settings WHERE name = ?"
_HEAD = 32
WAIT = 10.0
"""Seconds to wait for a reader or writer that is not one of ours: locks of ours are waited for elsewhere."""
_PAUSE = 0.001
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}


@dataclass(frozen=True)
class Note:
    """How many transactions there were, and where the last of them are.

    They are in the log and `needed` there, or being `moved` to the file, or all in the file. `salts`, which every
    emptied log has anew, and `frames` say which log it is and how far it reaches.
    """

    changes: int
    state: str
    salts: bytes
    frames: int

    def to_bytes(self) -> bytes:
        """As a line of the lock file."""
        said = f"log {self.changes} {self.state} {self.salts.hex()} {self.frames}"
        return f"{said} {zlib.crc32(said.encode()):08x}\n".encode()

    @classmethod
    def from_bytes(cls, line: bytes) -> Note | None:
        """The note that was written; nothing if there is none, or not the whole of one."""
        said, _, check = line.partition(b"\n")[0].rpartition(b" ")
        words = said.split(b" ")
        if check != f"{zlib.crc32(said):08x}".encode() or len(words) != 5 or words[0] != b"log":
            return None
        return cls(int(words[1]), words[2].decode(), bytes.fromhex(words[3].decode()), int(words[4]))


class Log:
    """The log of one file, as one connection sees it."""

    def __init__(self, name: str, lock: WriterLock) -> None:
        self.name, self.path = name, name + "-wal"
        self._lock = lock

    def keep(self, db: apsw.Connection, *, kept: bool = True) -> None:
        """Have SQLite leave the log as it is when the connection is closed, or move it and remove it."""
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(kept))

    def count(self, db: apsw.Connection) -> None:
        """Count a transaction, in itself; within the lock."""
        db.execute(_COUNT, (CHANGES,)).fetchall()

    def move(self, db: apsw.Connection, *, durably: bool = False) -> bool:
        """Move the log to the file, as far as readers allow; tells whether all of it was. Within the lock."""
        frames = self.frames(db)
        if frames <= 0:
            return True
        changes, salts = self._counted(db), self._head()[16:24]
        self._lock.note(Note(changes, "moving", salts, frames).to_bytes())
        done = False
        try:
            done = len(set(db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE))) == 1
        except (apsw.FullError, apsw.BusyError):
            pass  # it is committed nevertheless; the log keeps it until there is room, and nobody else moves it
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) != apsw.SQLITE_IOERR_WRITE:
                raise
        noted = self._lock.note(
            Note(changes, "moved" if done else "needed", salts, frames).to_bytes(), durably=durably and done
        )
        return done and noted

    def empty(self, db: apsw.Connection) -> bool:
        """Move the log to the file and empty it, unless it is read from; within the lock."""
        if not self.move(db, durably=True):
            return False
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:  # whoever reads now, or writes next, will do it
            return False
        return True

    def frames(self, db: apsw.Connection) -> int:
        """How many pages the log holds, outside of a transaction.

        SQLite reads again on its own where it meets someone who is just committing, but not when it is asked for this.
        """
        until = time.monotonic() + WAIT
        while True:
            try:
                return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
            except apsw.BusyError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE)

    def is_empty(self) -> bool:
        """Whether there is no log, or nothing in it."""
        return not self._head()

    def check(self, db: apsw.Connection) -> None:
        """Raise `DamagedError` where the index lacks what was committed."""
        before = None
        while True:
            note = Note.from_bytes(self._lock.noted())
            if note is None or not (wrong := self._wrong(db, note)):
                return
            if note == before:
                break
            before = note  # an index that others work with may have changed since the note was read
        raise DamagedError(
            f"{self.path}, the log of the index, {wrong}; put a back-up in its place; to go on with what there is, "
            f"remove the log and {self._lock.path}, and run twinset index verify"
        )

    def _wrong(self, db: apsw.Connection, note: Note) -> str:
        changes, frames = self._counted(db), self.frames(db)
        # A file with all in it that has fewer without any log is another one: a back-up that was put in its place.
        if changes < note.changes and not (note.state == "moved" and frames <= 0):
            return f"is damaged or gone: {note.changes} changes of the index were committed, and {changes} are there"
        if note.state == "moving":
            head = self._head()
            if not _is_whole(head):
                return "is damaged or gone while it was being moved to the index"
            if head[16:24] == note.salts and frames < note.frames:
                return f"is damaged while it was being moved to the index: {frames} of {note.frames} frames are whole"
        return ""

    def _counted(self, db: apsw.Connection) -> int:
        found: list[Any] = db.execute(_COUNTED, (CHANGES,)).fetchall()
        return int(found[0][0]) if found else 0

    def _head(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                found = file.read(_HEAD)
        except FileNotFoundError:
            return b""
        return found if len(found) == _HEAD else b""


def _is_whole(head: bytes) -> bool:
    """Whether the start of a log has the sums that SQLite wrote with it."""
    order = _MAGIC.get(int.from_bytes(head[:4], "big"))
    if order is None:
        return False
    first = second = 0
    for even, odd in struct.iter_unpack(f"{order}II", head[:24]):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return head[24:] == struct.pack(">II", first, second)
