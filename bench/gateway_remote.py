"""The other side of a channel, for tests and measurements: it holds messages until they are acknowledged, gives them
again on every connection, and keeps what it is sent, in order. Nothing that happens to a gateway happens to it."""

import json
import socketserver
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

__all__ = ["Remote", "Sent"]


@dataclass(frozen=True)
class Sent:
    """What it was sent."""

    key: str
    conversation: str
    text: str
    reply_to: str
    is_repeat: bool


@dataclass
class Remote:
    """Messages have the ids `m0`, `m1`, …; with `deduplicates` one whose key was seen is dropped."""

    deduplicates: bool = True
    sent: list[Sent] = field(default_factory=list)
    dropped: int = 0
    given: int = 0
    connections: int = 0
    refused: list[str] = field(default_factory=list)
    _held: dict[str, dict[str, Any]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        remote = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                remote._serve(self)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a gateway was killed in the middle of a line

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def write(self, text: str, conversation: str = "c0", sender: str = "ann", message: str = "") -> str:
        """Somebody writes a message; its id."""
        with self._lock:
            name = message or f"m{self._count}"
            self._count += 1
            self._held[name] = {"id": name, "sender": sender, "conversation": conversation, "text": text}
        return name

    @property
    def is_taken(self) -> bool:
        """Whether all was acknowledged."""
        return not self._held

    def answers(self) -> dict[str, list[Sent]]:
        """What was sent, by the message that it answers."""
        found: dict[str, list[Sent]] = defaultdict(list)
        for one in tuple(self.sent):
            found[one.reply_to].append(one)
        return found

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        self.connections += 1
        for line in handler.rfile:
            answer = self._answer(json.loads(line))
            handler.wfile.write(json.dumps(answer).encode() + b"\n")

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if asked["op"] == "take":
                found = list(self._held.values())[: asked["most"]]
                self.given += len(found)
                return {"messages": found}
            if asked["op"] == "ack":
                self._held.pop(asked["id"], None)
                self.refused += [] if asked["taken"] else [asked["id"]]
                return {"ok": True}
            sent = Sent(**{name: asked[name] for name in ("key", "conversation", "text", "reply_to", "is_repeat")})
            if self.deduplicates and sent.key in self._seen:
                self.dropped += 1
                return {"ok": True}
            self._seen.add(sent.key)
            self.sent.append(sent)
            return {"ok": True}
