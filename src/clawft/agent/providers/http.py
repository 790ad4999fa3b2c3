"""One provider over HTTP: send, try again what may pass, and read the stream.

It knows neither wire: each is given as a Wire. Nothing is tried again once part of an answer was handed on.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from itertools import count
from typing import Any

import anyio
import httpx2
import msgspec

from clawft.providers.client import build_client
from clawft.providers.endpoint import Endpoint
from clawft.providers.failures import bad_answer, broken_off, judge_status, timed_out, translated
from clawft.providers.request import Chunk, ProviderError, Request, Retry
from clawft.providers.retry import Passing, parse_retry_after, wait_before
from clawft.providers.sse import SseParser
from clawft.providers.wire import Reader, ServerSaid, Wire, find_error, is_json

__all__ = ["MAX_ANSWER_BYTES", "HttpProvider"]

MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_ANSWER_S = 3600.0  # a server that only says that it is alive does not do so for ever
_MAX_ERROR_BYTES = 64 * 1024
_DRAIN_S = 0.2
_ERROR_BODY_S = 10.0


class HttpProvider:
    """A client of one endpoint. Its connections stay open between calls until it is closed."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: Wire,
        environ: Mapping[str, str],
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = endpoint.name
        self._endpoint = endpoint
        self._wire = wire
        self._environ = environ
        self._sleep = sleep
        self._now = now
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def stream(self, request: Request) -> AsyncGenerator[Chunk]:
        """The answer. Closing the generator closes the connection. Raises: ProviderError, ClawftError."""
        body = _encode(self._wire.build_body(request, self._endpoint))
        for attempt in count(1):
            started = False
            try:
                async with aclosing(self._try(body)) as chunks:
                    async for chunk in chunks:
                        started = True
                        yield chunk
                return
            except Passing as failure:
                if started:
                    raise broken_off(failure) from failure
                if attempt > self._endpoint.max_retries:
                    raise
                retry = Retry(attempt, wait_before(attempt, failure.retry_after_s), str(failure))
            yield retry
            await self._sleep(retry.wait_s)

    async def _try(self, body: bytes) -> AsyncGenerator[Chunk]:
        response = await self._send(body)
        try:
            if response.status_code != 200:
                raise await self._read_failure(response)
            async with aclosing(self._read(response)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ServerSaid as said:
            raise self._judge(said, response.headers) from None
        finally:
            await response.aclose()

    async def _send(self, body: bytes) -> httpx2.Response:
        if self._client is None:
            self._client = build_client(self._endpoint, self._environ)
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",  # compression holds pieces of a stream back
            **self._wire.build_headers(self._endpoint.resolve_key(self._environ)),
            **self._endpoint.expand_headers(self._environ),
        }
        url = self._endpoint.base_url + self._wire.path
        with translated(self._endpoint, self._environ):
            request = self._client.build_request("POST", url, content=body, headers=headers)
            # httpx limits each read; a server that sends its headers byte by byte would never end.
            with anyio.fail_after(self._endpoint.connect_timeout_s + self._endpoint.timeout_s):
                return await self._client.send(request, stream=True)

    async def _read(self, response: httpx2.Response) -> AsyncGenerator[Chunk]:
        reader = self._wire.open_reader()
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        events = self._whole(response) if kind.endswith("json") else self._events(response, reader)
        async with aclosing(events):
            async for event in events:
                for chunk in reader.read(event):
                    yield chunk
        if not reader.complete:
            if kind not in ("", "text/event-stream"):
                raise bad_answer(self._endpoint, f"The server answered with {kind[:50]!r} instead of a stream")
            raise Passing("provider-bad-answer", f"The answer of '{self.name}' broke off before its end")
        for chunk in reader.finish():
            yield chunk

    async def _events(self, response: httpx2.Response, reader: Reader) -> AsyncGenerator[str]:
        """The data of each event, until the server says that it has ended."""
        parser = SseParser()
        async with aclosing(self._pieces(response, parser)) as pieces:
            try:
                async for piece in pieces:
                    for event in parser.feed(piece):
                        yield event
                    if reader.ended:
                        await _drain(pieces)
                        return
            except Passing:
                if not reader.complete:
                    raise
        for event in parser.finish():
            if event == "[DONE]" or is_json(event):  # else it was cut in the middle
                yield event

    async def _pieces(self, response: httpx2.Response, parser: SseParser) -> AsyncGenerator[bytes]:
        """Bytes as they come: not too many, and not dripping without ever making a line."""
        size, lines, waited, until = 0, 0, 0.0, time.monotonic() + MAX_ANSWER_S
        async with aclosing(response.aiter_bytes()) as pieces:
            while True:
                since = time.monotonic()
                with translated(self._endpoint, self._environ):
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                waited = time.monotonic() - since + (waited if parser.lines == lines else 0)
                lines, size = parser.lines, size + len(piece)
                if size > MAX_ANSWER_BYTES:
                    raise bad_answer(self._endpoint, f"The answer has over {MAX_ANSWER_BYTES} bytes")
                if waited > self._endpoint.timeout_s or time.monotonic() > until:
                    raise timed_out(self._endpoint)
                yield piece

    async def _whole(self, response: httpx2.Response) -> AsyncGenerator[str]:
        """Some servers answer a request for a stream with one JSON object."""
        body = bytearray()
        async with aclosing(self._pieces(response, SseParser())) as pieces:
            async for piece in pieces:
                body += piece
        yield body.decode("utf-8", "replace")

    async def _read_failure(self, response: httpx2.Response) -> ServerSaid:
        """What a server says beside a status that is no success; whatever can be read of it."""
        body = bytearray()
        with suppress(httpx2.HTTPError, TimeoutError), anyio.fail_after(min(self._endpoint.timeout_s, _ERROR_BODY_S)):
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > _MAX_ERROR_BYTES:
                        break
        text = body[:_MAX_ERROR_BYTES].decode("utf-8", "replace")
        said = find_error(text)
        status = 402 if said and said.status == 402 else response.status_code
        return ServerSaid(status, (said and said.message) or text)

    def _judge(self, said: ServerSaid, headers: httpx2.Headers) -> ProviderError:
        failure = judge_status(self._endpoint, said, self._environ)
        if isinstance(failure, Passing):
            if headers.get("x-should-retry") == "false":
                return ProviderError(failure.code, str(failure), hint=failure.hint)
            failure.retry_after_s = parse_retry_after(headers, self._now())
        return failure


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # names of files may hold half characters, which no server takes
        return msgspec.json.encode(_mended(body))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(one) for key, one in value.items()}
    return [_mended(one) for one in value] if isinstance(value, list | tuple) else value


async def _drain(pieces: AsyncGenerator[bytes]) -> None:
    """Read to the end of the body, which mostly is here already: else the connection could not be used again."""
    with anyio.move_on_after(_DRAIN_S), suppress(ProviderError):
        async for _ in pieces:
            pass
