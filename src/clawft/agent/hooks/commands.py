"""Command hooks of Claude Code's kind as event handlers: a command line, run in the sandbox with the event on stdin."""

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from anyio import to_thread
from msgspec import Struct, structs

from clawft.agent.hooks.claude import list_tool_names, make_input, read_output
from clawft.agent.hooks.events import HookEvent, HookFailed, HookReply, write_json
from clawft.agent.hooks.registry import HookRunHistory
from clawft.config.extensions import HooksSettings
from clawft.config.keys import join_path
from clawft.config.secret import names_secret
from clawft.errors import Refused
from clawft.files import is_within, real_path
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished, Streams
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.parse.hooks import CommandHook, find_match
from clawft.trust.audit import AuditLog
from clawft.trust.command_hooks import UNTRUSTED_ORIGINS, CommandHooksStatus, entry_for
from clawft.trust.hook_lines import COPIES, LinePolicy, fill_line, find_files, name_copies
from clawft.trust.modes import Mode
from clawft.trust.permissions import PermissionRules, UsableSkill, list_granted_hosts
from clawft.trust.programs import BARE_PYTHON
from clawft.trust.run_copies import open_script_copies, open_skill_copy
from clawft.workspace import Workspace, resolve_path

_TOOLS = ("PreToolUse", "PostToolUse")
# Theirs are run by bash. To sh, a file that cannot be opened is exit code 2, which would be taken for a no.
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
_IN_THE_WAY = re.compile(
    r"Read-only file system|Permission denied|No such file or directory|Operation not permitted|Could not resolve host"
    r"|Network is unreachable|Temporary failure in name resolution|Name or service not known|ENOTFOUND|EAI_AGAIN|EROFS"
)


class CommandEnvironment(Struct, frozen=True):
    """The settings that all hook commands share. `env` is all that they inherit of the environment."""

    sandbox: Sandbox
    lines: LinePolicy
    rules: PermissionRules
    env: Mapping[str, str]
    audit: AuditLog
    remembered: HookRunHistory


class CommandLaunch(Struct, frozen=True):
    """A command that may be run. It is meant by any of its `matchers`; `skill` is whose it is, `scripts` are files of
    the project that it was approved with. `folder` is that of the skill, or of a plugin, which has a `digest`."""

    name: str
    hook: CommandHook
    matchers: tuple[str, ...]
    timeout_s: float
    max_bytes: int
    strict: bool = False
    hosts: tuple[str, ...] | None = None
    skill: str = ""
    folder: str = ""
    digest: str = ""
    scripts: tuple[tuple[str, str], ...] = ()
    env: Mapping[str, str] = {}
    secret: tuple[str, ...] = ()  # of these
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    net: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        line = " ".join(self.hook.command.split())
        return f"`{line if len(line) <= 80 else line[:79] + '…'}`"


class _Place(Struct, frozen=True):
    """The folder of a skill or plugin as a command sees it, and the copy that it is shown there. `scripts` of the
    project have copies below `root`."""

    folder: str = ""
    copy: str = ""
    usable: UsableSkill | None = None
    root: str = ""
    scripts: Mapping[str, str] = {}


