"""A server behind an address: streamable HTTP, with answers of bounded size and nothing taken from the environment."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from clawft.mcp.launch import HttpLaunch
from clawft.mcp.watch import MAX_MESSAGE_BYTES, Watch

__all__ = ["open_http"]

_CONNECT_S = 10.0
# Reading has no limit here: a stream of changes stays open for hours, and calls have their own.
_TIMEOUT = httpx2.Timeout(_CONNECT_S, read=None)


@asynccontextmanager
async def open_http(launch: HttpLaunch, watch: Watch) -> AsyncGenerator[Any, None]:
    """Speak with a server; the SDK follows a redirect only within the same origin."""
    # An encoded answer would have a size of its own, unknown before it is unpacked.
    headers = {**launch.headers, "accept-encoding": "identity"}
    transport = _Guarded(httpx2.AsyncHTTPTransport(trust_env=False), watch)
    async with httpx2.AsyncClient(headers=headers, transport=transport, timeout=_TIMEOUT, trust_env=False) as client:
        streams: AbstractAsyncContextManager[Any] = streamable_http_client(
            launch.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        )
        async with streams as pair:
            yield pair


class _Guarded(httpx2.AsyncBaseTransport):
    """Sees every answer: bounds it, and notes what the SDK does not tell."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, watch: Watch) -> None:
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
