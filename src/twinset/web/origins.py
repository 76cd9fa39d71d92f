"""Which names a server answers to, and which pages may send it requests.

A page of another site can make a browser send requests to this server: with the cookie of its user (CSRF), or, if the
site's name is pointed at this server's address, as if they came from the same site (DNS rebinding). So the names in
`Host` and `Origin` must be known.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from twinset.errors import OptionError
from twinset.web.answers import Refused
from twinset.web.framework import Scope

LOOPBACK = "127.0.0.1"
_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})
_MOST_KNOWN = 100
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Origins:
    """The names of a server.

    Parameters
    ----------
    host
        The address or name that it listens at.
    public_url
        The URL under which a reverse proxy offers it.

    Examples
    --------
    >>> Origins("127.0.0.1").knows("localhost:8080", "127.0.0.1"), Origins("127.0.0.1").knows("evil.example", "")
    (True, False)
    """

    def __init__(self, host: str = LOOPBACK, public_url: str | None = None) -> None:
        self.is_local = is_loopback(host)
        self._names = set(_NAMES) | ({host.lower()} - _EVERYWHERE)
        if host in _EVERYWHERE:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._public = None
        self._known: set[tuple[str, str]] = set()
        if public_url is not None:
            parts = urlsplit(public_url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
                raise OptionError(f"public_url is {public_url!r}; allowed: a URL such as https://search.example.org")
            self._public = f"{parts.scheme}://{parts.netloc.lower()}"
            self._names.add(parts.hostname.lower())

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers reach the server by HTTPS only."""
        return self._public is not None and self._public.startswith("https:")

    def check(self, scope: Scope, headers: dict[bytes, bytes], *, by_cookie: bool) -> None:
        """Refuse a request for another name; and from another site's page, unless it only reads.

        A program with a token need not send an origin; a browser, which sends a cookie, must.
        """
        server = scope.get("server") or ("", 0)
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_known(host, str(server[0])):
            raise Refused(
                403, "unknown_host", "the server does not know the name in Host; allow one with --host or --public-url"
            )
        if scope["method"] in _SAFE:
            return
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        same = origin is not None and self._is_own(origin.decode("latin-1").lower(), host.lower())
        # A form of a page without a referrer has the origin `null`.
        same = same or (origin == b"null" and site == b"same-origin")
        if origin is not None and not same:
            raise Refused(403, "other_origin", "a page of another origin must not send this request")
        if site is not None and site not in (b"same-origin", b"none"):
            raise Refused(403, "other_origin", "a page of another site must not send this request")
        if by_cookie and not same and site != b"same-origin":
            raise Refused(403, "other_origin", "a request with a cookie must name its origin")

    def _is_known(self, host: str, server: str) -> bool:
        """Return what `knows` returns; a known name need not be looked at twice."""
        if (host, server) in self._known:
            return True
        known = self.knows(host, server)
        if known and len(self._known) < _MOST_KNOWN:
            self._known.add((host, server))
        return known

    def knows(self, host: str, server: str) -> bool:
        """Whether a value of `Host` names this server; `server` is the address that the client reached."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        # An address is not a name that somebody could point elsewhere.
        return name in self._names or (not self.is_local and _is_address(name) and name == server.lower())

    def _is_own(self, origin: str, host: str) -> bool:
        return origin == self._public or origin in (f"http://{host}", f"https://{host}")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
