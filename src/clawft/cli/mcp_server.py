"""`weft mcp`: the MCP server on stdio, for the one client that started it."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from clawft.cli import restore_gc_thresholds
from clawft.cli.options import open_here
from clawft.cli.output import say
from clawft.server.callers import DaemonCaller
from clawft.server.daemon import open_daemon

if TYPE_CHECKING:
    from clawft.app.app import App
    from clawft.server.protocol.base import TokenScope


CALLER = "mcp"  # whose sessions its clients' are
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_stdio_server(scopes: "Sequence[TokenScope]") -> None:
    """Serve until stdin ends, or a signal comes. Raises: ClawftError."""
    from clawft.cli.serve.status import check_serve_installed

    check_serve_installed()
    app = open_here()
    app.tell_scan = None
    if sys.stdin is not None and sys.stdin.isatty():
        say("This speaks MCP on stdin and stdout, for a client that starts it: claude mcp add weft -- weft mcp")
        say("Ctrl-D ends it.")
    restore_gc_thresholds()
    anyio.run(_serve, app, scopes)


async def _serve(app: "App", scopes: "Sequence[TokenScope]") -> None:
    from clawft.server.mcp import DaemonMcp

    settings = app.own_config.serve
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        for signum in _SIGNALS:
            if signal.getsignal(signum) != signal.SIG_IGN:
                loop.add_signal_handler(signum, scope.cancel)
        async with open_daemon(app, settings) as daemon:
            await DaemonMcp(daemon, DaemonCaller(CALLER, frozenset(scopes), is_local=True)).serve_stdio()
