"""Reports of what a plugin tried without permission: the system's errors do not say so, and a plugin may swallow them.

Nothing is blocked here, the sandbox does that; the host is notified, and its log says what would have to be granted.
"""

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from clawft.plugins.guest.wire import PluginStart, RefusalReport, Rule

_PROGRAMS = {"subprocess.Popen": 0, "os.posix_spawn": 0, "os.exec": 0, "os.system": 0, "os.spawn": 1}
_MAX_REPORTED = 200
_MAX_SUBJECT = 300


class RefusalMonitor:
    """`write` says something to the host."""

    def __init__(self, start: PluginStart, write: Callable[[RefusalReport], None]) -> None:
        self._start = start
        self._write = write
        self._reported: set[tuple[Rule, str]] = set()
        self._serves = False  # it listens itself, so its own loopback leads somewhere
        proxy = urlsplit(os.environ.get("HTTPS_PROXY", "")) if start.network else urlsplit("")
        self._proxy = (proxy.hostname, proxy.port)

    def watch(self) -> None:
        """See what is tried, from now on."""
        sys.addaudithook(self._see)

    def tell(self, rule: Rule, subject: str) -> None:
        """Tell the host, once."""
        one = (rule, subject[:_MAX_SUBJECT])
        if one not in self._reported and len(self._reported) < _MAX_REPORTED:
            self._reported.add(one)
            self._write(RefusalReport(rule, one[1]))

    def explain(self, error: BaseException) -> str:
        """Return the missing permission that caused an error, '' where that is not the cause."""
        for cause in _chain(error):
            if (
                isinstance(cause, PermissionError)
                and cause.errno == errno.EPERM
                and any(rule == "no-shell" for rule, _ in self._reported)
            ):
                return f"Starting programs is not granted: weft plugins grant {self._start.id} --shell"
            if isinstance(cause, OSError) and isinstance(cause.filename, str) and self._is_closed(cause):
                wanted = f"weft plugins grant {self._start.id} --filesystem"
                return f"'{cause.filename[:_MAX_SUBJECT]}' lies in nothing that was granted: {wanted} PATH"
        return ""

    def _is_closed(self, error: OSError) -> bool:
        """Return whether what is missing, or cannot be changed, lies where the plugin sees nothing."""
        if not self._start.confined or error.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        path = os.path.abspath(error.filename)
        seen = (self._start.data_dir, self._start.folder, *self._start.opened)
        # It has a /tmp of its own.
        is_own_tmp = error.errno == errno.ENOENT and path.startswith("/tmp/") and os.path.isdir(os.path.dirname(path))
        return not is_own_tmp and not any(path == root or path.startswith(f"{root}/") for root in seen)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the interpreter for much of what it does. Whatever it raised would end that."""
        if event not in _PROGRAMS and not event.startswith("socket."):
            return
        try:
            if event in _PROGRAMS:
                if self._start.filter:
                    words = os.fsdecode(arguments[_PROGRAMS[event]]).split()
                    self.tell("no-shell", (words or [""])[0])  # its arguments are nobody's business
            elif self._start.confined:
                self._see_socket(event, arguments)
        except Exception:  # it tells less, that is all
            pass

    def _see_socket(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.bind" and isinstance(arguments[1], tuple):
            self._serves = True
        elif event == "socket.getaddrinfo":
            host, port = arguments[:2]
            host = host.decode() if isinstance(host, bytes) else host
            if host and port and host != "localhost" and not _is_address(host):  # those are reported when connected to
                self._tell_host(host, port)
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            host, port = arguments[1][:2]
            own = self._serves and (host == "localhost" or host.startswith("127.") or host == "::1")
            if not own and (host, port) != self._proxy:
                self._tell_host(host, port)

    def _tell_host(self, host: str, port: Any) -> None:
        shown = f"[{host}]" if ":" in host else host
        self.tell("past-proxy" if self._start.network else "no-host", f"{shown}:{port}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it comes of."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False
