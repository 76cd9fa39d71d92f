"""Tools that read the results of earlier runs: why a document was removed, and what a run did."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.errors import OptionError, SourceError
from twinset.mcp.answers import excerpt, joined, readable
from twinset.mcp.folders import beside_index
from twinset.mcp.index_tools import NOTE, command_of
from twinset.mcp.schemas import JsonSchema, record, rows_of, values
from twinset.mcp.sources import OUTSIDE, Choice, is_readable, size_within
from twinset.mcp.tools import Desk, Tool
from twinset.mcp.work import Deadline
from twinset.options.checks import shown_size
from twinset.options.web.mcp import ExplainArguments, SummaryArguments

if TYPE_CHECKING:
    from twinset.pairs.explain.shared import Explanation
    from twinset.results.explain import Account
    from twinset.results.stored import StoredResult

_ENTRIES = 10
"""Entries of a list of an option that are shown."""
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
        other = None if given.other is None else _stored_id(desk, recorded, given.other)
        told, note = _account(desk, recorded, _stored_id(desk, recorded, str(given.id)), other, deadline)
        members = [_named(desk, row) for row in told.members.slice(0, desk.options.rows).to_pylist()]
        shown, cut = desk.bounds.cut(members, told.members.num_rows, "removed document")
        changes, cut_changes = self._changes(desk, told.explanation)
        return {
            "state": told.state,
            **_named(desk, {"id": told.id, "cluster": told.cluster, "other": told.other}),
            "because": _because(desk, told),
            "members": shown,
            "comparison": None if told.explanation is None else _compared(told.explanation),
            "changes": changes,
            "note": joined(told.reason and desk.folders.named(told.reason), note, cut, cut_changes),
        }

    def _changes(self, desk: Desk, explanation: Explanation | None) -> tuple[list[dict[str, Any]], str | None]:
        parts = [] if explanation is None else [part for hunk in explanation.hunks(0) for part in hunk.parts]
        changed = [{"left": excerpt(one.left), "right": excerpt(one.right)} for one in parts if not one.words]
        return desk.bounds.cut(changed, len(changed), "change")


def _named(desk: Desk, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of ids and scores with its ids as they are shown."""
    return {name: desk.folders.named_id(value) if isinstance(value, str) else value for name, value in row.items()}


def _stored_id(desk: Desk, recorded: StoredResult, id: str) -> str:
    """Return the id of a document that is shown like this."""
    for one in desk.folders.stored_ids(id):
        with suppress(OptionError):
            recorded.find(one)
            return one
    return id


def _because(desk: Desk, told: Account) -> dict[str, Any] | None:
    if told.state not in ("removed", "flagged"):
        return None
    ids = told.members["id"].to_pylist()
    row: dict[str, Any] = told.members.slice(ids.index(told.id), 1).to_pylist()[0]
    return _named(desk, {name: value for name, value in row.items() if name != "id"})


def _compared(explanation: Explanation) -> dict[str, Any]:
    return {name: getattr(explanation, name) for name in _COMPARED}


def _account(
    desk: Desk, recorded: StoredResult, id: str, other: str | None, deadline: Deadline
) -> tuple[Account, str | None]:
    """Explain a document; without texts, and with the reason, where they cannot or may not be read."""
    from twinset.results.explain import account

    try:
        why = _why_not_read(desk, recorded, deadline)
        if why is None:
            return account(recorded, id, other), None
        note = f"the texts are not compared, because {why}"
    except (OptionError, SourceError) as error:
        note = readable(f"the texts are not compared: {desk.folders.named(str(error))}")
    return account(recorded, id, other, texts=False), note


def _why_not_read(desk: Desk, recorded: StoredResult, deadline: Deadline) -> str | None:
    """Why the sources of a result may not be read; None if they may. Nothing of them is opened but cards."""
    size, outside = 0, "sources of that run are not in the folders of this server"
    if recorded.options.index is not None:
        index = Path(_index_of(recorded))
        if not all(map(desk.folders.contain, (index, *beside_index(index)))):
            return outside
    for path, choice in _places(recorded):
        if desk.folders.contain(path) and not is_readable(path):
            if path.exists():
                return "a source of that run is neither a file nor a folder"
            continue  # reading says which one is missing
        one = size_within(desk.folders, path, deadline, choice)
        if one == OUTSIDE:
            return outside
        size += one
    if size > desk.options.read:
        return f"the sources of that run have more than {shown_size(desk.options.read)}, which this server reads"
    return None


def _places(recorded: StoredResult) -> Iterator[tuple[Path, Choice]]:
    """Yield the paths from which the texts of a result would be read, as reading finds them; URLs are nowhere."""
    from twinset.documents.files import is_pattern, matches_of
    from twinset.documents.stored_sources import StoredSource

    if not recorded.sources.lasting:
        return
    options = recorded.options
    for number, place in enumerate(recorded.sources.places):
        own = number < recorded.sources.against
        choice = (options.subset, options.data_split) if own else (None, None)
        if isinstance(place, StoredSource):
            yield place.path, (None, None, None)
        elif "://" in str(place):
            yield Path(os.devnull), (None, None, None)
        elif is_pattern(str(place)) and not os.path.exists(str(place)):
            yield from ((Path(one), (None, None, None)) for one in matches_of(str(place)) if os.path.isfile(one))
        else:
            yield Path(str(place)), (*choice, options.delimiter)


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
        sources = [desk.folders.named_path(name) if name else "(data of a program)" for name in given_sources]
        shown, cut_sources = desk.bounds.cut([{"name": name} for name in sources], len(sources), "source", 0.25)
        options = _given_options(desk, recorded)
        listed = [{"name": name, "value": value} for name, value in options.items()]
        shown_options, cut_options = desk.bounds.cut(listed, len(listed), "option", 0.25)
        clusters, cut = self._clusters(desk, recorded) if command == "dedup" else ([], None)
        audit = summary.get("audit")
        plan = recorded.plan
        return {
            "result": given.result,
            "command": command,
            "counts": {name: summary[name] for name in self.counts if isinstance(summary.get(name), int)},
            "recall": audit and {name: audit[name] for name in ("recall", "low", "high")},
            "plan": str(plan),
            "options": {row["name"]: row["value"] for row in shown_options},
            "sources": [row["name"] for row in shown],
            "largest_clusters": clusters,
            "seconds": summary["timings"]["seconds"].get("total"),
            "version": str(summary["version"]),
            "note": joined(cut_sources, cut_options, cut),
        }

    def _clusters(self, desk: Desk, recorded: StoredResult) -> tuple[list[dict[str, Any]], str | None]:
        from twinset.results.explain import largest_clusters

        table = largest_clusters(recorded)
        rows = [_named(desk, row) for row in table.slice(0, desk.options.rows).to_pylist()]
        return desk.bounds.cut(rows, table.num_rows, "cluster")


def _given_options(desk: Desk, recorded: StoredResult) -> dict[str, Any]:
    """Return the options of a run that differ from their defaults, with the first entries of long lists."""
    defaults = type(recorded.options).defaults()
    given = {}
    for name, value in recorded.summary["options"].items():
        default = defaults.get(name)
        if value != (list(default) if isinstance(default, tuple) else default):
            given[name] = _shown_option(desk, value)
    return given


def _shown_option(desk: Desk, value: Any) -> Any:
    if isinstance(value, str):
        return desk.folders.named_path(value)
    if not isinstance(value, list):
        return value
    more = [f"… and {len(value) - _ENTRIES:,} more"] if len(value) > _ENTRIES else []
    return [*(_shown_option(desk, one) for one in value[:_ENTRIES]), *more]
