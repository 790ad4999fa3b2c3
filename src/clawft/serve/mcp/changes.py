"""Telling MCP clients that skills changed, in the way that each version of the protocol has."""

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    NotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from clawft.protocol.changes import SkillsChanged
from clawft.serve.mcp.asking import Context, Recheck, recheck_of

__all__ = ["Changes"]

_PATIENCE_S = 5.0  # with a client that does not read


class Changes:
    """All clients that are told: newer ones listen on a stream of their own, older ones have their connection."""

    def __init__(self, most: int, list_changed: Callable[[SkillsChanged], tuple[str, ...]]) -> None:
        """`list_changed` gives the addresses of resources that are not what they were."""
        self._list_changed = list_changed
        self._bus = InMemorySubscriptionBus()
        self._handler = ListenHandler(self._bus, max_subscriptions=most)
        self._streams: dict[anyio.CancelScope, Recheck] = {}
        self._sessions: dict[ServerSession, Recheck] = {}
        self.group: TaskGroup | None = None

    def join(self, server: Server[object]) -> None:
        server.add_notification_handler("notifications/initialized", NotificationParams, self._remember)

    def tell(self, change: SkillsChanged) -> None:
        """Never waits. Whose token does not count any more is told nothing."""
        if self.group is None or not (change.added or change.removed or change.changed):
            return
        for scope, is_known in self._streams.items():
            if not is_known():
                scope.cancel()
        self.group.start_soon(self._publish, self._list_changed(change))
        for session, is_known in self._sessions.items():
            if is_known():
                self.group.start_soon(self._tell_one, session)

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """A stream of changes, until the client ends it."""
        with anyio.CancelScope() as scope:
            self._streams[scope] = recheck_of(context)
            try:
                return await self._handler(context, params)
            finally:
                del self._streams[scope]
        raise MCPError(INVALID_REQUEST, "That token does not count any more")

    def close(self) -> None:
        """End every stream in order."""
        self._handler.close()

    async def _remember(self, context: Context, _params: NotificationParams) -> None:
        session = context.session
        self._sessions[session] = recheck_of(context)
        # The only place that knows when a connection is over.
        session._connection.exit_stack.callback(self._sessions.pop, session, None)

    async def _publish(self, addresses: tuple[str, ...]) -> None:
        await self._bus.publish(PromptsListChanged())
        await self._bus.publish(ResourcesListChanged())
        for one in addresses:
            await self._bus.publish(ResourceUpdated(one))

    async def _tell_one(self, session: ServerSession) -> None:
        with anyio.move_on_after(_PATIENCE_S):
            await session.send_prompt_list_changed()
            await session.send_resource_list_changed()
