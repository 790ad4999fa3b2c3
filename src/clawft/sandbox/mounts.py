"""Whether bubblewrap mounted what it was told to: checked from outside, before the program starts.

Bubblewrap takes paths and resolves them again, several times. A program that runs beside can put a link in the place of
a folder in between, and have another folder of the machine mounted. So each place is opened once, without following a
link, and known by device and inode; and when all is mounted, each must be what was opened, and nothing else be mounted.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from clawft.sandbox.launcher import open_plain
from clawft.sandbox.view import View

__all__ = ["Expected", "expect", "find_wrong", "is_mounted"]

_BINDS = frozenset({"--bind", "--bind-try", "--ro-bind", "--ro-bind-try"})
_MADE = frozenset({"--tmpfs", "--proc", "--dev"})
_OWN = ("/dev/", "/proc/")  # what bubblewrap mounts there by itself
_ESCAPED = re.compile(rb"\\([0-7]{3})")

Mark = tuple[int, int]  # device and inode


class OpenedPlace(Struct, frozen=True):
    """One place of the machine as it was opened."""

    path: str
    mark: Mark
    read_only: bool = False


class Expected(Struct, frozen=True):
    """What must be seen inside, and all that may be mounted."""

    places: tuple[OpenedPlace, ...] = ()
    hidden: tuple[OpenedPlace, ...] = ()
    mounts: frozenset[str] = frozenset()


def expect(view: View, base: Sequence[str]) -> Expected:
    """What a view must lead to. `base` are the flags of every program, whose places no confined program can change.

    A place that is not there now must not be mounted either. Raises: OSError (ELOOP) where a link is on the way to one.
    """
    places: dict[str, OpenedPlace] = {}
    sources: dict[str, str] = {}

    def add(source: str, seen: str, *, read_only: bool = False) -> None:
        place = _open(source, seen, read_only=read_only)
        if place is not None:
            places[seen], sources[seen] = place, source

    for source, seen in (*view.readable, *view.inside, *view.mounts):
        add(source, seen, read_only=True)
    for path in view.own:
        add(path, path)
    hidden: list[str] = [*view.hidden]
    for root, guard in view.writable:
        add(root, root, read_only=guard.children is not None)
        for path in (*(guard.children or ()), *guard.pinned):
            add(path, path)
        for path in (*guard.read_only, *guard.missing):
            add(path, path, read_only=True)
        hidden += guard.hidden
    replaced = {seen for _, seen in view.mounts}
    closed = [place for one in dict.fromkeys(hidden) if one not in replaced and (place := _open(one, one)) is not None]
    covered = [place.path for place in closed]
    shown = {seen for _, seen in (*view.inside, *view.mounts)} | set(view.own)
    kept = [place for path, place in places.items() if path in shown or not _is_below(path, covered)]
    machine = _read_mounts("self")
    mounts = {*_list_targets(base, machine), *covered}
    for seen, source in sources.items():
        mounts |= {seen, *_list_inner(source, seen, machine)}
    return Expected(tuple(kept), tuple(closed), frozenset(mounts))


def _open(source: str, seen: str, *, read_only: bool = False) -> OpenedPlace | None:
    """A place; None for one that is not there, or cannot be reached. Raises: OSError for one that a link leads to."""
    try:
        descriptor = open_plain(source)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
        return None
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return OpenedPlace(seen, (status.st_dev, status.st_ino), read_only)


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root + "/") for root in roots)


def _list_targets(flags: Sequence[str], machine: Sequence[str]) -> Iterable[str]:
    """Where flags have something mounted."""
    words = iter(flags)
    for word in words:
        if word in _BINDS:
            source, target = next(words), next(words)
            yield target
            yield from _list_inner(source, target, machine)
        elif word in _MADE:
            yield next(words)


def _list_inner(source: str, target: str, machine: Sequence[str]) -> Iterable[str]:
    """What the machine has mounted below a place, which comes along."""
    real = os.path.realpath(source)
    return [target + one[len(real) :] for one in machine if one.startswith(real + "/")]


def _read_mounts(process: str) -> list[str]:
    """Where something is mounted, as the process sees it. Raises: OSError."""
    with open(f"/proc/{process}/mountinfo", "rb") as file:
        found = [line.split(b" ", 5)[4] for line in file]
    return [os.fsdecode(_ESCAPED.sub(lambda one: bytes([int(one[1], 8)]), path)) for path in found]


def is_mounted(child: int) -> bool:
    """Return whether bubblewrap's first process has its final root, with all mounts. Raises: OSError."""
    root = os.stat(f"/proc/{child}/root/")
    return not os.path.samestat(root, os.stat("/")) and not os.path.lexists(f"/proc/{child}/root/newroot")


def find_wrong(child: int, expected: Expected) -> str:
    """Return what is not as it must be, by its path; '' if all is. Raises: OSError."""
    root = os.open(f"/proc/{child}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for place in expected.places:
            if not _is_same(root, place):
                return place.path
        for place in expected.hidden:
            if not _is_hidden(root, place):
                return place.path
    finally:
        os.close(root)
    for path in _read_mounts(str(child)):
        if path != "/" and path not in expected.mounts and not path.startswith(_OWN):
            return path
    return ""


def _is_same(root: int, place: OpenedPlace) -> bool:
    with suppress(OSError):
        descriptor = open_plain(place.path.lstrip("/"), root)
        try:
            status = os.fstat(descriptor)
            is_closed = bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)
        finally:
            os.close(descriptor)
        return (status.st_dev, status.st_ino) == place.mark and (is_closed or not place.read_only)
    return False


def _is_hidden(root: int, place: OpenedPlace) -> bool:
    """Whether something else stands there: an empty folder, or a device."""
    try:
        descriptor = open_plain(place.path.lstrip("/"), root)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    is_stand_in = stat.S_ISDIR(status.st_mode) or stat.S_ISCHR(status.st_mode)
    return is_stand_in and (status.st_dev, status.st_ino) != place.mark
