"""The Bot API over HTTP: one request for each call, over connections that the host makes.

It blocks, so it is used from threads. The token is part of every address, so no error says one.
"""

import contextlib
import http.client
import json
import re
import ssl
from socket import SHUT_RDWR, socket
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from clawft.contracts import ChannelError, PluginError, PluginHost

__all__ = ["Api", "ApiError", "Stop", "Unreachable"]

_MAX_ANSWER = 16 << 20  # a hundred updates, each with a long text, what it answers and what it quotes
_PATIENCE_S = 10.0
_GRACE_S = 4.0  # after which nothing is waited for, even if something of it came
_TOKEN = re.compile(r"([0-9]{1,20}):[A-Za-z0-9_-]{10,200}")


class Unreachable(Exception):
    """No answer came, or none that can be understood. `in_doubt`: it may have been done nevertheless."""

    def __init__(self, message: str, *, in_doubt: bool) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class ApiError(Exception):
    """Telegram says no. `code` is as that of HTTP; `parameters` may tell how to go on."""

    def __init__(self, code: int, description: str, parameters: dict[str, Any]) -> None:
        super().__init__(f"{code} {description}")
        self.code = code
        self.description = description
        self.parameters = parameters

    @property
    def retry_after_s(self) -> float:
        """How long to wait, where there were too many requests; else 0."""
        given = self.parameters.get("retry_after")
        return float(given) if isinstance(given, int | float) and given > 0 else float(self.code == 429)


class _Connection(http.client.HTTPConnection):
    """HTTP over a connection that the host made."""

    def __init__(
        self, host: PluginHost, name: str, port: int, context: ssl.SSLContext | None, timeout_s: float
    ) -> None:
        super().__init__(name, port, timeout=timeout_s)
        self._plugin_host = host
        self._tls = context
        self._patience_s = timeout_s

    def connect(self) -> None:
        sock: socket = self._plugin_host.connect(self.host, self.port, _PATIENCE_S)
        sock.settimeout(self._patience_s)
        try:
            self.sock = self._tls.wrap_socket(sock, server_hostname=self.host) if self._tls else sock
        except BaseException:
            sock.close()
            raise


def _set_alarm(sock: socket, seconds: float) -> Timer:
    """End an answer that has no end."""
    alarm = Timer(seconds, _hang_up, (sock,))
    alarm.daemon = True
    alarm.start()
    return alarm


def _hang_up(sock: socket) -> None:
    with contextlib.suppress(OSError):
        socket.shutdown(sock, SHUT_RDWR)


class Stop:
    """Ends a call that waits, from another thread, and every later one that is made with it."""

    def __init__(self) -> None:
        self._is_set = False
        self._sock: socket | None = None

    def set(self) -> None:
        self._is_set = True
        if self._sock is not None:
            _hang_up(self._sock)

    def watch(self, sock: socket) -> None:
        """Raises: OSError if it is set already."""
        self._sock = sock
        if self._is_set:
            raise OSError("it was stopped")


class Api:
    """The Bot API for one bot."""

    def __init__(self, host: PluginHost, base_url: str, token: str) -> None:
        """Raises: PluginError."""
        found = _TOKEN.fullmatch(token)
        if found is None:
            hint = "It is what @BotFather told you: digits, a colon, and letters"
            raise PluginError("TELEGRAM_BOT_TOKEN is not the token of a bot", hint=hint)
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise PluginError("The setting 'base_url' is no address of the web")
        self.bot_id = int(found[1])
        self._host = host
        self._name = url.hostname
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._context = ssl.create_default_context() if url.scheme == "https" else None
        self._path = f"{url.path.rstrip('/')}/bot{token}/"

    def call(
        self, method: str, parameters: dict[str, Any] | None = None, *, wait_s: float = 0.0, stop: Stop | None = None
    ) -> Any:
        """Have something done, which may take `wait_s` and a little more.

        Raises: ApiError, Unreachable; ChannelError if the host was not granted.
        """
        connection = _Connection(self._host, self._name, self._port, self._context, wait_s + _PATIENCE_S)
        in_doubt = False
        alarm: Timer | None = None
        try:
            connection.connect()
            alarm = _set_alarm(connection.sock, wait_s + _PATIENCE_S + _GRACE_S)
            if stop is not None:
                stop.watch(connection.sock)
            in_doubt = True
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", self._path + method, json.dumps(parameters or {}).encode(), headers)
            data = connection.getresponse().read(_MAX_ANSWER + 1)
        except (OSError, ValueError, http.client.HTTPException, PluginError) as error:
            if isinstance(error, PluginError) and error.code == "host-refused":
                raise ChannelError(str(error), code=error.code, hint=error.hint) from None
            said = str(error) or type(error).__name__
            message = f"{self._name} cannot be reached: {said.replace(self._path, '…')}"
            raise Unreachable(message, in_doubt=in_doubt) from None
        finally:
            if alarm is not None:
                alarm.cancel()
            connection.close()
        return self._read(data)

    def _read(self, data: bytes) -> Any:
        try:
            answer = json.loads(data) if len(data) <= _MAX_ANSWER else None
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Unreachable(f"{self._name} gives no answer of the Bot API", in_doubt=True)
        if answer.get("ok") is True:
            return answer.get("result")
        code, parameters = answer.get("error_code"), answer.get("parameters")
        raise ApiError(
            code if isinstance(code, int) else 500,
            str(answer.get("description", ""))[:300],
            parameters if isinstance(parameters, dict) else {},
        )
