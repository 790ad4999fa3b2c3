"""Landlock: the program stays on the machine it sees, and the kernel refuses what was not granted.

Grants add up and cannot be taken back below a folder that has one. So a folder with something to protect inside is
granted child by child, and nothing new can be made right in it.
"""

import os
from collections.abc import Iterator
from functools import cache

from clawft.files import real_path
from clawft.sandbox.guard import Guard
from clawft.sandbox.system import ETC, FOLDERS
from clawft.sandbox.view import View

__all__ = ["Grant", "find_grants"]

Grant = tuple[str, str]  # ("list" | "read" | "write" | "device", a real path)
_DEVICES = ("null", "zero", "full", "random", "urandom")
_ACCOUNTS = ("passwd", "group", "hosts")


def find_grants(view: View, private: str) -> list[Grant]:
    """What a program is granted that sees a view and has the folder `private` for itself."""
    hidden = frozenset(view.hidden)
    grants = [*(one for one in _system_grants() if one[1] not in hidden), ("write", private)]
    for source, _ in view.readable:
        grants += _open(source, "read", frozenset(), hidden)
    for root, guard in view.writable:
        grants += _open_root(root, guard)
    grants += [("write", one) for one in view.own]
    return grants + [("read", source) for source, _ in (*view.inside, *view.mounts)]


@cache
def _system_grants() -> tuple[Grant, ...]:
    places = [*FOLDERS, *(f"/etc/{name}" for name in (*ETC, *_ACCOUNTS))]
    found = {real_path(one): None for one in places if os.path.exists(one)}
    return (*(("read", one) for one in found), *(("device", f"/dev/{name}") for name in _DEVICES))


def _open_root(root: str, guard: Guard) -> Iterator[Grant]:
    yield "list", root
    read_only, hidden = frozenset(guard.read_only), frozenset(guard.hidden)
    for path in (*(guard.children or ()), *guard.read_only):
        if not os.path.islink(path):
            yield from _open(path, "write", read_only, hidden)


def _open(path: str, kind: str, read_only: frozenset[str], hidden: frozenset[str]) -> Iterator[Grant]:
    """Grant a place, or, where something below it is closed, its children; links are granted where they lead."""
    if path in hidden:
        return
    if path in read_only:
        kind = "read"
    closed = hidden if kind == "read" else read_only | hidden
    if not any(one.startswith(path + "/") for one in closed):
        yield kind, path
        return
    yield "list", path
    try:
        with os.scandir(path) as entries:
            children = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for child in children:
        yield from _open(child, kind, read_only, hidden)
