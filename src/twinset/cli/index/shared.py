"""Shared parts of the commands of the index."""

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
"""The name of a document of each kind; the default is a text."""
LACKING = {"items": "elements", "codes": "code", "vectors": "direction", "images": "picture"}
"""The part that an empty document lacks; the default is words."""


def loaded() -> type[twinset.Index]:
    """Load the module of the index, with a message if that takes a while."""
    run.load(lambda text: click.echo(text, err=True), READING)
    import twinset

    return twinset.Index


@contextmanager
def resumable() -> Iterator[None]:
    """Say after Ctrl-C what was committed, and how to resume."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stays = "what was committed stays; run the same command again to resume"
        raise KeyboardInterrupt(*getattr(stop, "__notes__", ())[:1] or (stays,)) from stop
