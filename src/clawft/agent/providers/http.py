"""A provider over HTTP: send a request, retry transient failures, and parse the stream of server-sent events."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from itertools import count

import anyio
import httpx2

from clawft.agent.providers.endpoint import Endpoint
from clawft.agent.providers.http_client import (
    TransientError,
    bad_answer,
    broken_off,
    build_client,
    make_status_error,
    parse_retry_after,
    timed_out,
    translate_http_errors,
    wait_before,
)
from clawft.agent.providers.reasoning import ThinkSplitter
from clawft.agent.providers.request import Chunk, ModelRequest, ProviderError, RetryChunk
from clawft.agent.providers.wire import AnswerReader, ProviderWire, ServerError, find_error, is_json
from clawft.files import encode_json

MAX_EVENT_BYTES = 4 * 1024 * 1024  # a whole tool call may come in one event
_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Feed it bytes as they come; it gives the data of every event that is complete.

    Lines end with LF, CRLF or CR. Names of events are dropped: both wires repeat them inside the data.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._rest = bytearray()  # a line without its end
        self._searched = 0  # how much of the rest is known to hold no end of a line
        self._data: list[bytes] = []
        self._size = 0
        self._at_start = True
        self.lines = 0  # a server that sends lines is alive, even when it says nothing

    def feed(self, chunk: bytes) -> list[str]:
        """The data of events that this piece completes. Raises: ProviderError."""
        self._rest += chunk
        events: list[str] = []
        while (line := self._take_line()) is not None:
            self._read_line(line, events)
        if self._size + len(self._rest) > self._max_bytes:
            raise ProviderError("provider-bad-answer", f"The answer holds an event of over {self._max_bytes} bytes")
        return events

    def finish(self) -> list[str]:
        """The data of an event that the end of the stream completes: some servers forget the last blank line."""
        events: list[str] = []
        for line in (bytes(self._rest).rstrip(b"\r"), b""):
            self._read_line(line, events)
        self._rest.clear()
        return events

    def _take_line(self) -> bytes | None:
        if self._at_start and not self._skip_bom():
            return None
        end = _find_end(self._rest, self._searched)
        is_cr = end >= 0 and self._rest[end] == 0x0D
        if end < 0 or (is_cr and end + 1 == len(self._rest)):  # whether an LF follows is not known yet
            self._searched = len(self._rest) if end < 0 else end
            return None
        line = bytes(self._rest[:end])
        del self._rest[: end + (2 if is_cr and self._rest[end + 1] == 0x0A else 1)]
        self._searched = 0
        return line

    def _skip_bom(self) -> bool:
        """Return whether it is known that no byte order mark opens the stream any more."""
        if len(self._rest) < len(_BOM) and _BOM.startswith(self._rest):
            return False
        if self._rest.startswith(_BOM):
            del self._rest[: len(_BOM)]
        self._at_start = False
        return True

    def _read_line(self, line: bytes, events: list[str]) -> None:
        self.lines += 1
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1
            if self._size > self._max_bytes:
                raise ProviderError("provider-bad-answer", f"The answer holds an event of over {self._max_bytes} bytes")
        elif not line and self._data:
            events.append(b"\n".join(self._data).decode("utf-8", "replace"))
            self._data.clear()
            self._size = 0


def _find_end(text: bytearray, start: int) -> int:
    """Find the next CR or LF; -1 if there is none."""
    newline = text.find(b"\n", start)
    carriage = text.find(b"\r", start, newline if newline >= 0 else len(text))
    return carriage if carriage >= 0 else newline


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
        wire: ProviderWire,
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

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """The answer. Closing the generator closes the connection. Raises: ProviderError, ClawftError."""
        body = encode_json(self._wire.build_body(request, self._endpoint))
        for attempt in count(1):
            started = False
            try:
                async with aclosing(self._try(body)) as chunks:
                    async for chunk in chunks:
                        started = True
                        yield chunk
                return
            except TransientError as failure:
                if started:
                    raise broken_off(failure) from failure
                if attempt > self._endpoint.max_retries:
                    raise
                retry = RetryChunk(attempt, wait_before(attempt, failure.retry_after_s), str(failure))
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
        except ServerError as said:
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
        with translate_http_errors(self._endpoint, self._environ):
            request = self._client.build_request("POST", url, content=body, headers=headers)
            # httpx limits each read; a server that sends its headers byte by byte would never end.
            with anyio.fail_after(self._endpoint.connect_timeout_s + self._endpoint.timeout_s):
                return await self._client.send(request, stream=True)

    async def _read(self, response: httpx2.Response) -> AsyncGenerator[Chunk]:
        reader, splitter = self._wire.open_reader(), ThinkSplitter()
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        events = self._whole(response) if kind.endswith("json") else self._events(response, reader)
        async with aclosing(events):
            async for event in events:
                for chunk in reader.read(event):
                    for part in splitter.feed(chunk):
                        yield part
        if not reader.complete:
            if kind not in ("", "text/event-stream"):
                raise bad_answer(self._endpoint, f"The server answered with {kind[:50]!r} instead of a stream")
            raise TransientError("provider-bad-answer", f"The answer of '{self.name}' broke off before its end")
        for chunk in reader.finish():
            for part in splitter.feed(chunk):
                yield part

    async def _events(self, response: httpx2.Response, reader: AnswerReader) -> AsyncGenerator[str]:
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
            except TransientError:
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
                with translate_http_errors(self._endpoint, self._environ):
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

    async def _read_failure(self, response: httpx2.Response) -> ServerError:
        """Read the error from a response with a failure status, as far as it can be read."""
        body = bytearray()
        with suppress(httpx2.HTTPError, TimeoutError), anyio.fail_after(min(self._endpoint.timeout_s, _ERROR_BODY_S)):
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > _MAX_ERROR_BYTES:
                        break
        text = body[:_MAX_ERROR_BYTES].decode("utf-8", "replace")
        error = find_error(text)
        status = 402 if error and error.status == 402 else response.status_code
        return ServerError(status, (error and error.message) or text, error.about if error else "")

    def _judge(self, error: ServerError, headers: httpx2.Headers) -> ProviderError:
        failure = make_status_error(self._endpoint, error, self._environ)
        if isinstance(failure, TransientError):
            if headers.get("x-should-retry") == "false":
                return ProviderError(failure.code, str(failure), hint=failure.hint)
            failure.retry_after_s = parse_retry_after(headers, self._now())
        return failure


async def _drain(pieces: AsyncGenerator[bytes]) -> None:
    """Read to the end of the body, which mostly is here already: else the connection could not be used again."""
    with anyio.move_on_after(_DRAIN_S), suppress(ProviderError):
        async for _ in pieces:
            pass
