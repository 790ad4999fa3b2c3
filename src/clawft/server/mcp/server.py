"""The MCP server of the daemon: stdio and streamable HTTP transports, and notifications of changed skills."""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    NotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from starlette.types import Receive, Scope, Send

from clawft import __version__
from clawft.agent.mcp.skills_server import SkillsServer
from clawft.files import encode_json
from clawft.server.callers import DaemonCaller
from clawft.server.daemon import Daemon
from clawft.server.mcp.execution import ExecuteTool
from clawft.server.mcp.requests import Context, Recheck, recheck_of
from clawft.server.mcp.skills import CatalogResources, SkillPrompts
from clawft.server.mcp.tools import SkillTools
from clawft.server.middleware import get_request_client
from clawft.server.protocol.base import TokenScope
from clawft.server.protocol.subscriptions import SkillsChanged

_CHUNK = 64 * 1024
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@contextmanager
def claim_streams() -> Iterator[tuple[int, int]]:
    """The descriptors of stdin and stdout, for the protocol alone: in their places are nothing, and stderr."""
    taken = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield taken
    finally:
        os.dup2(taken[0], 0)
        os.dup2(taken[1], 1)  # both copies stay open: a thread may still wait in them


@asynccontextmanager
async def open_stdio(max_bytes: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams of messages. The first ends when stdin does, or when the other end takes nothing any more."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    with claim_streams() as (source, target):
        writer = _Writer(target)
        async with anyio.create_task_group() as group:
            group.start_soon(_receive, _start_reader(source), incoming, writer, max_bytes)
            group.start_soon(_send, outgoing, writer, group.cancel_scope)
            yield read, write
            group.cancel_scope.cancel()


async def _receive(
    chunks: MemoryObjectReceiveStream[bytes],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    writer: "_Writer",
    max_bytes: int,
) -> None:
    async with chunks, incoming:
        async for line in _split_lines(chunks, max_bytes):
            message = _parse(line) if line is not None else None
            if message is not None:
                await incoming.send(message)
            elif line is None or line.strip():
                what = "is no JSON-RPC" if line is not None else f"has more than {max_bytes >> 10} kB"
                error = {"code": PARSE_ERROR, "message": f"The message {what}"}
                await writer.write(msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error}) + b"\n")


async def _split_lines(chunks: MemoryObjectReceiveStream[bytes], max_bytes: int) -> AsyncIterator[bytes | None]:
    """Each line without its end; None for one that is too long, which is not kept."""
    buffer, is_over = bytearray(), False
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            is_over = is_over or len(buffer) + len(line) > max_bytes
            yield None if is_over else bytes(buffer) + line
            buffer.clear()
            is_over = False
        buffer += rest
        if len(buffer) > max_bytes:
            buffer.clear()
            is_over = True


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return None


async def _send(
    outgoing: MemoryObjectReceiveStream[SessionMessage], writer: "_Writer", everything: anyio.CancelScope
) -> None:
    async with outgoing:
        async for message in outgoing:
            if not await writer.write(_encode(message) + b"\n"):
                everything.cancel()


def _encode(one: SessionMessage) -> bytes:
    try:
        return one.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:  # a text in it is no Unicode
        return encode_json(one.message.model_dump(by_alias=True, exclude_unset=True))


def _start_reader(source: int) -> MemoryObjectReceiveStream[bytes]:
    """Read the input on a thread that waits for each chunk to be taken; return the stream of chunks."""
    loop = asyncio.get_running_loop()
    send, receive = anyio.create_memory_object_stream[bytes](0)

    def read() -> None:
        chunk = b"-"
        with suppress(RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError, asyncio.CancelledError):
            while chunk:
                try:
                    chunk = os.read(source, _CHUNK)
                except OSError:
                    chunk = b""
                asyncio.run_coroutine_threadsafe(send.send(chunk) if chunk else send.aclose(), loop).result()

    threading.Thread(target=read, name="mcp-stdin", daemon=True).start()
    return receive


class _Writer:
    """A writer of the output, on a thread, one message after the other."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[bool]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="mcp-stdout", daemon=True).start()

    async def write(self, data: bytes) -> bool:
        """Return whether it was taken."""
        done: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.put((data, done))
        return await done

    def _work(self) -> None:
        while True:
            data, done = self._waiting.get()
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(self._target, left) :]
                taken = True
            except OSError:
                taken = False
            with suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(_settle, done, taken)


def _settle(done: "asyncio.Future[bool]", taken: bool) -> None:
    if not done.done():
        done.set_result(taken)


_PATIENCE_S = 5.0  # with a client that does not read


class SkillChangeNotifier:
    """The clients that get change notifications: newer ones on a stream of their own, older ones on their
    connection."""

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
        """Notify all clients of a change, without waiting. Clients whose token is not valid any more get nothing."""
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
        for address in addresses:
            await self._bus.publish(ResourceUpdated(address))

    async def _tell_one(self, session: ServerSession) -> None:
        with anyio.move_on_after(_PATIENCE_S):
            await session.send_prompt_list_changed()
            await session.send_resource_list_changed()


MOST: frozenset[TokenScope] = frozenset({"read", "run", "approve"})

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
        notifications = notification_options or NotificationOptions(prompts_changed=True, resources_changed=True)
        return super().create_initialization_options(notifications, experimental_capabilities, extensions)


class DaemonMcp:
    """An MCP server. `caller` is the client at the other end of the pipes; over HTTP every request has its own.

    As an ASGI application it answers while `running` is entered, which can be done once.
    """

    def __init__(self, daemon: Daemon, caller: DaemonCaller | None = None) -> None:
        limits = daemon.settings.limits
        self._daemon = daemon
        self._caller = caller
        self._max_bytes = limits.message_kb << 10
        self._execute = ExecuteTool(daemon)
        self._shelf = CatalogResources(daemon, self._caller_of)
        self._changes = SkillChangeNotifier(limits.connections, self._shelf.list_changed)
        self._server = self._make_server()
        self._transport_sessions = StreamableHTTPSessionManager(
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

    def _caller_of(self, context: Context) -> DaemonCaller:
        return self._caller or _narrow(get_request_client(context.request.scope).caller)  # type: ignore[union-attr]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = get_request_client(scope).caller
        scope["operation"] = "mcp"
        # The SDK compares it: a session may be used only by the caller that opened it.
        scope["user"] = AuthenticatedUser(AccessToken(token="-", client_id=caller.name, scopes=[*caller.scopes]))
        await self._transport_sessions.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer HTTP, and tell clients of changes, until the block ends."""
        async with self._open_sessions(), self._transport_sessions.run():
            try:
                yield
            finally:
                self._changes.close()

    async def serve_stdio(self) -> None:
        """Answer on stdin and stdout until stdin ends."""
        options = self._server.create_initialization_options()
        async with self._open_sessions(), open_stdio(self._max_bytes) as (read, write):
            await self._server.run(read, write, options)

    @asynccontextmanager
    async def _open_sessions(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            self._execute.group = self._changes.group = group
            forget = self._daemon.registry.live.subscribe(self._changes.tell)
            try:
                yield
            finally:
                forget()
                group.cancel_scope.cancel()


def _narrow(caller: DaemonCaller) -> DaemonCaller:
    """Nobody has more than this over MCP: a model is at the other end."""
    return DaemonCaller(caller.name, frozenset(scope for scope in MOST if caller.may(scope)))
