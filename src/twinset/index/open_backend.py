"""Which home a path or URL names."""

from __future__ import annotations

import os

from twinset.errors import OptionError
from twinset.index.backend import Home

_POSTGRES = ("postgresql://", "postgres://")


def open_home(where: str | os.PathLike[str], *, read_only: bool) -> Home:
    """Open the home that is at a path or URL."""
    name = _named(where)
    if name.startswith(_POSTGRES):
        from twinset.index.postgres.backend import PostgresHome

        return PostgresHome(name, read_only=read_only)
    from twinset.index.sqlite.backend import SqliteHome

    return SqliteHome(name, read_only=read_only)


def create_home(where: str | os.PathLike[str], settings: dict[str, str]) -> Home:
    """Make a home at a path or URL, with these settings and nothing else."""
    name = _named(where)
    if name.startswith(_POSTGRES):
        from twinset.index.postgres.backend import PostgresHome

        return PostgresHome.create(name, settings)
    from twinset.index.sqlite.backend import SqliteHome

    return SqliteHome.create(name, settings)


def _named(where: str | os.PathLike[str]) -> str:
    name = os.fspath(where)
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not name or "\0" in name:
        raise OptionError(f"an index is named by a path or a URL, not by {name!r}")
    if "://" in name and not name.startswith(_POSTGRES):
        kind = name.partition("://")[0]  # what follows may hold a password
        raise OptionError(f"{kind}://…: an index lives in a file or at postgresql://…; there is no other address")
    return name
