"""Check from outside, before the program starts, that bubblewrap mounted what it was asked to."""

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from clawft.files import find_within
from clawft.sandbox.landlock_launcher import open_plain
from clawft.sandbox.pinned_path import Mark, PinnedPath, find_pinned
from clawft.sandbox.visible_files import VisibleFiles

_BINDS = frozenset({"--bind", "--bind-try", "--ro-bind", "--ro-bind-try"})
_MADE = frozenset({"--tmpfs", "--proc", "--dev"})
_OWN = ("/dev/", "/proc/")  # what bubblewrap mounts there by itself
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class ExpectedMounts(Struct, frozen=True):
    """The mounts that must be seen inside, by where they are seen, and all that may be mounted. `places` say what is
    read-only."""

    places: Mapping[str, tuple[Mark, bool]] = {}
    hidden: tuple[PinnedPath, ...] = ()
    mounts: frozenset[str] = frozenset()


def find_expected_mounts(visible: VisibleFiles, base: Sequence[str]) -> ExpectedMounts:
    """Find the mounts that visible files must lead to. `base` are the flags of every program, whose places no confined
    program can change.

    A place that is not there now must not be mounted either. Raises: Refused where one cannot be reached, or only by a
    link.
    """
    places: dict[str, tuple[Mark, bool]] = {}
    sources: dict[str, str] = {}

    def add(place: PinnedPath | None, seen: str, *, read_only: bool = False) -> None:
        if place is not None:
            places[seen], sources[seen] = (place.mark, read_only), place.path

    for granted, seen in (*visible.readable, *visible.inside, *visible.mounts):
        add(granted, seen, read_only=True)
    for own in visible.own:
        add(own, own.path)
    for bound, at in ((visible.tmp.place, "/tmp"), *visible.tmp.pins) if visible.tmp else ():
        add(bound, at)
    for copy, seen in visible.copies:
        add(copy, seen)
    hidden: list[str] = [*visible.hidden]
    for root, guard in visible.writable:
        add(root, root.path, read_only=guard.children is not None)
        for path in (*(guard.children or ()), *guard.pinned):
            add(find_pinned(path), path)
        for path in (*guard.read_only, *guard.missing):
            add(find_pinned(path), path, read_only=True)
        hidden += guard.hidden
    replaced = {seen for _, seen in visible.mounts}
    closed = [
        place
        for hidden_path in dict.fromkeys(hidden)
        if hidden_path not in replaced and (place := find_pinned(hidden_path)) is not None
    ]
    covered = [place.path for place in closed]
    seen_over = (*visible.inside, *visible.mounts, *visible.copies)
    shown = {seen for _, seen in seen_over} | {own.path for own in visible.own}
    lost = {*find_within(places, covered)} - shown
    expected = {path: place for path, place in places.items() if path not in lost}
    machine = _read_mounts("self")
    mounts = {*_list_targets(base, machine), *covered}
    for seen, source in sources.items():
        mounts |= {seen, *_list_inner(source, seen, machine)}
    return ExpectedMounts(expected, tuple(closed), frozenset(mounts))


def _list_targets(flags: Sequence[str], machine: Sequence[str]) -> Iterable[str]:
    """List the targets of the mounts that flags ask for."""
    words = iter(flags)
    for word in words:
        if word in _BINDS:
            source, target = next(words), next(words)
            yield target
            yield from _list_inner(os.path.realpath(source), target, machine)
        elif word in _MADE:
            yield next(words)


def _list_inner(real: str, target: str, machine: Sequence[str]) -> Iterable[str]:
    """List the targets of mounts below a folder of the machine, which are mounted along with it."""
    return [target + mount[len(real) :] for mount in machine if mount.startswith(real + "/")]


def _read_mounts(process: str) -> list[str]:
    """Read the mount points that a process sees. Raises: OSError."""
    with open(f"/proc/{process}/mountinfo", "rb") as file:
        found = [line.split(b" ", 5)[4] for line in file]
    return [os.fsdecode(_ESCAPED.sub(lambda one: bytes([int(one[1], 8)]), path)) for path in found]


def is_mounted(child: int) -> bool:
    """Return whether bubblewrap's first process has its final root, with all mounts. Raises: OSError."""
    root = os.stat(f"/proc/{child}/root/")
    return not os.path.samestat(root, os.stat("/")) and not os.path.lexists(f"/proc/{child}/root/newroot")


def find_mount_mismatch(child: int, expected: ExpectedMounts) -> str:
    """Return what is not as it must be, by its path; '' if all is. Raises: OSError."""
    root = os.open(f"/proc/{child}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path, (mark, read_only) in expected.places.items():
            if not _is_same(root, path, mark, read_only=read_only):
                return path
        for place in expected.hidden:
            if not _is_hidden(root, place):
                return place.path
    finally:
        os.close(root)
    for path in _read_mounts(str(child)):
        if path != "/" and path not in expected.mounts and not path.startswith(_OWN):
            return path
    return ""


def _is_same(root: int, path: str, mark: Mark, *, read_only: bool) -> bool:
    with suppress(OSError):
        descriptor = open_plain(path.lstrip("/"), root)
        try:
            status = os.fstat(descriptor)
            is_closed = bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)
        finally:
            os.close(descriptor)
        return (status.st_dev, status.st_ino) == mark and (is_closed or not read_only)
    return False


def _is_hidden(root: int, place: PinnedPath) -> bool:
    """Return whether something else stands there: an empty folder, or a device."""
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
