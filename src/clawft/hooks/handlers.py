"""Hooks in TypeScript as handlers of events: what each may reach is put together from what it asks and is given."""

import os
from collections.abc import Mapping

from clawft.config.hooks import HookEntry, HooksSettings, Permissions
from clawft.hooks.deno import Deno
from clawft.hooks.events import KINDS, HookEvent, Reply
from clawft.hooks.grants import Grants, HookJob
from clawft.trust.hooks import HookStanding, entry_of
from clawft.workspace import Workspace, resolve_path

__all__ = ["DenoHandler", "make_job"]


class DenoHandler:
    """One hook that is ready."""

    def __init__(self, standing: HookStanding, job: HookJob, entry: HookEntry, deno: Deno) -> None:
        hook = standing.found.hook
        assert hook is not None
        self.name = standing.name
        self.events = frozenset(hook.events)
        self.strict = entry.on_failure == "deny"
        self.hosts = standing.hosts
        self.standing = standing
        self._job = job
        self._deno = deno

    def hears(self, event: HookEvent) -> bool:
        return event.key in KINDS

    async def call(self, event: HookEvent) -> Reply:
        """Raises: ClawftError."""
        return await self._deno.call(self._job, event)


def make_job(
    standing: HookStanding, settings: HooksSettings, workspace: Workspace, environ: Mapping[str, str]
) -> HookJob:
    """What is started for a hook. Raises: ClawftError for a secret that is not there."""
    found = standing.found
    assert found.hook is not None
    entry = entry_of(found, settings)
    wanted = found.hook.wants if entry.permissions is None else entry.permissions
    persistent = settings.persistent if entry.persistent is None else entry.persistent
    return HookJob(
        standing.name,
        found.root,
        os.path.relpath(os.path.join(found.folder, found.handler), found.root),
        standing.digest,
        found.hook.export,
        _grant(wanted, entry, standing, workspace, environ),
        entry.timeout_s or settings.timeout_s,
        settings.memory_mb,
        settings.max_output_bytes,
        persistent,
    )


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
    return Grants(read, write, wanted.net, own | given)
