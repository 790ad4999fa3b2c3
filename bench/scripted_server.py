"""An in-memory MCP server for tests: it returns queued responses and records what it was sent."""

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import METHOD_NOT_FOUND, jsonrpc_message_adapter
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from clawft.agent.mcp.launch import Launch
from clawft.agent.mcp.transports import ConnectionWatch, Streams

_GREETING: dict[str, dict[str, Any]] = {
    "server/discover": {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}},
    "initialize": {
        "result": {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "scripted", "version": "1"},
        }
    },
}


class ScriptedPeer:
    """Greets every client by itself; each later request takes the next queued answer, or gets none."""

    def __init__(self) -> None:
        self.sent_messages: list[dict[str, Any]] = []  # all that clients sent after the greeting, oldest first
        self._answers: deque[dict[str, Any] | None] = deque()
        self._to_client: MemoryObjectSendStream[SessionMessage | Exception] | None = None
        self._watch: ConnectionWatch | None = None
        self._received = anyio.Event()

    def enqueue_response(self, result: Mapping[str, Any]) -> None:
        """The result of the next request that has none yet."""
        self._answers.append({"result": dict(result)})

    def enqueue_error(self, code: int, message: str) -> None:
        self._answers.append({"error": {"code": code, "message": message}})

    def enqueue_silence(self) -> None:
        """A request that is never answered."""
        self._answers.append(None)

    async def wait_for(self, **expected: Any) -> dict[str, Any]:
        """The first message that was sent with these values, once it has come."""
        while True:
            for message in self.sent_messages:
                if expected.items() <= message.items():
                    return message
            self._received = anyio.Event()
            await self._received.wait()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Give the connected client a notification or a request of the server's own."""
        await self._send({"jsonrpc": "2.0", **message})

    def hang_up(self) -> None:
        """End the connection, as a server does that dies."""
        assert self._watch is not None
        assert self._to_client is not None
        self._watch.end()
        self._to_client.close()

    @asynccontextmanager
    async def connect(self, _launch: Launch, watch: ConnectionWatch) -> AsyncGenerator[Streams, None]:
        to_client, from_peer = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_peer, from_client = anyio.create_memory_object_stream[SessionMessage](0)
        self._to_client, self._watch = to_client, watch
        async with to_client, from_peer, to_peer, from_client, anyio.create_task_group() as group:
            group.start_soon(self._serve, from_client)
            yield from_peer, to_peer
            group.cancel_scope.cancel()

    async def _serve(self, from_client: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for item in from_client:
            message = item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            method = message.get("method")
            if method in _GREETING:
                await self._send({"jsonrpc": "2.0", "id": message["id"], **_GREETING[method]})
            elif method != "notifications/initialized":
                self.sent_messages.append(message)
                self._received.set()
                await self._answer(message)

    async def _answer(self, message: dict[str, Any]) -> None:
        answer = self._answers.popleft() if "method" in message and "id" in message and self._answers else None
        if answer is not None:
            await self._send({"jsonrpc": "2.0", "id": message["id"], **answer})

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._to_client is not None
        await self._to_client.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
