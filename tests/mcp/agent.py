"""A client of ``twinset mcp`` as agents have one: the SDK's, which starts the server and talks to it over stdio."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from anyio.from_thread import start_blocking_portal
from mcp_types import CallToolResult, Tool

from mcp import Client, StdioServerParameters


@dataclass(frozen=True)
class Told:
    """The answer to a call: values, or the words of an error."""

    values: dict[str, Any]
    error: str

    @classmethod
    def of(cls, result: CallToolResult) -> Told:
        [content] = result.content
        text: str = content.text  # type: ignore[union-attr]
        if result.is_error:
            assert result.structured_content is None
            return cls({}, text)
        assert json.loads(text) == result.structured_content
        return cls(json.loads(text), "")

    def __getitem__(self, name: str) -> Any:
        assert not self.error, self.error
        return self.values[name]


class Agent:
    """A server and a session with it; the SDK's client compares every answer with the schema of its tool."""

    def __init__(self, folders: Sequence[Path], *words: str, mode: str = "auto") -> None:
        command = ["-m", "twinset", "mcp", *map(str, folders), *words]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        self._client = Client(server, mode=mode, read_timeout_seconds=600)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._stack.enter_context(self._portal.wrap_async_context_manager(self._client))
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def tools(self) -> dict[str, Tool]:
        """The tools of the server, by name."""
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def call(self, tool: str, **arguments: Any) -> Told:
        """Call a tool, and wait for the answer."""
        return Told.of(self._portal.call(partial(self._client.call_tool, tool, arguments)))

    def call_at_once(self, *calls: tuple[str, dict[str, Any]]) -> list[Told]:
        """Call tools at the same time."""
        started = [self._portal.start_task_soon(partial(self._client.call_tool, *one)) for one in calls]
        return [Told.of(one.result()) for one in started]