class CommandHandler:
    """One command for one event. `load_usable` reads its skill as it may be used now, `own_env` returns the variables
    of that skill."""

    def __init__(
        self,
        job: CommandLaunch,
        around: CommandEnvironment,
        load_usable: Callable[[], UsableSkill] | None = None,
        own_env: Callable[[UsableSkill, str], Mapping[str, str]] = lambda *_: {},
    ) -> None:
        self.name = job.name
        self.events = frozenset({job.hook.key})
        self.strict = job.strict
        self.hosts = job.hosts
        self.job = job
        self._around = around
        self._load_usable = load_usable
        self._own_env = own_env

    def join(self, job: CommandLaunch) -> "CommandHandler":
        """The same command with what another place says of when it is run, and the stricter of both."""
        matchers, strict = (*self.job.matchers, *job.matchers), self.job.strict or job.strict
        both = structs.replace(self.job, matchers=matchers, strict=strict)
        return CommandHandler(both, self._around, self._load_usable, self._own_env)

    def matches_event(self, event: HookEvent) -> bool:
        job = self.job
        if job.skill and job.skill not in event.skills:
            return False
        if job.hook.once and self._once(event) in self._around.remembered.done:
            return False
        if job.hook.event == "PostToolUse" and event.context.get("isError"):
            return False  # theirs is for what a tool did
        if job.hook.event in _TOOLS:
            names = list_tool_names(str(event.context.get("toolName", "")))
        elif job.hook.event == "SessionStart":
            names = (str(event.context.get("source", "")),)
        else:
            return True
        return any(find_match(matcher, names) for matcher in job.matchers)

    def _once(self, event: HookEvent) -> tuple[str, str, str]:
        return event.session_key, self.job.name, f"{self.job.hook.event} {self.job.hook.command}"

    async def call(self, event: HookEvent) -> HookReply:
        """Raises: HookFailed; Refused if it may not be run, or cannot be confined."""
        job, remembered = self.job, self._around.remembered
        if job.hook.once:
            remembered.done.add(self._once(event))
        refused: list[str] = []  # hosts
        async with self._place() as place:
            finished = await self._run(event, place, refused)
        code, output, errors = self._read(finished)
        try:
            answered = read_output(job.hook.event, code, output, errors)
        except HookFailed as error:
            raise HookFailed(error.code, f"{job.shown}: {error}", hint=self._hint(errors, refused)) from error
        new = [decision for decision in answered.unfollowed if (job.name, decision) not in remembered.noticed]
        remembered.noticed.update((job.name, decision) for decision in new)
        notices = tuple(f"Not followed: {decision}. A hook can refuse and ask, not allow or change" for decision in new)
        reply = answered.reply
        return msgspec.structs.replace(
            reply, messages=(*reply.messages, *notices), time_ms=round(finished.seconds * 1000, 1)
        )

    def _hint(self, errors: str, refused: Sequence[str]) -> str:
        """Return a hint if the sandbox blocked the command, else ''."""
        at = join_path(("hooks", "entries", self.name))
        if refused:
            hosts = ", ".join(dict.fromkeys(refused))
            return f"It was kept from reaching {hosts}. To allow it: permissions.net in [{at}] of your config"
        found = _IN_THE_WAY.search(errors)
        return f"It runs in a sandbox. To let it reach more: permissions in [{at}] of your config" if found else ""

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[_Place]:
        user_dir, job = self._around.sandbox.workspace.user_dir, self.job
        if job.scripts:
            hint = f"Look at it, then: weft hooks enable {self.name}"
            project = self._around.lines.project
            async with open_script_copies(user_dir, project, dict(job.scripts), hint) as (root, scripts):
                yield _Place(root=root, scripts=scripts)
            return
        if not job.folder:
            yield _Place()
            return
        usable = await to_thread.run_sync(self._load_usable) if self._load_usable else None
        if usable and usable.is_untrusted:
            self.hosts = usable.granted.network if usable.granted else ()
        digest, sandbox = usable.digest if usable else self.job.digest, self._around.sandbox
        async with open_skill_copy(user_dir, job.folder, digest) as copy:
            mounted = (await to_thread.run_sync(sandbox.status)).kind == "bubblewrap"
            yield _Place(job.folder if mounted else copy, copy, usable)

    async def _run(self, event: HookEvent, place: _Place, refused: list[str]) -> Finished:
        job, around = self.job, self._around
        workspace = around.sandbox.workspace
        folders = {"CLAUDE_PROJECT_DIR": workspace.project}
        if os.path.isdir(place.copy):  # one of Claude's commands has no folder
            folders |= {"CLAUDE_SKILL_DIR": place.folder, "CLAUDE_PLUGIN_ROOT": place.folder}
        places = {**folders, "HOME": workspace.home}
        filled = fill_line(job.hook.command, places)
        if why := around.lines.object_to(filled):
            self._record("deny", why, event)
            raise Refused("hook-command", f"{job.shown} may not be run: {why}", hint="See: weft permissions list")
        self._record("allow", f"the hook {job.name}", event)
        cwd = around.lines.project
        started = find_files(filled, place.copy, {}) if place.copy and not filled.is_script else ()
        if any(is_within(path, place.copy) for path in started):
            cwd = place.folder  # no file of the project takes the place of one that was approved
        line = filled.line
        if place.scripts:  # what was judged, with what was checked in the place of what may be changed by now
            folders |= {COPIES: place.root}
            named = name_copies(job.hook.command, place.root, place.scripts, around.lines.project, workspace)
            line = fill_line(named, {**places, COPIES: place.root}).line
        base = {**_keep_out(line), **around.env}
        if job.hosts is None and not job.skill:  # the user's own
            base |= _put_last(base, cwd)
        own = await to_thread.run_sync(self._own_env, place.usable, event.session_key) if place.usable else {}
        self._record_secrets(event)
        # Relative paths of tools start at the current folder if it lies in the project.
        here, project = real_path(workspace.cwd), real_path(workspace.project)
        start = here if is_within(here, project) else project
        payload = make_input(event, job.hook.event, start, workspace.home)
        how: dict[str, object] = {"status": "not run to its end"}
        try:
            finished = await around.sandbox.run(
                (next(filter(os.path.exists, _SHELLS), "sh"), "-c", line),
                cwd=cwd,
                env={**base, **own, **job.env, **folders},
                timeout_s=job.timeout_s,
                max_bytes=job.max_bytes,
                streams=Streams(stdin=write_json(payload), merged=False),
                confinement=self._confine(event, place),
                record=lambda *refusal: self._record_host(refusal, event, refused),
            )
        except OSError as error:
            raise HookFailed("hook-failed", f"{job.shown} cannot be started: {error.strerror}") from error
        else:
            how = {"exit_code": finished.code}
            return finished
        finally:
            self._record("finished", "", event, how)

    def _confine(self, event: HookEvent, place: _Place) -> Confinement:
        job, project = self.job, self._around.sandbox.workspace.project
        usable = place.usable
        approved = [usable.granted.network if usable.granted else ()] if usable and usable.is_untrusted else []
        only_looks = event.mode == Mode.PLAN.value
        return Confinement(
            writable=() if only_looks else (project, *job.writable),
            readable=(project, *job.writable) if only_looks else (),
            whole={"named": job.readable},
            mounts=tuple(mount for mount in ((place.copy, place.folder), (place.root, place.root)) if mount[0]),
            hosts=(*list_granted_hosts(self._around.rules, approved), *job.net),
        )

    def _record(self, decision: str, rule: str, event: HookEvent, how: Mapping[str, object] = {}) -> None:
        """Record a decision about the command in the audit log; an allowed command is recorded before it runs. Raises:
        Refused if that fails."""
        detail = {"event": self.job.hook.event, "hook": self.name, **how}
        self._around.audit.record(
            "command",
            self.job.hook.command,
            decision=decision,
            rule=rule,
            skill=self.job.skill,
            session=event.session_key,
            detail=detail,
        )

    def _record_secrets(self, event: HookEvent) -> None:
        """Raises: Refused if it cannot be written."""
        rule = join_path(("hooks", "entries", self.name))
        for name in self.job.secret:
            detail = {"hook": self.name}
            self._around.audit.write(
                "secret", name, decision="used", rule=rule, session=event.session_key, detail=detail
            )

    def _record_host(self, entry: tuple[str, str, str, str], event: HookEvent, refused: list[str]) -> None:
        kind, subject, decision, rule = entry
        if decision == "deny":
            refused.append(subject)
        self._around.audit.tell(kind, subject, decision=decision, rule=rule, session=event.session_key)

    def _read(self, finished: Finished) -> tuple[int, str, str]:
        """The exit code and what was written. Raises: HookFailed for one that did not end by itself."""
        job = self.job
        if finished.timed_out:
            raise HookFailed("hook-timeout", f"{job.shown} took longer than {job.timeout_s:g} seconds and was ended")
        if finished.exceeded:
            raise HookFailed("hook-memory", f"{job.shown} needed too much ({finished.exceeded}) and was ended")
        if finished.flooded or finished.truncated:
            raise HookFailed("hook-flooded", f"{job.shown} wrote more than {job.max_bytes} bytes")
        if finished.code == 127 and not finished.output:
            error_text = finished.errors.decode("utf-8", "replace").strip()[:300]
            hint = "Is it installed, or a file of the project? Of the home, commands see ~/.claude/hooks alone"
            raise HookFailed("hook-failed", f"{job.shown} was not found: {error_text}", hint=hint)
        return finished.code, finished.output.decode("utf-8", "replace"), finished.errors.decode("utf-8", "replace")


