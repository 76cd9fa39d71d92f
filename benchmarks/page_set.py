"""Generated web pages: articles that appear under several navigations, in five layouts of real sites.

Each layout has an own navigation of 100 to 250 words that all its pages share, links to other articles that differ from
page to page, and a footer: HTML5 elements, `div` elements with class names, a table as in old pages, a documentation
with a side bar, and a blog with comments, shares and a cookie banner. Copies of an article differ in a few words.
"""

from __future__ import annotations

import html
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20260917
LAYOUTS = 5
_ONSETS = [*"bcdfghjklmnprstvwz", "br", "ch", "dr", "fl", "gr", "pl", "sh", "st", "th", "tr"]
_NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "io", "ou", "á", "é", "ö", "ü"]
_CODAS = ["", "", "", "l", "n", "r", "s", "t", "nd", "st"]
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "windows-1252")


@dataclass(frozen=True)
class PageSet:
    """Pages as bytes, their URLs, articles and layouts, and the words of each page's article."""

    urls: list[str]
    pages: list[bytes]
    articles: list[int]
    layouts: list[int]
    texts: list[str]

    def table(self) -> Any:
        """The pages as an Arrow table."""
        return pa.table({"id": self.urls, "html": pa.array(self.pages, pa.large_binary())})


def make(count: int, seed: int = SEED) -> PageSet:
    """Make about this many pages; the same for the same arguments."""
    draw = random.Random(f"{seed} {count}")
    words = _words(draw)
    sites = [_site(draw, words, layout) for layout in range(LAYOUTS)]
    made = PageSet([], [], [], [], [])
    article = 0
    while len(made.pages) < count:
        paragraphs = _article(draw, words)
        for layout in draw.sample(range(LAYOUTS), draw.choice((1, 1, 2, 3, 5))):
            title, *body = _edited(draw, words, paragraphs)
            links = [_phrase(draw, words, 3, 8) for _ in range(draw.randint(4, 10))]
            page = _LAYOUTS[layout](sites[layout], title, body, links)
            encoding = draw.choice(_ENCODINGS)
            made.urls.append(f"https://site{layout}.example/{article}.html")
            made.pages.append(page.replace("CHARSET", encoding).encode(encoding, "xmlcharrefreplace"))
            made.articles.append(article)
            made.layouts.append(layout)
            made.texts.append("\n".join([title, *body]))
        article += 1
    return made


def write(folder: Path, count: int) -> PageSet:
    """Write the pages as Parquet, as files and as a WARC file."""
    made = make(count)
    (folder / "files").mkdir(parents=True)
    pq.write_table(made.table(), folder / "pages.parquet")
    with open(folder / "pages.warc", "wb") as archive:
        for number, (url, page) in enumerate(zip(made.urls, made.pages, strict=True)):
            (folder / "files" / f"{number:06d}.html").write_bytes(page)
            archive.write(warc_record(url, page))
    return made


