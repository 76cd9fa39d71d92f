"""Tools that ask an index, or the folders themselves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from twinset.errors import BusyError, OptionError, TwinsetError
from twinset.mcp.answers import excerpt, joined, readable
from twinset.mcp.schemas import JsonSchema, columns, record, rows_of, values
from twinset.mcp.tools import Desk, Tool
from twinset.mcp.work import Deadline
from twinset.options.web.mcp import FindArguments, ListArguments
from twinset.schema import answers_schema

if TYPE_CHECKING:
    from twinset.index.index import Index

NOTE = values("What was left out of the answer, and other remarks.", str, null=True)
_INDEX_FACTS: dict[str, type] = {
    "documents": int, "holds": str, "threshold": float, "shingle": str, "stores": str, "contained": bool,
    "passages": int, "command": str,
}  # fmt: skip


_TRIES = 5
_Answer = TypeVar("_Answer")


def ask_index(path: Path, ask: Callable[[Index], _Answer]) -> _Answer:
    """Ask an index, again if another process has changed it meanwhile."""
    from twinset.index.backend import ChangedMeanwhile
    from twinset.index.index import Index

    for _ in range(_TRIES):
        with suppress(ChangedMeanwhile), Index.open(path, read_only=True, untouched=True) as index:
            return ask(index)
    raise BusyError(f"{path} is changed all the time; ask again later")


def ask_texts(desk: Desk, name: str | None, ask: Callable[[Index], _Answer]) -> _Answer:
    """Ask an index of texts."""

    def checked(index: Index) -> _Answer:
        if (kind := index.settings.options.item_kind) != "text":
            raise OptionError(f"{name} holds {kind}, and the tools of this server compare texts")
        return ask(index)

    return ask_index(desk.folders.index(name), checked)


class ListTool(Tool[ListArguments]):
    """List what there is."""

    name = "list_indexes_and_results"
    title = "List indexes and results"
    about = (
        "List the near-duplicate indexes and the results of earlier runs that this server can read, with what is in "
        "each. The other tools take these names."
    )
    arguments = ListArguments

    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""
        common = {
            "name": values("The name that the other tools take.", str),
            "kind": {"type": "string", "enum": ["index", "result"]},
            "note": values("Why it cannot be read; null if it can.", str, null=True),
        }
        facts = {name: values("", kind, null=True) for name, kind in _INDEX_FACTS.items()}
        row = rows_of("Indexes and results, in the order of their names.", {**common, **facts}, required=False)
        row["items"]["required"] = list(common)
        return record({"found": row, "note": NOTE})

    def answer(self, desk: Desk, given: ListArguments, deadline: Deadline) -> dict[str, Any]:
        """Walk the folders; indexes and results that are not shown are counted, not opened."""
        below = None if given.folder is None else desk.folders.resolve("folder", given.folder)
        if below is not None and not below.is_dir():
            raise OptionError(f"folder is {given.folder!r}, which is not a folder")
        places = list(desk.folders.found(below))
        rows = (self._described(desk, kind, path, deadline) for kind, path in places)
        shown, note = desk.bounds.cut(rows, len(places), "name")
        return {"found": shown, "note": note}

    def _described(self, desk: Desk, kind: str, path: Path, deadline: Deadline) -> dict[str, Any]:
        deadline.check()
        row: dict[str, Any] = {"name": desk.folders.shown(path), "kind": kind, "note": None}
        try:
            if kind == "index":
                desk.folders.check_index(path)
                return row | _index_facts(path)
            desk.folders.check_result(path)
            return row | _result_facts(path)
        except TwinsetError as error:
            return row | {"note": readable(desk.folders.named(str(error)))}


def _index_facts(path: Path) -> dict[str, Any]:
    options, documents = ask_index(path, lambda index: (index.settings.options, len(index)))
    facts: dict[str, Any] = {"documents": documents, "holds": options.item_kind}
    if options.item_kind == "text":
        facts |= {"threshold": options.threshold, "shingle": options.shingle, "stores": options.store}
        facts |= {"contained": options.contained, "passages": options.passages}
    return facts


def _result_facts(path: Path) -> dict[str, Any]:
    from twinset.results.stored import read_summary

    summary = read_summary(path)
    return {"command": command_of(summary), "documents": summary["documents"]}


def command_of(summary: dict[str, Any]) -> str:
    """Return the command that wrote a result.

    Examples
    --------
    >>> command_of({"removed": 3}), command_of({"passages": 2}), command_of({"pairs": 5})
    ('dedup', 'passages', 'pairs')
    """
    return next((name for key, name in (("passages", "passages"), ("removed", "dedup")) if key in summary), "pairs")


class FindTool(Tool[FindArguments]):
    """Find near-duplicates in an index."""

    name = "find_near_duplicates"
    title = "Find near-duplicates of a text"
    about = (
        "Find the documents of an index that are nearly the same as a text, or as one of its documents, best first. "
        "The similarity is the exact Jaccard similarity of the sets of shingles: wording, not meaning. Without k, all "
        "documents that reach the threshold of the index; with k alone, the k most similar ones however far. With "
        "contained, documents that contain most of the text, or of which the text contains most."
    )
    arguments = FindArguments

    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""
        row = columns(answers_schema("jaccard"))
        rows = rows_of(
            "Best first. query_in_document is the share of the query's shingles that the document has, recall the "
            "minimum probability that a document of this similarity is found. text is there if texts is true.",
            row,
        )
        rows["items"]["properties"]["text"] = {"type": ["string", "null"]}
        found = values("How many documents were found.", int)
        return record({"index": values("", str), "found": found, "answers": rows, "note": NOTE})

    def answer(self, desk: Desk, given: FindArguments, deadline: Deadline) -> dict[str, Any]:
        """Query the index."""
        limits = {name: getattr(given, name) for name in ("k", "threshold", "contained", "force")}
        text = None if given.text is None else desk.check_text("text", given.text)

        def ask(index: Index) -> tuple[int, list[dict[str, Any]], str | None]:
            if given.id is None:
                table = index.query(text, **limits)
            else:
                stored_id = next((one for one in desk.folders.stored_ids(given.id) if one in index), given.id)
                table = index.similar_to(stored_id, **limits)
            best = table.slice(0, desk.options.rows)
            rows, store = best.to_pylist(), index.settings.options.store
            if given.texts and store != "text":
                return table.num_rows, rows, f"the index stores no texts (its store is {store!r})"
            if given.texts:
                stored = index.texts(best["id"].to_pylist())
                rows = [{**row, "text": excerpt(text)} for row, text in zip(rows, stored, strict=True)]
            return table.num_rows, rows, None

        found, rows, note = ask_texts(desk, given.index, ask)
        rows = [{**row, "id": desk.folders.named_id(row["id"])} for row in rows]
        shown, cut = desk.bounds.cut(rows, found, "document")
        return {"index": given.index, "found": found, "answers": shown, "note": joined(cut, note)}