def _keep_out(line: str) -> Mapping[str, str]:
    """Return the variables that stop a file of the project, such as `json.py`, from being run in place of the module
    that a command line means."""
    found = (match["name"] for match in BARE_PYTHON.finditer(line))
    is_meant = all(name is not None and name not in sys.stdlib_module_names for name in found)
    return {} if is_meant else {"PYTHONSAFEPATH": "1"}


def _put_last(env: Mapping[str, str], project: str) -> Mapping[str, str]:
    """The programs of the project behind all others: none of them takes the place of one that a user's line means."""
    folders = env["PATH"].split(os.pathsep) if "PATH" in env else []
    ordered = sorted(folders, key=lambda one: is_within(real_path(one), project))
    return {"PATH": os.pathsep.join(ordered)} if folders else {}


def make_command_handlers(
    statuses: Iterable[CommandHooksStatus],
    settings: HooksSettings,
    environ: Mapping[str, str],
    around: CommandEnvironment,
    skill: tuple[Callable[[DiscoveredSkill], UsableSkill], Callable[[UsableSkill, str], Mapping[str, str]]],
) -> list[CommandHandler]:
    """A handler for every command that is ready. `skill` loads the usable form of one, and tells its variables.

    Raises: ClawftError for a secret that is not there.
    """
    load_usable, own_env = skill
    handlers: list[CommandHandler] = []
    known: dict[tuple[str, str, str], int] = {}
    for status in statuses:
        if status.state != "ready":
            continue
        for job in _make_jobs(status, settings, environ, around.sandbox.workspace):
            # Claude Code runs the same command once for an event, wherever it is written.
            key = (job.hook.event, job.hook.command, job.folder)
            if key in known:
                handlers[known[key]] = handlers[known[key]].join(job)
                continue
            known[key] = len(handlers)
            found = status.found.skill
            load = (lambda found=found: load_usable(found)) if found is not None else None
            handlers.append(CommandHandler(job, around, load, own_env))
    return handlers


