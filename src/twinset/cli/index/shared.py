"""What the commands of the index have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from twinset.cli.support import run

if TYPE_CHECKING:
    import twinset

READING = "jobs.query_files"
"""The module that the commands load."""

KINDS = {"items": "set", "codes": "code", "vectors": "vector", "images": "picture"}
"""What a document of each kind is called; a text, if it is not here."""
LACKING = {"items": "element", "codes": "code", "vectors": "direction", "images": "picture"}
"""What an empty one lacks; a word, if it is not here."""


def loaded() -> type[twinset.Index]:
    """Load what does the work, and say so where that takes a while."""
    run.load(lambda text: click.echo(text, err=True), READING)
    import twinset

    return twinset.Index


@contextmanager
def goes_on() -> Iterator[None]:
    """Say after Ctrl-C what was committed, and that it stays."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stays = "what was committed stays, and the same command again goes on from there"
        raise KeyboardInterrupt(*getattr(stop, "__notes__", ())[:1] or (stays,)) from stop
