"""Answers that refuse a request: one line of JSON, or a small page for a browser."""

from __future__ import annotations

import re
from html import escape

import orjson

from twinset import __version__
from twinset.errors import (
    BusyError,
    DuplicateIdError,
    MissingError,
    OptionError,
    OutputError,
    SourceError,
    StateError,
    TwinsetError,
    UnknownIdError,
)
from twinset.web.faults import describe_fault, name_fields
from twinset.web.framework import (
    ClientDisconnect,
    FastAPI,
    HTTPException,
    Request,
    RequestValidationError,
    Response,
    Scope,
)

_STATUS: tuple[tuple[type[TwinsetError], int], ...] = (
    (UnknownIdError, 404),
    (DuplicateIdError, 409),
    (OptionError, 422),
    (SourceError, 422),
    (BusyError, 503),
    (OutputError, 503),
    (StateError, 503),
    (MissingError, 503),
)
"""The status of each error; the first that fits."""

_PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    "<meta name=color-scheme content='light dark'><title>Twinset</title><main>"
)
"""The beginning of a page that refuses: without a style sheet, which a client without a token may not read."""


class Refused(Exception):
    """A request that is refused: the status, a code for programs, and a message of one line."""

    def __init__(
        self, status: int, code: str, message: str, *, close: bool = False, after: int | None = None, **facts: object
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.facts = status, code, message, facts
        self.headers: dict[str, str] = {"connection": "close"} if close else {}
        if after is not None:
            self.headers["retry-after"] = str(after)

    @classmethod
    def of(cls, error: TwinsetError) -> Refused:
        """Return the refusal for an error of the library.

        Examples
        --------
        >>> refused = Refused.of(UnknownIdError("the index holds no document with the id 'x'"))
        >>> refused.status, refused.code
        (404, 'unknown_id')
        """
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
        name = type(error).__name__.removesuffix("Error")
        return cls(status, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(), name_fields(" ".join(str(error).split())))


def refusal(scope: Scope, refused: Refused, extra: dict[str, str] | None = None) -> Response:
    """Return the answer: JSON for programs, a page for a browser."""
    headers = {**refused.headers, **(extra or {})}
    if wants_page(scope):
        back = "<p><a href=/>To the start</a></p>" if refused.status == 404 else ""
        page = f"{_PAGE}<h1>{refused.status}: {escape(refused.message)}</h1>{back}</main>"
        return Response(page, refused.status, headers, "text/html; charset=utf-8")
    body = orjson.dumps({"error": {"code": refused.code, "message": refused.message, **refused.facts}})
    return Response(body, refused.status, headers, "application/json")


def wants_page(scope: Scope) -> bool:
    """Whether the client asks for a page, as browsers do."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def new_app(title: str, description: str) -> FastAPI:
    """Make an application without the framework's own pages, which load scripts from elsewhere, and with our errors."""
    app = FastAPI(
        title=title, version=__version__, description=description, docs_url=None, redoc_url=None, openapi_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )  # fmt: skip

    async def refused(request: Request, error: Exception) -> Response:
        await request.scope["state"]["body"].discard()
        return refusal(request.scope, _as_refused(error, request.scope["state"]["request_id"]))

    for kind in (Refused, TwinsetError, HTTPException, RequestValidationError, ClientDisconnect, Exception):
        app.add_exception_handler(kind, refused)
    return app


def _as_refused(error: Exception, request_id: str) -> Refused:
    """Return the refusal for an error of the application or of the framework."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, TwinsetError):
        return Refused.of(error)
    if isinstance(error, ClientDisconnect):
        return Refused(400, "disconnected", "the client has gone before it had sent its request")
    if isinstance(error, HTTPException):
        if isinstance(error.__cause__, Refused):  # while the framework read the body
            return error.__cause__
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
        refused = Refused(error.status_code, code, str(error.detail))
        refused.headers |= dict(error.headers or {})
        return refused
    if isinstance(error, RequestValidationError):
        [first, *_] = error.errors()
        if first["type"] == "json_invalid":
            return Refused(422, "json", f"the body is not JSON: {first.get('ctx', {}).get('error', 'it is damaged')}")
        return Refused(422, "option", describe_fault({**first, "loc": first["loc"][1:] or first["loc"]}))
    return Refused(500, "internal", f"internal error; the log of the server has it: {request_id}")
