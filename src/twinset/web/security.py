"""The guard in front of an application: names, tokens, limits, safe headers, errors and the log, in this order.

No request reaches the application unless it names this server, has the token that it needs, and is within the limits.
What the application raises becomes an answer of one line, without a traceback.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from urllib.parse import parse_qsl, urlencode

from twinset.errors import TwinsetError
from twinset.web.answers import Refused, refusal, wants_page
from twinset.web.framework import ASGIApp, ClientDisconnect, Message, Receive, Scope, Send
from twinset.web.limits import BoundedBody, RequestLimits, Usage, slow, too_large
from twinset.web.log import RequestLog
from twinset.web.origins import Origins
from twinset.web.tokens import OPEN, READ, WRITE, Token, Tokens

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})


def reads_or_writes(method: str, path: str) -> str:
    """Return the right that a request needs, unless an application knows better: reading, or writing."""
    return READ if method in _BODILESS else WRITE


def no_stream(method: str, path: str, content_type: bytes) -> bool:
    """Whether a request is a stream of lines, which an application limits itself."""
    return False


@dataclass(frozen=True)
class Access:
    """Which requests an application lets in, and how."""

    needs: Callable[[str, str], str] = reads_or_writes
    streams: Callable[[str, str, bytes], bool] = no_stream
    cookie: str = "twinset"
    """The name of the cookie, before the port."""

    def cookie_at(self, scope: Scope) -> str:
        """Return the name of the cookie: browsers send a cookie to every port of a machine, so each has its own."""
        return f"{self.cookie}-{(scope.get('server') or ('', 0))[1]}"


class Guard:
    """An application behind the checks; the ASGI application that a server runs."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, origins: Origins, limits: RequestLimits, access: Access, log: RequestLog
    ) -> None:
        self._app, self._tokens, self._origins, self._access, self.log = app, tokens, origins, access, log
        self.usage = Usage(limits)
        self._secret, self._count = secrets.token_bytes(32), count()

    def _unique(self) -> str:
        """Return 48 digits that nobody can foresee, without the system call that a random number needs."""
        number = next(self._count).to_bytes(8, "big")
        return hashlib.blake2b(number, key=self._secret, digest_size=24).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(reversed(scope["headers"]))  # of repeated ones the first counts, as for the framework
        state = scope.setdefault("state", {})
        given = headers.get(b"x-request-id", b"")
        unique = self._unique()
        state["request_id"] = given.decode() if _ID.fullmatch(given) else unique[:16]
        state["nonce"] = unique[16:]
        has_body = _length(headers) > 0 or b"transfer-encoding" in headers
        body = state["body"] = BoundedBody(receive, self.usage, is_sent=has_body, waits=b"expect" in headers)
        answer = _Answer(scope, send, self.usage, body)
        began, problem = time.perf_counter(), ""
        try:
            await self._let_in(scope, headers, body, answer)
        except Refused as refused:
            await body.discard()
            await answer.refuse(refused)
            problem = refused.code
        except ClientDisconnect:
            problem = "disconnected"
        except TwinsetError as error:
            await answer.refuse(Refused.of(error))
            problem = type(error).__name__
        except Exception as error:
            self.log.failure(state["request_id"], error)
            await answer.refuse(
                Refused(500, "internal", f"internal error; the log of the server has it: {state['request_id']}")
            )
            problem = type(error).__name__
        finally:
            self.log.request(scope, answer.status, time.perf_counter() - began, answer.size, problem)

    async def _let_in(self, scope: Scope, headers: dict[bytes, bytes], body: BoundedBody, answer: _Answer) -> None:
        if sum(name == b"host" for name, _ in scope["headers"]) != 1:
            raise Refused(400, "host", "a request must name one host", close=True)
        need = self._access.needs(scope["method"], scope["path"])
        token, by_cookie = self._token(scope, headers)
        self._origins.check(scope, headers, by_cookie=by_cookie)
        asks = need != OPEN and scope["method"] == "GET" and b"token=" in scope["query_string"]
        if asks and await self._exchange(scope, answer):
            return
        if need != OPEN and token is None:
            raise Refused(401, "no_token", "a valid token is needed: Authorization: Bearer TOKEN")
        if token is not None and not token.may(need):
            raise Refused(403, "read_only_token", "this token may read, but not write")
        scope["state"]["right"] = None if token is None else token.right
        scope["state"]["user"] = "" if token is None else token.name
        streams = self._access.streams(scope["method"], scope["path"], headers.get(b"content-type", b""))
        limits = self.usage.limits
        body.most = None if streams else limits.body
        if body.most is not None and _length(headers) > body.most:
            raise too_large(body.most)
        with ExitStack() as stack:
            if need != OPEN:
                stack.enter_context(self.usage.request("" if token is None else token.secret))
            stack.callback(body.release)
            try:
                async with asyncio.timeout(None if streams else limits.seconds):
                    await self._app(scope, body, answer)
            except TimeoutError:
                if not body.is_complete and not body.is_unread:
                    raise slow() from None
                raise Refused(
                    503, "timeout", f"the request took longer than {limits.seconds:g} s", close=True, after=1
                ) from None

    def _token(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[Token | None, bool]:
        """Return the token of a request, and whether it came as a cookie."""
        scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            return self._tokens.find(secret.strip().decode("latin-1")), False
        wanted = self._access.cookie_at(scope)
        for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == wanted:
                return self._tokens.of_cookie(value), True
        return None, False

    async def _exchange(self, scope: Scope, answer: _Answer) -> bool:
        """Turn a token of the URL into a cookie, and send the browser to the URL without it."""
        fields = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in fields if name == "token"), None)
        if given is None:
            return False
        token = self._tokens.find(given)
        if token is None:
            raise Refused(401, "no_token", "the token of the URL is not valid")
        rest = urlencode([(name, value) for name, value in fields if name != "token"])
        # Relative, and never `//…`, which would lead to another site.
        where = "/" + scope["raw_path"].decode("latin-1").lstrip("/\\") + (f"?{rest}" if rest else "")
        cookie = f"{self._access.cookie_at(scope)}={token.cookie}; HttpOnly; SameSite=Strict; Path=/"
        cookie += "; Secure" if self._origins.is_encrypted else ""
        await answer.redirect(where, cookie)
        return True


