"""Run a server: bind its address, print its URL, answer requests, and stop when asked to."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from twinset.errors import OptionError, OutputError
from twinset.web.connections import BoundedConnection
from twinset.web.framework import uvicorn
from twinset.web.origins import LOOPBACK, is_loopback
from twinset.web.security import Guard
from twinset.web.tokens import Tokens

_GRACE = 30
_FILES = 4096
_SWITCH_SECONDS = 0.001
"""Seconds for which a thread may keep Python's lock: shorter than usual, since one thread receives all requests."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def bind(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one."""
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # asyncio turns off Nagle's algorithm only if the protocol is named. With it, the second part of an answer would
        # wait 40 ms for the client's acknowledgement of the first.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise OutputError(f"the server cannot listen at {host}: {error.strerror or error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise OutputError(
            f"the server cannot listen at {host}, port {port}: {reason}; choose another port with --port"
        ) from error
    return listening


def check_exposure(host: str, tokens: Tokens) -> None:
    """Refuse an address that other machines reach unless a token was given."""
    if tokens.is_random and not is_loopback(host):
        raise OptionError(
            f"host is {host!r}, which other machines reach; give a token too, with --token-file or --tokens"
        )


def url_of(listening: socket.socket, tokens: Tokens, public_url: str | None = None) -> str:
    """Return the URL of a server; with its token only if that was drawn, since nothing else tells it."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    base = public_url.rstrip("/") if public_url else f"http://{shown}:{port}"
    return f"{base}/" + (f"?token={tokens.first}" if tokens.is_random else "")


def serve(
    guard: Guard,
    listening: socket.socket,
    url: str,
    *,
    announce: Callable[[str], None],
    browser: bool = False,
    ended: Callable[[], None] | None = None,
) -> None:
    """Answer requests until SIGTERM or SIGINT; requests that are worked on are answered first.

    Parameters
    ----------
    guard
        The application behind its checks.
    listening
        A socket from `bind`.
    url
        The URL to announce and to open.
    announce
        Receives the URL when the server answers.
    browser
        Open the URL in a browser, if there is a screen.
    ended
        Called when the last request has been answered.
    """
    _allow_many_connections()
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        guard,
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config, guard, lambda: _announce(url, announce, browser))
    try:
        server.run(sockets=[listening])
    finally:
        if ended is not None:
            ended()


def _announce(url: str, announce: Callable[[str], None], browser: bool) -> None:
    announce(url)
    if browser and "token=" in url and _has_screen():  # without a token it would be let in nowhere
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


class _Server(uvicorn.Server):
    """A server that stops with exit code 0, and refuses new requests from then on."""

    def __init__(self, config: uvicorn.Config, guard: Guard, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._guard, self._ready = guard, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal. Unlike the original, do not send it again at the end: stopping is no failure."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Refuse new requests, and end when the others are answered; a second Ctrl-C ends at once."""
        self._guard.usage.stopping = True
        super().handle_exit(sig, frame)


def _has_screen() -> bool:
    """Whether a browser could show something: without a screen, a text browser would take over the terminal."""
    if sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _allow_many_connections() -> None:
    """Raise the number of open files of this process, as far as its owner may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
