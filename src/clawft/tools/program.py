"""Runs a program that a skill brought along: the very bytes that were cleared, in the sandbox, asked for before.

The skill's folder is copied while its digest is taken, and the copy is what the program sees at the folder's place. One
that is WebAssembly sees that, and nothing else.
What a model wrote reaches it as words, as standard input and as variables, and is never read by a shell of ours.
"""

import os
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from msgspec import Struct, structs

from clawft.config.tools import ExecSettings
from clawft.errors import ClawftError
from clawft.files import real_path
from clawft.programs import find_files, show_files
from clawft.sandbox.process import Runnable, Streams
from clawft.tools.confined import (
    ask_unconfined,
    begin_after,
    confine,
    explain_sandbox,
    is_confined,
    record_hosts,
)
from clawft.tools.engines import Engines
from clawft.tools.environment import command_env
from clawft.tools.exec_shell import show_all
from clawft.tools.finished import tell_finished
from clawft.tools.provided import WASM
from clawft.tools.skillset import Loaded, Skillset
from clawft.tools.spill import mask_file, new_spill_path
from clawft.tools.starting import find_start
from clawft.tools.tool import ToolContext, ToolError, ToolResult
from clawft.trust.cleared import Cleared
from clawft.trust.commands import CommandPolicy
from clawft.trust.copies import open_skill_copy
from clawft.trust.granted import granted_hosts
from clawft.trust.modes import Mode

__all__ = ["Programs", "Start"]

_MAX_ASKED = 600  # characters of arguments that a question shows
_EXPLAINED = (
    "[it ran in a sandbox: only the project can be changed, but not its .git and agent folders, and no host can be"
    " reached but those that the skill was approved with]"
)


class Start(Struct, frozen=True):
    """What is to run. `file` is the first of the words if that is one of the skill's files, else it is on PATH."""

    skill: str
    words: tuple[str, ...]
    file: str = ""
    tool: str = ""  # the declared tool that it is the program of
    shown: str = ""  # what a model gave it, as people see it
    stdin: bytes = b""
    variables: Mapping[str, str] = {}

    @property
    def line(self) -> str:
        return shlex.join(self.words)

    @property
    def is_wasm(self) -> bool:
        return self.file.endswith(WASM)


