"""A server made with the SDK: tools of every kind of result, on stdio."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
server = MCPServer("friendly")


class Place(BaseModel):
    city: str
    people: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool()
def fail() -> str:
    """Always goes wrong."""
    raise ValueError("no such city")


@server.tool()
def place() -> Place:
    """Where we are."""
    return Place(city="Ghent", people=267_000)


@server.tool()
def all_kinds() -> CallToolResult:
    """One result of every kind."""
    return CallToolResult(
        content=[
            TextContent(type="text", text="first"),
            ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
            EmbeddedResource(type="resource", resource=TextResourceContents(uri="note://1", text="a note")),
            EmbeddedResource(
                type="resource", resource=BlobResourceContents(uri="blob://1", blob=PIXEL, mime_type="application/zip")
            ),
            TextContent(type="text", text="last"),
        ]
    )


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool, and says so."""

    def grown() -> str:
        """New here."""
        return "grown"

    server.add_tool(grown)
    await ctx.notify_tools_changed()
    return "done"


if __name__ == "__main__":
    server.run()
