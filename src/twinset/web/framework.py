"""The web framework: the one place that imports it."""

from __future__ import annotations

from twinset.errors import MissingError

try:
    import jinja2
    import uvicorn
    from fastapi import APIRouter, FastAPI, Header, Query
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
    from pydantic import BaseModel, ConfigDict, Field, ValidationError
    from starlette.convertors import StringConvertor, register_url_convertor
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as error:
    raise MissingError(
        "pages and the HTTP service need fastapi, uvicorn, httptools and jinja2: pip install 'twinset[web]'"
    ) from error

__all__ = [
    "APIRouter",
    "ASGIApp",
    "BaseModel",
    "ClientDisconnect",
    "ConfigDict",
    "FastAPI",
    "Field",
    "HTMLResponse",
    "HTTPException",
    "Header",
    "HttpToolsProtocol",
    "Message",
    "PlainTextResponse",
    "Query",
    "Receive",
    "RedirectResponse",
    "Request",
    "RequestValidationError",
    "Response",
    "Scope",
    "Send",
    "StringConvertor",
    "ValidationError",
    "jinja2",
    "register_url_convertor",
    "uvicorn",
]
