"""What the host does for a component (R139). What was not granted is refused with an answer, and written down."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.plugins.log import PluginLog
from clawft.plugins.wasm.files import Denied, Files
from clawft.plugins.wasm.web import Record, Web
from clawft.sandbox.net import Message

__all__ = ["Given", "HostFunctions"]

_LEVELS = ("trace", "debug", "info", "warn", "error")
_MAX_LOGGED = 8 * 1024  # bytes of one message
MAX_LINES = 1000  # messages of one call
Answer = tuple[bool, str | None]


class Given(Struct, frozen=True):
    """What a component may be told. `env` are the variables that are set, of those that were granted."""

    config: Mapping[str, Any]
    env: Mapping[str, str]
    granted_env: tuple[str, ...]


class HostFunctions:
    """The functions of the interface `host`. They wait, so they are called from the thread of the component.

    `record` writes down what was decided: the kind, the subject, the decision and the rule.
    """

    def __init__(self, given: Given, files: Files, web: Web, log: PluginLog, record: Record) -> None:
        self._given = given
        self._files = files
        self._web = web
        self._log = log
        self._record = record
        self._lines = 0
        self._left_s: Callable[[], float] = float

    def by_name(self) -> dict[str, Callable[..., Any]]:
        """Each function under its name in the world."""
        return {
            "get-config": self.get_config,
            "get-env": self.get_env,
            "log": self.log,
            "read-file": self.read_file,
            "write-file": self.write_file,
            "http-request": self.http_request,
        }

    def begin(self, left_s: Callable[[], float]) -> None:
        """A new call is under way, which may take so long."""
        self._lines = 0
        self._left_s = left_s

    def get_config(self, key: str) -> str | None:
        """A setting; `a.b` is `b` in the table `a`. What is no text is given as JSON."""
        found: Any = self._given.config.get(key)
        if found is None:
            found = self._given.config
            for part in key.split("."):
                found = found.get(part) if isinstance(found, Mapping) else None
        if found is None or isinstance(found, str):
            return found
        return msgspec.json.encode(found).decode()

    def get_env(self, name: str) -> str | None:
        """A variable that was granted by name, if it is set."""
        if name not in self._given.granted_env:
            self._record("denial", f"variable {name}", "deny", "not granted")
            return None
        return self._given.env.get(name)

    def log(self, level: int, message: str) -> None:
        """A line of the plugin's log."""
        self._lines += 1
        if self._lines > MAX_LINES:
            if self._lines == MAX_LINES + 1:
                self._log.say("it logs too much; what follows is left out")
            return
        shown = _LEVELS[min(level, len(_LEVELS) - 1)]
        lines = message[:_MAX_LOGGED].splitlines() or [""]
        self._log.add("".join(f"{shown}: {line}\n" for line in lines).encode("utf-8", "replace"))

    def read_file(self, path: str) -> Answer:
        return self._answer("read", path, lambda: self._files.read(path))

    def write_file(self, path: str, content: str) -> Answer:
        return self._answer("write", path, lambda: self._files.write(path, content))

    def http_request(self, method: str, url: str, headers: list[tuple[str, str]], body: str | None) -> Answer:
        message = Message(method.upper(), (body or "").encode("utf-8", "replace"))
        return self._answer("request", "", lambda: self._web.request(message, url, headers, self._left_s()))

    def _answer(self, what: str, path: str, act: Callable[[], str | None]) -> Answer:
        """Ok, or what is wrong in words for the guest."""
        try:
            return True, act()
        except Denied as error:
            if path:  # addresses are written down where they are judged
                self._record("denial", f"{what} {path}", "deny", "not granted")
            return False, str(error)
        except ClawftError as error:
            return False, str(error)
