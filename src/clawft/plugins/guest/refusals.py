"""What a plugin tries that was not granted: errors of the system do not say so, and a plugin may swallow them.

It keeps nothing from anything, that is done by the system; it tells the host, whose log says what would have to be
granted.
"""

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from clawft.plugins.guest.wire import Rule, Start, Told

__all__ = ["Refusals"]

_PROGRAMS = {"subprocess.Popen": 0, "os.posix_spawn": 0, "os.exec": 0, "os.system": 0, "os.spawn": 1}
_MAX_TOLD = 200
_MAX_SUBJECT = 300


class Refusals:
    """`write` says something to the host."""

    def __init__(self, start: Start, write: Callable[[Told], None]) -> None:
        self._start = start
        self._write = write
        self._told: set[tuple[Rule, str]] = set()
        self._serves = False  # it listens itself, so its own loopback leads somewhere
        proxy = urlsplit(os.environ.get("HTTPS_PROXY", "")) if start.network else urlsplit("")
        self._proxy = (proxy.hostname, proxy.port)

    def watch(self) -> None:
        """See what is tried, from now on."""
        sys.addaudithook(self._see)

    def tell(self, rule: Rule, subject: str) -> None:
        """Tell the host, once."""
        one = (rule, subject[:_MAX_SUBJECT])
        if one not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add(one)
            self._write(Told(rule, one[1]))

    def explain(self, error: BaseException) -> str:
        """What was not granted, where an error comes of that."""
        for one in _chain(error):
            if isinstance(one, PermissionError) and one.errno == errno.EPERM and self._has_told("no-shell"):
                return f"Starting programs is not granted: weft plugins grant {self._start.id} --shell"
            if isinstance(one, OSError) and isinstance(one.filename, str) and self._is_closed(one):
                wanted = f"weft plugins grant {self._start.id} --filesystem"
                return f"'{one.filename[:_MAX_SUBJECT]}' lies in nothing that was granted: {wanted} PATH"
        return ""

    def _has_told(self, rule: Rule) -> bool:
        return any(one == rule for one, _ in self._told)

    def _is_closed(self, error: OSError) -> bool:
        """Whether what is missing, or cannot be changed, lies where the plugin sees nothing."""
        if not self._start.confined or error.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        path = os.path.abspath(error.filename)
        seen = (self._start.data_dir, self._start.folder, *self._start.opened)
        # It has a /tmp of its own.
        is_own_tmp = error.errno == errno.ENOENT and path.startswith("/tmp/") and os.path.isdir(os.path.dirname(path))
        return not is_own_tmp and not any(path == one or path.startswith(f"{one}/") for one in seen)

    def _see(self, event: str, given: tuple[Any, ...]) -> None:
        """Called by the interpreter for much of what it does. Whatever it raised would end that."""
        if event not in _PROGRAMS and not event.startswith("socket."):
            return
        try:
            if event in _PROGRAMS:
                if self._start.filter:
                    self.tell("no-shell", _name_program(given[_PROGRAMS[event]]))
            elif self._start.confined:
                self._see_socket(event, given)
        except Exception:  # it tells less, that is all
            pass

    def _see_socket(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "socket.bind" and isinstance(given[1], tuple):
            self._serves = True
        elif event == "socket.getaddrinfo":
            host, port = given[:2]
            host = host.decode() if isinstance(host, bytes) else host
            if host and port and host != "localhost" and not _is_address(host):  # those are told when connected to
                self._tell_host(host, port)
        elif event == "socket.connect" and isinstance(given[1], tuple):
            host, port = given[1][:2]
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


def _name_program(program: Any) -> str:
    """Without its arguments, which may hold what is nobody's business."""
    return (os.fsdecode(program).split() or [""])[0]


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False
