"""Landlock: one program that the kernel refuses what was not granted, from its start to the end of its last process."""

import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import anyio
from anyio import to_thread
from msgspec import structs

from clawft.errors import ClawftError, Refused
from clawft.files import real_path
from clawft.sandbox.filter import AF_INET, AF_INET6, AF_NETLINK, build_filter
from clawft.sandbox.guard import FolderGuard
from clawft.sandbox.listener import PROXY_PORT
from clawft.sandbox.pinned_path import Mark, PinnedPath
from clawft.sandbox.process import Finished, Launch
from clawft.sandbox.proxy import serve_proxy
from clawft.sandbox.visible_files import ETC, FOLDERS, ConfinedProgram, VisibleFiles, signal_code
from clawft.sandbox.watch import list_descendants, list_namespace_processes, watch

# "list", "read", "write" or "device", a real path, and what was there when it was opened, if it was.
Grant = tuple[str, str, Mark | None]
_DEVICES = ("null", "zero", "full", "random", "urandom")
_ACCOUNTS = ("passwd", "group", "hosts")


def find_grants(visible: VisibleFiles, private: str) -> list[Grant]:
    """Find the Landlock grants for a program that sees these files and has the folder `private` for itself."""
    hidden = frozenset(visible.hidden)
    grants = [
        *(system_grant for system_grant in _system_grants() if system_grant[1] not in hidden),
        ("write", private, None),
    ]
    for place, _ in visible.readable:
        grants += _open(place.path, "read", frozenset(), hidden, place.mark)
    for root, guard in visible.writable:
        grants += _open_root(root, guard)
    grants += [("write", own_place.path, own_place.mark) for own_place in visible.own]
    grants += [("write", visible.tmp.place.path, None)] if visible.tmp else []
    for place, _ in (*visible.inside, *visible.mounts):
        grants += _open(place.path, "read", frozenset(), hidden - {place.path}, place.mark)
    return grants


@cache
def _system_grants() -> tuple[Grant, ...]:
    places = [*FOLDERS, *(f"/etc/{name}" for name in (*ETC, *_ACCOUNTS))]
    found = {real_path(place): None for place in places if os.path.exists(place)}
    return (*(("read", path, None) for path in found), *(("device", f"/dev/{name}", None) for name in _DEVICES))


def _open_root(root: PinnedPath, guard: FolderGuard) -> Iterator[Grant]:
    yield "list", root.path, root.mark
    read_only, hidden = frozenset(guard.read_only), frozenset(guard.hidden)
    for path in (*(guard.children or ()), *guard.read_only):
        if not os.path.islink(path):
            yield from _open(path, "write", read_only, hidden)


def _open(
    path: str, kind: str, read_only: frozenset[str], hidden: frozenset[str], mark: Mark | None = None
) -> Iterator[Grant]:
    """Grant a place, or, where something below it is closed, its children; links are granted where they lead."""
    if path in hidden:
        return
    if path in read_only:
        kind = "read"
    closed = hidden if kind == "read" else read_only | hidden
    if not any(closed_path.startswith(path + "/") for closed_path in closed):
        yield kind, path, mark
        return
    yield "list", path, mark
    try:
        with os.scandir(path) as entries:
            children = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for child in children:
        yield from _open(child, kind, read_only, hidden)


_LAUNCHER = os.path.join(os.path.dirname(__file__), "landlock_launcher.py")
_APART = (AF_INET, AF_INET6, AF_NETLINK)


