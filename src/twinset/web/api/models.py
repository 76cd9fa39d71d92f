"""The bodies of requests and answers, from which their checks and the OpenAPI document are made."""

from __future__ import annotations

from typing import Any

from twinset.web.framework import BaseModel, ConfigDict, Field

ROSE = "A rose is a rose is a rose in any garden of the town."


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class QueryBody(_Body):
    """A query: a text (or a record, items, weights, a code, a vector, as the index holds them), or a document's id."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"text": ROSE, "k": 10}, {"id": "a1", "threshold": 0.9}]},
    )

    text: str | None = Field(default=None, description="A text.")
    record: dict[str, str | None] | None = Field(
        default=None, description="A record, from column to text, for an index of records."
    )
    items: list[str | int] | None = Field(default=None, description="A set, for an index of sets.")
    weights: dict[str, float] | None = Field(
        default=None, description="A weighted set, from element to weight, for an index of weighted sets."
    )
    code: str | None = Field(default=None, description="A code in hexadecimal digits, for an index of codes.")
    vector: list[float] | None = Field(default=None, description="A vector, for an index of vectors.")
    id: str | None = Field(
        default=None, description="The id of a document of the index; it is not among its own answers."
    )
    k: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="Maximum number of answers. Without a limit, the k most similar, even below the threshold.",
    )
    threshold: float | None = Field(
        default=None, gt=0, le=1, description="Minimum similarity; by default that of the index."
    )
    contained: float | None = Field(
        default=None, gt=0, le=1, description="Minimum containment, instead of a threshold."
    )
    distance: float | None = Field(
        default=None, ge=0, le=1e9, description="Maximum distance, if the index uses distances."
    )
    force: bool = Field(default=False, description="Allow a limit beyond that of the index, at a lower recall.")
    passages: bool = Field(default=False, description="Find shared passages instead of similar documents.")
    least: int | None = Field(default=None, ge=1, le=1_000_000, description="Minimum words of a passage.")


class QueryAnswer(BaseModel):
    """The answers to a query, best first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "index": "news",
                    "version": 12,
                    "answers": [
                        {
                            "id": "a1", "similarity": 0.91, "query_in_document": 0.95, "document_in_query": 0.96,
                            "estimate": False, "recall": 0.9999,
                        }
                    ],
                }
            ]
        }
    )  # fmt: skip

    index: str
    version: int = Field(description="The number of changes of the index when it was asked.")
    answers: list[dict[str, Any]] = Field(description="As the columns of `twinset index query`.")


class DocumentBody(BaseModel):
    """A document: an id, and a text (or a record, items, weights, a code, a vector, as the index holds them)."""

    id: str | int
    text: str | None = None
    record: dict[str, str | None] | None = None
    items: list[str | int] | None = None
    weights: dict[str, float] | None = None
    code: str | None = None
    vector: list[float] | None = None


class DocumentsBody(BaseModel):
    """Documents to add."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"id": "a1", "text": ROSE}, {"id": "a2", "text": "Another."}]}]}
    )

    documents: list[DocumentBody]


class AddAnswer(BaseModel):
    """What was added; it is durable."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"index": "news", "version": 13, "added": 2, "replaced": 0, "unchanged": 0}]}
    )

    index: str
    version: int
    added: int
    replaced: int
    unchanged: int = Field(description="Documents that the index had already, with the same content.")
    lines: int | None = Field(default=None, description="Lines of a stream that were read.")
    repeated: bool = Field(
        default=False, description="Whether a request with the same Idempotency-Key was answered before."
    )


class DocumentAnswer(BaseModel):
    """A document of an index."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"index": "news", "version": 13, "id": "a1", "text": ROSE}]}
    )

    index: str
    version: int
    id: str
    text: str | None = Field(description="Its text, if the index stores texts.")


class RemoveAnswer(BaseModel):
    """What was removed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"index": "news", "version": 14, "removed": 1}]})

    index: str
    version: int
    removed: int
    repeated: bool = False


class CompareBody(_Body):
    """Two texts to compare."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"left": ROSE, "right": "A rose is a rose.", "shingle": "word:3"}]},
    )

    left: str
    right: str
    shingle: str = Field(default="word:5", max_length=20, description="word:K or char:K.")
    lowercase: bool = True
    bag: bool = False


class CollapseBody(_Body):
    """A ranking to fold: texts, or objects with a text, best first."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [{"results": [{"id": "a1", "text": ROSE}, {"id": "a2", "text": ROSE}], "threshold": 0.8}]
        },
    )

    results: list[str | dict[str, Any]]
    text: str = Field(default="text", min_length=1, max_length=200, description="The name of the field with the text.")
    threshold: float = Field(default=0.8, gt=0, le=1)
    shingle: str = Field(default="word:5", max_length=20)
    lowercase: bool = True


class FoldedResult(BaseModel):
    """A result that is folded under another one."""

    place: int
    similarity: float
    result: Any


class ShownResult(BaseModel):
    """A result that is shown, and those folded under it."""

    place: int
    count: int
    result: Any
    folded: list[FoldedResult]


class CollapseAnswer(BaseModel):
    """The ranking, folded."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "results": [
                        {
                            "place": 0, "count": 2, "result": {"id": "a1", "text": ROSE},
                            "folded": [{"place": 1, "similarity": 1.0, "result": {"id": "a2", "text": ROSE}}],
                        }
                    ]
                }
            ]
        }
    )  # fmt: skip

    results: list[ShownResult]


class IndexFacts(BaseModel):
    """An index of the service."""

    name: str
    version: int
    documents: int
    kind: str
    threshold: float
    shingle: str
    read_only: bool


class IndexesAnswer(BaseModel):
    """The indexes of the service."""

    indexes: list[IndexFacts]


class ErrorFacts(BaseModel):
    """What is wrong."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """A refusal."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"error": {"code": "unknown_id", "message": "news: the index holds no …"}}]}
    )

    error: ErrorFacts
