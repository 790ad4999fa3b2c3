"""TypeScript hooks as event handlers: what each may reach, and the audit lines of each call."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Protocol

from msgspec import Struct, structs

from clawft.agent.hooks.events import KINDS, HookEvent, HookReply
from clawft.config.extensions import HookEntry, HookPermissions, HooksSettings
from clawft.config.redaction import Secrets
from clawft.config.secret import names_secret
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path
from clawft.sandbox.proxy import Record
from clawft.skills.discovery.digest import list_covered
from clawft.trust.audit import AuditLog
from clawft.trust.hooks import HookStatus, get_hook_entry
from clawft.trust.network import HostGrant, parse_grant
from clawft.workspace import Workspace, resolve_path

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEERS = ("DENO_", "LD_")  # these would configure Deno itself, or the loader, before any permission applies


class HookGrants(Struct, frozen=True):
    """Beside its own folder and the project, which it reads. Paths are absolute; `env` are all variables it gets."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    net: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HookLaunch(Struct, frozen=True):
    """A hook that may run as it is now. `root` is the folder that `digest` was taken of; with a digest it runs on a
    copy of what that covers. `handler` is a path below `root`. `version` changes when a file of it does;
    `secret` are those of its variables that nobody else may see."""

    name: str
    root: str
    handler: str
    digest: str = ""
    export: str = "default"
    grants: HookGrants = HookGrants()
    timeout_s: float = 10
    memory_mb: int = 256
    max_bytes: int = 1 << 20
    persistent: bool = False
    version: str = ""
    secret: tuple[str, ...] = ()


def check_grants(grants: HookGrants) -> None:
    """Refuse what Deno would take for something else than it is.

    Raises: ClawftError with code `hook-permissions`, or `host-invalid`.
    """
    for name in grants.env:
        if not _VARIABLE.fullmatch(name):  # `*` would mean every variable
            raise _refuse(f"{name[:80]!a} is no name of a variable")
        if name.upper().startswith(_STEERS):
            raise _refuse(f"The variable {name} cannot be given to a hook: it steers Deno itself")
    for host in grants.net:
        parse_grant(host)
    _check_paths((*grants.read, *grants.write))


def allow_flags(read: Iterable[str], grants: HookGrants) -> list[str]:
    """Deno's flags for what a hook may reach; it also reads `read`. Raises: ClawftError."""
    paths = {"read": (*read, *grants.read, *grants.write), "write": grants.write}
    _check_paths((*paths["read"], *paths["write"]))
    flags = [f"--allow-{what}={','.join(dict.fromkeys(names))}" for what, names in paths.items() if names]
    hosts = [parse_grant(grant) for grant in grants.net]
    if any(not host.host for host in hosts):  # every host: Deno has no word for it but none; the sandbox knows the port
        flags.append("--allow-net")
    elif hosts:
        flags.append(f"--allow-net={','.join(dict.fromkeys(map(_host, hosts)))}")
    if grants.env:
        flags.append(f"--allow-env={','.join(grants.env)}")
    if "HOME" in grants.env:  # `os.homedir()` says the same, and many ask it
        flags.append("--allow-sys=homedir")
    return flags


def _host(grant: HostGrant) -> str:
    """A host in Deno's words. Without a port Deno means all; the sandbox around it lets only those of the web pass."""
    name = f"[{grant.host}]" if ":" in grant.host else grant.host
    return f"{'*.' if grant.subdomains else ''}{name}{f':{grant.port}' if grant.port else ''}"


def find_flag_path(path: str) -> str:
    """A folder, or the nearest one above it that a flag of Deno's can name; itself where there is none."""
    above = path
    while not _is_tellable(above):
        above = os.path.dirname(above)
    return path if above == "/" else above


def _is_tellable(path: str) -> bool:
    return "," not in path and "\0" not in path and path.encode("utf-8", "ignore").decode() == path


def _check_paths(paths: Iterable[str]) -> None:
    for path in paths:
        if not _is_tellable(path):
            what = "a comma" if "," in path else "what is no UTF-8"
            raise _refuse(f"Deno cannot be told of a path with {what} in it: {path[:200]!a}")


def _refuse(message: str) -> ClawftError:
    return ClawftError("hook-permissions", message, hint="See permissions and env in [hooks.entries] of your config")


class HookAudit:
    """Lines of the audit log. A secret that a hook gets is not shown from then on, whatever the hook makes of it."""

    def __init__(self, audit: AuditLog, secrets: Secrets) -> None:
        self._audit = audit
        self._secrets = secrets

    def run(self, job: HookLaunch, event: HookEvent) -> None:
        """Before a hook is called. Raises: Refused if it cannot be written."""
        rule = "approved" if job.digest else "one's own"
        detail = {"event": event.key, "place": job.root}
        self._audit.write(
            "hook", job.name, decision="allow", rule=rule, digest=job.digest, session=event.session_key, detail=detail
        )

    def failed(self, job: HookLaunch, event: HookEvent, code: str) -> None:
        detail = {"event": event.key, "place": job.root}
        self._audit.tell(
            "hook", job.name, decision="failed", rule=code, digest=job.digest, session=event.session_key, detail=detail
        )

    def give(self, job: HookLaunch) -> None:
        """Before a process is started that gets the secrets of a hook. Raises: Refused if it cannot be written."""
        rule = f"hooks.entries.{job.name}"
        for name in job.secret:
            self._secrets.add([job.grants.env[name]])
            self._audit.write("secret", name, decision="used", rule=rule, digest=job.digest, detail={"hook": job.name})

    def mask(self, reply: HookReply) -> HookReply:
        """An answer without secrets, for all that is made of it: hooks get some, and may give them away."""
        parts = {name: self._secrets.mask_value(value) for name, value in structs.asdict(reply).items()}
        return HookReply(**parts)

    def mask_failure(self, error: ClawftError) -> ClawftError:
        """Mask secrets in the error of a hook."""
        diagnostic = error.diagnostic
        message, hint = self._secrets.mask(diagnostic.message), self._secrets.mask(diagnostic.hint)
        return type(error)(diagnostic.code, message, path=diagnostic.path, line=diagnostic.line, hint=hint)

    def recorder(self, job: HookLaunch) -> Record:
        """Writes down what is decided about a host that a hook wants to reach."""

        def record(kind: str, subject: str, decision: str, rule: str) -> None:
            detail = {"hook": job.name}
            self._audit.record(kind, subject, decision=decision, rule=rule, digest=job.digest, detail=detail)

        return record


