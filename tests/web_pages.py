"""Web pages and WARC records for the tests."""

from __future__ import annotations

import html

MENU = ["Home", "News of the town", "Sports and games", "Weather for ten days", "Letters to the editor", "About us"]


def words(seed: int, count: int) -> str:
    """Words of an article that no other seed has."""
    return " ".join(f"w{seed}x{(at * 7919 + seed) % 10_007}" for at in range(count))


def page(text: str, *, site: str = "one", charset: str = "utf-8") -> str:
    """A page with an article below the navigation of a site."""
    links = "".join(f'<li><a href="/{at}">{site} {name}</a></li>' for at, name in enumerate(8 * MENU))
    return (
        f'<!DOCTYPE html><html><head><meta charset="{charset}"><title>{site}</title><style>p {{}}</style></head><body>'
        f"<nav><ul>{links}</ul></nav><main><article><p>{html.escape(text)}</p></article></main>"
        f"<footer>All rights belong to {site}, which likes its footer</footer></body></html>"
    )


def record(
    url: str | None, body: bytes, *, kind: str = "response", type: str | None = "text/html", more: str = "",
    date: str = "2026-01-01T00:00:00Z", status: str = "200 OK",
) -> bytes:  # fmt: skip
    """A WARC record: of a response with HTTP headers, and of other kinds without."""
    content = b""
    if kind == "response":
        declared = "" if type is None else f"Content-Type: {type}\r\n"
        content = f"HTTP/1.1 {status}\r\n{declared}{more}\r\n".encode()
    lines = ["WARC/1.0", f"WARC-Type: {kind}", f"WARC-Date: {date}", f"WARC-Record-ID: <urn:test:{url}>"]
    lines += [] if url is None else [f"WARC-Target-URI: {url}"]
    lines.append("Content-Type: application/http; msgtype=response" if kind == "response" else f"Content-Type: {type}")
    lines.append(f"Content-Length: {len(content) + len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content + body + b"\r\n\r\n"


INFO = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 6\r\n\r\na: b\r\n\r\n\r\n"
"""The record that describes a file."""
