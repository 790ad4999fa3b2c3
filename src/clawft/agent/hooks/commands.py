"""Command hooks of Claude Code's kind as handlers: a command line, run in the sandbox with the event on stdin.

It may write the project, as commands of the conversation may, and reach the hosts that the user's rules allow. Those
of a skill run on a copy of what was approved.
"""

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from anyio import to_thread
from msgspec import Struct

from clawft.config.keys import join_path
from clawft.errors import Refused
from clawft.files import is_within, real_path
from clawft.format.command_hooks import CommandHook
from clawft.format.hook_matcher import find_match
from clawft.hooks.claude import make_input, names_of, read_output
from clawft.hooks.events import HookEvent, HookFailed, Reply
from clawft.hooks.registry import Remembered
from clawft.hooks.text import write_json
from clawft.programs import BARE_PYTHON
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished, Streams
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.audit import Audit
from clawft.trust.cleared import Cleared
from clawft.trust.copies import open_script_copies, open_skill_copy
from clawft.trust.granted import granted_hosts
from clawft.trust.hook_lines import COPIES, LinePolicy, fill_line, find_files, name_copies
from clawft.trust.modes import Mode
from clawft.trust.rules import Rules
from clawft.workspace import Workspace

__all__ = ["CommandHandler", "CommandJob", "Surroundings"]

_TOOLS = ("PreToolUse", "PostToolUse")
# Theirs are run by bash. To sh, a file that cannot be opened is exit code 2, which would be taken for a no.
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
_IN_THE_WAY = re.compile(
    r"Read-only file system|Permission denied|No such file or directory|Operation not permitted|Could not resolve host"
    r"|Network is unreachable|Temporary failure in name resolution|Name or service not known|ENOTFOUND|EAI_AGAIN|EROFS"
)


class Surroundings(Struct, frozen=True):
    """What all commands have in common. `env` is all they get of the environment."""

    sandbox: Sandbox
    lines: LinePolicy
    rules: Rules
    env: Mapping[str, str]
    audit: Audit
    remembered: Remembered


class CommandJob(Struct, frozen=True):
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
    cleared: Cleared | None = None
    root: str = ""
    scripts: Mapping[str, str] = {}


