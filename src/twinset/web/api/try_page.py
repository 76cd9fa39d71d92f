"""A page to try a service: paste a text, see which documents resemble it, and which words differ."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from twinset.errors import TwinsetError
from twinset.jobs.explain import explain
from twinset.schema import SCORES
from twinset.web.answers import Refused
from twinset.web.api.models import QueryBody
from twinset.web.api.routes import ask
from twinset.web.api.service import IndexService, Service
from twinset.web.framework import FastAPI, Request, Response
from twinset.web.limits import RequestLimits
from twinset.web.pages import Pages
from twinset.wording import score as shown_score

MOST_SHOWN, CONTEXT = 20, 12
_CAPTIONS = {
    "similarity": "similarity",
    "query_in_document": "share of your text that the document contains",
    "document_in_query": "share of the document that your text contains",
}
MOST_DIFFERENCE = 200_000
"""Characters of two texts whose words are compared for the page; longer ones are shown by their scores only."""


@dataclass(frozen=True)
class ShownAnswer:
    """A document that resembles the text: its id, its scores as text, and the pieces of the difference."""

    id: str
    scores: list[tuple[str, str]]
    pieces: list[tuple[str, str]] | None
    note: str = ""


def add_try_page(app: FastAPI, service: Service, limits: RequestLimits) -> None:
    """Add the page to an application."""
    pages = Pages(Path(__file__).parent)

    def page(request: Request, status: int = 200, **values: Any) -> Response:
        known = {
            "text": "", "chosen": "", "problem": "", "answers": None, "version": None, "nearest": False, "whole": False
        }  # fmt: skip
        return pages.answer(request, "try.html", status=status, **{**known, "service": service, **values})

    @app.get("/", include_in_schema=False)
    async def show_page(request: Request) -> Response:
        return page(request)

    @app.post("/try", include_in_schema=False)
    async def try_text(request: Request) -> Response:
        try:
            given = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
        except ValueError:
            raise Refused(422, "form", "the form has too many fields") from None
        fields = {name: values[0] for name, values in given.items()}
        text, chosen = fields.get("text", ""), fields.get("index", "")
        nearest, whole = fields.get("nearest") == "yes", fields.get("whole") == "yes"
        shown: dict[str, Any] = {"text": text, "chosen": chosen, "nearest": nearest, "whole": whole}
        try:
            index = service.find(chosen)
            if index.field != "text":
                raise Refused(422, "option", "this page asks indexes of texts only")
            asked = QueryBody(text=text, k=MOST_SHOWN, threshold=None if nearest else index.threshold)
            version, answers = await ask(index, asked, limits)
            listed = await _with_differences(service, index, text, answers, whole)
        except (Refused, TwinsetError) as error:
            refused = error if isinstance(error, Refused) else Refused.of(error)
            return page(request, refused.status, problem=refused.message, **shown)
        return page(request, answers=listed, version=version, **shown)


async def _with_differences(
    service: Service, index: IndexService, text: str, answers: list[dict[str, Any]], whole: bool
) -> list[ShownAnswer]:
    """Return answers with the words in which they differ from the text; `whole`: with all equal words, too."""
    context = None if whole else CONTEXT
    ids = [answer["id"] for answer in answers]
    texts = await index.queries.call(lambda opened: opened.texts_of(ids)) if ids else {}

    def compared() -> list[ShownAnswer]:
        return [_shown(answer, text, texts.get(answer["id"]), index.shingle, context) for answer in answers]

    return await asyncio.get_running_loop().run_in_executor(service.threads, compared)


def _shown(answer: dict[str, Any], text: str, other: str | None, shingle: str, context: int | None) -> ShownAnswer:
    scores = [
        (_CAPTIONS.get(one.answer, one.answer.replace("_", " ")), shown_score(answer[one.answer], one.shown))
        for one in SCORES["jaccard"]
    ]
    if other is None:
        return ShownAnswer(answer["id"], scores, None, "The index stores no texts.")
    if len(text) + len(other) > MOST_DIFFERENCE:
        return ShownAnswer(answer["id"], scores, None, "The texts are too long to show their difference.")
    pieces: list[tuple[str, str]] = []
    for hunk in explain(text, other, shingle=shingle).hunks(context):
        if hunk.folded:
            pieces.append(("folded", f"{hunk.folded:,} equal words"))
        for part in hunk.parts:
            if part.words:
                pieces.append(("same", part.right))
            else:
                pieces += [(kind, some) for kind, some in (("left", part.left), ("right", part.right)) if some]
    return ShownAnswer(answer["id"], scores, pieces)
