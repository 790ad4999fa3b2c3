"""Tools of other programs, over the Model Context Protocol: the client (extra `clawft[mcp]`)."""

from clawft.mcp.hub import McpHub
from clawft.mcp.remote import Listing, RemoteError, RemoteResult, RemoteTool

__all__ = ["Listing", "McpHub", "RemoteError", "RemoteResult", "RemoteTool"]
