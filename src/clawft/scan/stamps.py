"""The status of the entries of a skill: whether it changed is known without reading it."""

import os
from array import array
from collections.abc import Sequence

__all__ = ["Stamp", "is_unchanged", "pack_stamps"]

# path, mtime_ns, ctime_ns, size, inode, mode
Stamp = tuple[bytes, int, int, int, int, int]


def pack_stamps(stamps: Sequence[Stamp]) -> tuple[bytes, bytes]:
    """The paths and the numbers of many stamps, each as one value: thousands of small ones take long to decode."""
    paths = b"\0".join([one[0] for one in stamps])
    return paths, array("q", [number for one in stamps for number in one[1:]]).tobytes()


def is_unchanged(paths: bytes, numbers: bytes) -> bool:
    """Whether every entry still has the status it had. A new entry changes the status of its folder."""
    lstat = os.lstat
    now: list[int] = []
    try:
        for path in paths.split(b"\0") if paths else ():
            one = lstat(path)
            now += (one.st_mtime_ns, one.st_ctime_ns, one.st_size, one.st_ino, one.st_mode)
        return array("q", now).tobytes() == numbers
    except (OSError, OverflowError):
        return False
