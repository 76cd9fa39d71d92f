"""A server of the review page, to be killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from twinset.engines.progress import Silent
from twinset.options.web.review import ReviewOptions
from twinset.web.review.run import opened_review
from twinset.web.serving import bind, serve
from twinset.web.tokens import Token, Tokens


def serve_review(say: Callable[[str], object], folder: str, verdicts: str, token: str) -> None:
    """Serve the review of a result, and say where."""
    tokens, options = Tokens([Token(token)]), ReviewOptions.of(verdicts=verdicts)
    with bind() as listening, opened_review(Path(folder), options, Silent(), tokens) as guard:
        serve(guard, listening, f"http://127.0.0.1:{listening.getsockname()[1]}", announce=say)
