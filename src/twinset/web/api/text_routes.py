"""The routes that need no index: compare two texts, fold a ranking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from twinset.jobs.collapse import Collapsed, collapse
from twinset.jobs.compare import compare
from twinset.web.answers import Refused
from twinset.web.api.models import CollapseAnswer, CollapseBody, CompareBody
from twinset.web.api.routes import REFUSALS, answered, described_body, invalid
from twinset.web.api.service import Service
from twinset.web.framework import APIRouter, Request, Response, ValidationError
from twinset.web.limits import RequestLimits


def text_routes(service: Service, limits: RequestLimits) -> APIRouter:
    """Return the routes that compare and fold texts of the request."""
    router = APIRouter(responses=REFUSALS)

    async def in_thread(work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(service.threads, work)

    @router.post("/compare", summary="Compare two texts exactly")
    async def compare_texts(asked: CompareBody) -> Response:
        _check_lengths((asked.left, asked.right), limits)
        options = {"shingle": asked.shingle, "lowercase": asked.lowercase, "bag": asked.bag}
        found = await in_thread(lambda: compare(asked.left, asked.right, **options))
        return answered(found.to_dict())

    @router.post(
        "/collapse", response_model=CollapseAnswer, summary="Fold near-duplicates of a ranking",
        openapi_extra=described_body("CollapseBody"),
    )  # fmt: skip
    async def collapse_ranking(request: Request) -> Response:
        body = await request.body()
        asked = await in_thread(lambda: _read_ranking(body, limits))
        texts = [_text(one, asked.text, place) for place, one in enumerate(asked.results)]
        _check_lengths(texts, limits)
        options = {"threshold": asked.threshold, "shingle": asked.shingle, "lowercase": asked.lowercase}
        folded = await in_thread(lambda: collapse(texts, **options))
        return answered({"results": _shown(folded, asked.results)})

    return router


def _read_ranking(body: bytes, limits: RequestLimits) -> CollapseBody:
    """Read a ranking; it is counted before its results are looked at one by one, which takes seconds for millions."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(422, "json", f"the body is not JSON: {error}") from None
    results = found.get("results") if isinstance(found, dict) else None
    if isinstance(results, list) and len(results) > limits.documents:
        raise Refused(413, "too_many_documents", f"there are more than {limits.documents:,} results")
    try:
        return CollapseBody.model_validate_json(body)  # which keeps whole numbers of any length as they are
    except ValidationError as error:
        raise invalid(error) from None


def _text(result: str | dict[str, Any], field: str, place: int) -> str:
    text = result if isinstance(result, str) else result.get(field)
    if not isinstance(text, str):
        raise Refused(422, "document", f"result {place} has no text in {field[:100]!r}")
    return text


def _shown(folded: Collapsed, results: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "place": group.place,
            "count": group.count,
            "result": results[group.place],
            "folded": [
                {"place": one.place, "similarity": one.similarity, "result": results[one.place]} for one in group.folded
            ],
        }
        for group in folded.groups
    ]


def _check_lengths(texts: tuple[str, ...] | list[str], limits: RequestLimits) -> None:
    for text in texts:
        if 4 * len(text) > limits.text and len(text.encode()) > limits.text:
            raise Refused(413, "text_too_long", f"a text is longer than {limits.text:,} bytes")
