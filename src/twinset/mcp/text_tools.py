"""Tools for texts of the request: compare two, and find passages that a text shares with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from twinset.errors import OptionError
from twinset.mcp.answers import excerpt
from twinset.mcp.index_tools import NOTE, ask_texts
from twinset.mcp.schemas import JsonSchema, columns, record, rows_of, values
from twinset.mcp.sources import OUTSIDE, is_readable, size_within
from twinset.mcp.tools import Desk, Tool
from twinset.mcp.work import Deadline
from twinset.options.checks import shown_size
from twinset.options.steps import ShingleOptions
from twinset.options.web.mcp import CompareArguments, PassageArguments
from twinset.schema import PASSAGES

_SHARES = ("similarity", "distance", "left_in_right", "right_in_left", "estimate", "standard_error", "cosine")
_COMPARISON: JsonSchema = {
    **{name: {"type": "number"} for name in _SHARES},
    **{name: {"type": ["number", "null"]} for name in ("edit_similarity", "word_edit_similarity")},
    **{name: {"type": "integer"} for name in ("shared", "left_shingles", "right_shingles", "n_hashes")},
    "shingle": {"type": "string"},
    "short_texts": {"type": ["object", "null"], "description": "A shorter shingle to try, if the texts are short."},
}
QUERY = "query"
"""The id of the text of a request."""


class CompareTool(Tool[CompareArguments]):
    """Compare two texts."""

    name = "compare_texts"
    title = "Compare two texts"
    about = (
        "Compare two texts exactly: the Jaccard similarity of their sets of shingles, the share of each that the other "
        "contains, cosine, edit similarities of characters and words (null for long texts), and the numbers of "
        "shingles. It compares wording, not meaning."
    )
    arguments = CompareArguments

    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""
        return record(_COMPARISON)

    def answer(self, desk: Desk, given: CompareArguments, deadline: Deadline) -> dict[str, Any]:
        """Compare the texts."""
        from twinset.jobs.compare import compare

        left, right = (desk.check_text(name, getattr(given, name)) for name in ("left", "right"))
        options = {name: getattr(given, name) for name, _ in ShingleOptions.specs()}
        return compare(left, right, **options).to_dict()


class PassageTool(Tool[PassageArguments]):
    """Find shared passages."""

    name = "find_passages"
    title = "Find passages that a text shares with others"
    about = (
        "Find every run of words that a text shares with the documents of an index that was made with passages, or of "
        "a file or a folder, with its place in both. Places are in characters, from the start of a text, the end "
        "exclusive. Use it for copied or quoted text."
    )
    arguments = PassageArguments

    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""
        row = {**columns(PASSAGES), "excerpt": {"type": "string"}}
        rows = rows_of(
            f"left is the text of the request ({QUERY!r}), right the id of a document. words counts the words of the "
            "passage, shared those that both have, documents the documents that have it. excerpt is its beginning.",
            row,
        )
        return record({"found": values("How many passages were found.", int), "passages": rows, "note": NOTE})

    def answer(self, desk: Desk, given: PassageArguments, deadline: Deadline) -> dict[str, Any]:
        """Search the index, or the files."""
        text = desk.check_text("text", given.text)
        if given.index is not None:
            table = self._in_index(desk, given, text)
        else:
            table = self._in_files(desk, given, text, deadline)
        rows = [
            {
                **row,
                "right": desk.folders.named_id(row["right"]),
                "excerpt": excerpt(text[row["left_start"] : row["left_end"]]),
            }
            for row in table.slice(0, desk.options.rows).to_pylist()
        ]
        shown, note = desk.bounds.cut(rows, table.num_rows, "passage")
        return {"found": table.num_rows, "passages": shown, "note": note}

    def _in_index(self, desk: Desk, given: PassageArguments, text: str) -> pa.Table:
        least = given.least if given.was_given("least") else None
        return ask_texts(desk, given.index, lambda index: index.passages(text, least=least, crowd=given.crowd))

    def _in_files(self, desk: Desk, given: PassageArguments, text: str, deadline: Deadline) -> pa.Table:
        from twinset.jobs.passages import find_passages

        path = desk.folders.resolve("source", given.source)
        check_source(desk, given.source, path, deadline)
        words = {name: getattr(given, name) for name in ("least", "gap", "run", "crowd") if given.was_given(name)}
        if given.column is not None:
            words["text"] = given.column
        done = find_passages({QUERY: text}, against=path, progress=deadline, **words)
        return done.passages


def check_source(desk: Desk, name: str | None, path: Path, deadline: Deadline) -> None:
    """Refuse what is no file or folder, what is elsewhere, and what is too large to be read for a call."""
    if any(one in str(path) for one in "*?["):
        raise OptionError(f"source is {name!r}, which has one of the characters * ? [ and would be read as a pattern")
    if not is_readable(path):
        raise OptionError(f"source is {name!r}, which is neither a file nor a folder")
    size = size_within(desk.folders, path, deadline)
    if size == OUTSIDE:
        raise OptionError(f"source is {name!r}, which has a symbolic link that leads out of the folders of this server")
    if size > desk.options.read:
        most = shown_size(desk.options.read)
        raise OptionError(
            f"source is {name!r}, which has more than {most}; name a part of it, or add it to an index with passages"
        )
