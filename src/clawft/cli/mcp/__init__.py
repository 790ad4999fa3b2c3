"""`weft mcp`: alone it is an MCP server on stdio; its commands are about skills that other MCP servers offer."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]

_COMMANDS = ("skills", "trust", "untrust")


@click.group(
    "mcp",
    cls=LazyGroup,
    modules={name: f"clawft.cli.mcp.{name}" for name in _COMMANDS},
    aliases={},
    invoke_without_command=True,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Serve your skills to MCP clients on stdio; with a command, use skills that MCP servers offer.

    Without a command it speaks MCP on its input and output until they are closed: what an MCP client starts.
    """
    if ctx.invoked_subcommand is None:
        from clawft.cli.mcp._run import run

        run()