def warc_record(url: str, page: bytes) -> bytes:
    """A response as a crawler writes it."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page
    lines = (
        "WARC/1.0", "WARC-Type: response", f"WARC-Target-URI: {url}", "WARC-Date: 2026-01-01T00:00:00Z",
        f"WARC-Record-ID: <urn:example:{url}>", "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(answer)}",
    )  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + answer + b"\r\n\r\n"


def _words(draw: random.Random) -> list[str]:
    def syllable() -> str:
        return draw.choice(_ONSETS) + draw.choice(_NUCLEI)

    return ["".join(syllable() for _ in range(draw.randint(1, 3))) + draw.choice(_CODAS) for _ in range(20_000)]


def _phrase(draw: random.Random, words: list[str], least: int, most: int) -> str:
    return " ".join(words[int(20_000 * draw.random() ** 3)] for _ in range(draw.randint(least, most)))


def _article(draw: random.Random, words: list[str]) -> list[str]:
    """A title and paragraphs: 120 to 900 words."""
    paragraphs = [_phrase(draw, words, 4, 10).capitalize()]
    for _ in range(draw.randint(3, 9)):
        sentences = [_phrase(draw, words, 8, 22).capitalize() + "." for _ in range(draw.randint(3, 6))]
        paragraphs.append(" ".join(sentences))
    return paragraphs


def _edited(draw: random.Random, words: list[str], paragraphs: list[str]) -> list[str]:
    """A copy with one word in 300 changed."""
    edited = []
    for paragraph in paragraphs:
        each = paragraph.split(" ")
        edited.append(" ".join(draw.choice(words) if draw.random() < 0.003 else word for word in each))
    return edited


@dataclass(frozen=True)
class _Site:
    name: str
    menu: list[str]
    aside: list[str]
    footer: str


def _site(draw: random.Random, words: list[str], layout: int) -> _Site:
    menu = [_phrase(draw, words, 1, 4).title() for _ in range(draw.randint(30, 50))]
    aside = [_phrase(draw, words, 2, 6) for _ in range(draw.randint(10, 20))]
    return _Site(f"Site {layout}", menu, aside, _phrase(draw, words, 20, 60))


def _links(texts: list[str], element: str = "li", css: str = "") -> str:
    name = f' class="{css}"' if css else ""
    return "\n".join(
        f'<{element}{name}><a href="/{at}">{html.escape(text)}</a></{element}>' for at, text in enumerate(texts)
    )


def _head(title: str, more: str = "") -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="CHARSET"><title>{html.escape(title)}</title>\n'
        f'<link rel="stylesheet" href="/style.css"><script>var a = "<p>not a text</p>"; window.track(a);</script>{more}'
        "</head>\n"
    )


def _body(paragraphs: list[str], element: str = "p") -> str:
    return "\n".join(f"<{element}>{html.escape(text)}</{element}>" for text in paragraphs)


def _html5(site: _Site, title: str, body: list[str], links: list[str]) -> str:
    return (
        f"{_head(title)}<body><header><h1>{site.name}</h1><nav><ul>{_links(site.menu)}</ul></nav></header>"
        f"<main><article><h2>{title}</h2>{_body(body)}</article></main>"
        f"<aside><h3>More</h3><ul>{_links([*site.aside, *links])}</ul></aside><footer><p>{site.footer}</p></footer>"
        "</body></html>"
    )


def _classes(site: _Site, title: str, body: list[str], links: list[str]) -> str:
    return (
        f'{_head(title)}<body><div id="header"><div class="logo">{site.name}</div></div><div class="navigation menu">'
        f'{_links(site.menu, "span", "menu-item")}</div><div id="wrapper"><div id="content"><h1>{title}</h1>'
        f'{_body(body)}</div><div class="sidebar"><div class="widget">{_links([*site.aside, *links], "div")}</div>'
        f'</div></div><div id="footer">{site.footer}</div></body></html>'
    )


def _table(site: _Site, title: str, body: list[str], links: list[str]) -> str:
    return (
        f'{_head(title)}<body bgcolor="#ffffff"><table width="100%"><tr><td class="nav" valign=top><ul>'
        f'{_links(site.menu)}</ul></td><td><h1>{title}</h1>{_body(body)}</td><td class="sidebar"><ul>'
        f'{_links([*site.aside, *links])}</ul></td></tr></table><div class="footer">{site.footer}</div></body></html>'
    )


def _documentation(site: _Site, title: str, body: list[str], links: list[str]) -> str:
    return (
        f'{_head(title)}<body><div class="related" role="navigation"><h3>Navigation</h3><ul>{_links(site.menu[:12])}'
        '</ul></div><div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" '
        f'role="main"><section id="s"><h1>{title}</h1>{_body(body)}</section></div></div></div><div '
        f'class="sphinxsidebar" role="navigation"><ul>{_links([*site.menu[12:], *site.aside, *links])}</ul></div></div>'
        f'<div class="footer" role="contentinfo">{site.footer}</div></body></html>'
    )


def _blog(site: _Site, title: str, body: list[str], links: list[str]) -> str:
    comments = "".join(f'<li class="comment"><p>{html.escape(one)}</p></li>' for one in links[:3])
    return (
        f'{_head(title)}<body class="single"><div class="cookie-banner" id="cookie-notice"><p>{site.aside[0]}</p></div>'
        f'<nav class="main-navigation"><ul>{_links(site.menu)}</ul></nav><div class="site-content"><article '
        f'class="post hentry"><h1 class="entry-title">{title}</h1><div class="entry-content">{_body(body)}</div>'
        f'<div class="share-buttons">{_links(["Share", "Tweet", "Pin"], "span")}</div></article><div id="comments" '
        f'class="comments-area"><ol>{comments}</ol></div></div><div class="related-posts"><ul>'
        f'{_links([*links, *site.aside])}</ul></div><footer class="site-footer">{site.footer}</footer></body></html>'
    )


_LAYOUTS = (_html5, _classes, _table, _documentation, _blog)
