"""``twinset review``: decide on clusters and pairs in a browser."""

from __future__ import annotations

from typing import Any

import click

from twinset.cli.support import flags, run
from twinset.options.web.review import ReviewOptions


@click.command("review", cls=flags.Command, short_help="Decide on clusters and pairs in a browser.")
@click.argument("folder", metavar="OUT")
@flags.flags_of(ReviewOptions)
def command(folder: str, **values: Any) -> None:
    """Open a page to look at clusters and pairs, and to decide which are duplicates.

    OUT is the result of dedup, recut, pairs (a folder) or passages, or the file of rows beside it. Verdicts are stored
    at once in OUT.verdicts, tied to contents: recut and dedup obey them with --verdicts. The page is offered on this
    machine only, unless --host says otherwise, and needs the token that is in the printed URL. Ctrl-C ends the server.
    """
    options = ReviewOptions.of(**flags.given(ReviewOptions, values))
    with run.watched(False, "web.review.run") as progress:
        from twinset.web.review.run import review_result

        review_result(folder, options, progress, announce=lambda url: click.echo(f"review: {url}"))
