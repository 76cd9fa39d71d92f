"""The routes for those who run a service: is it alive, is it ready, what does it count, what are its routes."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from twinset.web.answers import Refused
from twinset.web.api.models import CollapseBody, DocumentsBody, QueryBody
from twinset.web.api.routes import answered
from twinset.web.api.service import Service
from twinset.web.framework import FastAPI, PlainTextResponse, Response
from twinset.web.limits import Usage

_READY_SECONDS = 5.0


def add_health_routes(app: FastAPI, service: Service, usage: Usage) -> None:
    """Add the routes to an application that has all its others."""

    @app.get("/healthz", summary="Whether the process answers")
    async def healthz() -> Response:
        return answered({"status": "ok"})

    @app.get("/readyz", summary="Whether every index can be read")
    async def readyz() -> Response:
        if usage.stopping:
            raise Refused(503, "stopping", "the server is stopping")
        try:
            async with asyncio.timeout(_READY_SECONDS):
                for one in service.indexes.values():
                    await one.queries.call(lambda opened: opened.version())
        except Exception:
            raise Refused(503, "not_ready", "an index cannot be read; the log has the reason") from None
        return answered({"status": "ready"})

    @app.get("/metrics", summary="Counters in the text format of Prometheus", response_class=PlainTextResponse)
    async def metrics() -> Response:
        text = service.metrics.text([*service.metrics.of_process(), *await _gauges(service, usage)])
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    document = orjson.dumps(_described(app))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(document, media_type="application/json")


async def _gauges(service: Service, usage: Usage) -> list[tuple[str, str, str, float]]:
    gauges = [
        ("twinset_requests_active", "Requests that are worked on now.", "", float(usage.active)),
        ("twinset_request_body_bytes", "Bytes of bodies in memory now.", "", float(usage.bytes)),
    ]
    for one in service.indexes.values():
        labels = f'{{index="{one.name}"}}'
        queries, changes = one.waiting
        version, documents = await one.queries.call(lambda opened: (opened.version(), len(opened)))
        gauges += [
            ("twinset_index_documents", "Documents of an index.", labels, float(documents)),
            ("twinset_index_version", "Changes of an index.", labels, float(version)),
            ("twinset_queries_waiting", "Queries that wait for an index.", labels, float(queries)),
            ("twinset_changes_waiting", "Changes that wait for an index.", labels, float(changes)),
        ]
    return gauges


def _described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the token and the models of bodies that handlers read themselves."""
    document = app.openapi()
    parts = document.setdefault("components", {})
    for model in (DocumentsBody, QueryBody, CollapseBody):
        whole = model.model_json_schema(ref_template="#/components/schemas/{model}")
        parts["schemas"] |= {**whole.pop("$defs", {}), model.__name__: whole}
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path in ("/healthz", "/readyz"):
        document["paths"][path]["get"]["security"] = []
    return document
