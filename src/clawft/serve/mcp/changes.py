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
from mcp_types import NotificationParams

from clawft.protocol.changes import SkillsChanged
from clawft.serve.mcp.asking import Context

__all__ = ["Changes"]

_PATIENCE_S = 5.0  # with a client that does not read


class Changes:
    """All clients that are told: newer ones listen on a stream of their own, older ones have their connection."""

    def __init__(self, most: int, list_changed: Callable[[SkillsChanged], tuple[str, ...]]) -> None:
        """`list_changed` gives the addresses of resources that are not what they were."""
        self._list_changed = list_changed
        self._bus = InMemorySubscriptionBus()
        self._sessions: set[ServerSession] = set()
        self.listen = ListenHandler(self._bus, max_subscriptions=most)
        self.group: TaskGroup | None = None

    def join(self, server: Server[object]) -> None:
        server.add_notification_handler("notifications/initialized", NotificationParams, self._remember)

    def tell(self, change: SkillsChanged) -> None:
        """Never waits."""
        if self.group is not None and (change.added or change.removed or change.changed):
            self.group.start_soon(self._publish, self._list_changed(change))
            for one in tuple(self._sessions):
                self.group.start_soon(self._tell_one, one)

    async def _remember(self, context: Context, _params: NotificationParams) -> None:
        session = context.session
        self._sessions.add(session)
        # The only place that knows when a connection is over.
        session._connection.exit_stack.callback(self._sessions.discard, session)

    async def _publish(self, addresses: tuple[str, ...]) -> None:
        await self._bus.publish(PromptsListChanged())
        await self._bus.publish(ResourcesListChanged())
        for one in addresses:
            await self._bus.publish(ResourceUpdated(one))

    async def _tell_one(self, session: ServerSession) -> None:
        with anyio.move_on_after(_PATIENCE_S):
            await session.send_prompt_list_changed()
            await session.send_resource_list_changed()
