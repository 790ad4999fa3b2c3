"""Putting a plugin into the user's folder, all of it or nothing; and taking it out again. Nothing of it is run."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct, structs

from clawft.discovery.plugins import FoundPlugin, load_plugin
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path, sync_folder
from clawft.format.plugin import MANIFESTS
from clawft.packing.place import GONE, NEW, exchange, remove_tree
from clawft.packing.unpack import PLUGIN, unpack
from clawft.trust.plugin_review import broken

__all__ = ["Staged", "place_plugin", "stage_plugin"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LEFT_S = 86_400


class Staged(Struct, frozen=True):
    """A plugin that is unpacked and read, and where it is to go; `old` is the one that stands there now."""

    found: FoundPlugin
    target: str
    old: FoundPlugin | None = None


@contextmanager
def stage_plugin(
    source: str, base: str, known: tuple[FoundPlugin, ...], fetch: Callable[[str], None] | None = None
) -> Iterator[Staged]:
    """A plugin in a hidden folder of `base`, whose plugins are `known`; gone on leaving, unless it was placed.

    `fetch` puts the files of a source that is not on this machine into a folder.

    Raises: ClawftError; Refused for an archive that is unsafe; OSError.
    """
    os.makedirs(base, mode=0o700, exist_ok=True)
    if fetch is None and os.path.isdir(source):
        _check_folder(source, base)
    _sweep(base)
    place = os.path.join(base, f"{NEW}{os.urandom(8).hex()}")
    os.mkdir(place, 0o700)
    try:
        if fetch is not None:
            fetch(place)
        else:
            unpack(source, place, PLUGIN)
        found = load_plugin("user", _find_root(place))
        if found.manifest is None:
            said = structs.replace(found, folder=source, file=source)
            raise broken(said)
        yield _aim(found, base, known)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _check_folder(source: str, base: str) -> None:
    """Raises: ClawftError for a folder that nobody needs to copy to know that it is no plugin."""
    found = load_plugin("user", source)
    if found.manifest is None:
        raise broken(found)
    if is_within(real_path(base), real_path(source)):
        raise Refused("plugin-source", "The folder holds that of all plugins", path=source)


def _sweep(base: str) -> None:
    """Remove what processes left behind that were killed."""
    with os.scandir(base) as entries:
        for one in entries:
            if one.name.startswith((NEW, GONE)) and time.time() - one.stat(follow_symlinks=False).st_mtime > _LEFT_S:
                with suppress(OSError):
                    remove_tree(one.path)


def _find_root(place: str) -> str:
    """Where the manifest is: at the top, or in the only folder there, as in the archives of releases."""
    names = os.listdir(place)
    inner = os.path.join(place, names[0]) if len(names) == 1 else ""
    at_top = any(os.path.lexists(os.path.join(place, name)) for name in MANIFESTS)
    return inner if inner and not at_top and os.path.isdir(inner) else place


def _aim(found: FoundPlugin, base: str, known: tuple[FoundPlugin, ...]) -> Staged:
    """Where a plugin goes: to the place of the one that has its id. Raises: ClawftError."""
    if not _ID.fullmatch(found.id):
        raise ClawftError("plugin-manifest", f"'{found.id[:80]}' is no id that a folder could have", path=found.file)
    old = next((one for one in known if one.scope == "user" and one.manifest and one.id == found.id), None)
    target = old.folder if old else os.path.join(base, found.id)
    if os.path.islink(target):
        hint = f"It leads to {os.path.realpath(target)}; remove the link first"
        raise Refused("plugin-exists", f"The plugin '{found.id}' is a link", path=target, hint=hint)
    if old is None and os.path.lexists(target):
        raise Refused("plugin-exists", "There is another folder of this name", path=target, hint="Remove it first")
    return Staged(found, target, old)


def place_plugin(staged: Staged) -> None:
    """Put a plugin into its place at once; the one that was there stays until then. Raises: OSError."""
    base = os.path.dirname(staged.target)
    if staged.old is None:
        os.rename(staged.found.folder, staged.target)
    else:
        exchange(staged.found.folder, staged.target)  # what was there goes with the hidden folder
    sync_folder(base)
