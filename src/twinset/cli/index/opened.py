"""What the commands of the index have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from .. import running

if TYPE_CHECKING:
    import twinset

READING = "indexing"
"""The module that the commands load."""


def loaded() -> type[twinset.Index]:
    """Load what does the work, and say so where that takes a while."""
    running.load(lambda text: click.echo(text, err=True), READING)
    import twinset

    return twinset.Index


@contextmanager
def goes_on() -> Iterator[None]:
    """Say after Ctrl-C that what was committed stays."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt("what was committed stays, and the same command again goes on from there") from stop
