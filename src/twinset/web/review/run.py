"""Run the review of a result."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from twinset.engines.progress import Progress
from twinset.options.place import verdicts_beside
from twinset.options.web.review import ReviewOptions
from twinset.verdicts import VerdictStore
from twinset.web.limits import RequestLimits
from twinset.web.origins import Origins
from twinset.web.review.app import ReviewPages
from twinset.web.review.data import ReviewData
from twinset.web.security import Access, Guard, secured
from twinset.web.serving import bind, check_exposure, serve, url_of
from twinset.web.tokens import Tokens

_LIMITS = RequestLimits(body=1_000_000)


@contextmanager
def opened_review(folder: Any, options: ReviewOptions, progress: Progress, tokens: Tokens) -> Iterator[Guard]:
    """Open a result and its verdicts, and yield the application behind its checks; both are closed at the end.

    Parameters
    ----------
    folder
        The folder of the result, or the file of rows beside it.
    options
        The options of ``twinset review``.
    progress
        Receives what is read.
    tokens
        The tokens that are let in.
    """
    origins = Origins(options.host, options.public_url)
    data = ReviewData(folder, options.source, progress, options.scratch)
    try:
        path = options.verdicts or verdicts_beside(folder)
        with VerdictStore(path, basis=data.recorded.basis) as store:
            pages = ReviewPages(data, store, options.who or _user(), options.blind)
            access = Access(cookie="twinset-review")
            yield secured(pages.app(), tokens, origins=origins, limits=_LIMITS, access=access)
    finally:
        data.close()


def review_result(folder: Any, options: ReviewOptions, progress: Progress, *, announce: Callable[[str], None]) -> None:
    """Serve the review of a result until SIGTERM or SIGINT; `announce` receives its URL when the server answers."""
    tokens = Tokens.given(options.token, options.token_file, options.tokens)
    check_exposure(options.host, tokens)
    with bind(options.host, options.port) as listening, opened_review(folder, options, progress, tokens) as guard:
        progress.close()
        url = url_of(listening, tokens, options.public_url)
        serve(guard, listening, url, announce=announce, browser=options.browser)


def _user() -> str:
    """The name of the user who runs the program."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
