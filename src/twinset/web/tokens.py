"""Tokens: who may use a server, and with which right."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from twinset.errors import OptionError

OPEN, READ, WRITE = "open", "read", "write"
"""What a request needs: nothing, a token, or a token with the right to write."""
_ALLOWED = re.compile(r"[A-Za-z0-9._~+/=-]{16,256}")
_WHAT = "16 to 256 letters, digits and . _ ~ + / = -"
_COOKIE = b"twinset cookie"


@dataclass(frozen=True)
class Token:
    """A token, its right, and a name for the log."""

    secret: str
    right: str = WRITE
    name: str = "token"

    def may(self, need: str) -> bool:
        """Whether the token has a right."""
        return need != WRITE or self.right == WRITE

    @property
    def cookie(self) -> str:
        """The value of the cookie that stands for the token; the token cannot be computed from it."""
        return hmac.new(self.secret.encode(), _COOKIE, hashlib.sha256).hexdigest()


class Tokens:
    """The tokens of a server.

    Examples
    --------
    >>> tokens = Tokens([Token("0123456789abcdef", "read", "dashboard")])
    >>> tokens.find("0123456789abcdef").name, tokens.find("0123456789abcdeX")
    ('dashboard', None)
    """

    def __init__(self, tokens: Sequence[Token], *, is_random: bool = False) -> None:
        self._tokens = tuple(tokens)
        self._digests = [(_digest(one.secret), _digest(one.cookie), one) for one in self._tokens]
        self.is_random = is_random
        """Whether the token was drawn, so that only the printed URL tells it."""

    @classmethod
    def random(cls) -> Tokens:
        """Draw one token with the right to write."""
        return cls([Token(secrets.token_urlsafe(32))], is_random=True)

    @classmethod
    def given(cls, token: str | None = None, token_file: str | None = None, tokens: str | None = None) -> Tokens:
        """Return the tokens of a token, a file with one, or a file of tokens with rights; without any, draw one."""
        named = {"--token": token, "--token-file": token_file, "--tokens": tokens}
        if len(given := [flag for flag, value in named.items() if value]) > 1:
            raise OptionError(f"{' and '.join(given)} both name tokens; leave one of them out")
        if token:
            return cls([Token(_checked(token, "the token"))])
        if token_file:
            return cls([Token(_checked("\n".join(_lines(token_file)), f"{token_file}: the token"))])
        return cls(_read(tokens)) if tokens else cls.random()

    @property
    def first(self) -> str:
        """The first token."""
        return self._tokens[0].secret

    def find(self, secret: str) -> Token | None:
        """Return the token with this secret; takes the same time for every wrong one."""
        return self._same(_digest(secret), 0)

    def of_cookie(self, value: str) -> Token | None:
        """Return the token that a cookie stands for."""
        return self._same(_digest(value), 1)

    def _same(self, digest: bytes, column: int) -> Token | None:
        found = None
        for row in self._digests:
            if hmac.compare_digest(digest, row[:2][column]):
                found = row[2]
        return found


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _checked(secret: str, where: str) -> str:
    if not _ALLOWED.fullmatch(secret):
        raise OptionError(f"{where} must be {_WHAT}; make one with: openssl rand -hex 32")
    return secret


def _lines(path: str) -> list[str]:
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{path}: the tokens cannot be read: {getattr(error, 'strerror', None) or error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _read(path: str) -> list[Token]:
    """Read a file with a line for each token: its right, the token, and optionally a name."""
    found: list[Token] = []
    for number, line in enumerate(_lines(path), 1):
        right, secret, name = (*line.split(maxsplit=2), "", "")[:3]
        if right not in (READ, WRITE):
            raise OptionError(f"{path}, token {number}: write the right (read or write), the token and a name")
        found.append(Token(_checked(secret, f"{path}, token {number}: the token"), right, name or f"token {number}"))
    if not found:
        raise OptionError(f"{path}: there is no token in the file")
    if len({one.secret for one in found}) < len(found):
        raise OptionError(f"{path}: a token appears twice; give each user another one")
    return found
