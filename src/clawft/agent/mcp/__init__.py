"""Tools of other programs, over the Model Context Protocol: the client (extra `clawft[mcp]`)."""

from clawft.agent.mcp.remote import RemoteError, RemoteResult, RemoteTool, RemoteToolListing
from clawft.agent.mcp.server_pool import McpServerPool

__all__ = ["McpServerPool", "RemoteError", "RemoteResult", "RemoteTool", "RemoteToolListing"]
