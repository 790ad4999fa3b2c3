"""`weft mcp`: alone it is an MCP server on stdio; its commands are about skills that other MCP servers offer."""

from typing import TYPE_CHECKING

import click

from clawft.cli.root import LazyGroup

if TYPE_CHECKING:
    from clawft.protocol.base import Scope

__all__ = ["command"]

_COMMANDS = ("skills", "trust", "untrust")


@click.group(
    "mcp",
    cls=LazyGroup,
    modules={name: f"clawft.cli.mcp.{name}" for name in _COMMANDS},
    aliases={},
    invoke_without_command=True,
)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["read", "run", "approve"]),
    multiple=True,
    help="What the client may do; may be given several times. All of them, if none is.",
)
@click.pass_context
def command(ctx: click.Context, scopes: "tuple[Scope, ...]") -> None:
    """Serve your skills to MCP clients on stdio; with a command, use skills that MCP servers offer.

    Without a command it speaks MCP on its input and output until they are closed: what an MCP client starts. To add it
    to one: claude mcp add weft -- weft mcp. For others: weft help mcp.

    A client may read about your skills, run them, and ask you when a tool wants to act that needs a yes (approve).
    """
    if ctx.invoked_subcommand is None:
        from clawft.cli.mcp._run import run

        run(scopes or ("read", "run", "approve"))
    elif scopes:
        raise click.UsageError("--scope is for serving, without a command")
