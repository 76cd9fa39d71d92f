"""Render bands, rows and threshold on real pairs as one self-contained HTML file in which they can be moved."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from twinset.plan.bands import plan
from twinset.report.html_file import PageFrame, html_file
from twinset.wording import counted

RECALL = 0.99
"""The recall of the plans that the page offers."""


@dataclass(frozen=True)
class ComparedPairs:
    """The pairs that the page shows, most similar first.

    name, version: of the collection and of Twinset, as they are shown.
    documents, empty, every: documents that were read; those of them without words; pairs of the compared documents.
    ids, excerpts: of the compared documents; the excerpts are None if the page shows no texts.
    pairs: the numbers of both documents, the exact similarity, and a bit for each slot in which the signatures agree.
    rest: pairs that are only counted: their mean similarity in a range, and their number.
    shingle, slots: the shingles, and the number of slots of a signature.
    """

    name: str
    version: str
    documents: int
    empty: int
    every: int
    ids: list[str]
    excerpts: list[str] | None
    pairs: list[tuple[int, int, float, bytes]]
    rest: list[tuple[float, int]]
    shingle: str
    slots: int


def textbook_page(compared: ComparedPairs) -> bytes:
    """Render the page."""
    data = {
        "ids": compared.ids,
        "excerpts": compared.excerpts,
        "left": [left for left, _, _, _ in compared.pairs],
        "right": [right for _, right, _, _ in compared.pairs],
        "similarity": [similarity for _, _, similarity, _ in compared.pairs],
        "agreeing": base64.b64encode(b"".join(slots for _, _, _, slots in compared.pairs)).decode(),
        "rest": compared.rest,
        "slots": compared.slots,
        "plans": plans(compared.slots),
        "recall": RECALL,
    }
    frame = PageFrame(
        kind="textbook",
        name="Bands, rows and threshold",
        version=escape(compared.version),
        lead=_lead(compared),
        figures="",
        nav={"curve": "Curve", "pairs": "Real pairs", "try": "Things to try", "how": "How it works"},
        keys={"/": "search", "j k": "next and previous pair", "Enter": "open", "[ ]": "pages"},
        scripted="The curve and the list of pairs need",
    )
    return html_file("textbook_page", frame, {"slots": str(compared.slots), "how": _how(compared)}, data)


def plans(slots: int) -> list[list[int] | None]:
    """Return the bands and rows that Twinset would choose, for each threshold in hundredths; None if there are none.

    Examples
    --------
    >>> found = plans(256)
    >>> len(found), found[80], found[0]
    (101, [26, 8], None)
    """
    found: list[list[int] | None] = [None]
    for hundredth in range(1, 101):
        most = 1 - (1 - hundredth / 100) ** slots  # of as many bands of one row
        made = plan(hundredth / 100, RECALL, n_hashes=slots) if most >= RECALL else None
        found.append([made.n_bands, made.rows_per_band] if made else None)
    return found


def _lead(compared: ComparedPairs) -> str:
    return (
        f"{counted(len(compared.ids), 'document')} of <bdi>{escape(compared.name)}</bdi>, compared pair by pair: "
        f"{counted(len(compared.pairs), 'pair')} with shingles in common. Move bands, rows and threshold, and see "
        "which of them are found."
    )


def _how(compared: ComparedPairs) -> str:
    """What was compared, and what was left out."""
    facts: Mapping[str, Any] = {
        "documents read": f"{compared.documents:,}",
        "without words": f"{compared.empty:,}",
        "compared": f"{len(compared.ids):,}",
        "pairs of these": f"{compared.every:,}",
        "with a common shingle": f"{len(compared.pairs) + sum(count for _, count in compared.rest):,}",
        "shingles": compared.shingle,
        "hashes of a signature": f"{compared.slots:,}",
    }
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{escape(value)}</td></tr>' for name, value in facts.items())
    notes = []
    if compared.documents - compared.empty > len(compared.ids):
        notes.append("The documents are a sample, drawn by their contents.")
    if compared.rest:
        highest = max(similarity for similarity, _ in compared.rest)
        notes.append(
            f"The page has the {len(compared.pairs):,} most similar pairs one by one. Of the other "
            f"{sum(count for _, count in compared.rest):,}, of similarities up to about {highest:.2f}, it computes how "
            "many become candidates on average."
        )
    note = f'<p class="note">{" ".join(notes)}</p>' if notes else ""
    return f'<div class="card"><table>{rows}</table>{note}</div>'
