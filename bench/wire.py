"""A model server that follows a script: both wires, real sockets on loopback, and every fault a network has.

It answers each request with the next Reply, as server-sent events of the wire whose path was asked for, and keeps
what it was sent. It is no model: for tests and measurements only.
"""

import gzip
import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True)
class Reply:
    """One answer. With `raw` set, its pieces are the body as they stand; else the body follows from the rest."""

    text: tuple[str, ...] = ()
    thought: str = ""  # what the model thinks first, apart from its answer
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments as JSON
    usage: tuple[int, int] = (10, 5)
    stop: str = ""  # the wire's own word; '' for the usual one
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    raw: tuple[bytes, ...] | None = None
    wait_s: float = 0  # before the headers
    end: Literal["done", "cut", "stall"] = "done"  # after the pieces: end the body, hang up, or go silent
    gzipped: bool = False


def say(*text: str, **more: Any) -> Reply:
    """An answer of text."""
    return Reply(text=text, **more)


def call(name: str, arguments: dict[str, Any], call_id: str = "call_1", **more: Any) -> Reply:
    """An answer that is one tool call."""
    return Reply(calls=((call_id, name, json.dumps(arguments)),), **more)


def fail(status: int, message: str = "no", **headers: str) -> Reply:
    """An error; `retry_after="1"` becomes the header `retry-after`."""
    body = json.dumps({"error": {"message": message, "type": "test"}}).encode()
    pairs = (("content-type", "application/json"), *((key.replace("_", "-"), value) for key, value in headers.items()))
    return Reply(status=status, headers=pairs, raw=(body,))


@dataclass(frozen=True)
class Asked:
    """A request as it came. `connection` tells which connection carried it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    connection: int


@dataclass
class WireServer:
    """The server; use it as a context manager. Replies come in order, or from a function of the request."""

    replies: Iterable[Reply] | Callable[[Asked], Reply] = ()
    tls: ssl.SSLContext | None = None
    models: tuple[str, ...] | Callable[[Asked], Reply] = ()  # what GET /models lists; without any there is no list
    asked: list[Asked] = field(default_factory=list)
    listed: list[Asked] = field(default_factory=list)  # requests for the list of models
    hung_up: threading.Event = field(default_factory=threading.Event)  # a client left before its answer was over
    streaming: threading.Event = field(default_factory=threading.Event)  # every piece of a reply was sent
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "WireServer":
        self._script = iter(()) if callable(self.replies) else iter(tuple(self.replies))
        self._lock = threading.Lock()
        self.connections = 0
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()
        self._thread.join(_LONGEST_WAIT_S)

    @property
    def url(self) -> str:
        """What a `base_url` is set to, for either wire."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.server_address[1]}/v1"

    def next_reply(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            if callable(self.replies):
                return self.replies(asked)
            return next(self._script, fail(400, "the script of the server has ended"))

    def list_models(self, asked: Asked) -> Reply:
        with self._lock:
            self.listed.append(asked)
        if callable(self.models):
            return self.models(asked)
        if not self.models or not asked.path.endswith("/models"):
            return fail(404, "not here")
        document = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        return Reply(headers=(("content-type", "application/json"),), raw=(json.dumps(document).encode(),))

    def count_connection(self) -> int:
        with self._lock:
            self.connections += 1
            return self.connections


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for them, so that none outlives its test
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], wire: WireServer) -> None:
        super().__init__(address, _Handler)
        if wire.tls:
            self.socket = wire.tls.wrap_socket(self.socket, server_side=True)
        self.wire = wire
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        if isinstance(sys.exception(), OSError):
            self.wire.hung_up.set()  # a client that leaves is no error here
        else:
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.settimeout(_LONGEST_WAIT_S)
        self.number = self.server.wire.count_connection()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ARG002  (signature is the library's)
        return None

    def do_GET(self) -> None:
        self._answer(self.server.wire.list_models(self._asked({})))

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        content = self.rfile.read(length)
        if len(content) < length:
            raise ConnectionError("the client left in the middle of its request")
        self._answer(self.server.wire.next_reply(self._asked(json.loads(content))))

    def _asked(self, body: dict[str, Any]) -> Asked:
        return Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body, self.number)

    def _answer(self, reply: Reply) -> None:
        if reply.wait_s:
            self.server.wire.stopping.wait(reply.wait_s)
        self._send_head(reply)
        for piece in _compress(_pieces(reply, self.path)) if reply.gzipped else _pieces(reply, self.path):
            self._send_chunk(piece)
        self.server.wire.streaming.set()
        self._finish(reply)

    def _send_head(self, reply: Reply) -> None:
        self.send_response(reply.status)
        if not any(name == "content-type" for name, _ in reply.headers):
            self.send_header("content-type", "text/event-stream")
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.gzipped:
            self.send_header("content-encoding", "gzip")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_chunk(self, piece: bytes) -> None:
        if piece:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _finish(self, reply: Reply) -> None:
        if reply.end == "done":
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
            return
        self.close_connection = True
        if reply.end == "stall" and not self.connection.recv(1):
            self.server.wire.hung_up.set()


def _compress(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """One gzip stream, cut into small pieces."""
    whole = gzip.compress(b"".join(pieces))
    return (whole[index : index + 7] for index in range(0, len(whole), 7))


def _pieces(reply: Reply, path: str) -> Iterator[bytes]:
    if reply.raw is not None:
        yield from reply.raw
    elif path.endswith("/messages"):
        yield from map(_event, _anthropic(reply))
    else:
        yield from map(_event, _openai(reply))
        if reply.end == "done":
            yield b"data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> bytes:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _openai(reply: Reply) -> Iterator[dict[str, Any]]:
    def piece(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield piece({"role": "assistant", "content": ""})
    for part in _halves(reply.thought) if reply.thought else ():
        yield piece({"reasoning_content": part})
    for text in reply.text:
        yield piece({"content": text})
    for index, (call_id, name, arguments) in enumerate(reply.calls):
        function = {"name": name, "arguments": ""}
        yield piece({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        for part in _halves(arguments):
            yield piece({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    if reply.end == "done":
        yield piece({}, reply.stop or ("tool_calls" if reply.calls else "stop"))
        yield {"choices": [], "usage": {"prompt_tokens": reply.usage[0], "completion_tokens": reply.usage[1]}}


def _anthropic(reply: Reply) -> Iterator[dict[str, Any]]:
    start = {"input_tokens": reply.usage[0], "output_tokens": 1}
    yield {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": start}}
    yield {"type": "ping"}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.thought:
        thoughts = [{"type": "thinking_delta", "thinking": part} for part in _halves(reply.thought)]
        signed = {"type": "signature_delta", "signature": f"signed {len(reply.thought)}"}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]))
    if reply.text:
        texts = [{"type": "text_delta", "text": text} for text in reply.text]
        blocks.append(({"type": "text", "text": ""}, texts))
    for call_id, name, arguments in reply.calls:
        parts = [{"type": "input_json_delta", "partial_json": part} for part in ("", *_halves(arguments))]
        blocks.append(({"type": "tool_use", "id": call_id, "name": name, "input": {}}, parts))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if reply.end == "done":
            yield {"type": "content_block_stop", "index": index}
    if reply.end == "done":
        reason = reply.stop or ("tool_use" if reply.calls else "end_turn")
        yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": reply.usage[1]}}
        yield {"type": "message_stop"}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
