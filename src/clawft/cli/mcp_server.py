"""The MCP server on stdio: a daemon in this process, for the one client that started it."""

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawft.cli import stay
from clawft.cli.options import open_here
from clawft.cli.output import say

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.protocol.base import Scope

__all__ = ["CALLER", "run"]

CALLER = "mcp"  # whose sessions its clients' are
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(scopes: "Sequence[Scope]") -> None:
    """Serve until stdin ends, or a signal comes. Raises: ClawftError."""
    import anyio

    from clawft.cli.serve._open import check_installed

    check_installed()
    app = open_here()
    app.tell_scan = None
    if sys.stdin is not None and sys.stdin.isatty():
        say("This speaks MCP on stdin and stdout, for a client that starts it: claude mcp add weft -- weft mcp")
        say("Ctrl-D ends it.")
    stay()
    anyio.run(_serve, app, scopes)


async def _serve(app: "App", scopes: "Sequence[Scope]") -> None:
    import asyncio

    import anyio

    from clawft.config.serve import own_serve
    from clawft.serve.caller import Caller
    from clawft.serve.daemon import open_daemon
    from clawft.serve.mcp import DaemonMcp

    settings = own_serve(app.config, app.workspace.user_dir, app.environ)
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        for one in _SIGNALS:
            if signal.getsignal(one) != signal.SIG_IGN:
                loop.add_signal_handler(one, scope.cancel)
        async with open_daemon(app, settings) as daemon:
            await DaemonMcp(daemon, Caller(CALLER, frozenset(scopes), is_local=True)).serve_stdio()
