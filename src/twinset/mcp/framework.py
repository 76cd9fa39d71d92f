"""The SDK of the Model Context Protocol: the one place that imports it."""

from __future__ import annotations

from twinset.errors import MissingError

try:
    import anyio
    import anyio.to_thread
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from mcp_types import (
        PARSE_ERROR,
        CallToolRequestParams,
        CallToolResult,
        ErrorData,
        JSONRPCError,
        ListToolsResult,
        TextContent,
        ToolAnnotations,
    )
    from mcp_types import Tool as DescribedTool
except ImportError as error:
    raise MissingError.of("mcp", extra="mcp") from error

__all__ = [
    "PARSE_ERROR",
    "CallToolRequestParams",
    "CallToolResult",
    "DescribedTool",
    "ErrorData",
    "JSONRPCError",
    "ListToolsResult",
    "Server",
    "SessionMessage",
    "TextContent",
    "ToolAnnotations",
    "anyio",
    "stdio_server",
]
