"""The review of a result behind a real address, and a program that talks to it."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from twinset.engines.progress import Silent
from twinset.options.place import verdicts_beside
from twinset.options.web.review import ReviewOptions
from twinset.verdicts import State, VerdictStore
from twinset.web.connections import BoundedConnection
from twinset.web.framework import uvicorn
from twinset.web.review.run import opened_review
from twinset.web.serving import bind, url_of
from twinset.web.tokens import READ, WRITE, Token, Tokens

TOKEN, READER = "token-of-the-tests", "token-of-a-reader"
_PATIENCE = 60.0


class Answer(NamedTuple):
    """What a server has answered."""

    status: int
    headers: dict[str, str]
    text: str


class Review:
    """A server in a thread of this process. Use as a context."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.file = Path(options.get("verdicts") or verdicts_beside(folder))
        tokens = Tokens([Token(TOKEN, WRITE, "token"), Token(READER, READ, "Rita")], is_random=True)
        self._stack = ExitStack()
        listening = self._stack.enter_context(bind())
        guard = self._stack.enter_context(opened_review(folder, ReviewOptions.of(**options), Silent(), tokens))
        self.start = url_of(listening, tokens)
        self.root = self.start.partition("/?")[0]
        config = uvicorn.Config(
            guard, http=BoundedConnection, ws="none", lifespan="off", log_config=None, access_log=False
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        end = time.monotonic() + _PATIENCE
        while not self._server.started:
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.002)

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._stack.close()

    def url(self, path: str) -> str:
        """The address of a page, with the token."""
        return f"{self.root}{path}{'&' if '?' in path else '?'}token={TOKEN}"

    def ask(self, path: str, fields: dict[str, Any] | None = None, **more: str) -> Answer:
        """Ask for a page, or send a form."""
        return ask(self.root, path, fields, **more)

    def states(self) -> list[State]:
        """The verdicts that stand in the file, as another program sees them."""
        if not self.file.exists():
            return []
        with VerdictStore(self.file, read_only=True) as store:
            return store.states()

    def verdicts(self) -> dict[tuple[str, ...], str]:
        """The verdicts that stand, by the ids that were shown."""
        return {
            tuple(sorted(one.id for one in (state.left, state.right) if one is not None)): state.verdict
            for state in self.states()
        }


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


def ask(
    root: str, path: str, fields: dict[str, Any] | None = None, *, token: str = TOKEN, who: str = "", part: str = "",
    accept: str = "text/html", **headers: str,
) -> Answer:  # fmt: skip
    """Send a request, without following redirects."""
    data = None if fields is None else urlencode(fields).encode()
    known = {"Accept": accept, **({"Authorization": f"Bearer {token}"} if token else {})}
    known |= {"Cookie": f"twinset-name={quote(who)}"} if who else {}
    known |= {"X-Part": part} if part else {}
    request = urllib.request.Request(f"{root}{path}", data, {**known, **headers})
    try:
        with _OPENER.open(request, timeout=_PATIENCE) as answer:
            return Answer(answer.status, dict(answer.headers), answer.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        return Answer(error.code, dict(error.headers), error.read().decode("utf-8"))
