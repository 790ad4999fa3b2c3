"""The `/tmp` of a session: one folder on disk that all its commands see as `/tmp`, and file tools under the same name.

Commands may put anything there, links among it, and others run at the same time. So no link in it is followed, and
where something else is shown below `/tmp`, such as a project that lies there, the folders on the way are made here
first and mounted on themselves: what is mounted cannot be moved.
"""

import os
import shutil
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import structs

from clawft.errors import Refused
from clawft.files import is_within, is_within_any
from clawft.sandbox.pinned_path import PinnedPath, find_pinned, make_changed_error
from clawft.sandbox.visible_files import SessionTmp, VisibleFiles

TMP = "/tmp"
_MAX_AGE_S = 7 * 24 * 3600.0  # of a session that no command used meanwhile, as systems keep their /tmp
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_session_tmp(folder: str) -> None:
    """Make the folder of a session, and note that it is in use. Raises: OSError."""
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    os.utime(folder)


def prune_session_tmps(output: str, name: str) -> None:
    """Remove those of sessions in a folder that were not used for long."""
    with suppress(OSError), os.scandir(output) as entries:
        for entry in entries:
            folder = os.path.join(entry.path, name)
            with suppress(OSError):
                status = os.lstat(folder)
                if stat.S_ISDIR(status.st_mode) and time.time() - status.st_mtime > _MAX_AGE_S:
                    shutil.rmtree(folder, ignore_errors=True)


def show_session_tmp(visible: VisibleFiles, folder: str, base: Sequence[str]) -> VisibleFiles:
    """The files with the folder as its `/tmp`; `base` are the flags of every program, which may mount below it, too.

    Raises: Refused where a link in it is in the way; OSError.
    """
    make_session_tmp(folder)
    place = find_pinned(folder)
    if place is None:
        raise make_changed_error(folder)
    pairs = (*visible.readable, *visible.inside, *visible.mounts)
    seen = {at: os.path.isdir(shown.path) for shown, at in pairs}
    seen |= {root.path: True for root, _ in visible.writable} | {own.path: True for own in visible.own}
    seen |= {os.path.dirname(link): True for _, link in visible.links}
    seen |= {base[index + 1]: True for index, flag in enumerate(base) if flag == "--tmpfs"}
    below = {path: is_folder for path, is_folder in seen.items() if path != TMP and is_within(path, TMP)}
    outermost = [path for path in below if not is_within_any(path, set(below) - {path})]
    pins: dict[str, PinnedPath] = {}
    for path in outermost:
        for above in _make_mount_point(folder, os.path.relpath(path, TMP), is_folder=below[path]):
            if pin := find_pinned(os.path.join(folder, above)):
                pins[os.path.join(TMP, above)] = pin
    ordered = tuple((pins[path], path) for path in sorted(pins, key=len))
    return structs.replace(visible, tmp=SessionTmp(place, ordered))


def _make_mount_point(root: str, relative: str, *, is_folder: bool) -> list[str]:
    """Make what something is mounted on, and return the folders on the way to it. Raises: Refused; OSError."""
    parts = relative.split("/")
    descriptor = os.open(root, _FOLDER)
    try:
        for index, part in enumerate(parts):
            if index == len(parts) - 1 and not is_folder:
                _make_file(part, descriptor)
                break
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=descriptor)
            try:
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
            except NotADirectoryError as error:
                raise _make_link_error(os.path.join(root, *parts[: index + 1])) from error
            os.close(descriptor)
            descriptor = inner
    finally:
        os.close(descriptor)
    return ["/".join(parts[:index]) for index in range(1, len(parts))]


def _make_file(name: str, folder: int) -> None:
    flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        os.close(os.open(name, flags, 0o600, dir_fd=folder))
    except OSError as error:
        raise _make_link_error(name) from error


def _make_link_error(path: str) -> Refused:
    message = "A command put something into /tmp where a folder that it is given must be shown, so nothing was run"
    return Refused("sandbox-link", message, path=path, hint="Remove it")


def tmp_flags(base: Sequence[str], tmp: SessionTmp | None) -> tuple[str, ...]:
    """The flags of every program with the session's `/tmp` in the place of one that is empty."""
    words = tuple(base)
    if tmp is None:
        return words
    at = next(index for index in range(len(words)) if words[index : index + 2] == ("--tmpfs", TMP))
    # Before it stand its rights and its size.
    return (*words[: at - 4], *_bind(((tmp.place, TMP), *tmp.pins)), *words[at + 2 :])


def _bind(pairs: Iterable[tuple[PinnedPath, str]]) -> list[str]:
    return [word for place, seen in pairs for word in ("--bind", place.path, seen)]
