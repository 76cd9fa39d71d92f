"""The log beside a SQLite file (`-wal`), and a note of how far it reaches.

SQLite takes a log for whole up to its first damaged frame: what was committed behind that would be gone without a
word, or half of it, if it had begun to be moved to the file. Every commit is therefore noted in the lock file, and
opening holds the log against the note. The note says only what is on the disk already, so it need not be durable
itself, but for one case: before a log is emptied.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from dataclasses import dataclass

import apsw

from twinset.errors import DamagedError
from twinset.index.locking import WriterLock

_HEAD, _FRAME_HEAD = 32, 24
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_LOOKS, _PAUSE = 4, 0.025
"""A log that others work with is looked at again before it is called damaged: it changes faster than its note."""


@dataclass(frozen=True)
class Note:
    """How far a log reaches: its salts, which every emptied log has anew, and its frames.

    `moved` says that all of them stand in the file too.
    """

    salts: bytes
    frames: int
    moved: bool

    def to_bytes(self) -> bytes:
        """As a line of the lock file."""
        said = f"log {self.salts.hex()} {self.frames} {'moved' if self.moved else 'needed'}"
        return f"{said} {zlib.crc32(said.encode()):08x}\n".encode()

    @classmethod
    def from_bytes(cls, line: bytes) -> Note | None:
        """The note that was written; nothing if there is none, or not the whole of one."""
        said, _, check = line.partition(b"\n")[0].rpartition(b" ")
        if not said.startswith(b"log ") or check != f"{zlib.crc32(said):08x}".encode():
            return None
        _, salts, frames, state = said.split(b" ")
        return cls(bytes.fromhex(salts.decode()), int(frames), state == b"moved")


class Log:
    """The log of one file, as one connection sees it."""

    def __init__(self, name: str, lock: WriterLock) -> None:
        self.name, self.path = name, name + "-wal"
        self._lock = lock
        self._committed = 0

    def follow(self, db: apsw.Connection) -> None:
        """Hear of every commit of a connection, and leave the log in place when it is closed."""
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.set_wal_hook(self._hear)

    def _hear(self, db: apsw.Connection, database: str, frames: int) -> int:
        self._committed = frames
        return apsw.SQLITE_OK

    def note_commit(self) -> None:
        """Note what was just committed; within the lock."""
        if self._committed:
            self._lock.note(Note(self._head()[16:24], self._committed, False).to_bytes())

    def move(self, db: apsw.Connection, *, durably: bool = False) -> bool:
        """Move the log to the file, as far as readers allow; tells whether that is all of it. Within the lock."""
        self._committed = 0
        frames, moved = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if frames != moved:
            return False
        if frames > 0:
            self._lock.note(Note(self._head()[16:24], frames, True).to_bytes(), durably=durably)
        return True

    def empty(self, db: apsw.Connection) -> bool:
        """Move the log to the file and empty it, unless it is read from; within the lock."""
        if not self.move(db, durably=True):
            return False
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:  # whoever reads now, or writes next, will do it
            return False
        return True

    def is_empty(self) -> bool:
        """Whether there is no log, or nothing in it."""
        return not self._head()

    def check(self, db: apsw.Connection) -> None:
        """Raise `DamagedError` where the log does not reach as far as was noted."""
        for look in range(_LOOKS):
            if look:
                time.sleep(_PAUSE)
            note = Note.from_bytes(self._lock.noted())
            head = self._head()
            if not (wrong := self._wrong(db, note, head)):
                return
        if note and note.moved:
            advice = "all of it is in the index itself: when no program uses the index, remove the log, and open again"
        else:
            advice = (
                f"documents that were added or removed last may be lost: take a back-up; to go on with what there is, "
                f"remove it and {self._lock.path}, and run twinset index verify"
            )
        raise DamagedError(f"{self.path}, the log of the index, {wrong}; {advice}")

    def _wrong(self, db: apsw.Connection, note: Note | None, head: bytes) -> str:
        needed = note is not None and not note.moved
        if not head.strip(b"\0"):
            return "is not there, or empty, and is needed" if needed else ""
        if not _whole_head(head):
            return "is damaged at its start" if needed or note is None else ""
        if note is None or head[16:24] != note.salts:
            return ""
        frames = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
        if frames >= note.frames or (note.moved and frames <= 0) or self._reaches(note.frames):
            return ""
        return f"is damaged: {frames} of its {note.frames} frames can be used"

    def _head(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                found = file.read(_HEAD)
        except FileNotFoundError:
            return b""
        return found if len(found) == _HEAD else b""

    def _reaches(self, frames: int) -> bool:
        """Whether so many frames are whole: what SQLite looks at when it opens a log that nobody uses."""
        with open(self.path, "rb") as file:
            head = file.read(_HEAD)
            order = _MAGIC[int.from_bytes(head[:4], "big")]
            sums = _sums(head[:24], (0, 0), order)
            size = _FRAME_HEAD + int.from_bytes(head[8:12], "big")
            for _ in range(frames):
                frame = file.read(size)
                if len(frame) < size or frame[8:16] != head[16:24]:
                    return False
                sums = _sums(frame[:8] + frame[_FRAME_HEAD:], sums, order)
                if frame[16:24] != struct.pack(">II", *sums):
                    return False
        return True


def _whole_head(head: bytes) -> bool:
    order = _MAGIC.get(int.from_bytes(head[:4], "big"))
    return order is not None and head[24:32] == struct.pack(">II", *_sums(head[:24], (0, 0), order))


def _sums(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """SQLite's sums over a log, continued."""
    first, second = before
    for even, odd in struct.iter_unpack(f"{order}II", data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