class HookRunner(Protocol):
    """Calls hooks: each time in a process of its own (`DenoRunner`), or in one that is kept (`Hosts`)."""

    async def call(self, job: HookLaunch, event: HookEvent) -> HookReply:
        """Raises: ClawftError."""
        ...


class DenoHandler:
    """One hook that is ready. `notes` is where each call is written down before it is made."""

    def __init__(
        self,
        status: HookStatus,
        job: HookLaunch,
        entry: HookEntry,
        runner: HookRunner,
        notes: HookAudit | None = None,
    ) -> None:
        hook = status.found.hook
        assert hook is not None
        self.name = status.name
        self.events = frozenset(hook.events)
        self.strict = entry.on_failure == "deny"
        self.hosts = status.hosts
        self.hook_status = status
        self._job = job
        self._runner = runner
        self._notes = notes

    def matches_event(self, event: HookEvent) -> bool:
        return event.key in KINDS

    async def call(self, event: HookEvent) -> HookReply:
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
        """Reword a "skill changed" error for a hook that belongs to no skill."""
        if error.code != "skill-changed" or self.hook_status.found.skill is not None:
            return error
        hint = f"Look at it, then: weft hooks enable {self.name}"
        return Refused("hook-untrusted", "It changed since it was approved", path=error.diagnostic.path, hint=hint)


def make_hook_launch(
    status: HookStatus, settings: HooksSettings, workspace: Workspace, environ: Mapping[str, str]
) -> HookLaunch:
    """Build the launch of a hook.

    Raises: ClawftError for a missing secret, and for a permission that cannot be granted.
    """
    found = status.found
    assert found.hook is not None
    entry = get_hook_entry(found, settings)
    wanted = found.hook.wants if entry.permissions is None else entry.permissions
    persistent = settings.persistent if entry.persistent is None else entry.persistent
    grants = _grant(wanted, entry, status, workspace, environ)
    return HookLaunch(
        status.name,
        found.root,
        os.path.relpath(os.path.join(found.folder, found.handler), found.root),
        status.digest,
        found.hook.export,
        grants,
        entry.timeout_s or settings.timeout_s,
        settings.memory_mb,
        settings.max_output_bytes,
        persistent,
        _find_version(found.root) if persistent and not status.digest else "",
        tuple(
            name for name in grants.env if names_secret(name) or (name in entry.env and entry.env[name].is_reference)
        ),
    )


def _find_version(folder: str) -> str:
    """A text that changes with the files of a hook that nobody takes a digest of: its process is then started anew."""
    states = [f"{name!r} {status.st_mtime_ns} {status.st_size}" for name, _, status in list_covered(folder)]
    return sha256("\n".join(states).encode()).hexdigest()


def _grant(
    wanted: HookPermissions, entry: HookEntry, status: HookStatus, workspace: Workspace, environ: Mapping[str, str]
) -> HookGrants:
    """Paths start at the hook's folder if its HOOK.md names them, at the project if the config does."""
    base = status.found.folder if entry.permissions is None else workspace.project
    read = tuple(resolve_path(path, base, workspace.home) for path in wanted.read)
    write = tuple(resolve_path(path, base, workspace.home) for path in wanted.write)
    variables = {name: value.resolve(environ) for name, value in entry.env.items()}
    # Only the user's own hooks get the user's variables; an untrusted hook gets what is configured for it.
    own = {name: environ[name] for name in wanted.env if name in environ} if status.hosts is None else {}
    grants = HookGrants(read, write, wanted.net, own | variables)
    check_grants(grants)
    _check_places((*read, *write), status, workspace)
    return grants


def _check_places(paths: Sequence[str], status: HookStatus, workspace: Workspace) -> None:
    """Nothing of this program's own folder is granted, where a hook could find secrets or make another hook; but for
    what lies in the folder of the user's own hook, beside its HOOK.md and its handler. Raises: ClawftError."""
    found = status.found
    ours, folder = real_path(workspace.user_dir), real_path(found.folder)
    for path in map(os.path.realpath, paths):
        its_own = status.hosts is None and is_within(path, folder)
        if its_own and all(not is_within(real_path(file), path) for file in (found.file, f"{folder}/{found.handler}")):
            continue
        if is_within(path, ours):
            message = f"The hook '{found.name}' asks for {path}, which is in the folder of clawft itself"
            raise ClawftError("hook-permissions", message, path=found.file, hint="Let it keep its files elsewhere")
