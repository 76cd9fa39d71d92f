"""What a form sends: fields, the place that it is about, and where to go back to."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from twinset.web.answers import Refused
from twinset.web.framework import Request, Response

_MOST_FIELDS, _MOST_NUMBER = 60, 18
NAME_COOKIE, BLIND_COOKIE = "twinset-name", "twinset-blind"
_YEAR = 365 * 86_400


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form; of fields with one name the last."""
    body = await request.body()
    return parse_fields(body.decode("utf-8", "replace"))


def parse_fields(text: str) -> dict[str, str]:
    """Parse ``name=value&…``.

    Examples
    --------
    >>> parse_fields("a=1&b=two+words&a=3")
    {'a': '3', 'b': 'two words'}
    """
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise Refused(400, "form", f"the form has more than {_MOST_FIELDS} fields") from error


def whole(fields: Mapping[str, str], name: str) -> int:
    """Return a field that is a whole number."""
    text = fields.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_NUMBER):
        raise Refused(422, "form", f"{name} is {text[:40]!r}; allowed: a whole number")
    return int(text)


def local(path: str) -> str:
    """Return a path of this server; any other address becomes its first page.

    Examples
    --------
    >>> local("/clusters/3?q=a"), local("//evil.example/"), local("https://evil.example/")
    ('/clusters/3?q=a', '/', '/')
    """
    plain = path.isprintable() and "\\" not in path and path.startswith("/") and not path.startswith("//")
    return path if plain and not urlsplit(path).netloc else "/"


def name_of(request: Request, default: str) -> str:
    """Return the name that this browser has stored."""
    return unquote(request.cookies.get(NAME_COOKIE, "")).strip() or default


def keep_name(answer: Response, name: str) -> None:
    """Store a name in the browser."""
    _set(answer, NAME_COOKIE, quote(name, safe=""))


def keep_blind(answer: Response, blind: bool) -> None:
    """Store whether scores are hidden."""
    _set(answer, BLIND_COOKIE, "1" if blind else "0")


def _set(answer: Response, name: str, value: str) -> None:
    answer.set_cookie(name, value, max_age=_YEAR, path="/", httponly=True, samesite="strict")
