"""What SQLite says, in the words and kinds of error that users of an index know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from twinset.errors import BusyError, DamagedError, OutputError, StateError
from twinset.index.sqlite.tables import RESTORE

_BAD_READS = {apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Say what SQLite says in our words."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StateError(f"{name}: the index was closed; open it again") from error
    except apsw.BusyError as error:
        raise BusyError(f"{name}: another program holds the file: {error}; try again when it is done") from error
    except apsw.FullError as error:
        raise OutputError(f"{name}: there is no space left on the disk; what was committed before is safe") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise DamagedError(f"{name} is damaged, or not an index: {error}; {RESTORE}") from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) in _BAD_READS:
            raise DamagedError(f"{name} is damaged: a page of it is not as it was written; {RESTORE}") from error
        raise OutputError(f"{name}: reading or writing failed: {error}; what was committed before is safe") from error
    except apsw.ReadOnlyError as error:
        raise OutputError(f"{name} cannot be written to: {error}") from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        folder = os.path.dirname(os.path.abspath(name))
        raise StateError(f"{name} cannot be opened: {error}; may files in {folder} be read and written?") from error
    except apsw.Error as error:
        raise DamagedError(f"{name} cannot be used: {error}") from error
