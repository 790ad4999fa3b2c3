"""A server on this machine that speaks the Bot API as its documentation describes it, for one bot."""

import json
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self

TOKEN = "4242:AAtest-token_for-this-machine"
BOT = {"id": 4242, "is_bot": True, "first_name": "Agent", "username": "the_agent_bot"}
_MAX_UNITS = 4096


class Failure(Exception):
    """An error of the API."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.body = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


class BotApi:
    """`say` has somebody write to the bot; `sent` is what the bot wrote; `fail` are errors to answer with first."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.fail: list[Failure | None] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.webhook = False
        self.chats = {7}
        self._updates: list[dict[str, Any]] = []
        self._numbers = count(1000)
        self._changed = threading.Condition()
        self._poller = 0
        self._methods: dict[str, Callable[[dict[str, Any]], Any]] = {
            "getMe": lambda _: BOT,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
        }
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                api._handle(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._scheme = "https" if context else "http"
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._poller += 1
            self._changed.notify_all()
        self._server.shutdown()
        self._thread.join(60)
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def unconfirmed(self) -> list[int]:
        with self._changed:
            return [one["update_id"] for one in self._updates]

    def say(self, text: str = "", sender: int = 7, chat: int | None = None, **more: Any) -> int:
        """Somebody writes; the number of the update."""
        number = next(self._numbers)
        kind = "private" if chat is None else "supergroup"
        message: dict[str, Any] = {
            "message_id": number - 900,
            "from": {"id": sender, "is_bot": False, "first_name": "Ann", "last_name": "Other"},
            "chat": {"id": sender if chat is None else chat, "type": kind},
            "date": 1_800_000_000,
            **({"text": text} if text else {}),
            **more,
        }
        self.put({"update_id": number, "message": message})
        return number

    def put(self, update: dict[str, Any]) -> None:
        message = update.get("message", {})
        with self._changed:
            self.chats.add(message.get("chat", {}).get("id", 0))
            self._updates.append(update)
            self._changed.notify_all()

    # --- The methods ---

    def _get_updates(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        if self.webhook:
            raise Failure(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook")
        with self._changed:
            self._poller += 1
            mine = self._poller
            self._changed.notify_all()
            if "offset" in given:  # confirms all before it
                self._updates = [one for one in self._updates if one["update_id"] >= given["offset"]]
            self._changed.wait_for(lambda: self._updates or self._poller != mine, given.get("timeout", 0))
            if self._poller != mine:
                raise Failure(409, "Conflict: terminated by other getUpdates request; make sure that only one runs")
            allowed = given.get("allowed_updates") or ["message"]
            found = [one for one in self._updates if any(kind in one for kind in allowed)]
            return found[: given.get("limit", 100)]

    def _send_message(self, given: dict[str, Any]) -> dict[str, Any]:
        text = given.get("text", "")
        if given.get("chat_id") not in self.chats:
            raise Failure(400, "Bad Request: chat not found")
        if not text.strip():
            raise Failure(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) > _MAX_UNITS * 2:
            raise Failure(400, "Bad Request: message is too long")
        self.sent.append(given)
        return {"message_id": len(self.sent), "chat": {"id": given["chat_id"]}, "text": text}

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        given = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        bot, _, method = request.path.removeprefix("/bot").partition("/")
        try:
            if bot != TOKEN:
                raise Failure(401, "Unauthorized")
            if method not in self._methods:
                raise Failure(404, "Not Found")
            failure = self.fail.pop(0) if method != "getMe" and self.fail else None
            self.asked.append((method, given))
            if failure is not None:
                raise failure
            code, body = 200, {"ok": True, "result": self._methods[method](given)}
        except Failure as error:
            code, body = int(str(error.body["error_code"])), error.body
        data = json.dumps(body).encode()
        with suppress(OSError):  # whoever asked need not wait for the answer
            request.send_response(code)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(data)))
            request.end_headers()
            request.wfile.write(data)