class CommandHandler:
    """One command for one event. `clear` gives its skill as it may be used now, and `own_env` the variables of that."""

    def __init__(
        self,
        job: CommandJob,
        around: Surroundings,
        clear: Callable[[], Cleared] | None = None,
        own_env: Callable[[Cleared, str], Mapping[str, str]] = lambda *_: {},
    ) -> None:
        self.name = job.name
        self.events = frozenset({job.hook.key})
        self.strict = job.strict
        self.hosts = job.hosts
        self.job = job
        self._around = around
        self._clear = clear
        self._own_env = own_env

    def with_job(self, job: CommandJob) -> "CommandHandler":
        """The same with another job."""
        return CommandHandler(job, self._around, self._clear, self._own_env)

    def hears(self, event: HookEvent) -> bool:
        job = self.job
        if job.skill and job.skill not in event.skills:
            return False
        if job.hook.once and self._once(event) in self._around.remembered.done:
            return False
        if job.hook.event == "PostToolUse" and event.context.get("isError"):
            return False  # theirs is for what a tool did
        if job.hook.event in _TOOLS:
            names = names_of(str(event.context.get("toolName", "")))
        elif job.hook.event == "SessionStart":
            names = (str(event.context.get("source", "")),)
        else:
            return True
        return any(find_match(one, names) for one in job.matchers)

    def _once(self, event: HookEvent) -> tuple[str, str, str]:
        return event.session_key, self.job.name, f"{self.job.hook.event} {self.job.hook.command}"

    async def call(self, event: HookEvent) -> Reply:
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
        new = [one for one in answered.unfollowed if (job.name, one) not in remembered.told]
        remembered.told.update((job.name, one) for one in new)
        said = tuple(f"Not followed: {one}. A hook can refuse and ask, not allow or change" for one in new)
        reply = answered.reply
        return msgspec.structs.replace(
            reply, messages=(*reply.messages, *said), time_ms=round(finished.seconds * 1000, 1)
        )

    def _hint(self, errors: str, refused: Sequence[str]) -> str:
        """What to do where the sandbox was in the way, or nothing."""
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
        cleared = await to_thread.run_sync(self._clear) if self._clear else None
        if cleared and cleared.stranger:
            self.hosts = cleared.granted.network if cleared.granted else ()
        digest, sandbox = cleared.digest if cleared else self.job.digest, self._around.sandbox
        async with open_skill_copy(user_dir, job.folder, digest) as copy:
            mounted = (await to_thread.run_sync(sandbox.status)).kind == "bubblewrap"
            yield _Place(job.folder if mounted else copy, copy, cleared)

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
        if any(is_within(one, place.copy) for one in started):
            cwd = place.folder  # no file of the project takes the place of one that was approved
        line = filled.line
        if place.scripts:  # what was judged, with what was checked in the place of what may be changed by now
            folders |= {COPIES: place.root}
            named = name_copies(job.hook.command, place.root, place.scripts, around.lines.project, workspace)
            line = fill_line(named, {**places, COPIES: place.root}).line
        base = {**_keep_out(line), **around.env}
        if job.hosts is None and not job.skill:  # the user's own
            base |= _put_last(base, cwd)
        own = await to_thread.run_sync(self._own_env, place.cleared, event.session_key) if place.cleared else {}
        self._record_secrets(event)
        said = make_input(event, job.hook.event, _find_base(workspace), workspace.home)
        how: dict[str, object] = {"status": "not run to its end"}
        try:
            finished = await around.sandbox.run(
                (next(filter(os.path.exists, _SHELLS), "sh"), "-c", line),
                cwd=cwd,
                env={**base, **own, **job.env, **folders},
                timeout_s=job.timeout_s,
                max_bytes=job.max_bytes,
                streams=Streams(stdin=write_json(said), merged=False),
                confinement=self._confine(event, place),
                record=lambda *told: self._record_host(told, event, refused),
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
        cleared = place.cleared
        approved = [cleared.granted.network if cleared.granted else ()] if cleared and cleared.stranger else []
        only_looks = event.mode == Mode.PLAN.value
        return Confinement(
            writable=() if only_looks else (project, *job.writable),
            readable=(*job.readable, *(job.writable if only_looks else ())),
            shown=(project,) if only_looks else (),
            mounts=tuple(one for one in ((place.copy, place.folder), (place.root, place.root)) if one[0]),
            hosts=(*granted_hosts(self._around.rules, approved), *job.net),
        )

    def _record(self, decision: str, rule: str, event: HookEvent, how: Mapping[str, object] = {}) -> None:
        """What is run is written down first. Raises: Refused if that cannot be."""
        write = self._around.audit.write if decision == "allow" else self._around.audit.tell
        detail = {"event": self.job.hook.event, "hook": self.name, **how}
        write(
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

    def _record_host(self, told: tuple[str, str, str, str], event: HookEvent, refused: list[str]) -> None:
        kind, subject, decision, rule = told
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
            told = finished.errors.decode("utf-8", "replace").strip()[:300]
            hint = "Is it installed, or a file of the project? Of the home, commands see ~/.claude/hooks alone"
            raise HookFailed("hook-failed", f"{job.shown} was not found: {told}", hint=hint)
        return finished.code, finished.output.decode("utf-8", "replace"), finished.errors.decode("utf-8", "replace")


def _keep_out(line: str) -> Mapping[str, str]:
    """What keeps a file of the project, such as `json.py`, from being run in the place of what a line means."""
    found = (match["name"] for match in BARE_PYTHON.finditer(line))
    is_meant = all(name is not None and name not in sys.stdlib_module_names for name in found)
    return {} if is_meant else {"PYTHONSAFEPATH": "1"}


def _put_last(env: Mapping[str, str], project: str) -> Mapping[str, str]:
    """The programs of the project behind all others: none of them takes the place of one that a user's line means."""
    folders = env["PATH"].split(os.pathsep) if "PATH" in env else []
    ordered = sorted(folders, key=lambda one: is_within(real_path(one), project))
    return {"PATH": os.pathsep.join(ordered)} if folders else {}


def _find_base(workspace: Workspace) -> str:
    """What paths of tools start at: the current folder, if it is inside the project."""
    cwd, project = real_path(workspace.cwd), real_path(workspace.project)
    return cwd if is_within(cwd, project) else project
