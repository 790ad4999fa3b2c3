"""What removing skills would come to: which folders go, and what speaks against it."""

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from clawft.errors import Diagnostic, NotFound, find_close
from clawft.locks.check import is_plain_name
from clawft.locks.compare import compare_folder
from clawft.locks.model import LockedSkill
from clawft.supply.targets import CLIENTS, Site

__all__ = ["Removal", "find_unneeded", "plan_removal"]


class Removal(Struct, frozen=True):
    """One skill that is to go, with the folders it lies in; `locked` is None for one that weft did not install."""

    name: str
    places: tuple[str, ...]
    locked: LockedSkill | None = None
    objections: tuple[Diagnostic, ...] = ()


def plan_removal(
    site: Site, lock: Mapping[str, LockedSkill], names: Sequence[str], clients: Sequence[str] = CLIENTS
) -> list[Removal]:
    """What is meant, and all that needs `--force`. Raises: NotFound."""
    going = set(names)
    return [_plan(site, lock, name, going, clients) for name in dict.fromkeys(names)]


def _plan(site: Site, lock: Mapping[str, LockedSkill], name: str, going: set[str], clients: Sequence[str]) -> Removal:
    locked = lock.get(name)
    if locked is None:
        places = [site.folder(one, name) for one in clients if is_plain_name(name)]
        there = tuple(one for one in places if os.path.lexists(one))
        if not there:
            close = find_close(name, lock)
            hint = (f"did you mean '{close}'? " if close else "") + "Run: weft skills list"
            raise NotFound("skill-not-found", f"No skill '{name}' is installed for this {site.scope}", hint=hint)
        message = f"'{name}' was not installed by weft"
        objection = Diagnostic("not-installed", "error", message, there[0], 0, "To remove it anyway: --force")
        return Removal(name, there, None, (objection,))
    places = [site.folder(one, name) for one in locked.to if one in site.roots]
    there = tuple(one for one in places if os.path.lexists(one))
    objections = [
        Diagnostic("skill-edited", "error", _edited(name), one, 0, "Keep a copy of what you need, then pass --force")
        for one in there
        if compare_folder(one, locked.files).any
    ]
    needed = [one.name for one in lock.values() if name in one.dependencies and one.name not in going]
    if needed:
        message = f"'{name}' is needed by {', '.join(needed)}"
        hint = f"Remove them too, or pass --force: weft skills remove {' '.join([*needed, name])}"
        objections.append(Diagnostic("skill-needed", "error", message, site.lock, 0, hint))
    return Removal(name, there, locked, tuple(objections))


def _edited(name: str) -> str:
    return f"'{name}' was changed after it was installed; what was changed would be lost"


def find_unneeded(lock: Mapping[str, LockedSkill], gone: Sequence[str]) -> list[str]:
    """What was only there for others, none of which is left."""
    left = {name: one for name, one in lock.items() if name not in gone}
    needed = {name for one in left.values() for name in one.dependencies}
    return sorted(name for name, one in left.items() if not one.requested and name not in needed)
