"""Where skills of servers lie once they are approved: put there as a whole, taken away as a whole, readable by the user
alone."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from clawft.discovery.served import ORIGIN_FILE, Origin, find_place, served_folder
from clawft.files import replace_file
from clawft.packing.place import NEW, exchange, remove_folder, remove_tree

__all__ = ["open_stage", "place_skill", "remove_served"]


@contextmanager
def open_stage(user_dir: str) -> Iterator[str]:
    """A hidden folder for what is looked at, removed on leaving with all that is still in it. Raises: OSError."""
    base = served_folder(user_dir)
    folder = f"{base}/{NEW}{os.urandom(8).hex()}"
    os.makedirs(base, mode=0o700, exist_ok=True)
    os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        remove_tree(folder)
        _remove_empty(base)


def place_skill(user_dir: str, origin: Origin, staged: str) -> None:
    """Put the folder of a skill into its place; one that was there goes to the stage. Raises: OSError."""
    place = find_place(user_dir, origin)
    os.makedirs(place, mode=0o700, exist_ok=True)
    replace_file(f"{place}/{ORIGIN_FILE}", msgspec.json.encode(origin))
    target = f"{place}/{os.path.basename(staged)}"
    if os.path.isdir(target):
        exchange(staged, target)
    else:
        os.rename(staged, target)


def remove_served(user_dir: str, origin: Origin) -> None:
    """Remove what lies here of a skill. Raises: OSError."""
    place = find_place(user_dir, origin)
    remove_folder(place)
    _remove_empty(os.path.dirname(place), served_folder(user_dir))


def _remove_empty(*folders: str) -> None:
    for folder in folders:
        with suppress(OSError):  # another skill is in it
            os.rmdir(folder)
