"""The daemon as an MCP server, on stdio and over HTTP: skills as tools, as prompts and as resources."""

from clawft.server.mcp.server import DaemonMcp

__all__ = ["DaemonMcp"]
