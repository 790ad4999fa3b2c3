"""Which installed skills have a newer version where they came from; and which are left as they are, and why."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import is_within, real_path
from clawft.format.dependency import compare_versions
from clawft.locks.model import LockedSkill
from clawft.sources.choose import Sources
from clawft.sources.model import Resolved, Source, Version
from clawft.supply.choosing import each
from clawft.supply.install import Tell, telling
from clawft.supply.targets import Site

__all__ = ["Renewed", "choose_installed", "find_newer"]

_IMMUTABLE = ("clawhub", "contract", "well-known", "git")

State = Literal["newer", "same", "unknown", "older", "pinned", "failed"]


class Renewed(Struct, frozen=True):
    """An installed skill and what its source has now. `unknown`: only the files themselves tell whether it is newer."""

    locked: LockedSkill
    state: State
    newest: Resolved | None = None
    source: Source | None = None
    problem: Diagnostic | None = None


def choose_installed(
    site: Site, lock: Mapping[str, LockedSkill], names: Sequence[str], other: Collection[str] = ()
) -> list[LockedSkill]:
    """The skills that are meant: all of the lock without names. `other`: those of the other scope. Raises: NotFound."""
    for name in names:
        if name not in lock:
            close = find_close(name, lock)
            hint = (f"did you mean '{close}'? " if close else "") + f"What is installed stands in {site.lock}"
            if name in other:
                scope = "project" if site.scope == "user" else "user"
                hint = f"It is installed for the {scope}: --scope {scope}"
            raise NotFound("not-installed", f"weft did not install a skill '{name}' for this {site.scope}", hint=hint)
    return [one for name, one in lock.items() if not names or name in names]


async def find_newer(
    sources: Sources, site: Site, installed: Sequence[LockedSkill], tell: Tell | None = None
) -> list[Renewed]:
    """What the sources have of each; one that cannot be asked fails alone."""
    done: list[Renewed] = []

    async def ask(locked: LockedSkill) -> Renewed:
        done.append(await look(locked))
        return done[-1]

    async def look(locked: LockedSkill) -> Renewed:
        try:
            _check_local(site, locked)
            source = sources.find(locked.origin, own=site.scope == "user")
            newest = await source.renew(Version(locked.origin, locked.version, locked.commit, locked.digest))
        except ClawftError as error:
            return Renewed(locked, "failed", problem=error.diagnostic)
        return Renewed(locked, "pinned" if locked.pinned else _compare(locked, newest), newest, source)

    async with telling(tell or (lambda *_: None), lambda: (len(done), len(installed) or 1)):
        return await each(installed, ask)


def _check_local(site: Site, locked: LockedSkill) -> None:
    """A project's lock is a stranger's: what it names of this machine is not copied into it. Raises: Refused."""
    url = locked.origin.url
    local = site.scope == "project" and "://" not in url and locked.origin.kind in ("folder", "archive")
    if local and not is_within(real_path(url), real_path(site.base)):
        hint = "If you trust it, install it again by its path"
        message = "The project's lock names what lies on this machine, and not in the project"
        raise Refused("source-local", message, path=url, hint=hint)


def _compare(locked: LockedSkill, newest: Resolved) -> State:
    if locked.origin.kind in _IMMUTABLE and (locked.version or locked.commit):
        same = (newest.version, newest.commit) == (locked.version, locked.commit)
        if same and (not newest.archive or not locked.archive or newest.archive == locked.archive):
            return "same"
        if locked.origin.kind == "git":
            return "newer"
        if newest.version != locked.version:
            return "newer" if compare_versions(locked.version, newest.version) > 0 else "older"
    return "unknown"
