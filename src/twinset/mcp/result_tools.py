"""Tools that read the results of earlier runs: why a document was removed, and what a run did."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from twinset.errors import OptionError, SourceError
from twinset.mcp.answers import excerpt, joined, readable
from twinset.mcp.index_tools import NOTE, command_of
from twinset.mcp.schemas import JsonSchema, record, rows_of, values
from twinset.mcp.tools import Desk, Tool
from twinset.mcp.work import Deadline
from twinset.options.web.mcp import ExplainArguments, SummaryArguments

if TYPE_CHECKING:
    from twinset.pairs.explain.shared import Explanation
    from twinset.results.explain import Account
    from twinset.results.stored import StoredResult

_CHANGE = {"left": {"type": "string"}, "right": {"type": "string"}}
_COMPARED: dict[str, type] = {
    "similarity": float, "left_in_right": float, "right_in_left": float, "left_words": int, "right_words": int,
    "shingle": str,
}  # fmt: skip


class ExplainTool(Tool[ExplainArguments]):
    """Explain a removal."""

    name = "explain_removal"
    title = "Explain why a document was removed or kept"
    about = (
        "Explain why a document of a result of dedup was removed or kept: its state, the kept document of its cluster, "
        "the scores of the two, the other removed documents of the cluster, and the words that differ."
    )
    arguments = ExplainArguments

    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""
        compared = {name: values("", kind) for name, kind in _COMPARED.items()}
        changes = rows_of("Words of the document (left) that the other one has not or has otherwise (right).", _CHANGE)
        return record(
            {
                "id": values("", str),
                "state": values("removed, kept, flagged, empty, unreadable, against or earlier (in an index).", str),
                "cluster": values("The id of the kept document of its cluster.", str, null=True),
                "because": {
                    "type": ["object", "null"],
                    "description": "If it was removed: the kept document (because_of) and the scores of the two.",
                },
                "members": rows_of("The documents that were removed because of the kept one.", {}, required=False),
                "other": values("The document that it is compared with.", str, null=True),
                "comparison": {**record(compared), "type": ["object", "null"]},
                "changes": changes,
                "note": NOTE,
            }
        )

    def answer(self, desk: Desk, given: ExplainArguments, deadline: Deadline) -> dict[str, Any]:
        """Read the tables, and the texts if they are within the folders."""
        from twinset.results.open_recorded import open_recorded

        folder = desk.folders.result(given.result)
        recorded = open_recorded(folder)
        if command_of(recorded.summary) != "dedup":
            command = command_of(recorded.summary)
            raise OptionError(f"result is {given.result!r}, a result of {command}, which removes nothing")
        deadline.check()
        told, note = _account(desk, recorded, str(given.id), given.other)
        members = told.members.slice(0, desk.options.rows).to_pylist()
        shown, cut = desk.bounds.cut(members, told.members.num_rows, "removed document")
        changes, cut_changes = self._changes(desk, told.explanation)
        return {
            "id": told.id,
            "state": told.state,
            "cluster": told.cluster,
            "because": _because(told),
            "members": shown,
            "other": told.other,
            "comparison": None if told.explanation is None else _compared(told.explanation),
            "changes": changes,
            "note": joined(told.reason, note, cut, cut_changes),
        }

    def _changes(self, desk: Desk, explanation: Explanation | None) -> tuple[list[dict[str, Any]], str | None]:
        parts = [] if explanation is None else [part for hunk in explanation.hunks(0) for part in hunk.parts]
        changed = [{"left": excerpt(one.left), "right": excerpt(one.right)} for one in parts if not one.words]
        return desk.bounds.cut(changed, len(changed), "change")


def _because(told: Account) -> dict[str, Any] | None:
    if told.state not in ("removed", "flagged"):
        return None
    ids = told.members["id"].to_pylist()
    row: dict[str, Any] = told.members.slice(ids.index(told.id), 1).to_pylist()[0]
    return {name: value for name, value in row.items() if name != "id"}


def _compared(explanation: Explanation) -> dict[str, Any]:
    return {name: getattr(explanation, name) for name in _COMPARED}


def _account(desk: Desk, recorded: StoredResult, id: str, other: str | None) -> tuple[Account, str | None]:
    """Explain a document; without texts, and with the reason, where they cannot or may not be read."""
    from twinset.results.explain import account

    outside = next((place for place in _places(recorded) if not desk.folders.contain(place)), None)
    if outside is not None:
        note = "the texts are not compared, because sources of that run are not in the folders of this server"
        return account(recorded, id, other, texts=False), note
    try:
        return account(recorded, id, other), None
    except SourceError as error:
        note = readable(f"the texts are not compared: {desk.folders.named(str(error))}")
        return account(recorded, id, other, texts=False), note


def _places(recorded: StoredResult) -> Iterator[str]:
    """Yield the paths from which the texts of a result would be read; of a URL, a path that is nowhere."""
    from twinset.documents.files import is_pattern, matches_of
    from twinset.documents.stored_sources import StoredSource

    if recorded.options.index is not None:
        yield _index_of(recorded)
    if not recorded.sources.lasting:
        return
    for place in recorded.sources.places:
        if isinstance(place, StoredSource):
            yield str(place.path)
        elif "://" in str(place):
            yield os.devnull
        elif is_pattern(str(place)):
            yield from matches_of(str(place))
        else:
            yield str(place)


def _index_of(recorded: StoredResult) -> str:
    """Return the path of the index that a run used, as it would be opened."""
    target, folder = str(recorded.options.index), recorded.summary["timings"].get("folder")
    if "://" in target:
        return os.devnull
    beside = os.path.join(folder or "", target)
    return beside if os.path.exists(beside) else target


class SummaryTool(Tool[SummaryArguments]):
    """Summarise a result."""

    name = "summarize_result"
    title = "Summarise a result"
    about = (
        "Summarise the result of an earlier run of dedup, pairs or passages: how many documents, pairs, clusters and "
        "removals, the recall that its audit measured, its options and sources, and the largest clusters."
    )
    arguments = SummaryArguments
    counts = (
        *("documents", "kept", "removed", "clusters", "pairs", "candidates", "passages", "empty", "unreadable"),
        "identical",
    )

    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""
        number = {"type": ["number", "null"]}
        return record(
            {
                "result": values("", str),
                "command": values("The command that wrote it.", str),
                "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "recall": {
                    **record(dict.fromkeys(("recall", "low", "high"), number)),
                    "type": ["object", "null"],
                    "description": "The share of all pairs that the run found, as its audit measured it, with an "
                    "interval of 95 %; null without an audit.",
                },
                "plan": values("How it searched.", str),
                "options": values("The options that were not at their defaults.", dict),
                "sources": {"type": "array", "items": {"type": "string"}},
                "largest_clusters": rows_of(
                    "Of dedup: the kept document, how many were removed because of it, and one of them.",
                    {},
                    required=False,
                ),
                "seconds": values("How long the run took.", float, null=True),
                "version": values("The version of Twinset that wrote it.", str),
                "note": NOTE,
            }
        )

    def answer(self, desk: Desk, given: SummaryArguments, deadline: Deadline) -> dict[str, Any]:
        """Read the summary; of dedup also the table of removals."""
        from twinset.results.open_recorded import open_recorded

        recorded = open_recorded(desk.folders.result(given.result))
        summary = recorded.summary
        command = command_of(summary)
        given_sources = (*summary["input"]["sources"], *summary["input"]["against"])
        sources = [name or "(data of a program)" for name in given_sources]
        shown, cut_sources = desk.bounds.cut([{"name": excerpt(name)} for name in sources], len(sources), "source")
        clusters, cut = self._clusters(desk, recorded) if command == "dedup" else ([], None)
        audit = summary.get("audit")
        plan = recorded.plan
        return {
            "result": given.result,
            "command": command,
            "counts": {name: summary[name] for name in self.counts if isinstance(summary.get(name), int)},
            "recall": audit and {name: audit[name] for name in ("recall", "low", "high")},
            "plan": str(plan),
            "options": _given_options(recorded),
            "sources": [row["name"] for row in shown],
            "largest_clusters": clusters,
            "seconds": summary["timings"]["seconds"].get("total"),
            "version": str(summary["version"]),
            "note": joined(cut_sources, cut),
        }

    def _clusters(self, desk: Desk, recorded: StoredResult) -> tuple[list[dict[str, Any]], str | None]:
        from twinset.results.explain import largest_clusters

        table = largest_clusters(recorded)
        return desk.bounds.cut(table.slice(0, desk.options.rows).to_pylist(), table.num_rows, "cluster")


def _given_options(recorded: StoredResult) -> dict[str, Any]:
    """Return the options of a run that differ from their defaults, each cut to a length that can be read."""
    defaults = type(recorded.options).defaults()
    given = {}
    for name, value in recorded.summary["options"].items():
        default = defaults.get(name)
        if value != (list(default) if isinstance(default, tuple) else default):
            given[name] = excerpt(value) if isinstance(value, str) else value
    return given

