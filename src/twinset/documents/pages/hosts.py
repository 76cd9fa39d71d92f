"""The host of a page."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_NAME = re.compile(r"[\w-]+(\.[\w-]+)+|localhost|\[[0-9a-fA-F:]+\]")


def host_of(url: str, *, plain: bool = False) -> str | None:
    """The host of a URL, in lower case and without user and port; None if it has none.

    plain: whether a name such as ``example.org`` is a host itself.

    Examples
    --------
    >>> host_of("https://www.Example.org:8080/a"), host_of("news.jsonl:3"), host_of("Example.org", plain=True)
    ('www.example.org', None, 'example.org')
    """
    if plain and _NAME.fullmatch(url):
        return url.lower().rstrip(".")
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    # Bytes of a header that are not UTF-8 would not be a name either.
    return (host or "").rstrip(".") or None
