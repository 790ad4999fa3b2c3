"""The host as a plugin sees it (R133, R134): most of it was told at the start, and only deliveries are asked for."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from socket import create_connection, socket
from typing import Any
from urllib.parse import urlsplit

from msgspec import to_builtins

from clawft.contracts import InboundMessage, Level, MessagePayload, PluginError
from clawft.plugins.guest.wire import Rule, Start

__all__ = ["GuestChannelHost", "GuestHost"]

_LEVELS = ("trace", "debug", "info", "warn", "error")
_MAX_HEAD = 16 * 1024
_MAX_LOGGED = 8 * 1024
Asking = Callable[[str, str, Any], Awaitable[Any]]


class GuestHost:
    """A PluginHost."""

    def __init__(self, start: Start, tell: Callable[[Rule, str], None]) -> None:
        """`tell` has the host write down what is refused here, by its rule."""
        self._id = start.id
        self._tell = tell
        self._config = start.config
        self._data_dir = start.data_dir
        self._secrets = {name: os.environ[name] for name in start.env if name in os.environ}
        self._network = start.network
        self._proxy = urlsplit(os.environ.get("HTTPS_PROXY", "")) if start.network else urlsplit("")

    def config_value(self, key: str) -> Any:
        found: Any = self._config
        if key in self._config:
            return deepcopy(self._config[key])
        for part in key.split("."):
            if not isinstance(found, dict) or part not in found:
                return None
            found = found[part]
        return deepcopy(found)

    def resolve_secret(self, env_var: str) -> str | None:
        return self._secrets.get(env_var)

    def data_dir(self) -> str:
        return self._data_dir

    def log(self, level: Level, message: str) -> None:
        shown = level if level in _LEVELS else "info"
        for line in str(message)[:_MAX_LOGGED].splitlines() or [""]:
            sys.stderr.write(f"{shown}: {line}\n")
        sys.stderr.flush()

    def connect(self, host: str, port: int, timeout_s: float = 30.0) -> socket:
        """Raises: PluginError."""
        name = f"[{host}]" if ":" in host else host
        if not f"{name}:{port}".isprintable() or " " in name:
            raise PluginError(f"{host!a} is no host", code="host-refused")
        if not self._network:
            self._tell("no-host", f"{name}:{port}")
            message = f"{name}:{port} cannot be reached: no host was granted"
            raise PluginError(message, code="host-refused", hint=self._grant_hint(f"{name}:{port}"))
        if not self._proxy.hostname:
            return self._connect_bare(host, port, timeout_s)
        try:
            connection = create_connection((self._proxy.hostname, self._proxy.port or 80), timeout_s)
            try:
                connection.sendall(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode())
                _read_reply(connection, f"{host}:{port}")
            except BaseException:
                connection.close()
                raise
        except (OSError, UnicodeError) as error:
            raise PluginError(f"{host}:{port} cannot be reached: {error}", code="host-unreachable") from error
        return connection

    def _connect_bare(self, host: str, port: int, timeout_s: float) -> socket:
        """Without a sandbox there is no proxy: the names of hosts are all that can be judged."""
        from clawft.trust.hosts import find_grant

        if find_grant(host.lower(), port, self._network) is None:
            message = f"{host}:{port} is not among the granted hosts"
            raise PluginError(message, code="host-refused", hint=self._grant_hint(f"{host}:{port}"))
        try:
            return create_connection((host, port), timeout_s)
        except (OSError, UnicodeError) as error:
            raise PluginError(f"{host}:{port} cannot be reached: {error}", code="host-unreachable") from error

    def _grant_hint(self, place: str) -> str:
        return f"If its manifest asks for it: weft plugins grant {self._id} --network {place}"


def _read_reply(connection: socket, asked: str) -> None:
    """The proxy's answer, to its very end: what follows is the other side's. Raises: PluginError, OSError."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < _MAX_HEAD:
        byte = connection.recv(1)
        if not byte:
            raise PluginError(f"{asked} cannot be reached: the proxy gave no answer", code="host-unreachable")
        head += byte
    words = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if len(words) < 2 or words[1] != b"200":
        said = b""
        while len(said) < _MAX_HEAD and (chunk := connection.recv(4096)):
            said += chunk
        refused = words[1:2] == [b"403"]
        reason, _, hint = said.decode("utf-8", "replace").removeprefix("clawft: ").partition("\nhint: ")
        text = _join(reason) or f"{asked} cannot be reached"
        raise PluginError(text, code="host-refused" if refused else "host-unreachable", hint=_join(hint))


def _join(text: str) -> str:
    """In one line."""
    return " ".join(text.split())[:1000]


class GuestChannelHost:
    """A ChannelHost: it hands in what one channel receives."""

    def __init__(self, channel: str, config: Mapping[str, Any], ask: Asking) -> None:
        self._channel = channel
        self._config = config
        self._ask = ask

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        return bool(await self._ask("deliver_inbound", self._channel, to_builtins(message)))

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        given = {"sender": sender, "conversation": conversation, "payload": to_builtins(payload)}
        return bool(await self._ask("deliver_payload", self._channel, given))

    @property
    def config(self) -> Mapping[str, Any]:
        return deepcopy(dict(self._config))
