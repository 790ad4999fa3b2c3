"""The host functions of a component: files, web requests, settings and its log. Access without permission is refused
and recorded."""

import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from anyio import CancelScope, from_thread
from anyio.lowlevel import EventLoopToken
from msgspec import structs

from clawft.agent.tools.file_access import read_file_at, write_file_at
from clawft.config.tools import WebSettings
from clawft.contracts import PluginError
from clawft.errors import ClawftError
from clawft.files import is_within, is_within_any, real_path
from clawft.plugins.launch import PluginLaunch
from clawft.plugins.runtime import PluginLog
from clawft.sandbox.addresses import FetchError
from clawft.sandbox.net import FetchBody, FetchedPage, fetch
from clawft.sandbox.rate_limit import RateLimiter
from clawft.sandbox.secret_files import holds_secret
from clawft.trust.network import PolicyViolation, UrlPolicy, UrlTarget, find_grant
from clawft.trust.protected_paths import is_private, is_protected, own_folders, steers_in_home
from clawft.workspace import Workspace, resolve_path

MAX_FILE_BYTES = 4 << 20
MAX_WRITTEN_BYTES = 256 << 20  # by one plugin, from its start to its end
_MAX_PATH = 4096
_PLUGIN, _PROJECT = "plugin:", "project:"


