"""Folders made what the lock says: what is missing or changed comes back, exactly as it was, or not at all."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio.to_thread
from msgspec import Struct

from clawft.errors import ClawftError, Refused
from clawft.files import read_optional, replace_file
from clawft.locks.compare import Difference, compare_folder
from clawft.locks.conflict import heal_lock
from clawft.locks.file import parse_lock, render_lock
from clawft.locks.model import LockedSkill
from clawft.locks.names import MAX_LOCK_BYTES
from clawft.packing.unpack import unpack
from clawft.sources.choose import Sources
from clawft.sources.model import Resolved, Version
from clawft.supply.choosing import each
from clawft.supply.install import Wanted
from clawft.supply.plan import Planned
from clawft.supply.stage import Staged
from clawft.supply.targets import Site
from clawft.supply.verified import compare_signature
from clawft.supply.verify import Signed

__all__ = [
    "Task",
    "check_exact",
    "check_signed",
    "compare_places",
    "find_tasks",
    "find_unlocked",
    "load_or_heal",
    "want_exact",
]

Write = Callable[[str], object]  # puts a skill into a folder
Find = Callable[[str], Write | None]  # a digest to what has it


class Task(Struct, frozen=True):
    """One skill that is not everywhere as the lock says; `copy` brings it from where this machine still has it."""

    skill: LockedSkill
    differences: dict[str, Difference]  # by client
    copy: Write | None = None


class KeptHere:
    """A skill that this machine still has, whole: nobody is asked for it."""

    def __init__(self, copy: Write) -> None:
        self._copy = copy

    async def download(self, resolved: Resolved, folder: str) -> Resolved:
        await anyio.to_thread.run_sync(self._copy, folder)
        return resolved


def load_or_heal(site: Site, *, write: bool) -> tuple[dict[str, LockedSkill], bool]:
    """The lock of a scope, and whether git had left two versions in it, which agree. `write`: they are one from now on.

    Raises: ClawftError `lock-conflict` that names the skills about which they do not.
    """
    data = read_optional(site.lock, MAX_LOCK_BYTES)
    if data is None:
        return {}, False
    try:
        return parse_lock(data, site.lock), False
    except ClawftError as error:
        if error.code != "lock-conflict" or not write:
            raise
        healed = heal_lock(data, site.lock)
        if healed.undecided:
            said = "; ".join(
                f"{name}: {_tell_apart(healed.ours[name], healed.theirs[name])}" for name in healed.undecided
            )
            hint = "Keep one block of each in the lock, then: weft skills sync"
            message = f"Two versions of the lock do not agree. Decide about {said}"
            raise ClawftError("lock-conflict", message, path=site.lock, hint=hint) from error
        site.check(os.path.dirname(site.lock))
        text = render_lock(healed.skills.values()).encode()
        found = parse_lock(text, site.lock)
        replace_file(site.lock, text, 0o644)
        return found, True


def _tell_apart(ours: LockedSkill, theirs: LockedSkill) -> str:
    """What somebody can decide by: where each is from, and what it is."""
    first, second = _describe(ours), _describe(theirs)
    if first != second:
        return f"{first}, or {second}"
    differing = [one for one in ours.__struct_fields__ if getattr(ours, one) != getattr(theirs, one)]
    return f"{first}; they differ in {', '.join(differing)}"


def _describe(skill: LockedSkill) -> str:
    version = skill.version or skill.commit[:12]
    return f"{version and f'{version} '}from {skill.origin.line} ({skill.digest[:19]})"


def find_tasks(site: Site, lock: Mapping[str, LockedSkill], find: Find, signed: Signed) -> list[Task]:
    """What is not as the lock says, in its order; `find` knows copies that were kept when they were approved.

    Where a key counts no more there is nothing to restore: the signature is what it was.
    """
    tasks: list[Task] = []
    for skill in lock.values():
        found = compare_places(site, skill, signed)
        different = {client: one for client, one in found.items() if one.any}
        if different:
            copies = [site.folder(client, skill.name) for client, one in found.items() if not one.any]
            whole = partial(unpack, copies[0]) if copies else None
            kept = find(skill.digest) if not skill.signed_by else None  # copies are kept without signatures
            tasks.append(Task(skill, different, whole or kept))
    return tasks


def compare_places(site: Site, skill: LockedSkill, signed: Signed) -> dict[str, Difference]:
    """What differs in each folder that a skill was put into, by client."""
    places = {client: site.folder(client, skill.name) for client in skill.to if client in site.roots}
    return {client: _compare(place, skill, signed) for client, place in places.items()}


def _compare(place: str, skill: LockedSkill, signed: Signed) -> Difference:
    difference = compare_folder(place, skill.files)
    if difference.any or (signature := signed(place, skill)) is None:
        return difference
    return compare_signature(signature, known=bool(skill.signed_by))


async def want_exact(sources: Sources, site: Site, tasks: Sequence[Task]) -> list[Wanted]:
    """Just the versions that the lock has, from this machine or from where they came. Raises: ClawftError."""

    async def ask(task: Task) -> Wanted:
        skill = task.skill
        version = Version(skill.origin, skill.version, skill.commit, skill.digest)
        if task.copy:
            found = Resolved(skill.origin, skill.name, skill.version, skill.commit)
            return Wanted(KeptHere(task.copy), found, skill.requested, skill.name)
        source = sources.find(skill.origin, own=site.scope == "user")
        try:
            return Wanted(source, await source.renew(version, exact=True), skill.requested, skill.name)
        except ClawftError as error:
            said = error.diagnostic
            message = f"'{skill.name}' cannot be had as the lock says: {said.message}"
            raise type(error)(said.code, message, path=said.path, hint=said.hint) from error

    return await each(tasks, ask)


def check_exact(staged: Sequence[Staged], tasks: Sequence[Task], lock: str) -> None:
    """Raises: Refused for anything else than what the lock names."""
    wanted = {task.skill.name: task.skill for task in tasks}
    for one in staged:
        if wanted[one.name].digest != one.digest:
            message = f"The source of '{one.name}' has something else under this version than the lock says"
            hint = f"Ask who publishes it; to take it as it is now: weft skills update {one.name}"
            raise Refused("lock-mismatch", message, path=lock, hint=hint)


def check_signed(plans: Sequence[Planned], lock: str) -> None:
    """Raises: Refused for what the lock has signed and its source has no more."""
    for one in plans:
        if one.old is not None and one.old.signed_by and one.signature.state == "unsigned":
            message = f"The source of '{one.name}' no longer has the signature that the lock says"
            hint = f"Ask who publishes it; to take it as it is now: weft skills update {one.name} --force"
            raise Refused("lock-mismatch", message, path=lock, hint=hint)


def find_unlocked(site: Site, lock: Mapping[str, LockedSkill]) -> list[str]:
    """The folders of skills in our own root that its lock does not name."""
    root = site.roots["clawft"]
    try:
        names = sorted(os.listdir(root))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name for name in names if name[0] != "." and name not in lock and os.path.isdir(os.path.join(root, name))]
