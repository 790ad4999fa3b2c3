"""Holding installed skills at their version: `update` passes them over, and says why."""

import os
from collections.abc import Sequence

from msgspec import structs

from clawft.locks.file import load_lock, write_lock
from clawft.locks.model import LockedSkill
from clawft.supply.apply import Hands, take_turn
from clawft.supply.targets import Site
from clawft.supply.update import choose_installed

__all__ = ["hold_versions"]


def hold_versions(site: Site, names: Sequence[str], reason: str, hands: Hands) -> list[LockedSkill]:
    """Write into the lock why these are held, or with '' that they are not; how they are now.

    Raises: NotFound, Refused, ClawftError, OSError.
    """
    site.check(os.path.dirname(site.lock))
    with take_turn(hands):
        lock = load_lock(site.lock)
        changed = [structs.replace(one, pinned=reason) for one in choose_installed(site, lock, names)]
        write_lock(site.lock, (lock | {one.name: one for one in changed}).values())
    return changed