class ComponentAccessDenied(PluginError):
    """The error for access without permission."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="plugin-denied")


class ComponentFiles:
    """Reads and writes texts for one plugin, whose `copy` is that of its folder which was approved."""

    def __init__(self, job: PluginLaunch, copy: str, workspace: Workspace) -> None:
        self._job = job
        self._own, self._data_dir = os.path.realpath(copy), os.path.realpath(job.data_dir)
        self._workspace = workspace
        self._written = 0

    def read(self, path: str) -> str:
        """A text. Raises: Denied; PluginError."""
        return _read(self._find(path, write=False), path)

    def write(self, path: str, content: str) -> None:
        """Put a text in place of what was there, at once. Raises: Denied; PluginError."""
        real = self._find(path, write=True)
        data = content.encode("utf-8", "replace")
        if len(data) > MAX_FILE_BYTES:
            raise PluginError(f"'{path}' would have {len(data)} bytes; {MAX_FILE_BYTES} is the limit")
        if self._written + len(data) > MAX_WRITTEN_BYTES:
            raise PluginError(f"It wrote {self._written} bytes; {MAX_WRITTEN_BYTES} is the limit")
        try:
            before = _stat(real)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise PluginError(f"'{path}' is not a regular file")
            write_file_at(real, data, before, 0 if before else 0o600)
        except (OSError, ClawftError) as error:
            raise _failure(error, path) from error
        self._written += len(data)

    def _find(self, path: str, *, write: bool) -> str:
        """Resolve a path that a component asks for. Raises: Denied."""
        if not path or "\0" in path or len(path) > _MAX_PATH:
            raise ComponentAccessDenied("The path is empty, too long or no path")
        if path.startswith(_PLUGIN):
            if write:
                raise ComponentAccessDenied(f"'{path}' may not be written: the plugin's own folder is only read")
            return _below(path, path.removeprefix(_PLUGIN), self._own)
        if path.startswith((_PROJECT, "/", "~/")):
            return self._find_granted(path, write=write)
        return _below(path, path, self._data_dir)

    def _find_granted(self, path: str, *, write: bool) -> str:
        job = self._job
        inner = f"./{path.removeprefix(_PROJECT)}" if path.startswith(_PROJECT) else path
        full = resolve_path(inner, self._workspace.project, self._workspace.home)
        real = real_path(full)
        places = job.writable if write else (*job.writable, *job.readable)
        # The innermost one counts: it may name what would be closed in another.
        root = max((place for place in places if is_within(real, place)), key=len, default="")
        if not root:
            what = "written" if write else "read"
            raise ComponentAccessDenied(f"'{path}' may not be {what}: it lies in nothing that was granted")
        return self._check_place(path, (full, real), root, write=write)

    def _check_place(self, path: str, places: tuple[str, str], root: str, *, write: bool) -> str:
        """The real one of two places below a granted one, as written and as it is. Raises: Denied if it is closed."""
        inner = [os.path.relpath(place, root) for place in places if is_within(place, root)]
        if any(is_private(inner_path) for inner_path in inner) or (set(inner) != {"."} and holds_secret(places[1])):
            raise ComponentAccessDenied(f"'{path}' is a place for secrets, and was not granted by name")
        if write:
            home = real_path(self._workspace.home)
            steering = is_within(home, root) and any(steers_in_home(place, home) for place in places)
            steering = steering or any(map(is_protected, inner))
            if steering or is_within_any(places[1], own_folders()):
                raise ComponentAccessDenied(
                    f"'{path}' gives power over programs or agents, and was not granted by name"
                )
        return places[1]


def _below(path: str, inner: str, root: str) -> str:
    """Resolve the inner part of a path within a folder. Raises: Denied if it leads out of it."""
    real = real_path(f"{root}/{inner}")
    if real == root or not is_within(real, root):
        raise ComponentAccessDenied(f"'{path}' leads out of the plugin's folder")
    return real


def _read(real: str, path: str) -> str:
    try:
        return read_file_at(real, MAX_FILE_BYTES)[0].decode()
    except UnicodeDecodeError as error:
        raise PluginError(f"'{path}' is not text in UTF-8") from error
    except (OSError, ClawftError) as error:
        raise _failure(error, path) from error


def _stat(real: str) -> os.stat_result | None:
    try:
        return os.stat(real, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _failure(error: OSError | ClawftError, path: str) -> PluginError:
    if isinstance(error, PluginError):
        return error
    if isinstance(error, FileNotFoundError):
        return PluginError(f"There is no '{path}'")
    why = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return PluginError(f"'{path}': {why}")


MAX_BODY_BYTES = 1 << 20
MAX_ANSWER_BYTES = 4 << 20
_MAX_HEADERS = 64
_SHOWN = 500  # characters of an answer that is an error
Record = Callable[[str, str, str, str], None]


class ComponentWeb:
    """Makes requests for one plugin, from its thread, on the event loop of `token`.

    `record` writes down what was decided about an address.
    """

    def __init__(self, hosts: Sequence[str], settings: WebSettings, record: Record, token: EventLoopToken) -> None:
        self._hosts = tuple(hosts)
        self._settings = settings
        self._policy = UrlPolicy(settings)
        self._limiter = RateLimiter(settings.rate_limit, time.monotonic)
        self._record = record
        self._token = token
        self._scope: CancelScope | None = None

    def cancel(self) -> None:
        """End the request that is under way. Called on the event loop."""
        if self._scope is not None:
            self._scope.cancel()

    def request(self, message: FetchBody, url: str, headers: Sequence[tuple[str, str]], timeout_s: float) -> str:
        """The body of an answer; the thread waits for it. Raises: Denied; PluginError."""
        if not self._hosts:
            self._record("url", url, "deny", "no host was granted")
            raise ComponentAccessDenied(f"'{url[:200]}' may not be reached: no host was granted")
        if len(message.body) > MAX_BODY_BYTES:
            raise PluginError(f"The body has {len(message.body)} bytes; {MAX_BODY_BYTES} is the limit")
        if len(headers) > _MAX_HEADERS:
            raise PluginError(f"There are {len(headers)} headers; {_MAX_HEADERS} is the limit")
        if wait_s := self._limiter.try_acquire():
            raise PluginError(f"Too many requests; the next may go in {wait_s:.0f} seconds")
        limit = min(self._settings.max_bytes, MAX_ANSWER_BYTES)
        seconds = min(self._settings.timeout_s, max(timeout_s, 0.001))
        settings = structs.replace(self._settings, max_bytes=limit, timeout_s=seconds)
        return from_thread.run(self._fetch, message, url, dict(headers), settings, token=self._token)

    async def _fetch(self, message: FetchBody, url: str, headers: dict[str, str], settings: WebSettings) -> str:
        fetched: FetchedPage | None = None
        try:
            with CancelScope() as self._scope:
                fetched = await fetch(url, self._policy, settings, headers=headers, message=message, visitor=self)
        except PolicyViolation as error:
            self._record("url", error.url or url, "deny", f"{error.code}: {error}")
            raise ComponentAccessDenied(str(error)) from error
        except FetchError as error:
            raise PluginError(str(error)) from error
        finally:
            self._scope = None
        if fetched is None:
            raise PluginError("The request was cancelled")
        text = fetched.body.decode("utf-8", "replace")
        if fetched.truncated:
            raise PluginError(f"The answer has more than {settings.max_bytes} bytes")
        if fetched.status >= 400:
            raise PluginError(f"HTTP {fetched.status}: {text[:_SHOWN]}")
        return text

    async def admit(self, target: UrlTarget) -> None:
        """Raises: Denied for a host that was not granted."""
        if find_grant(target.host, target.connect_port, self._hosts) is None:
            self._record("url", target.url, "deny", "not granted")
            raise ComponentAccessDenied(f"'{target.authority}' may not be reached: it was not granted")

    def enter(self, target: UrlTarget) -> None:
        """Raises: Refused if it cannot be written down."""
        grant = find_grant(target.host, target.connect_port, self._hosts)
        self._record("url", target.url, "allow", f"granted {grant.text}" if grant else "granted")


_LEVELS = ("trace", "debug", "info", "warn", "error")
_MAX_LOGGED = 8 * 1024  # bytes of one message
MAX_LINES = 1000  # messages of one call
Answer = tuple[bool, str | None]


class HostFunctions:
    """The functions of the interface `host`. They wait, so they are called from the thread of the component.

    `record` writes down what was decided: the kind, the subject, the decision and the rule.
    """

    def __init__(
        self, job: PluginLaunch, files: ComponentFiles, web: ComponentWeb, log: PluginLog, record: Record
    ) -> None:
        self._job = job
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
        found: Any = self._job.config.get(key)
        if found is None:
            found = self._job.config
            for part in key.split("."):
                found = found.get(part) if isinstance(found, Mapping) else None
        if found is None or isinstance(found, str):
            return found
        return msgspec.json.encode(found).decode()

    def get_env(self, name: str) -> str | None:
        """A variable that was granted by name, if it is set."""
        if name not in self._job.permissions.env_vars:
            self._record("denial", f"variable {name}", "deny", "not granted")
            return None
        return self._job.env.get(name)

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
        message = FetchBody(method.upper(), (body or "").encode("utf-8", "replace"))
        return self._answer("request", "", lambda: self._web.request(message, url, headers, self._left_s()))

    def _answer(self, what: str, path: str, act: Callable[[], str | None]) -> Answer:
        """Ok, or what is wrong in words for the guest."""
        try:
            return True, act()
        except ComponentAccessDenied as error:
            if path:  # addresses are written down where they are judged
                self._record("denial", f"{what} {path}", "deny", "not granted")
            return False, str(error)
        except ClawftError as error:
            return False, str(error)
