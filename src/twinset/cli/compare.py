"""``twinset compare``: compare two documents exactly."""

from __future__ import annotations

import os
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OptionError, SourceError
from twinset.options import CompareOptions
from twinset.plan.shingle_length import short_note

_DIGITS = 6  # more than in tables of many pairs


@click.command("compare", cls=flags.Command)
@click.argument("files", nargs=-1, metavar="A B")
@click.option("--string", "strings", multiple=True, metavar="TEXT", cls=flags.Flag, help="A text; give two.")
@flags.flags_of(CompareOptions)
@flags.shown
def command(files: tuple[str, ...], strings: tuple[str, ...], as_json: bool, **values: Any) -> None:
    """Compare two files, or two strings.

    Prints the exact Jaccard similarity, the containment of each in the other, the estimate from their sketches, the
    cosine of the counts of shingles, and the edit similarity of characters and of words.
    """
    given = flags.given(CompareOptions, values)
    options = CompareOptions.of(**given)
    if len(files) + len(strings) != 2 or len(files) == 1:
        raise OptionError(
            f"{show.count(len(files), 'file')} and {show.count(len(strings), 'string')} to compare; "
            "allowed: two files, or --string twice"
        )
    left, right = strings or [text_of(name, options.encoding, html=options.html) for name in files]
    if files:
        given.pop("html", None)  # they are texts now
    import twinset

    run.load(lambda text: click.echo(text, err=True), "jobs.compare")
    comparison = twinset.compare(left, right, **given)
    if as_json:
        show.as_json({**comparison.to_dict(), "options": options.to_dict()})
        return
    hashes = show.count(options.n_hashes, "hash", "hashes")
    estimate = f"{show.share(comparison.estimate)} ± {comparison.standard_error:.4f} ({hashes})"
    names = [show.shortened(name, 40) for name in files] or ["the first string", "the second string"]
    show.facts(
        [
            (f"shingles of {names[0]}", comparison.left_shingles),
            (f"shingles of {names[1]}", comparison.right_shingles),
            ("shared", comparison.shared),
            ("Jaccard similarity", show.share(comparison.similarity, _DIGITS)),
            (f"containment of {names[0]}", show.share(comparison.left_in_right, _DIGITS)),
            (f"containment of {names[1]}", show.share(comparison.right_in_left, _DIGITS)),
            ("estimate from the sketches", estimate),
            ("cosine of the counts", show.share(comparison.cosine, _DIGITS)),
            ("edit similarity of characters", _edits(comparison.edit_similarity)),
            ("edit similarity of words", _edits(comparison.word_edit_similarity)),
        ]
    )
    if comparison.short_texts is not None:
        whose = "both texts are" if comparison.short_texts["texts"] == 2 else "one text is"
        show.say(short_note(whose, comparison.short_texts), err=True)


def _edits(similarity: float | None) -> str:
    return "the texts are too long" if similarity is None else show.share(similarity, _DIGITS)


def text_of(name: str, encoding: str, *, html: bool = False) -> str:
    """Read a file as one text, as a run does."""
    from twinset.jobs.compare import text_of_file  # imported late, so that --help is fast

    try:
        return text_of_file(name, encoding, html=html)
    except SourceError as error:
        if not os.path.exists(name):
            error.add_note("to compare texts themselves, give --string TEXT twice")
        raise
