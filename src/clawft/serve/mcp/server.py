"""One MCP server over a daemon, for both ways: on the pipes of a process, and at `/mcp` over streamable HTTP.

Newer clients (2026-07-28) ask with every request for itself; older ones open a session, which is bound to their token.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams
from starlette.types import Receive, Scope, Send

from clawft import __version__
from clawft.mcp.skills_server import SkillsServer
from clawft.protocol.base import Scope as OperationScope
from clawft.serve.caller import Caller
from clawft.serve.daemon import Daemon
from clawft.serve.door import visitor_of
from clawft.serve.mcp.asking import Context
from clawft.serve.mcp.changes import Changes
from clawft.serve.mcp.execute import Execute
from clawft.serve.mcp.prompts import SkillPrompts
from clawft.serve.mcp.shelf import CatalogShelf
from clawft.serve.mcp.stdio import open_stdio
from clawft.serve.mcp.tools import SkillTools

__all__ = ["MOST", "DaemonMcp"]

MOST: frozenset[OperationScope] = frozenset({"read", "run", "approve"})

_INSTRUCTIONS = (
    "The user's skills. Find one with skill-search or skill-list, then run it with skill-execute;"
    " or take it as a prompt, or read it at its skill:// address, and follow it yourself."
)


class _Server(Server[Any]):
    """It says to older clients too that it tells of changes."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        told = notification_options or NotificationOptions(prompts_changed=True, resources_changed=True)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


class DaemonMcp:
    """An MCP server. `caller` is whoever sits at the other end of the pipes; over HTTP every request has its own.

    As an ASGI application it answers while `running` is entered, which can be done once.
    """

    def __init__(self, daemon: Daemon, caller: Caller | None = None) -> None:
        limits = daemon.settings.limits
        self._daemon = daemon
        self._caller = caller
        self._max_bytes = limits.message_kb << 10
        self._execute = Execute(daemon)
        self._shelf = CatalogShelf(daemon, self._caller_of)
        self._changes = Changes(limits.connections, self._shelf.list_changed)
        self._server = self._make_server()
        self._manager = StreamableHTTPSessionManager(
            self._server, max_request_body_size=self._max_bytes, max_sessions=limits.connections
        )

    def _make_server(self) -> Server[Any]:
        tools = SkillTools(self._daemon, self._caller_of, self._execute)
        prompts = SkillPrompts(self._daemon, self._caller_of)
        server = _Server(
            "weft",
            version=__version__,
            title="weft",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=tools.schema,
            on_list_tools=tools.list,
            on_list_prompts=prompts.list_page,
            on_get_prompt=prompts.get,
            on_subscriptions_listen=self._changes.listen,
        )
        server.add_request_handler("tools/call", CallToolRequestParams, tools.call)
        SkillsServer(self._shelf, "private").join(server)
        self._changes.join(server)
        return server

    def _caller_of(self, context: Context) -> Caller:
        return self._caller or _narrow(visitor_of(context.request.scope).caller)  # type: ignore[union-attr]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = visitor_of(scope).caller
        scope["operation"] = "mcp"
        # What the SDK compares: a session is for whoever opened it.
        scope["user"] = AuthenticatedUser(AccessToken(token="-", client_id=caller.name, scopes=[*caller.scopes]))
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer HTTP, and tell clients of changes, until the block ends."""
        async with self._working(), self._manager.run():
            try:
                yield
            finally:
                self._changes.close()

    async def serve_stdio(self) -> None:
        """Answer on stdin and stdout until stdin ends."""
        options = self._server.create_initialization_options()
        async with self._working(), open_stdio(self._max_bytes) as (read, write):
            await self._server.run(read, write, options)

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            self._execute.group = self._changes.group = group
            forget = self._daemon.registry.live.subscribe(self._changes.tell)
            try:
                yield
            finally:
                forget()
                group.cancel_scope.cancel()


def _narrow(caller: Caller) -> Caller:
    """Nobody has more than this over MCP: a model is at the other end."""
    return Caller(caller.name, frozenset(one for one in MOST if caller.may(one)))
