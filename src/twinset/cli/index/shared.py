"""Shared parts of the commands of the index."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from twinset.cli.support import run
from twinset.errors import OptionError, StateError

if TYPE_CHECKING:
    import twinset

READING = "jobs.query_files"
"""The module that the commands load."""

KINDS = {
    "records": "record", "items": "set", "weighted": "set", "codes": "code", "vectors": "vector", "images": "picture",
}  # fmt: skip
"""The name of a document of each kind; the default is a text."""
LACKING = {
    "items": "elements", "weighted": "elements", "codes": "code", "vectors": "direction", "images": "picture",
}  # fmt: skip
"""The part that an empty document lacks; the default is words."""

NO_LAYOUTS = "made without colour layouts; for the nearest by them, make a new index and add the pictures again"
"""What an index of pictures of an older format lacks, and what to do. Hashes cannot be converted."""

_MAGIC = b"SQLite format 3\0"


def loaded() -> type[twinset.Index]:
    """Load the module of the index, with a message if that takes a while."""
    run.load(lambda text: click.echo(text, err=True), READING)
    import twinset

    return twinset.Index


@contextmanager
def notice_swapped(index: str, sources: Sequence[str]) -> Iterator[None]:
    """Say that the first argument must be the index, if another one is."""
    try:
        yield
    except StateError as error:
        found = next((source for source in sources if _is_database(source)), None)
        if found is None or _is_database(index):
            raise
        command, words = click.get_current_context().command_path, map(shlex.quote, (found, index))
        raise OptionError(
            f"{index} is not an index, but {found} is; INDEX comes first: {command} {' '.join(words)}"
        ) from error


def _is_database(name: str) -> bool:
    """Whether a file begins as those of SQLite do."""
    try:
        with open(name, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


@contextmanager
def resumable() -> Iterator[None]:
    """Say after Ctrl-C what was committed, and how to resume."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stays = "what was committed stays; run the same command again to resume"
        raise KeyboardInterrupt(*getattr(stop, "__notes__", ())[:1] or (stays,)) from stop
