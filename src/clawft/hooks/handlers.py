"""Hooks in TypeScript as handlers of events: what each may reach is put together from what it asks and is given."""

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Protocol

from clawft.config.hooks import HookEntry, HooksSettings, Permissions
from clawft.config.secret import names_secret
from clawft.discovery.digest import list_covered
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path
from clawft.hooks.events import KINDS, HookEvent, Reply
from clawft.hooks.grants import Grants, HookJob, check_grants
from clawft.hooks.notes import Notes
from clawft.trust.hooks import HookStanding, entry_of
from clawft.workspace import Workspace, resolve_path

__all__ = ["DenoHandler", "Runner", "make_job"]


class Runner(Protocol):
    """Calls hooks: each time in a process of its own (`Deno`), or in one that is kept (`Hosts`)."""

    async def call(self, job: HookJob, event: HookEvent) -> Reply:
        """Raises: ClawftError."""
        ...


class DenoHandler:
    """One hook that is ready. `notes` is where each call is written down before it is made."""

    def __init__(
        self, standing: HookStanding, job: HookJob, entry: HookEntry, runner: Runner, notes: Notes | None = None
    ) -> None:
        hook = standing.found.hook
        assert hook is not None
        self.name = standing.name
        self.events = frozenset(hook.events)
        self.strict = entry.on_failure == "deny"
        self.hosts = standing.hosts
        self.standing = standing
        self._job = job
        self._runner = runner
        self._notes = notes

    def hears(self, event: HookEvent) -> bool:
        return event.key in KINDS

    async def call(self, event: HookEvent) -> Reply:
        """Raises: ClawftError."""
        if self._notes is None:
            return await self._runner.call(self._job, event)
        self._notes.run(self._job, event)
        try:
            return self._notes.mask(await self._runner.call(self._job, event))
        except ClawftError as error:
            self._notes.failed(self._job, event, error.code)
            raise self._notes.mask_failure(self._name(error)) from error

    def _name(self, error: ClawftError) -> ClawftError:
        """What is said of a skill, of a hook that belongs to none."""
        if error.code != "skill-changed" or self.standing.found.skill is not None:
            return error
        hint = f"Look at it, then: weft hooks enable {self.name}"
        return Refused("hook-untrusted", "It changed since it was approved", path=error.diagnostic.path, hint=hint)


def make_job(
    standing: HookStanding, settings: HooksSettings, workspace: Workspace, environ: Mapping[str, str]
) -> HookJob:
    """What is started for a hook.

    Raises: ClawftError for a secret that is not there, and for what cannot be granted.
    """
    found = standing.found
    assert found.hook is not None
    entry = entry_of(found, settings)
    wanted = found.hook.wants if entry.permissions is None else entry.permissions
    persistent = settings.persistent if entry.persistent is None else entry.persistent
    grants = _grant(wanted, entry, standing, workspace, environ)
    return HookJob(
        standing.name,
        found.root,
        os.path.relpath(os.path.join(found.folder, found.handler), found.root),
        standing.digest,
        found.hook.export,
        grants,
        entry.timeout_s or settings.timeout_s,
        settings.memory_mb,
        settings.max_output_bytes,
        persistent,
        _find_version(found.root) if persistent and not standing.digest else "",
        tuple(name for name in grants.env if _is_secret(name, entry)),
    )


def _is_secret(name: str, entry: HookEntry) -> bool:
    return names_secret(name) or (name in entry.env and entry.env[name].is_reference)


def _find_version(folder: str) -> str:
    """A text that changes with the files of a hook that nobody takes a digest of: its process is then started anew."""
    states = [f"{name!r} {status.st_mtime_ns} {status.st_size}" for name, _, status in list_covered(folder)]
    return sha256("\n".join(states).encode()).hexdigest()


def _grant(
    wanted: Permissions, entry: HookEntry, standing: HookStanding, workspace: Workspace, environ: Mapping[str, str]
) -> Grants:
    """Paths start at the hook's folder if its HOOK.md names them, at the project if the config does."""
    base = standing.found.folder if entry.permissions is None else workspace.project
    read = tuple(resolve_path(one, base, workspace.home) for one in wanted.read)
    write = tuple(resolve_path(one, base, workspace.home) for one in wanted.write)
    given = {name: value.resolve(environ) for name, value in entry.env.items()}
    # A variable of the user's own reaches only what the user wrote; a stranger's hook gets what it is configured for.
    own = {name: environ[name] for name in wanted.env if name in environ} if standing.hosts is None else {}
    grants = Grants(read, write, wanted.net, own | given)
    check_grants(grants)
    _check_places((*read, *write), standing, workspace)
    return grants


def _check_places(paths: Sequence[str], standing: HookStanding, workspace: Workspace) -> None:
    """Nothing of this program's own folder is granted, where a hook could find secrets or make another hook; but for
    what lies in the folder of the user's own hook, beside its HOOK.md and its handler. Raises: ClawftError."""
    found = standing.found
    ours, folder = real_path(workspace.user_dir), real_path(found.folder)
    for path in map(os.path.realpath, paths):
        its_own = standing.hosts is None and is_within(path, folder)
        if its_own and all(not is_within(real_path(one), path) for one in (found.file, f"{folder}/{found.handler}")):
            continue
        if is_within(path, ours):
            message = f"The hook '{found.name}' asks for {path}, which is in the folder of clawft itself"
            raise ClawftError("hook-permissions", message, path=found.file, hint="Let it keep its files elsewhere")
