"""Options of ``twinset mcp``, and the arguments of its tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import OptionSpec
from twinset.options.index import QueryOptions
from twinset.options.passages import PassageOptions
from twinset.options.steps import ShingleOptions

__all__ = [
    "CompareArguments",
    "ExplainArguments",
    "FindArguments",
    "ListArguments",
    "McpOptions",
    "PassageArguments",
    "SummaryArguments",
    "ToolArguments",
]


@dataclass(frozen=True, kw_only=True)
class McpOptions(Options):
    """The options of ``twinset mcp``."""

    title: ClassVar[str] = "Limits"

    rows: int = option(
        50, "Maximum number of rows of an answer.", checks.whole(1, 10_000), "N", result=False, common=True
    )
    characters: int = option(
        20_000,
        "Maximum number of characters of an answer.",
        checks.whole(1_000, 10_000_000),
        "N",
        result=False,
        common=True,
    )
    length: int = option(
        16_000_000, "Maximum size of a text.", checks.size(1, 2**30), "SIZE", result=False, common=True
    )
    read: int = option(
        256_000_000,
        "Maximum size of the files that a call reads: a source of passages, or the sources of a result.",
        checks.size(1, 2**50),
        "SIZE",
        result=False,
        common=True,
    )
    seconds: int = option(
        60, "Maximum time of a call.", checks.whole(1, 86_400), "SECONDS", result=False, common=True
    )


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return value


_TEXT = checks.Check(_text, "a text", in_help=False)
_PATH = checks.Check(_text, "a name from list_indexes_and_results", in_help=False)
_RESULT = ("Name of a result, from list_indexes_and_results.", _PATH)


@dataclass(frozen=True, kw_only=True)
class ToolArguments(Options):
    """The arguments of a tool."""

    required: ClassVar[tuple[str, ...]] = ()
    left_out: ClassVar[tuple[str, ...]] = ()
    """Options of a base class that the tool does not have."""

    @classmethod
    def specs(cls) -> Iterator[tuple[str, OptionSpec]]:
        """Yield the name and the description of each argument."""
        return ((name, spec) for name, spec in super().specs() if name not in cls.left_out)

    def _check_together(self) -> None:
        super()._check_together()
        for name in self.required:
            if getattr(self, name) is None:
                raise OptionError(f"{name} is missing; give {dict(self.specs())[name].check.allowed}")


def _check_one(first: str, second: str, values: ToolArguments) -> None:
    """Refuse arguments unless exactly one of two is given."""
    given = [name for name in (first, second) if getattr(values, name) is not None]
    if len(given) != 1:
        raise OptionError(f"{' and '.join(given) or f'neither {first} nor {second}'} given; give {first} or {second}")


@dataclass(frozen=True, kw_only=True)
class ListArguments(ToolArguments):
    """The arguments of ``list_indexes_and_results``."""

    folder: str | None = option(
        None,
        "List only this folder and those below it.",
        checks.Check(_text, "the name of a folder", in_help=False),
        default_text="all folders of the server",
    )


@dataclass(frozen=True, kw_only=True)
class FindArguments(ToolArguments, QueryOptions):
    """The arguments of ``find_near_duplicates``."""

    required: ClassVar[tuple[str, ...]] = ("index",)
    left_out: ClassVar[tuple[str, ...]] = ("distance", "any_orientation")

    index: str | None = option(None, "Name of an index of texts, from list_indexes_and_results.", _PATH)
    text: str | None = option(None, "The text to look for. Give it, or the id of a document.", _TEXT)
    id: str | None = option(
        None,
        "Instead of a text: the id of a document of the index. It is not among the answers.",
        checks.Check(_text, "an id", in_help=False),
    )
    texts: bool = option(
        False, "Also return the beginning of each document found, if the index stores texts.", checks.switch
    )

    def _check_together(self) -> None:
        super()._check_together()
        _check_one("text", "id", self)


@dataclass(frozen=True, kw_only=True)
class CompareArguments(ToolArguments, ShingleOptions):
    """The arguments of ``compare_texts``."""

    required: ClassVar[tuple[str, ...]] = ("left", "right")

    left: str | None = option(None, "A text.", _TEXT)
    right: str | None = option(None, "Another text.", _TEXT)


@dataclass(frozen=True, kw_only=True)
class ExplainArguments(ToolArguments):
    """The arguments of ``explain_removal``."""

    required: ClassVar[tuple[str, ...]] = ("result", "id")

    result: str | None = option(None, *_RESULT)
    id: str | None = option(None, "The id of a document.", checks.Check(_text, "an id", in_help=False))
    other: str | None = option(
        None,
        "The id of a document to compare it with.",
        checks.Check(_text, "an id", in_help=False),
        default_text="the kept document of its cluster; for a kept document the least similar removed one",
    )


@dataclass(frozen=True, kw_only=True)
class PassageArguments(ToolArguments, PassageOptions):
    """The arguments of ``find_passages``."""

    required: ClassVar[tuple[str, ...]] = ("text",)
    left_out: ClassVar[tuple[str, ...]] = ("within",)

    text: str | None = option(None, "The text whose passages are looked for.", _TEXT)
    index: str | None = option(None, "Name of an index that was made with --passages.", _PATH)
    source: str | None = option(
        None,
        "Instead of an index: a file or a folder of documents, by its name within the folders of the server.",
        checks.Check(_text, "the name of a file or a folder", in_help=False),
    )
    column: str | None = option(
        None,
        "With source: the column that has the texts, if the file is a table.",
        checks.column(none=True),
        default_text="text",
    )

    def _check_together(self) -> None:
        super()._check_together()
        _check_one("index", "source", self)
        alone = next((name for name in ("gap", "run", "column") if self.index is not None and self.was_given(name)), "")
        if alone:
            raise OptionError(f"{alone} applies to a source, not to an index; leave it out")


@dataclass(frozen=True, kw_only=True)
class SummaryArguments(ToolArguments):
    """The arguments of ``summarize_result``."""

    required: ClassVar[tuple[str, ...]] = ("result",)

    result: str | None = option(None, *_RESULT)
