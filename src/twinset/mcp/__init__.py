"""The MCP server: tools for agents that read indexes and results in a few folders, and write nothing."""
