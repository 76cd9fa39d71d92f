"""``twinset compare``: two documents, exactly."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options import CompareOptions

_DIGITS = 6  # two texts that are looked at alone are looked at closely


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
    left, right = strings or [text_of(name, options.encoding) for name in files]
    import twinset

    run.load(lambda text: click.echo(text, err=True), "jobs.compare")
    found = twinset.compare(left, right, **words)
    if as_json:
        show.as_json({**found.to_dict(), "options": options.to_dict()})
        return
    hashes = show.count(options.n_hashes, "hash", "hashes")
    estimate = f"{show.share(found.estimate)} ± {found.standard_error:.4f} ({hashes})"
    names = [show.shortened(name, 40) for name in files] or ["the first string", "the second string"]
    show.facts(
        [
            (f"shingles of {names[0]}", found.left_shingles),
            (f"shingles of {names[1]}", found.right_shingles),
            ("shared", found.shared),
            ("Jaccard similarity", show.share(found.similarity, _DIGITS)),
            (f"of {names[0]} in the other", show.share(found.left_in_right, _DIGITS)),
            (f"of {names[1]} in the other", show.share(found.right_in_left, _DIGITS)),
            ("estimated by the sketches", estimate),
        ]
    )


def text_of(name: str, encoding: str) -> str:
    """Read a file as one text, as every run would."""
    from twinset.jobs.compare import text_of_file  # with it comes what reads files, for which --help need not wait

    return text_of_file(name, encoding)
