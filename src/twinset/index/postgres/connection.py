"""Connect to a PostgreSQL server: the URL of an index, the settings of a connection, and the errors of the server."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from twinset.errors import BusyError, DamagedError, MissingError, OptionError, OutputError, StateError

try:
    import psycopg
    from psycopg import errors, sql
except ImportError as error:
    raise MissingError.of("psycopg[binary]", extra="postgres") from error

__all__ = ["connected", "parsed_url", "psycopg", "sql", "translate_errors"]

SCHEMA = "twinset"


def parsed_url(url: str) -> tuple[str, str, str]:
    """Return the URL for psycopg, the schema, and the name for messages, without user and password."""
    try:
        parts = urlsplit(url)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
        shown_at = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError as error:
        raise OptionError(f"the URL of the index is not valid: {error}") from error
    schema = dict(parameters).get("schema", SCHEMA)
    if not schema or "\0" in schema or len(schema.encode()) > 63 or schema.startswith(("pg_", "$user")):
        raise OptionError(
            f"schema is {schema!r}; allowed: a name of 1 to 63 bytes that does not begin with pg_ or $user, which "
            "PostgreSQL reserves"
        )
    rest = urlencode([(name, value) for name, value in parameters if name != "schema"], quote_via=quote)
    # Not by urlunsplit, which drops the slashes of a URL without a host: libpq takes that from the environment.
    address = f"{parts.scheme}://{parts.netloc}{parts.path}{f'?{rest}' if rest else ''}"
    return address, schema, f"postgresql://{shown_at}{parts.path}?schema={quote(schema)}"


def connected(address: str) -> psycopg.Connection[Any]:
    """Connect to a server, with durable commits."""
    label = f"twinset, process {os.getpid()} on {socket.gethostname()}"[:63]
    db = psycopg.connect(address, autocommit=True, application_name=label, client_encoding="utf8")
    db.execute("SET synchronous_commit = on")  # durable commits, whatever the default of the server
    db.execute("SET enable_seqscan = off")  # new tables have no statistics, and every look-up has an index
    db.execute("SET jit = off")  # all statements are short
    # The lock of a killed writer is released within a second, even during a statement (PostgreSQL 14 or later).
    db.execute(
        "SELECT set_config(name, '1s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'"
    )
    return db


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into those of Twinset."""
    try:
        yield
    except (errors.DiskFull, errors.OutOfMemory) as error:
        raise OutputError(f"{name}: {_first(error)}; what was committed before is safe") from error
    except (errors.DataCorrupted, errors.IndexCorrupted) as error:
        raise DamagedError(f"{name} is damaged: {_first(error)}; restore a backup") from error
    except errors.ReadOnlySqlTransaction as error:
        raise OutputError(f"{name} cannot be written to: {_first(error)}") from error
    except errors.InsufficientPrivilege as error:
        raise OutputError(f"{name}: permission denied: {_first(error)}") from error
    except (errors.LockNotAvailable, errors.DependentObjectsStillExist) as error:  # readers of old formats
        raise BusyError(f"{name}: another program uses the tables: {_first(error)}; try again later") from error
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.DuplicateTable, errors.DuplicateSchema) as error:
        raise StateError(f"{name}: {_first(error)}; another process is creating or changing these tables") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise StateError(f"{name}: the server cannot be reached: {_first(error)}") from error
    except psycopg.Error as error:
        raise DamagedError(f"{name} cannot be used: {_first(error)}") from error


def _first(error: Exception) -> str:
    """Return the first line of a message: psycopg appends the statement."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
