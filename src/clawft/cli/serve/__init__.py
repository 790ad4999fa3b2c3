"""`weft serve`: alone it runs the daemon; its commands are about one that runs, and who may use it."""

import click

from clawft.cli.root import LazyGroup, events_option
from clawft.config.serve import ServeSettings

__all__ = ["command"]

_PORT = ServeSettings().port


@click.group(
    "serve",
    cls=LazyGroup,
    modules={
        "status": "clawft.cli.serve.status:status_command",
        "url": "clawft.cli.serve.status:url_command",
        "token": "clawft.cli.groups:serve_token_group",
    },
    aliases={"tokens": "token"},
    invoke_without_command=True,
    subcommand_metavar="[status|url|token]",
)
@click.option("--host", metavar="ADDRESS", help="Listen there; else serve.host, which is this machine alone.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help=f"Listen on this port, else on serve.port, which is {_PORT}; 0 takes one that is free.",
)
@click.option("--plain-http", is_flag=True, help="Listen for other machines without TLS: tokens are read on the way.")
@click.option("--open", "open_page", is_flag=True, help="Open the console in the browser.")
@click.option("--quiet", "-q", is_flag=True, help="Do not log requests.")
@events_option("json: one line of JSON for the address and for each thing that happens.")
@click.pass_context
def command(ctx: click.Context, /, host: str | None, port: int | None, **more: bool) -> int | None:
    """Start the daemon: HTTP, WebSocket, MCP and the web console, until Ctrl-C.

    HTTP under /api/v1, a WebSocket at /ws, MCP at /mcp, and the console at /. Every client needs a token: your own is
    made at the first start, others by `weft serve token new`. Edits on disk are seen at once. Ctrl-C, or SIGTERM, lets
    running work finish; a second one stops it at once.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from clawft.cli.serve.daemon import DaemonOptions, run_daemon

    return run_daemon(DaemonOptions(host=host, port=port, **more))
