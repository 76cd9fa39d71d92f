"""Tables of passages, made from texts and the phrases that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.report.passage_views import PageLimits
from twinset.report.passages_page import PassagesRun, passages_page

PLACES = ("left_start", "left_end", "right_start", "right_end")
Row = tuple[str, str, str, int]
"""Left id, right id, the phrase, and how many documents have it."""


class Shared:
    """Texts and their passages, as the tables of a result."""

    def __init__(self, texts: Mapping[str, str], rows: Iterable[Row], against: Iterable[str] = ()) -> None:
        self.texts, other = texts, set(against)
        found = [self.row(*row) for row in rows]
        self.passages = pa.Table.from_pylist(found, schema=passages_schema())
        self.copied = pa.Table.from_pylist(
            [self.document(id, found, "against" if id in other else "source") for id in texts],
            schema=schema(
                id=pa.string(),
                role=pa.string(),
                words=pa.int64(),
                copied=pa.int64(),
                share=pa.float64(),
                most_in=pa.string(),
                most_words=pa.int64(),
            ),
        )

    def row(self, left: str, right: str, phrase: str, documents: int) -> dict[str, Any]:
        places = {}
        for side, id in (("left", left), ("right", right)):
            start = self.texts[id].index(phrase)
            places |= {f"{side}_start": start, f"{side}_end": start + len(phrase)}
        words = len(phrase.split())
        return {"left": left, "right": right, **places, "words": words, "shared": words, "documents": documents}

    def document(self, id: str, found: Sequence[Mapping[str, Any]], role: str) -> dict[str, Any]:
        words = len(self.texts[id].split())
        partners: dict[str, int] = {}
        spans = set()
        for row in found:
            for mine, theirs in (("left", "right"), ("right", "left")):
                if row[mine] == id:
                    partners[row[theirs]] = partners.get(row[theirs], 0) + row["shared"]
                    spans |= set(range(row[f"{mine}_start"], row[f"{mine}_end"]))
        copied = len("".join(one if at in spans else " " for at, one in enumerate(self.texts[id])).split())
        most = max(partners, key=lambda name: partners[name], default=None)
        share = copied / words if words else 0.0
        counts = {"words": words, "copied": copied, "share": share, "most_words": partners.get(most or "", 0)}
        return {"id": id, "role": role, "most_in": most, **counts}

    def read(self, documents: Sequence[tuple[str, str]]) -> list[str | None]:
        return [self.texts[id] for _, id in documents]


def schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


def passages_schema() -> pa.Schema:
    whole = dict.fromkeys((*PLACES, "words", "shared", "documents"), pa.int64())
    return schema(left=pa.string(), right=pa.string(), **whole)


def boilerplate_table(rows: Iterable[tuple[str, int, int, str]] = ()) -> pa.Table:
    """Rows of boilerplate: text, words, documents and the first document."""
    return pa.Table.from_pylist(
        [
            {"text": text, "words": words, "documents": documents, "first": first, "start": 0, "end": len(text)}
            for text, words, documents, first in rows
        ],
        schema=schema(
            text=pa.string(),
            words=pa.int64(),
            documents=pa.int64(),
            first=pa.string(),
            start=pa.int64(),
            end=pa.int64(),
        ),
    )


def page_of(shared: Shared, boilerplate: pa.Table | None = None, texts: bool = True, **limits: int) -> bytes:
    """The page of these passages; what is in more than 5 documents is boilerplate."""
    run = PassagesRun("essays", "OUT/<b>", "1.0", 5, {"minimum words": 8, "source": ["<i>essays</i>.jsonl"]})
    return passages_page(
        run, shared.passages, shared.copied, boilerplate if boilerplate is not None else boilerplate_table(),
        shared.read if texts else None, PageLimits(**limits),
    )  # fmt: skip


def written(folder: Path, *arguments: Any, **words: Any) -> Path:
    path = folder / "passages.html"
    path.write_bytes(page_of(*arguments, **words))
    return path
