"""Turn errors of SQLite into those of Twinset, with the name of the index and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from twinset.errors import BusyError, DamagedError, OutputError, StateError
from twinset.index.sqlite import tables

_BAD_READS = {apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS}


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn errors inside the block into those of Twinset; `name` is the index."""
    try:
        yield
    except apsw.ConnectionClosedError as error:
        raise StateError(f"{name}: the index was closed; open it again") from error
    except apsw.BusyError as error:
        raise BusyError(f"{name}: another program holds the file: {error}; try again when it is done") from error
    except apsw.FullError as error:
        raise OutputError(f"{name}: no space is left on the disk; what was committed before is safe") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise DamagedError(f"{name} is damaged, or not an index: {error}; {tables.RESTORE}") from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) in _BAD_READS:
            raise DamagedError(f"{name} is damaged: the checksum of a page is wrong; {tables.RESTORE}") from error
        raise OutputError(f"{name}: reading or writing failed: {error}; what was committed before is safe") from error
    except apsw.ReadOnlyError as error:
        raise OutputError(f"{name} cannot be written to: {error}") from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        folder = os.path.dirname(os.path.abspath(name))
        raise StateError(f"{name} cannot be opened: {error}; check the permissions of files in {folder}") from error
    except apsw.Error as error:
        raise DamagedError(f"{name} cannot be used: {error}") from error
