"""Detect that the log of a SQLite file (`-wal`) has lost committed transactions.

SQLite replays a log up to its first damaged frame, and opens a file whose log is missing. It reports neither, so
committed transactions would disappear silently. Each transaction therefore counts itself in the table `settings`, and a
note in the lock file has the count. Opening the index compares the two.
"""

from __future__ import annotations

import time
import zlib
from contextlib import suppress

import apsw

from twinset.errors import DamagedError
from twinset.index.backend import CHANGES
from twinset.system.locks import WriterLock

_COUNT = "INSERT INTO settings VALUES (?, '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
_COUNTED = "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM settings WHERE name = ?"
WAIT = 10.0
"""Seconds to wait for a program that holds the file without the lock of the index."""
_PAUSE = 0.001


class Log:
    """The log of one file and the note about it. Only the holder of the writer lock changes either."""

    def __init__(self, path: str, lock: WriterLock) -> None:
        self.path, self._lock = path + "-wal", lock

    def count(self, db: apsw.Connection) -> None:
        """Count a transaction, inside of it."""
        db.execute(_COUNT, (CHANGES,))

    def checkpoint(self, db: apsw.Connection) -> bool:
        """Copy the log into the file as far as readers allow; return whether it is no longer needed."""
        done = False
        self._note(db, needed=True)
        try:
            done = len(set(db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE))) == 1
        except (apsw.FullError, apsw.BusyError):
            pass  # the log keeps what was committed until there is room
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) != apsw.SQLITE_IOERR_WRITE:
                raise
        # Durable when done: SQLite may then overwrite the log, and a stale note would call it damaged.
        return self._note(db, needed=not done) and done

    def settle(self, db: apsw.Connection) -> None:
        """Finish a checkpoint that a killed writer began: the next transaction may overwrite the log."""
        if self._noted()[1]:
            self.checkpoint(db)

    def empty(self, db: apsw.Connection) -> None:
        """Copy the log into the file and truncate it, unless a reader needs it."""
        if self.checkpoint(db):
            with suppress(apsw.BusyError):  # the next writer truncates it
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def check(self, db: apsw.Connection) -> None:
        """Raise `DamagedError` where the index lacks committed transactions."""
        before = None
        while (noted := self._noted()) != before:  # another process may change the index between the two readings
            changes, frames = int(db.execute(_COUNTED, (CHANGES,)).get), self.frames(db)
            # Without a log, a smaller count means that a backup has replaced a complete file.
            if not (noted[1] and frames <= 0) and not (changes < noted[0] and (noted[1] or frames > 0)):
                return
            before = noted
        raise DamagedError(
            f"{self.path}, the log of the index, is damaged or missing: {noted[0]} changes of the index were "
            "committed, and not all of them can be read; restore a backup; to continue without the lost "
            f"changes, remove the log and {self._lock.path}, and run twinset index verify"
        )

    def frames(self, db: apsw.Connection) -> int:
        """Return the number of valid pages in the log; outside of a transaction."""
        until = time.monotonic() + WAIT
        while True:
            try:
                return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
            except apsw.BusyError:  # SQLite retries other reads that collide with a commit, but not this one
                if time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE)

    def _note(self, db: apsw.Connection, *, needed: bool) -> bool:
        changes = int(db.execute(_COUNTED, (CHANGES,)).get)
        text = f"log {changes} {'needed' if needed else 'moved'}"
        return self._lock.note(f"{text} {zlib.crc32(text.encode()):08x}\n".encode(), durably=not needed)

    def _noted(self) -> tuple[int, bool]:
        """Return the count of changes in the note, and whether the log is needed; 0 without a valid note."""
        text, _, check = self._lock.noted().rstrip(b"\n").rpartition(b" ")
        if check != f"{zlib.crc32(text):08x}".encode():
            return 0, False
        fields = text.split(b" ")
        return int(fields[1]), fields[2] != b"moved"