class _Answer:
    """Sends an answer: adds the headers that every answer has, and remembers its status."""

    def __init__(self, scope: Scope, send: Send, usage: Usage, body: BoundedBody) -> None:
        self._scope, self._send, self._usage, self._body = scope, send, usage, body
        self.status = self.size = 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            names = {name for name, _ in headers}
            state = self._scope["state"]
            headers += [
                (name, value) for name, value in safe_headers(state["nonce"], state["request_id"]) if name not in names
            ]
            if (not self._body.is_complete or self._usage.stopping) and b"connection" not in names:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        """Send a refusal, unless an answer has begun: then the connection ends without the rest."""
        if self.status:
            return
        if refused.status == 401 and wants_page(self._scope):
            said = "a token is needed: open the URL that the server printed, or /?token=TOKEN"
            refused = Refused(401, refused.code, said)
        challenge = {"www-authenticate": "Bearer"} if refused.status == 401 else None
        await refusal(self._scope, refused, challenge)(self._scope, _nothing, self)

    async def redirect(self, where: str, cookie: str) -> None:
        """Send the browser to another URL, with a cookie."""
        headers = [(b"location", where.encode("latin-1")), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        await self({"type": "http.response.start", "status": 303, "headers": headers})
        await self({"type": "http.response.body", "body": b""})


def safe_headers(nonce: str, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of every answer: only scripts with the nonce run, and nothing is stored or framed."""
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cache-control", b"no-store"),
        (b"x-request-id", request_id.encode()),
    ]


def _length(headers: dict[bytes, bytes]) -> int:
    value = headers.get(b"content-length", b"0")
    return int(value) if value.isdigit() and len(value) < 20 else 0


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def secured(
    app: ASGIApp,
    tokens: Tokens,
    *,
    origins: Origins | None = None,
    limits: RequestLimits | None = None,
    access: Access | None = None,
    log: RequestLog | None = None,
) -> Guard:
    """Put an application behind the checks.

    Parameters
    ----------
    app
        The application. `scope["state"]` has `nonce` for its templates, `right` and `user` of the token, and
        `request_id`.
    tokens
        The tokens that are let in.
    origins
        The names of the server; by default those of this machine for itself.
    limits
        The limits of requests.
    access
        The right that each request needs, and which requests are streams.
    log
        Where requests are logged.
    """
    return Guard(app, tokens, origins or Origins(), limits or RequestLimits(), access or Access(), log or RequestLog())
