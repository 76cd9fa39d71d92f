"""Run the service of indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twinset.options.web import ServeOptions
from twinset.web.api.app import guarded
from twinset.web.api.service import Service
from twinset.web.limits import RequestLimits
from twinset.web.log import log_to_stderr
from twinset.web.origins import Origins
from twinset.web.serving import bind, check_exposure, serve, url_of
from twinset.web.tokens import Tokens


def serve_indexes(indexes: Sequence[str], options: ServeOptions, *, announce: Callable[[str], None]) -> None:
    """Serve indexes until SIGTERM or SIGINT.

    Parameters
    ----------
    indexes
        Paths or URLs.
    options
        The options of ``twinset serve``.
    announce
        Receives the URL when the server answers.
    """
    tokens = Tokens.given(options.token, options.token_file, options.tokens)
    check_exposure(options.host, tokens)
    origins = Origins(options.host, options.public_url)
    limits = RequestLimits(
        body=options.body,
        line=options.body,
        documents=options.documents,
        text=options.length,
        seconds=options.seconds,
        each=max(1, options.requests // 4),
        total=options.requests,
        memory=max(512_000_000, 4 * options.body),
    )
    log_to_stderr()
    with bind(options.host, options.port) as listening:
        service = Service(indexes, read_only=options.read_only)
        guard = guarded(service, tokens, origins, limits, log_texts=options.log_texts)
        serve(
            guard,
            listening,
            url_of(listening, tokens, options.public_url),
            announce=announce,
            browser=options.browser,
            ended=service.close,
        )
