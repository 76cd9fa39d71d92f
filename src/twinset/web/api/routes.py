"""The routes of an index: add, query, read and remove documents."""

from __future__ import annotations

from typing import Annotated, Any

import orjson

from twinset.errors import OptionError
from twinset.web.answers import Refused
from twinset.web.api.adding import Adding, add_stream
from twinset.web.api.models import (
    AddAnswer,
    DocumentAnswer,
    DocumentsBody,
    ErrorAnswer,
    IndexesAnswer,
    QueryAnswer,
    QueryBody,
    RemoveAnswer,
)
from twinset.web.api.queries import Limits
from twinset.web.api.service import FIELDS, IndexService, Service
from twinset.web.faults import describe_fault
from twinset.web.framework import (
    APIRouter,
    Header,
    Query,
    Request,
    Response,
    StringConvertor,
    ValidationError,
    register_url_convertor,
)
from twinset.web.limits import RequestLimits, Usage

LINES = "application/x-ndjson"
_LIMITS = ("k", "threshold", "contained", "distance", "force")
_KEY = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=255,
        description="A repeated request with the same key gets the first answer; keys are stored for 7 days.",
    ),
]  # fmt: skip
_STATUSES = {
    401: "no valid token", 403: "the token may not do this, or the request comes from another site",
    404: "there is no such index or document", 408: "the body arrives too slowly",
    409: "the index has another document with this id", 413: "too large or too many", 422: "the request is not valid",
    429: "too many requests of this token at once", 503: "busy, stopping, or too slow: ask again later",
}  # fmt: skip
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": what[0].upper() + what[1:]} for status, what in _STATUSES.items()
}
_DOCUMENTS = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/DocumentsBody"},
                "example": DocumentsBody.model_config["json_schema_extra"]["examples"][0],  # type: ignore[index]
            },
            LINES: {
                "schema": {"type": "string", "description": "A document a line."},
                "example": '{"id": "a1", "text": "A rose is a rose."}\n{"id": "a2", "text": "Another."}\n',
            },
        },
    }
}


