"""A folder put into its place at once, and taken out of it: whoever looks sees the old one or the new one."""

import os
from contextlib import suppress
from itertools import count

__all__ = ["GONE", "NEW", "exchange", "remove_folder", "remove_tree"]

NEW, GONE = ".new-", ".gone-"  # how hidden folders are called: what is being put together, and what is being removed
_AT_CWD, _EXCHANGE = -100, 2
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def exchange(new: str, old: str) -> None:
    """Two folders trade places, without a moment in which one is missing where the system can do that."""
    import ctypes  # slow, and whoever only looks needs none of it

    paths = (os.fsencode(new), os.fsencode(old))
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None and rename(_AT_CWD, paths[0], _AT_CWD, paths[1], _EXCHANGE) == 0:
        return
    aside = f"{new}.old"
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def remove_folder(folder: str) -> None:
    """Take a folder away: out of sight at once, then for good. Of a link only the link goes. Raises: OSError."""
    if os.path.islink(folder):
        os.unlink(folder)
        return
    hidden = os.path.join(os.path.dirname(folder), f"{GONE}{os.urandom(8).hex()}")
    with suppress(FileNotFoundError):
        os.rename(folder, hidden)
        remove_tree(hidden)


def remove_tree(folder: str) -> None:
    """Remove a folder with all in it; no link is followed. What lies deep is first moved up: a plugin may nest folders
    in its data deeper than any path or recursion goes. Raises: OSError."""
    top = os.open(folder, _FOLDER)
    try:
        pending, mark, numbers = _empty(top), os.urandom(8).hex(), count()
        while pending:
            name = pending.pop()
            inner = os.open(name, _FOLDER, dir_fd=top)
            try:
                for one in _empty(inner):
                    pending.append(f".{mark}-{next(numbers)}")
                    os.rename(one, pending[-1], src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)


def _empty(folder: int) -> list[str]:
    """Remove the files of an open folder; the folders in it. Raises: OSError."""
    with os.scandir(folder) as entries:
        listed = [(one.name, one.is_dir(follow_symlinks=False)) for one in entries]
    for name in (name for name, is_folder in listed if not is_folder):
        os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in listed if is_folder]
