"""Transports to MCP servers: a child process with pipes, or streamable HTTP, with bounded messages."""

import errno
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from clawft.agent.mcp.launch import HttpLaunch, ServerConfinement, StdioLaunch
from clawft.agent.mcp.remote import clean_text
from clawft.config.redaction import Secrets
from clawft.errors import Refused
from clawft.sandbox.child import ChildProcess, LineTooLong
from clawft.sandbox.process import BROKEN, Launch
from clawft.trust.programs import find_program

MAX_MESSAGE_BYTES = 24_000_000  # one message of a server, whichever way it comes: 16 MB of a skill in base64
_STDERR_BYTES = 8_192
_SHOWN_LINES = 5
_SHOWN_CHARS = 600


class ConnectionWatch:
    """Transports report here; the owner of the connection waits for `ended`."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.status = 0
        self._words = b""

    def end(self) -> None:
        """The connection is over, or shall be."""
        self.ended.set()

    def hear(self, data: bytes) -> None:
        """Something a server wrote that is no message: on stderr, or by mistake on stdout."""
        self._words = (self._words + data)[-_STDERR_BYTES:]

    def last_words(self, secrets: Secrets) -> str:
        """The last lines that were heard, fit to be shown."""
        lines = clean_text(secrets.mask(self._words.decode("utf-8", errors="replace"))).splitlines()
        return "\n".join([line for line in lines if line.strip()][-_SHOWN_LINES:])[-_SHOWN_CHARS:]


_CONNECT_S = 10.0
# Reading has no limit here: a stream of changes stays open for hours, and calls have their own.
_TIMEOUT = httpx2.Timeout(_CONNECT_S, read=None)


@asynccontextmanager
async def open_http(launch: HttpLaunch, watch: ConnectionWatch) -> AsyncGenerator[Any, None]:
    """Speak with a server; the SDK follows a redirect only within the same origin."""
    # An encoded answer would have a size of its own, unknown before it is unpacked.
    headers = {**launch.headers, "accept-encoding": "identity"}
    # Loading certificates takes 20 ms; where there is no TLS there are none to check, and any would be refused.
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if launch.url.startswith("http:") else True
    transport = _Guarded(httpx2.AsyncHTTPTransport(verify=verify, trust_env=False), watch)
    async with httpx2.AsyncClient(headers=headers, transport=transport, timeout=_TIMEOUT, trust_env=False) as client:
        streams: AbstractAsyncContextManager[Any] = streamable_http_client(
            launch.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        )
        async with streams as pair:
            yield pair


class _Guarded(httpx2.AsyncBaseTransport):
    """Sees every answer: bounds it, and notes what the SDK does not tell."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, watch: ConnectionWatch) -> None:
        self._inner = inner
        self._watch = watch

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.status_code >= 400:
            self._watch.status = response.status_code
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            self._watch.end()  # the server forgot us: only a new session helps
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError("The answer is encoded although that was not asked for", request=request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                raise httpx2.StreamError(f"The answer has more than {MAX_MESSAGE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def open_stdio(
    launch: StdioLaunch, watch: ConnectionWatch, name: str = "", confine: ServerConfinement | None = None
) -> AsyncGenerator[Streams, None]:
    """Start a server and speak with it. Raises: OSError if it cannot be started; Refused if it cannot be confined."""
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    child = ChildProcess(partial(_prepare, launch, name, confine), watch.hear, patient=True)
    try:
        async with child.open() as tasks:
            tasks.start_soon(_read_messages, child, to_session, watch)
            tasks.start_soon(_write_messages, child, from_session, watch)
            yield from_server, to_server
    finally:
        for stream in (to_session, from_server, to_server, from_session):
            stream.close()


def _prepare(launch: StdioLaunch, name: str, confine: ServerConfinement | None) -> AbstractAsyncContextManager[Launch]:
    if launch.confinement is None:
        program = launch.prepare()
        return nullcontext(Launch(program.words, program.cwd, program.env))
    if confine is None:
        raise Refused("sandbox-unavailable", "There is no sandbox to run it in")
    command = launch.command[0]
    if os.sep not in command and not find_program(command, launch.env.get("PATH", os.defpath)):
        raise FileNotFoundError(errno.ENOENT, "There is no such program", command)  # the sandbox would say it worse
    record, confinement = confine.recorder(name), launch.confinement
    return confine.sandbox.prepare(
        launch.command, cwd=launch.cwd, env=launch.env, confinement=confinement, record=record
    )


async def _read_messages(
    child: ChildProcess, to_session: MemoryObjectSendStream[SessionMessage | Exception], watch: ConnectionWatch
) -> None:
    try:
        async with to_session:
            async for line in child.read_lines(MAX_MESSAGE_BYTES):
                if message := _parse_line(line, watch):
                    await to_session.send(message)
    except LineTooLong:
        watch.hear(f"\nIt sent a message of more than {MAX_MESSAGE_BYTES} bytes\n".encode())
    except BROKEN:
        pass  # the session or the server is gone: that is what the end says
    finally:
        watch.end()


def _parse_line(line: bytes, watch: ConnectionWatch) -> SessionMessage | None:
    """A message; None for what is none, as a greeting printed on stdout, which is kept as last words."""
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        watch.hear(line + b"\n")
        return None


async def _write_messages(
    child: ChildProcess, from_session: MemoryObjectReceiveStream[SessionMessage], watch: ConnectionWatch
) -> None:
    try:
        async with from_session:
            async for item in from_session:
                await child.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
    except BROKEN:
        watch.end()
