"""Addresses of remote objects: which strings are addresses, their parts, and what of them may be shown.

Everything that asks whether a source or an output is remote asks here. Nothing of an address that may be a secret is
ever shown or stored: user names, passwords and queries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from twinset.errors import OptionError

STORES = {"s3": "s3", "gs": "gs", "az": "az", "abfs": "az", "abfss": "az", "hf": "hf", "http": "http", "https": "http"}
"""The store of each scheme."""

READABLE = tuple(f"{scheme}://" for scheme in ("s3", "gs", "az", "abfs", "hf", "http", "https"))
"""Beginnings of addresses that can be sources."""

_ADDRESS = re.compile(rf"(?i)({'|'.join(STORES)})://")
_REPOSITORY = {"datasets": 3, "spaces": 3}  # hf://datasets/USER/NAME/…, but hf://USER/NAME/…


@dataclass(frozen=True)
class Address:
    """A remote object, or a prefix of several: `root` and `key` may be shown, `query` may not.

    `number` distinguishes addresses of one run that differ only in their queries.

    Examples
    --------
    >>> Address.of("s3://news/2024/a.parquet")
    Address(store='s3', root='s3://news', key='2024/a.parquet')
    >>> Address.of("hf://datasets/ada/news@main/a.parquet").root
    'hf://datasets/ada/news@main'
    """

    store: str
    root: str
    key: str
    query: str = field(default="", repr=False)
    number: int = field(default=1, repr=False)

    @classmethod
    def of(cls, given: str) -> Address:
        """Split an address; refuse one that holds a user name or a password."""
        scheme, rest = given.split("://", 1)
        store, scheme = STORES[scheme.lower()], scheme.lower()
        if _credentials_end(scheme, rest):
            raise OptionError(
                f"{shown_address(given)}: an address must not hold a user name, a password or a key; use the "
                "environment variables or files of the service"
            )
        if store == "http":
            url = urlsplit(given)
            query = f"?{url.query}" if url.query else ""
            return cls(store, f"{scheme}://{url.netloc}", url.path.removeprefix("/"), query)
        place, _, key = rest.partition("/")
        if store == "hf":
            parts = rest.split("/")
            count = _REPOSITORY.get(parts[0], 2)
            place, key = "/".join(parts[:count]), "/".join(parts[count:])
            if len(parts) < count or not all(parts[:count]):
                raise OptionError(f"{shown_address(given)}: name a repository, such as hf://datasets/USER/NAME")
        if not place:
            raise OptionError(f"{shown_address(given)}: this address has no bucket, as in {scheme}://BUCKET/NAME")
        return cls(store, f"{scheme}://{place}", key)

    @property
    def name(self) -> str:
        """The last component of the key, or what stands for it."""
        key = unquote(self.key) if self.store == "http" else self.key
        return key.rstrip("/").rpartition("/")[2] or self.place.rpartition("/")[2]

    @property
    def place(self) -> str:
        """The bucket, container, repository or host."""
        return self.root.split("://", 1)[1]

    @property
    def components(self) -> tuple[str, ...]:
        """Place and key as the components of a path, none of which leads elsewhere."""
        key = unquote(self.key) if self.store == "http" else self.key
        parts = f"{self.place}/{key}".replace("\0", "/").split("/")
        return tuple(part for part in parts if part not in ("", ".", ".."))

    @property
    def url(self) -> str:
        """The whole address of a file on the web, which may hold a secret."""
        return f"{self.root}/{quote(self.key, safe='/%:@!$&()*+,;=~-._')}{self.query}"

    def at(self, key: str) -> Address:
        """Return the address of another key at the same place."""
        return Address(self.store, self.root, key)

    def below(self, name: str) -> Address:
        """Return the address of a name below this one."""
        return self.at(f"{self.key.rstrip('/')}/{name}".removeprefix("/"))

    def holds(self, other: Address) -> bool:
        """Whether another address is this one or below it, however it is written.

        Examples
        --------
        >>> Address.of("s3://news/a").holds(Address.of("S3://news/a/1.csv"))
        True
        >>> Address.of("az://news/a").holds(Address.of("abfs://news@ada.dfs.core.windows.net/a"))
        True
        >>> Address.of("hf://datasets/ada/news").holds(Address.of("hf://datasets/ada/news@v2/1.csv"))
        False
        """
        mine, theirs = self._canonical, other._canonical
        accounts = {mine[2], theirs[2]} - {""}  # a container without account is in that of the settings
        outer, inner = self.key.strip("/"), other.key.strip("/")
        below = not outer or inner == outer or inner.startswith(f"{outer}/")
        return mine[:2] == theirs[:2] and len(accounts) < 2 and below

    @property
    def _canonical(self) -> tuple[str, str, str]:
        """The store, the place in one way of writing, and the account of a container, if it is named."""
        place, _, rest = self.place.partition("@")
        if self.store == "hf":
            return self.store, f"{place}@{unquote(rest) or 'main'}", ""
        return self.store, place, rest.partition(".")[0].lower()

    def __str__(self) -> str:
        key = f"/{self.key}" if self.key or self.query else ""
        number = f"({self.number})" if self.number > 1 else ""
        return f"{shown_address(f'{self.root}{key}{self.query}')}{number}"


def is_address(given: object) -> bool:
    """Whether a source or an output is remote.

    Examples
    --------
    >>> is_address("s3://news/a.jsonl"), is_address("news.jsonl"), is_address("ftp://news/a.jsonl")
    (True, False, False)
    """
    return isinstance(given, str) and _ADDRESS.match(given) is not None


def shown_address(given: Any) -> Any:
    """Return an address without what may be secret; anything else unchanged.

    Examples
    --------
    >>> shown_address("s3://key:secret@news/a.jsonl"), shown_address("https://example.org/a.csv?X-Amz-Signature=1f")
    ('s3://…@news/a.jsonl', 'https://example.org/a.csv?…')
    >>> shown_address("https://example.org/a.csv?day=3"), shown_address("news.jsonl")
    ('https://example.org/a.csv?…', 'news.jsonl')
    """
    if not is_address(given):
        return given
    scheme, _, rest = given.partition("://")
    end = _credentials_end(scheme.lower(), rest)
    if end:
        rest = f"…{rest[end:]}" if rest[end : end + 1] == "@" else "…"
    return f"{scheme}://{_without_query(rest) if STORES[scheme.lower()] == 'http' else rest}"


def refuse_address(path: str) -> None:
    """Refuse an address, also one that was taken for a path, as the output of a job that writes to this machine only.

    Examples
    --------
    >>> refuse_address("s3:/news/sketches.parquet")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    twinset.errors.OptionError: the output is s3://news/sketches.parquet, but only dedup, pairs, passages, recut and
    trim write to addresses; name a file or folder of this machine
    """
    given = re.sub(r"^(\w+):/(?!/)", r"\1://", path)
    if is_address(given):
        raise OptionError(
            f"the output is {shown_address(given)}, but only dedup, pairs, passages, recut and trim write to "
            "addresses; name a file or folder of this machine"
        )


def _without_query(text: str) -> str:
    """Cut off a query, which may hold a secret whatever its names are."""
    path, _, query = text.partition("#")[0].partition("?")
    return f"{path}?…" if query else path


def _credentials_end(scheme: str, rest: str) -> int:
    """Return where the user name and password of an address end; 0 if it has none.

    A secret key may hold slashes. No bucket has a colon in its name, and what follows that of a host is a port.
    """
    place = rest.partition("/")[0]
    before, at, host = place.rpartition("@")
    if at and not (scheme.startswith("abfs") and ":" not in before):
        return len(before)
    _, colon, port = (host if at else place).rpartition(":")
    if not colon or (STORES[scheme] == "http" and (port.isdigit() or place.endswith("]"))):
        return 0
    return rest.rfind("@") if "@" in rest else len(rest)