def _make_jobs(
    status: CommandHooksStatus, settings: HooksSettings, environ: Mapping[str, str], workspace: Workspace
) -> Iterable[CommandLaunch]:
    entry = entry_for(status.name, settings)
    found, wanted = status.found, entry.permissions
    variables = {name: value.resolve(environ) for name, value in entry.env.items()}
    read = tuple(resolve_path(path, workspace.project, workspace.home) for path in (wanted.read if wanted else ()))
    write = tuple(resolve_path(path, workspace.project, workspace.home) for path in (wanted.write if wanted else ()))
    own = found.scope in ("user", "here") and found.skill is None
    for hook in status.runs:
        yield CommandLaunch(
            status.name,
            hook,
            (hook.matcher,),
            min(hook.timeout_s, entry.timeout_s or hook.timeout_s),
            settings.max_output_bytes,
            strict=entry.on_failure == "deny",
            hosts=() if found.scope in UNTRUSTED_ORIGINS and found.skill is None else None,
            skill=found.skill.name if found.skill else "",
            folder=found.skill.folder if found.skill else found.folder,
            digest=status.digest if found.folder else "",
            scripts=status.scripts,
            env=variables,
            secret=tuple(name for name, value in entry.env.items() if value.is_reference or names_secret(name)),
            readable=(*read, *(_own_files(hook.command, workspace) if own else ())),
            writable=write,
            net=wanted.net if wanted else (),
        )


def _own_files(command: str, workspace: Workspace) -> tuple[str, ...]:
    """The files of the user's that a command of theirs starts, and those beside them in their folder of hooks."""
    places = {"CLAUDE_PROJECT_DIR": workspace.project, "HOME": workspace.home}
    files = find_files(fill_line(command, places), workspace.project, places)
    hooks_dir = f"{workspace.home}/.claude/hooks"
    return (*files, *((hooks_dir,) if os.path.isdir(hooks_dir) else ()))
