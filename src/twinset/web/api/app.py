"""The application of `twinset serve`: all routes, behind the guard."""

from __future__ import annotations

from pathlib import Path

from twinset.web.answers import new_app
from twinset.web.api.health_routes import add_health_routes
from twinset.web.api.metrics import CountedLog
from twinset.web.api.routes import index_routes, is_stream
from twinset.web.api.service import Service
from twinset.web.api.text_routes import text_routes
from twinset.web.api.try_page import add_try_page
from twinset.web.framework import FastAPI, Receive, Scope, Send
from twinset.web.limits import RequestLimits
from twinset.web.origins import Origins
from twinset.web.pages import add_static_files
from twinset.web.security import Access, Guard, secured
from twinset.web.tokens import OPEN, READ, WRITE, Tokens

_OPEN = ("/healthz", "/readyz")
_READING = ("/compare", "/collapse", "/try")
ABOUT = (
    "Near-duplicates of texts: ask an index whether it has seen a text before, add and remove documents, compare "
    "texts, and fold a ranking. Every answer of an index names the version that it comes from."
)


def guarded(
    service: Service, tokens: Tokens, origins: Origins, limits: RequestLimits, *, log_texts: bool = False
) -> Guard:
    """Return the application of a service, behind its checks."""
    access = Access(needs=right_for, streams=_streams, cookie="twinset-serve")
    log = CountedLog(service.metrics, texts=log_texts)
    later: list[FastAPI] = []

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        await later[0](scope, receive, send)

    guard = secured(routed, tokens, origins=origins, limits=limits, access=access, log=log)
    app = new_app("Twinset", ABOUT)
    app.include_router(index_routes(service, guard.usage))
    app.include_router(text_routes(service, limits))
    add_static_files(app, Path(__file__).parent)
    add_try_page(app, service, limits)
    add_health_routes(app, service, guard.usage)
    later.append(app)
    return guard


def right_for(method: str, path: str) -> str:
    """Return the right that a request needs.

    Examples
    --------
    >>> right_for("GET", "/healthz"), right_for("POST", "/indexes/news/query"), right_for("DELETE", "/nonsense")
    ('open', 'read', 'write')
    """
    if method in ("GET", "HEAD"):
        return OPEN if path in _OPEN else READ
    asks = path in _READING or (path.startswith("/indexes/") and path.endswith("/query") and path.count("/") == 3)
    return READ if method == "POST" and asks else WRITE


def _streams(method: str, path: str, content_type: bytes) -> bool:
    """Whether a request is a stream of documents; no other route may receive more than the limit of a body."""
    adds = method == "POST" and path.startswith("/indexes/") and path.endswith("/documents") and path.count("/") == 3
    return adds and is_stream(content_type.decode("latin-1"))