class LandlockRun:
    """Speaks with the launcher. The program has a folder of its own for temporary files and as its home."""

    def __init__(self, job: ConfinedProgram) -> None:
        """Raises: OSError."""
        self._job = job
        self._report: dict[str, Any] = {}
        self._exceeded = ""
        self._failure: ClawftError | None = None
        self._pid = 0
        # Beside the session's /tmp, which may be mounted over this machine's.
        self._tmp = job.visible.tmp.place.path if job.visible.tmp else ""
        self._private = _make_private(os.path.dirname(self._tmp) or "/tmp")
        self._tell, self._theirs = socket.socketpair()
        self._tell.setblocking(False)
        self._task = os.memfd_create("sandbox", os.MFD_CLOEXEC)
        os.write(self._task, json.dumps(self._describe()).encode())
        os.lseek(self._task, 0, os.SEEK_SET)
        descriptors = (self._task, self._theirs.fileno())
        line = (sys.executable, "-I", "-S", _LAUNCHER, *map(str, descriptors))
        self.launch = Launch(
            line, "/", {}, descriptors, self._attend, self._kill, settle=self._settle, finish=self._finish
        )

    def close(self) -> None:
        os.close(self._task)
        self._tell.close()
        self._theirs.close()
        _remove(self._private)

    def _finish(self, finished: Finished) -> Finished:
        """Return the result of the program itself, not of the launcher. Raises: ClawftError if it was never started."""
        with suppress(BlockingIOError):
            self._receive()
        if self._failure:
            raise self._failure
        ended = self._report.get("code")
        if ended is None and finished.code >= 0:
            message = (finished.errors or finished.output).decode("utf-8", "replace").strip()
            raise ClawftError("sandbox-failed", f"The sandbox could not be made: {message[-500:]}")
        code = finished.code if ended is None else signal_code(ended)
        return structs.replace(finished, code=code, exceeded=self._exceeded)

    def _describe(self) -> dict[str, Any]:
        job, private = self._job, self._private
        granted = (
            *(
                granted_place
                for granted_place, _ in (*job.visible.readable, *job.visible.writable, *job.visible.mounts)
            ),
            *job.visible.own,
        )
        roots = [place.path for place in granted]
        home = job.env.get("HOME", "")
        seen = any((home + "/").startswith(root + "/") for root in roots)
        own = {"TMPDIR": self._tmp or f"{private}/tmp", **({} if seen or not home else {"HOME": f"{private}/home"})}
        return {
            "words": job.words,
            "cwd": job.cwd,
            "env": {**job.env, **own},
            "grants": find_grants(job.visible, private),
            "limits": structs.asdict(job.limits),
            "filters": _filters(),
            "port": PROXY_PORT if job.access else 0,
            "private": "" if any((root + "/").startswith("/tmp/") for root in roots) else self._tmp or private,
            "open": [
                *(root.path for root, _ in job.visible.writable),
                *(own_place.path for own_place in job.visible.own),
                private,
                *([self._tmp] if self._tmp else []),
            ],
            "closed": [path for _, guard in job.visible.writable for path in (*guard.read_only, *guard.hidden)],
            "parent": os.getpid(),
        }

    async def _attend(self, pid: int) -> None:
        self._pid = pid
        self._theirs.close()
        listeners: list[int] = []
        if not await self._hear("net", listeners):
            return  # the launcher says itself why it gives up
        access = self._job.access
        if access and access.has_grants and not listeners:
            message = "The granted hosts cannot be kept apart from others: no network of its own could be made"
            self._failure = Refused("sandbox-network", message, hint="Install bubblewrap")
            self._kill()
            return
        with suppress(BrokenPipeError):
            self._tell.send(b"1")
        async with anyio.create_task_group() as tasks:
            if access and listeners:
                tasks.start_soon(serve_proxy, socket.socket(fileno=listeners[0]), access, self._job.quiet_s)
            census = list_descendants(pid)
            if await self._hear("child", []) and self._report["child"] and await self._hear("own_proc", []):
                census = list_namespace_processes(self._report["child"]) if self._report["own_proc"] else census
            self._exceeded = await watch(census, self._job.limits, pid)
            self._kill()
            tasks.cancel_scope.cancel()

    async def _hear(self, what: str, listeners: list[int]) -> bool:
        """Wait until the launcher has told something; False if it never will."""
        while what not in self._report and self._tell.fileno() >= 0:
            await anyio.wait_readable(self._tell)
            listeners += self._receive()
        return what in self._report

    def _receive(self) -> list[int]:
        """Take what the launcher tells; sockets that came with it. At the end of it ours is closed."""
        if self._tell.fileno() < 0:
            return []
        received, descriptors, _, _ = socket.recv_fds(self._tell, 4096, 1)
        for line in received.splitlines():
            self._report |= json.loads(line)
        if not received:
            self._tell.close()
        return descriptors

    async def _settle(self) -> None:
        """Remove the program's own folder, in a thread because there may be much in it."""
        await to_thread.run_sync(_remove, self._private)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)


def _remove(folder: str) -> None:
    """Remove a folder with all in it, also where rights were taken away on purpose."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(folder):
        for where, folders, _ in os.walk(folder):
            for name in folders:
                with suppress(OSError):
                    os.chmod(os.path.join(where, name), 0o700, follow_symlinks=False)
        shutil.rmtree(folder, ignore_errors=True)


def _make_private(above: str) -> str:
    folder = tempfile.mkdtemp(prefix="clawft-", dir=above)
    for name in ("tmp", "home"):
        os.mkdir(os.path.join(folder, name), 0o700)
    return folder


@cache
def _filters() -> dict[str, str]:
    """Without a network of its own it makes no socket at all: one to a service of this machine would be a way out."""
    apart = build_filter(_APART, namespaces=False)
    shared = build_filter((), namespaces=False)
    return {"apart": (apart or b"").hex(), "shared": (shared or b"").hex()}