def described_body(model: str) -> dict[str, Any]:
    """Describe a body that a handler reads itself, by the name of its model."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def read_query(body: bytes) -> QueryBody:
    """Read the body of a query: in one step, since this is what a service does most."""
    try:
        return QueryBody.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error) from None


def invalid(error: ValidationError) -> Refused:
    """Return the refusal of a body that is not as described: its first fault."""
    [first, *_] = error.errors(include_url=False, include_input=False)
    if first["type"] == "json_invalid":
        return Refused(422, "json", f"the body is not JSON: {first['ctx']['error']}")
    return Refused(422, "option", describe_fault(first))


def answered(value: Any, status: int = 200) -> Response:
    """Return an answer as JSON; one that repeats a value of the request may not be possible as JSON."""
    try:
        body = orjson.dumps(value)
    except TypeError as error:
        raise Refused(422, "json", f"a value of the request cannot be written: {error}") from None
    return Response(body, status, media_type="application/json")


class _Anything(StringConvertor):
    """Any characters, also slashes and line ends, as an id may have them."""

    regex = r"[\s\S]*"


register_url_convertor("anything", _Anything())


def index_routes(service: Service, usage: Usage) -> APIRouter:
    """Return the routes of the indexes of a service."""
    router, limits = APIRouter(responses=REFUSALS), usage.limits

    @router.get("/indexes", response_model=IndexesAnswer, summary="List the indexes")
    async def list_indexes() -> Response:
        return answered({"indexes": [await _facts(one, service) for one in service.indexes.values()]})

    @router.post(
        "/indexes/{name}/documents", response_model=AddAnswer, openapi_extra=_DOCUMENTS, summary="Add documents"
    )
    async def add_documents(
        request: Request,
        name: str,
        replace: Annotated[bool, Query(description="Replace documents that have another content.")] = False,
        key: _KEY = None,
    ) -> Response:
        index = service.find(name)
        adding = Adding(service, index, limits, replace, key)
        _ = index.changes  # a read-only service refuses before it reads the body
        if is_stream(request.headers.get("content-type", "")):
            answer = await add_stream(adding, request, usage)
        else:
            answer = await adding.from_body(await request.body())
        return answered({"index": name, **answer})

    @router.post(
        "/indexes/{name}/query",
        response_model=QueryAnswer,
        openapi_extra=described_body("QueryBody"),
        summary="Find similar documents",
    )
    async def query_index(request: Request, name: str) -> Response:
        index = service.find(name)
        asked = read_query(await request.body())
        version, answers = await ask(index, asked, limits)
        if asked.text is not None or asked.id is not None:
            request.scope["state"]["note"] = repr(asked.text if asked.id is None else asked.id)
        return answered({"index": name, "version": version, "answers": answers})

    @router.get("/indexes/{name}/documents/{id:anything}", response_model=DocumentAnswer, summary="Read a document")
    async def read_document(name: str, id: str) -> Response:
        index = service.find(name)
        with index.own_name():
            version, document = await index.queries.call(lambda opened: opened.document(id))
        return answered({"index": name, "version": version, **document})

    @router.delete("/indexes/{name}/documents/{id:anything}", response_model=RemoveAnswer, summary="Remove a document")
    async def remove_document(name: str, id: str, key: _KEY = None) -> Response:
        from twinset.index.served import Change

        index = service.find(name)
        with index.own_name():
            answer = await index.changes.carry_out(Change(removed=(id,), key=key, digest=f"remove {id}"))
        return answered({"index": name, **answer})

    return router


def is_stream(content_type: str) -> bool:
    """Whether a body is a stream of lines."""
    return content_type.partition(";")[0].strip().lower() in (LINES, "application/jsonl", "application/x-jsonlines")


async def ask(index: IndexService, asked: QueryBody, limits: RequestLimits) -> tuple[int, list[dict[str, Any]]]:
    """Return the version of an index, and its answers to a query."""
    value = _value(index, asked, limits)
    with index.own_name():
        if asked.passages:
            return await _passages(index, asked)
        if asked.least is not None:
            raise OptionError("least is for passages; leave it out, or set passages to true")
        given: Limits = tuple((name, getattr(asked, name)) for name in _LIMITS)
        if asked.id is not None:
            id = asked.id
            return await index.queries.call(lambda opened: opened.answer_similar(id, dict(given)))
        return await index.queries.answer(value, given)


def _value(index: IndexService, asked: QueryBody, limits: RequestLimits) -> Any:
    """Return what the query asks with; it must be what the index holds."""
    given = [name for name in (*FIELDS.values(), "id") if getattr(asked, name) is not None]
    if given not in ([index.field], ["id"]):
        named = " and ".join(given) or "neither"
        raise Refused(422, "option", f"a query of this index has {index.field!r} or 'id'; given: {named}")
    value = getattr(asked, given[0])
    if isinstance(value, str) and 4 * len(value) > limits.text and len(value.encode()) > limits.text:
        raise Refused(413, "text_too_long", f"the text is longer than {limits.text:,} bytes")
    return value


async def _passages(index: IndexService, asked: QueryBody) -> tuple[int, list[dict[str, Any]]]:
    wrong = next((name for name in _LIMITS if getattr(asked, name) not in (None, False)), None)
    if wrong is not None:
        raise OptionError(f"{wrong} cannot be used with passages; leave one of them out")
    limits = {} if asked.least is None else {"least": asked.least}
    return await index.queries.call(lambda opened: opened.answer_passages(asked.text, asked.id, limits))


async def _facts(index: IndexService, service: Service) -> dict[str, Any]:
    with index.own_name():
        version, documents = await index.queries.call(lambda opened: (opened.version(), len(opened)))
    return {
        "name": index.name, "version": version, "documents": documents, "kind": index.field,
        "threshold": index.threshold, "shingle": index.shingle, "read_only": service.read_only,
    }  # fmt: skip
