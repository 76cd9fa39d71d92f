"""The server: answers requests of the protocol on stdin and stdout until stdin ends."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO, Self, cast

import orjson

from twinset import __version__
from twinset.compiled import on_compile
from twinset.errors import OptionError, TwinsetError
from twinset.mcp.answers import readable
from twinset.mcp.folders import Folders
from twinset.mcp.framework import (
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    DescribedTool,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    Server,
    SessionMessage,
    TextContent,
    ToolAnnotations,
    anyio,
    stdio_server,
)
from twinset.mcp.index_tools import FindTool, ListTool
from twinset.mcp.result_tools import ExplainTool, SummaryTool
from twinset.mcp.text_tools import CompareTool, PassageTool
from twinset.mcp.tools import Desk, Tool
from twinset.mcp.work import Deadline, Overtime, Workers
from twinset.options.checks import shown_value
from twinset.options.spoken import speaking_flags
from twinset.options.web.mcp import McpOptions

_ESCAPED = 16
"""How much longer a request may be than a text: it may have two, and JSON may write a byte as six characters."""
_LEAST_LINE = 2**20
_TOO_LONG = "!"
"""What stands for a longer one: it is no JSON, and is refused like any broken request."""
_MOST_MESSAGE = 2000
_NO_MESSAGE = "the line is no message of the protocol, or too long"
_INSTRUCTIONS = (
    "Twinset finds near-duplicates: texts with nearly the same wording. This server reads indexes and results of "
    "earlier runs, and changes nothing. list_indexes_and_results has the names that the other tools take."
)
_TOOLS: tuple[type[Tool[Any]], ...] = (ListTool, FindTool, CompareTool, PassageTool, ExplainTool, SummaryTool)


def serve_folders(folders: Sequence[str], options: McpOptions, note: Callable[[str], None]) -> None:
    """Serve until stdin ends, or SIGTERM.

    Parameters
    ----------
    folders
        The folders that may be read.
    options
        The limits of answers and calls.
    note
        Receives a line where something must be said to whoever started the server.
    """
    with speaking_flags(False):
        service = _Service(Desk(Folders(folders), options), note)
        anyio.run(service.run)
        if service.interrupted:
            raise KeyboardInterrupt


class _Service:
    """A server: its tools, and the threads that they work in."""

    def __init__(self, desk: Desk, note: Callable[[str], None]) -> None:
        self._desk, self._note = desk, note
        self._workers = Workers(desk.options.seconds)
        self._tools = {kind.name: kind() for kind in _TOOLS}
        self.interrupted = False

    async def run(self) -> None:
        """Answer requests."""
        server: Server[Any] = Server(
            "twinset",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        server.middleware.clear()  # the SDK's own traces of requests
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_at_signals, group.cancel_scope)
                group.start_soon(self._warm_up)
                await _serve(server, _ESCAPED * self._desk.options.length + _LEAST_LINE)
                group.cancel_scope.cancel()
        finally:
            self._workers.close()

    async def _end_at_signals(self, scope: anyio.CancelScope) -> None:
        """End at SIGTERM or Ctrl-C as if stdin had ended; an exception from a handler would end up anywhere."""
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with anyio.open_signal_receiver(signal.SIGTERM, *([] if ignored else [signal.SIGINT])) as signals:
            async for number in signals:
                self.interrupted = number == signal.SIGINT
                scope.cancel()

    async def _warm_up(self) -> None:
        """Load what calls need, while the client says hello; kernels may have to be compiled."""
        on_compile(lambda: self._note("compiling for this machine (once, 10 to 20 seconds)"))
        await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)

    async def _list(self, context: object, params: object) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in self._tools.values()])

    async def _call(self, context: object, params: CallToolRequestParams) -> CallToolResult:
        """Answer a call; whatever is wrong becomes an error of the tool, in words."""
        try:
            answer = await self._workers.do(lambda deadline: self._answer(params, deadline))
        except Overtime:
            return _refused(
                f"the call took longer than {self._desk.options.seconds} s and was given up; ask for less, or start "
                "the server with more --seconds"
            )
        except (TwinsetError, OSError, MemoryError) as error:
            return _refused(self._desk.folders.named(_words(error)))
        except Exception as error:
            self._note("".join(traceback.format_exception(error)).rstrip())
            return _refused(f"internal error ({type(error).__name__}); the server has written more to stderr")
        text = orjson.dumps(answer).decode()
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)

    def _answer(self, params: CallToolRequestParams, deadline: Deadline) -> dict[str, Any]:
        tool = self._tools.get(params.name)
        if tool is None:
            raise OptionError(f"there is no tool {shown_value(params.name)}; the tools are {', '.join(self._tools)}")
        answer = tool.answer(self._desk, tool.check(params.arguments or {}), deadline)
        return self._desk.bounds.fit(answer)


def _load() -> None:
    for module in ("index.index", "jobs.compare", "jobs.passages", "results.explain", "results.open_recorded"):
        import_module(f"twinset.{module}")


def _described(tool: Tool[Any]) -> DescribedTool:
    return DescribedTool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=tool.schema(),
        output_schema=tool.answer_schema(),
        annotations=ToolAnnotations(
            title=tool.title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _refused(message: str) -> CallToolResult:
    text = readable(" ".join(message.split())[:_MOST_MESSAGE])
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _words(error: Exception) -> str:
    if isinstance(error, TwinsetError):
        return "; ".join((str(error), *getattr(error, "__notes__", ())))
    if isinstance(error, MemoryError):
        return "not enough memory for this call; ask for less"
    path = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
    return f"{path}{(getattr(error, 'strerror', None) or str(error)).lower()}"


async def _serve(server: Server[Any], most: int) -> None:
    """Connect a server with stdin and stdout; lines that are no messages, or longer than this, are answered, too."""
    lines = cast("anyio.AsyncFile[str]", RequestLines(sys.stdin.buffer, most))
    async with stdio_server(stdin=lines) as (received, sent), anyio.create_task_group() as group:
        put, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def relay() -> None:
            async with put:
                async for message in received:
                    if isinstance(message, Exception):
                        fault = ErrorData(code=PARSE_ERROR, message=_NO_MESSAGE)
                        await sent.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=fault)))
                    else:
                        await put.send(message)

        group.start_soon(relay)
        await server.run(messages, sent, server.create_initialization_options())
        group.cancel_scope.cancel()


class RequestLines:
    """The lines of a stream, each up to a number of bytes; they are waited for in threads that nobody waits for."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most = stream, most

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        """Return the next line."""
        line = await anyio.to_thread.run_sync(self.read, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return line

    def read(self) -> str:
        """Read a line; of a line that is too long, a mark.

        Examples
        --------
        >>> from io import BytesIO
        >>> lines = RequestLines(BytesIO(bytes([49, 10, *range(50, 60), 10, 51])), most=4)
        >>> [lines.read().strip() for _ in range(4)]
        ['1', '!', '3', '']
        """
        line = self._stream.readline(self._most)
        if len(line) < self._most or line.endswith(b"\n"):
            return line.decode("utf-8", "replace")
        while (line := self._stream.readline(self._most)) and not line.endswith(b"\n"):
            pass
        return _TOO_LONG
