"""Tools of other programs, over the Model Context Protocol: the client (extra `clawft[mcp]`)."""

from clawft.agent.mcp.hub import McpHub
from clawft.agent.mcp.remote import RemoteError, RemoteResult, RemoteTool, RemoteToolListing

__all__ = ["McpHub", "RemoteError", "RemoteResult", "RemoteTool", "RemoteToolListing"]
