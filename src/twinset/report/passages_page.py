"""Render the passages that documents share as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.report import sections
from twinset.report.html_file import PageFrame, html_file
from twinset.report.numbers import Whole, scaled
from twinset.report.passage_views import PageLimits, PassageTables, ReadTexts, page_data
from twinset.wording import counted

BOILERPLATE = 200
"""Boilerplate texts listed."""


@dataclass(frozen=True)
class PassagesRun:
    """The run that found the passages: its folder, version and options; `crowd` is where boilerplate begins.

    A passage in more than `crowd` documents is boilerplate; None: no passage is.
    """

    name: str
    folder: str
    version: str
    crowd: int | None
    options: Mapping[str, Any]


def passages_page(
    run: PassagesRun,
    passages: pa.Table,
    copied: pa.Table,
    boilerplate: pa.Table,
    texts: ReadTexts | None,
    limits: PageLimits | None = None,
) -> bytes:
    """Render the page; without `texts` it has the list of documents only."""
    limits = limits or PageLimits()
    tables = PassageTables(passages, copied, run.crowd)
    every = tables.listed()
    rows = every[: limits.rows]
    views = page_data(tables, rows, texts, limits)
    listed = copied.take(pa.array(rows))
    data = {
        "folder": run.folder,
        "documents": {
            **{name: listed[name].to_pylist() for name in ("id", "role", "words", "copied", "most_in", "most_words")},
            "share": scaled(np.asarray(listed["share"])),
            "total": len(every),
        },
        **views,
    }
    frame = PageFrame(
        kind="passages",
        name=escape(run.name),
        version=escape(run.version),
        lead=_lead(tables, every),
        figures=_figures(tables, every, boilerplate),
        nav={"documents": "Documents", "boilerplate": "Boilerplate", "done": "What was done"},
        keys={"/": "search", "j k": "rows", "Enter": "open, or other side", "n p": "passages", "[ ]": "pages"},
        scripted="The list of documents needs",
    )
    return html_file(
        "passages_page",
        frame,
        {
            "documents": _documents(every, views, texts is not None, limits),
            "boilerplate": _boilerplate(boilerplate, run.crowd),
            "done": f'<div class="card">{sections.facts(run.options.items())}</div>',
        },
        data,
    )


def _lead(tables: PassageTables, listed: Whole) -> str:
    """One sentence: how many documents share passages, and how much of them."""
    sources = [number for number in listed.tolist() if tables.roles[number] == "source"]
    documents = counted(tables.roles.count("source"), "document")
    where = "a document of the other source" if tables.against else "another document"
    if not sources:
        return f"Of {documents}, none shares a passage with {where}."
    verb = "shares" if len(sources) == 1 else "share"
    words, found = (_words(tables, name) for name in ("words", "copied"))
    part = sections.percent(found / words) if words else "0 %"
    return f"Of {documents}, {len(sources):,} {verb} passages with {where}: {found:,} of {words:,} words, {part}."


def _words(tables: PassageTables, column: str) -> int:
    """The sum of a column over the documents of the sources."""
    values = np.asarray(tables.copied[column]).astype(np.int64)
    return int(values[np.array(tables.roles) == "source"].sum())


def _figures(tables: PassageTables, listed: Whole, boilerplate: pa.Table) -> str:
    against = tables.roles.count("against")
    rows = [
        ("documents", len(tables.roles) - against, f"{_words(tables, 'words'):,} words"),
        ("with passages", len(listed), "of both sources" if tables.against else "shared with others"),
        ("passages", tables.passages.num_rows, f"in {counted(len(tables.left), 'pair')}"),
        ("copied words", _words(tables, "copied"), "in shared passages"),
        ("boilerplate", boilerplate.num_rows, "folded in the texts"),
    ]
    if against:
        rows.append(("compared against", against, "of the other source"))
    return sections.counts(rows)


def _documents(listed: Whole, views: Mapping[str, Any], with_texts: bool, limits: PageLimits) -> str:
    """What the list has, and what was left out of it."""
    if not len(listed):
        return "<p>No document shares a passage with another one.</p>"
    said = [
        "By the share of their copied words. A document opens beside those it shares passages with."
    ]
    if not with_texts:
        said.append("Texts were left out of this page.")
        return f"<p>{' '.join(said)}</p>"
    shown = len(views["pairs_of"])
    notes = []
    if shown < len(listed):
        notes.append(f"the texts of {counted(len(listed) - shown, 'document')} with smaller shares")
    if partners := sum(max(count - limits.partners, 0) for count in views["partners"]):
        notes.append(f"{counted(partners, 'partner')} with fewer words in common")
    texts = [text["pieces"] for text in views["texts"]]
    if cut := sum(any(isinstance(piece, int) for piece in pieces or ()) for pieces in texts):
        notes.append(f"all but the passages and their context in {counted(cut, 'long text')}")
    if without := sum(pieces is None for pieces in texts):
        notes.append(f"{counted(without, 'text')} that could not be read or did not fit")
    bounds = (
        f"The page has up to {limits.documents:,} documents with {limits.partners} partners each, and "
        f"{limits.characters:,} characters of text."
    )
    left_out = f'<p class="note">{bounds} Left out: {"; ".join(notes)}.</p>' if notes else ""
    return f"<p>{' '.join(said)}</p>{left_out}"


def _boilerplate(boilerplate: pa.Table, crowd: int | None) -> str:
    """The texts that occur in many documents."""
    if not boilerplate.num_rows:
        return "<p>No text occurs in enough documents to count as boilerplate.</p>"
    rows = "".join(
        f'<p class="quote" dir="auto">{escape(row["text"])}</p><p class="facts">{counted(row["words"], "word")} in '
        f"{counted(row['documents'], 'document')}, first in <bdi>{escape(row['first'])}</bdi></p>"
        for row in boilerplate.slice(0, BOILERPLATE).to_pylist()
    )
    many = f"more than {crowd:,} documents" if crowd is not None else "many documents"
    more = "" if boilerplate.num_rows <= BOILERPLATE else f" The first {BOILERPLATE} of {boilerplate.num_rows:,}:"
    return f'<p>Texts in {many}, folded in the documents above.{more}</p><div class="boilerplate">{rows}</div>'