class Programs:
    """How programs of skills run in one conversation. `own_env` gives the variables of one skill (R174)."""

    def __init__(
        self,
        skills: Skillset,
        settings: ExecSettings,
        policy: CommandPolicy,
        own_env: Callable[[Cleared], Mapping[str, str]],
        engines: Engines,
    ) -> None:
        self.skills = skills
        self.settings = settings
        self._policy = policy
        self._own_env = own_env
        self.engines = engines

    async def run(self, start: Start, context: ToolContext) -> ToolResult:
        """Ask for it, and run it to its end. Raises: ToolError, Refused."""
        try:
            loaded = self.skills.get_unchanged(start.skill)
            if objection := self._policy.object_to(start.words):
                raise ToolError("PERMISSION_DENIED", f"The program was refused: {objection}")
            await self._ask(start, loaded, context, await self._how(start, context))
            return await self._run(start, loaded, context)
        except ClawftError as error:
            if not context.act.is_begun:  # of what was begun the call's own line says how it ended
                self.refuse(start, str(error), context)
            raise

    async def permit(self, start: Start, context: ToolContext, how: str) -> None:
        """Ask for what is no program, and write down that it is done. Raises: ToolError, Refused."""
        loaded = self.skills.get_unchanged(start.skill)
        await self._ask(start, loaded, context, how)
        _begin(start, loaded, context)

    def refuse(self, start: Start, why: str, context: ToolContext) -> None:
        """Write down that it is not run."""
        context.record("command", start.line, "deny", why, detail=_detail(start))

    async def _how(self, start: Start, context: ToolContext) -> str:
        if start.is_wasm:
            return "WebAssembly"
        return "sandboxed" if await to_thread.run_sync(is_confined, context) else "WITHOUT a sandbox"

    async def _ask(self, start: Start, loaded: Loaded, context: ToolContext, how: str) -> None:
        what = f"the tool '{start.tool}' ({_show(start.line)})" if start.tool else _show(start.words[0])
        # The digest binds a lasting answer to the program, also where the skill is not active any more.
        digest = loaded.cleared.digest.removeprefix("sha256:")[:16]
        question = f"Run {what} of the skill '{start.skill}' ({how}; {digest})"
        given = _show(start.shown)
        cut = given if len(given) <= _MAX_ASKED else f"{given[:_MAX_ASKED]}… ({len(given)} characters)"
        reason = f"it is given {cut}" if given else "it is given nothing"
        if not await context.ask(question, reason):
            said = f"It needs approval, which was not given: {what} of the skill '{start.skill}'"
            raise ToolError("PERMISSION_DENIED", said, hint="Do without it, or ask the person")

    async def _run(self, start: Start, loaded: Loaded, context: ToolContext) -> ToolResult:
        folder, settings = real_path(loaded.folder), self.settings
        spill_path = new_spill_path(context, start.tool or start.words[0])
        async with open_skill_copy(context.workspace.user_dir, folder, loaded.cleared.digest) as copy:
            mounted = context.sandbox.status().kind == "bubblewrap"
            place = folder if mounted else copy  # where nothing can be mounted, the copy is used where it is
            async with self._prepare(start, loaded, (copy, place), context) as program:
                begin = partial(_begin, start, loaded, context)
                if start.is_wasm or context.sandbox.status().kind != "none":  # else a person is asked first
                    begin()
                files = find_files(program.words[:1], program.env.get("PATH", os.defpath), place)
                try:
                    finished = await context.sandbox.run(
                        program.words,
                        cwd=place,
                        env=program.env,
                        timeout_s=program.timeout_s,
                        max_bytes=settings.max_output_bytes,
                        streams=Streams(stdin=start.stdin, spill_path=spill_path),
                        confinement=program.confinement,
                        ask=begin_after(
                            program.ask or ask_unconfined(context, _name(start) + show_files(files)), begin
                        ),
                        record=record_hosts(context),
                    )
                finally:  # one that was cancelled has left its output there, too
                    if os.path.exists(spill_path):
                        mask_file(context, spill_path)
        result = tell_finished(finished, loaded.folder)
        return result if start.is_wasm else explain_sandbox(result, context, _EXPLAINED)

    @asynccontextmanager
    async def _prepare(
        self, start: Start, loaded: Loaded, mount: tuple[str, str], context: ToolContext
    ) -> AsyncIterator[Runnable]:
        """A program as it is started. Raises: ToolError."""
        copy, place = mount
        if start.is_wasm:
            env = {**self._own_env(loaded.cleared), **start.variables}
            async with self.engines.open_wasi().open(start.file, start.words, env, mount) as program:
                yield program
            return
        hosts = _hosts_for(loaded.cleared, context)
        confinement = structs.replace(confine(context), mounts=(mount,), hosts=hosts)
        env = self._environment(start, loaded, place, context)
        yield Runnable(_start_words(start, copy, place), env, confinement, self.settings.timeout_s)

    def _environment(self, start: Start, loaded: Loaded, place: str, context: ToolContext) -> dict[str, str]:
        places = {"CLAUDE_SKILL_DIR": place, "CLAUDE_PROJECT_DIR": context.workspace.project}
        env = command_env(self.settings, context.environ, self._own_env(loaded.cleared))
        return {**env, **places, **start.variables}


def _name(start: Start) -> str:
    return f"{_show(start.line)} of the skill '{start.skill}'"


def _start_words(start: Start, copy: str, place: str) -> tuple[str, ...]:
    """The words of the program as it is started. Raises: ToolError."""
    if not start.file:
        return start.words
    try:
        by = find_start(os.path.join(copy, start.file))
    except OSError as error:
        raise ToolError("NOT_FOUND", f"{start.file} cannot be read: {error.strerror}") from error
    if by is None:
        hint = "A script is executable with a first line like #!/bin/sh, or has an ending like .py"
        raise ToolError("INVALID_PARAM", f"Nothing tells how to start {start.file}", hint=hint)
    return (*by, os.path.join(place, start.file), *start.words[1:])


def _hosts_for(cleared: Cleared, context: ToolContext) -> tuple[str, ...]:
    """The hosts that a program of a skill may reach: the user's rules, and what all strangers' skills at work and the
    skill itself, if it is a stranger's, were approved with."""
    at_work = (cleared.at_work(""), *context.active)
    return granted_hosts(context.rules, [one.hosts for one in at_work if one.stranger])


def _show(text: str) -> str:
    """A text in a question: on one line, and nothing of it acts on a terminal."""
    return show_all(text).replace("\n", "\\n")


def _begin(start: Start, loaded: Loaded, context: ToolContext) -> None:
    """Write down that a program is allowed. Raises: Refused if that is not possible."""
    context.act.begin()
    context.record("command", start.line, "allow", _rule(context), detail=_detail(start, loaded))


def _rule(context: ToolContext) -> str:
    return "mode full" if context.mode is Mode.FULL else "approved"


def _detail(start: Start, loaded: Loaded | None = None) -> dict[str, str]:
    """Which skill's it is, also where that is not active any more, and what it was given."""
    digest = {"digest": loaded.cleared.digest} if loaded else {}
    return {"skill": start.skill, **digest, "tool": start.tool or "skill_run_script", "given": start.shown[:_MAX_ASKED]}
