"""The contract of a tool, and what all tools share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from twinset.errors import SourceError
from twinset.mcp.answers import Bounds
from twinset.mcp.folders import Folders
from twinset.mcp.schemas import JsonSchema, arguments_schema
from twinset.mcp.work import Deadline
from twinset.options.checks import shown_size
from twinset.options.web.mcp import McpOptions, ToolArguments

Arguments = TypeVar("Arguments", bound=ToolArguments)


@dataclass(frozen=True)
class Desk:
    """What tools work with: the folders and the limits of a server."""

    folders: Folders
    options: McpOptions

    @property
    def bounds(self) -> Bounds:
        """The bounds of an answer."""
        return Bounds(self.options.rows, self.options.characters)

    def check_text(self, name: str, text: str | None) -> str:
        """Return a text; raise `SourceError` if it is too long, or no valid Unicode."""
        text = text or ""
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise SourceError.unpaired_surrogate(name, error) from error
        if size > self.options.length:
            most = shown_size(self.options.length)
            raise SourceError(f"{name} has {shown_size(size)}; allowed: up to {most}; send a part of it")
        return text


class Tool(ABC, Generic[Arguments]):
    """A tool: its name, what it does in words for a model, its arguments and its answer."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    arguments: ClassVar[type[ToolArguments]]

    @abstractmethod
    def answer_schema(self) -> JsonSchema:
        """Return the schema of the answer."""

    @abstractmethod
    def answer(self, desk: Desk, given: Arguments, deadline: Deadline) -> dict[str, Any]:
        """Answer a call; errors of the library are raised."""

    def check(self, given: Mapping[str, Any]) -> Any:
        """Check the arguments of a call; raise `OptionError` for wrong ones."""
        return self.arguments.of(**given)

    def schema(self) -> JsonSchema:
        """Return the schema of the arguments."""
        return arguments_schema(self.arguments)
