"""Bring installed skills to what the lock says, or to newer versions, and hold versions."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal

import anyio.to_thread
from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import is_within, read_optional, real_path, replace_file
from clawft.install.archive.unpack import unpack
from clawft.install.lockfile.compare import FolderDifference, compare_folder
from clawft.install.lockfile.file import load_lock, merge_conflicted_lock, parse_lock, render_lock, write_lock
from clawft.install.lockfile.model import MAX_LOCK_BYTES, LockedSkill
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillSource
from clawft.install.sources.selection import SkillSources
from clawft.install.transaction.apply import TransactionContext, lock_transactions
from clawft.install.transaction.installation import WantedSkill, repeat_progress
from clawft.install.transaction.plan import PlannedSkill
from clawft.install.transaction.resolution import run_each
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import InstallSite
from clawft.install.transaction.verification import Signed, compare_signature
from clawft.messages import ReportProgress
from clawft.skills.parse.dependencies import compare_versions

Write = Callable[[str], object]  # puts a skill into a folder
Find = Callable[[str], Write | None]  # a digest to what has it


class SyncTask(Struct, frozen=True):
    """One skill that is not everywhere as the lock says; `copy` brings it from where this machine still has it."""

    skill: LockedSkill
    differences: dict[str, FolderDifference]  # by client
    copy: Write | None = None


class LocalCopy:
    """A skill that this machine still has, whole: nobody is asked for it."""

    def __init__(self, copy: Write) -> None:
        self._copy = copy

    async def download(self, resolved: ResolvedSkill, folder: str) -> ResolvedSkill:
        await anyio.to_thread.run_sync(self._copy, folder)
        return resolved


def load_merged_lock(site: InstallSite, *, write: bool) -> tuple[dict[str, LockedSkill], bool]:
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
        healed = merge_conflicted_lock(data, site.lock)
        if healed.undecided:
            choices = "; ".join(
                f"{name}: {_tell_apart(healed.ours[name], healed.theirs[name])}" for name in healed.undecided
            )
            hint = "Keep one block of each in the lock, then: weft skills sync"
            message = f"Two versions of the lock do not agree. Decide about {choices}"
            raise ClawftError("lock-conflict", message, path=site.lock, hint=hint) from error
        site.check(os.path.dirname(site.lock))
        text = render_lock(healed.skills.values()).encode()
        found = parse_lock(text, site.lock)
        replace_file(site.lock, text, 0o644)
        return found, True


def _tell_apart(ours: LockedSkill, theirs: LockedSkill) -> str:
    """Render the difference between two versions for the user to decide by: their origins, and what they are."""
    first, second = _describe(ours), _describe(theirs)
    if first != second:
        return f"{first}, or {second}"
    differing = [name for name in ours.__struct_fields__ if getattr(ours, name) != getattr(theirs, name)]
    return f"{first}; they differ in {', '.join(differing)}"


def _describe(skill: LockedSkill) -> str:
    version = skill.version or skill.commit[:12]
    return f"{version and f'{version} '}from {skill.origin.line} ({skill.digest[:19]})"


def find_tasks(site: InstallSite, lock: Mapping[str, LockedSkill], find: Find, signed: Signed) -> list[SyncTask]:
    """Find the folders that differ from the lock, in its order; `find` finds copies that were saved when a skill was
    approved.

    Where a key is revoked there is nothing to restore: the signature itself is unchanged.
    """
    tasks: list[SyncTask] = []
    for skill in lock.values():
        found = compare_places(site, skill, signed)
        different = {client: difference for client, difference in found.items() if difference.any}
        if different:
            copies = [site.folder(client, skill.name) for client, difference in found.items() if not difference.any]
            whole = partial(unpack, copies[0]) if copies else None
            copy = find(skill.digest) if not skill.signed_by else None  # copies are kept without signatures
            tasks.append(SyncTask(skill, different, whole or copy))
    return tasks


def compare_places(site: InstallSite, skill: LockedSkill, signed: Signed) -> dict[str, FolderDifference]:
    """Compare each folder that a skill was put into with the lock, by client."""
    found = {}
    for client in skill.to:
        if client in site.roots:
            place = site.folder(client, skill.name)
            found[client] = compare_folder(place, skill.files)
            if not found[client].any and (signature := signed(place, skill)) is not None:
                found[client] = compare_signature(signature, known=bool(skill.signed_by))
    return found


async def want_exact(sources: SkillSources, site: InstallSite, tasks: Sequence[SyncTask]) -> list[WantedSkill]:
    """Just the versions that the lock has, from this machine or from where they came. Raises: ClawftError."""

    async def ask(task: SyncTask) -> WantedSkill:
        skill = task.skill
        version = AvailableVersion(skill.origin, skill.version, skill.commit, skill.digest)
        if task.copy:
            found = ResolvedSkill(skill.origin, skill.name, skill.version, skill.commit)
            return WantedSkill(LocalCopy(task.copy), found, skill.requested, skill.name)
        source = sources.find(skill.origin, own=site.scope == "user")
        try:
            return WantedSkill(source, await source.renew(version, exact=True), skill.requested, skill.name)
        except ClawftError as error:
            diagnostic = error.diagnostic
            message = f"'{skill.name}' cannot be had as the lock says: {diagnostic.message}"
            raise type(error)(diagnostic.code, message, path=diagnostic.path, hint=diagnostic.hint) from error

    return await run_each(tasks, ask)


def check_exact(staged: Sequence[StagedSkill], tasks: Sequence[SyncTask], lock: str) -> None:
    """Raises: Refused for anything else than what the lock names."""
    wanted = {task.skill.name: task.skill for task in tasks}
    for skill in staged:
        if wanted[skill.name].digest != skill.digest:
            message = f"The source of '{skill.name}' has something else under this version than the lock says"
            hint = f"Ask who publishes it; to take it as it is now: weft skills update {skill.name}"
            raise Refused("lock-mismatch", message, path=lock, hint=hint)


def check_signed(plans: Sequence[PlannedSkill], lock: str) -> None:
    """Raises: Refused for what the lock has signed and its source has no more."""
    for plan in plans:
        if plan.old is not None and plan.old.signed_by and plan.signature.state == "unsigned":
            message = f"The source of '{plan.name}' no longer has the signature that the lock says"
            hint = f"Ask who publishes it; to take it as it is now: weft skills update {plan.name} --force"
            raise Refused("lock-mismatch", message, path=lock, hint=hint)


def find_unlocked(site: InstallSite, lock: Mapping[str, LockedSkill]) -> list[str]:
    """The folders of skills in our own root that its lock does not name."""
    root = site.roots["clawft"]
    try:
        names = sorted(os.listdir(root))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name for name in names if name[0] != "." and name not in lock and os.path.isdir(os.path.join(root, name))]


_IMMUTABLE = ("clawhub", "contract", "well-known", "git")

UpdateState = Literal["newer", "same", "unknown", "older", "pinned", "failed"]


class AvailableUpdate(Struct, frozen=True):
    """An installed skill and what its source has now. `unknown`: only the files themselves tell whether it is newer."""

    locked: LockedSkill
    state: UpdateState
    newest: ResolvedSkill | None = None
    source: SkillSource | None = None
    problem: Diagnostic | None = None


def choose_installed(
    site: InstallSite, lock: Mapping[str, LockedSkill], names: Sequence[str], other: Collection[str] = ()
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
    return [skill for name, skill in lock.items() if not names or name in names]


async def find_newer(
    sources: SkillSources, site: InstallSite, installed: Sequence[LockedSkill], tell: ReportProgress | None = None
) -> list[AvailableUpdate]:
    """Find the newest version of each skill in its source; one that cannot be asked fails alone."""
    done: list[AvailableUpdate] = []

    async def ask(locked: LockedSkill) -> AvailableUpdate:
        done.append(await look(locked))
        return done[-1]

    async def look(locked: LockedSkill) -> AvailableUpdate:
        try:
            _check_local(site, locked)
            source = sources.find(locked.origin, own=site.scope == "user")
            newest = await source.renew(AvailableVersion(locked.origin, locked.version, locked.commit, locked.digest))
        except ClawftError as error:
            return AvailableUpdate(locked, "failed", problem=error.diagnostic)
        return AvailableUpdate(locked, "pinned" if locked.pinned else _compare_update(locked, newest), newest, source)

    async with repeat_progress(tell or (lambda *_: None), lambda: (len(done), len(installed) or 1)):
        return await run_each(installed, ask)


def _check_local(site: InstallSite, locked: LockedSkill) -> None:
    """Check that a project's lock, which is untrusted, copies nothing from this machine into the project. Raises:
    Refused."""
    url = locked.origin.url
    local = site.scope == "project" and "://" not in url and locked.origin.kind in ("folder", "archive")
    if local and not is_within(real_path(url), real_path(site.base)):
        hint = "If you trust it, install it again by its path"
        message = "The project's lock names what lies on this machine, and not in the project"
        raise Refused("source-local", message, path=url, hint=hint)


def _compare_update(locked: LockedSkill, newest: ResolvedSkill) -> UpdateState:
    if locked.origin.kind in _IMMUTABLE and (locked.version or locked.commit):
        same = (newest.version, newest.commit) == (locked.version, locked.commit)
        if same and (not newest.archive or not locked.archive or newest.archive == locked.archive):
            return "same"
        if locked.origin.kind == "git":
            return "newer"
        if newest.version != locked.version:
            return "newer" if compare_versions(locked.version, newest.version) > 0 else "older"
    return "unknown"


def hold_versions(
    site: InstallSite, names: Sequence[str], reason: str, context: TransactionContext
) -> list[LockedSkill]:
    """Write into the lock why these are held, or with '' that they are not; how they are now.

    Raises: NotFound, Refused, ClawftError, OSError.
    """
    site.check(os.path.dirname(site.lock))
    with lock_transactions(context):
        lock = load_lock(site.lock)
        changed = [structs.replace(skill, pinned=reason) for skill in choose_installed(site, lock, names)]
        write_lock(site.lock, (lock | {skill.name: skill for skill in changed}).values())
    return changed
