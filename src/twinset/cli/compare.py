"""``twinset compare``: two documents, exactly."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from ..errors import OptionError
from ..options import CompareOptions
from . import flags, show


@click.command("compare", cls=flags.Command)
@click.argument("files", nargs=-1, metavar="A B")
@click.option("--string", "strings", multiple=True, metavar="TEXT", cls=flags.Flag, help="A text; give two.")
@flags.flags_of(CompareOptions)
@flags.shown
def command(files: tuple[str, ...], strings: tuple[str, ...], as_json: bool, **values: Any) -> None:
    """Compare two files, or two strings.

    Prints the exact Jaccard similarity, the share of each that is in the other, and what their sketches alone
    would have estimated.
    """
    words = flags.given(CompareOptions, values)
    options = CompareOptions.of(**words)
    if len(files) + len(strings) != 2 or len(files) == 1:
        raise OptionError(
            f"to compare are {show.count(len(files), 'file')} and {show.count(len(strings), 'string')}; "
            "allowed are two files, or --string twice"
        )
    import twinset

    left, right = strings or (Path(files[0]), Path(files[1]))
    found = twinset.compare(left, right, **words)
    error = math.sqrt(found.similarity * (1 - found.similarity) / options.n_hashes)
    if as_json:
        show.as_json({**found.to_dict(), "standard_error": error, "options": options.to_dict()})
        return
    names = [show.shortened(name, 40) for name in files] or ["the first string", "the second string"]
    show.facts(
        [
            (f"shingles of {names[0]}", found.left_shingles),
            (f"shingles of {names[1]}", found.right_shingles),
            ("shared", found.shared),
            ("Jaccard similarity", f"{found.similarity:.6f}"),
            (f"of {names[0]} in the other", f"{found.left_in_right:.6f}"),
            (f"of {names[1]} in the other", f"{found.right_in_left:.6f}"),
            ("estimated by the sketches", f"{found.estimate:.4f} ± {error:.4f} ({options.n_hashes} hashes)"),
        ]
    )
