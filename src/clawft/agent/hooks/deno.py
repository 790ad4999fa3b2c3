"""Runs hooks with Deno: our runner loads the handler with the permissions it was granted, inside the sandbox."""

import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import is_within
from clawft.hooks.events import HookEvent, Reply
from clawft.hooks.grants import Grants, HookJob, allow_flags, find_tellable
from clawft.hooks.notes import Notes
from clawft.hooks.reading import read_finished
from clawft.hooks.text import write_json
from clawft.sandbox.confinement import Confinement, Limits
from clawft.sandbox.process import Launch, Streams
from clawft.sandbox.proxy import Record
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.copies import open_skill_copy

__all__ = ["Deno", "find_deno"]

_JS = os.path.join(os.path.dirname(__file__), "js")
_MB = 1024 * 1024


def find_deno() -> str:
    """Where Deno is. Raises: ClawftError without the extra."""
    try:
        from deno import find_deno_bin
    except ImportError as error:  # also where something else has its name
        message = "Hooks in TypeScript need Deno, which is not installed"
        raise ClawftError("deno-missing", message, hint="Install clawft[deno]") from error
    try:
        return os.path.realpath(str(find_deno_bin()))
    except FileNotFoundError as error:
        raise ClawftError(
            "deno-missing", f"Deno is not where it should be: {error}", hint="Install clawft[deno]"
        ) from error


class _Program(Struct, frozen=True):
    """A Deno process for one hook, ready to be started in the sandbox."""

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    confinement: Confinement
    handler: str  # as the process sees it
    record: Record


class Deno:
    """Calls hooks, each in a process of its own. `notes` is where it is written down what they get."""

    def __init__(self, sandbox: Sandbox, notes: Notes | None = None) -> None:
        self._sandbox = sandbox
        self._notes = notes
        self._binary = ""

    async def call(self, job: HookJob, event: HookEvent) -> Reply:
        """What the handler makes of an event. Raises: HookFailed; Refused if it cannot be confined or has changed."""
        return await self._run(job, event, event.to_call())

    async def load(self, job: HookJob) -> None:
        """Load the handler, and do not call it. Raises: as `call`."""
        await self._run(job, HookEvent("session", "start"), {"event": None})

    async def _run(self, job: HookJob, event: HookEvent, asked: Mapping[str, Any]) -> Reply:
        mark = secrets.token_hex(16)
        async with self._prepare(job, "runner.js") as program:
            call = {"mark": mark, "handler": program.handler, "export": job.export, **asked}
            finished = await self._sandbox.run(
                program.words,
                cwd=program.cwd,
                env=program.env,
                timeout_s=job.timeout_s,
                max_bytes=job.max_bytes,
                streams=Streams(stdin=write_json(call), merged=False),
                confinement=program.confinement,
                record=program.record,
            )
        return read_finished(job, event, finished, mark.encode())

    @asynccontextmanager
    async def open(self, job: HookJob, main: str) -> AsyncIterator[tuple[Launch, str]]:
        """A process that runs one of our modules for a hook, to be kept, and the handler as it sees it.

        Raises: ClawftError.
        """
        async with (
            self._prepare(job, main) as program,
            self._sandbox.prepare(
                program.words,
                cwd=program.cwd,
                env=program.env,
                confinement=program.confinement,
                record=program.record,
            ) as launch,
        ):
            yield launch, program.handler

    @asynccontextmanager
    async def _prepare(self, job: HookJob, main: str) -> AsyncIterator[_Program]:
        self._binary = self._binary or find_deno()
        if self._notes is not None:
            self._notes.give(job)
        if not job.digest:
            yield self._program(job, main, job.root, ())
            return
        user_dir = self._sandbox.workspace.user_dir
        async with open_skill_copy(user_dir, job.root, job.digest) as copy:
            # Not at its own place: what it requires or imports would be looked for in the project around it, too.
            yield self._program(job, main, copy, ((copy, copy),))

    def _program(self, job: HookJob, main: str, place: str, mounts: tuple[tuple[str, str], ...]) -> _Program:
        grants, project = job.grants, self._sandbox.workspace.project
        self._check_bare(grants)
        own = () if mounts else (place,)
        words = (
            self._binary, "run", "--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock",
            "--ignore-env",  # published hooks ask for variables that they may not get, and take nothing for an answer
            "--unstable-detect-cjs", "--no-code-cache", f"--v8-flags=--max-old-space-size={job.memory_mb}",
            f"--import-map={_JS}/imports.json", *allow_flags((place, self._tell(project), _JS), grants),
            f"{_JS}/{main}",
        )  # fmt: skip
        confinement = Confinement(
            writable=grants.write,
            readable=(self._binary, _JS, *own, *grants.read),
            shown=(project,),
            hidden=("/etc/passwd", "/etc/group"),
            mounts=mounts,
            hosts=grants.net,
            limits=_limit(self._sandbox.limits, job.memory_mb),
            least=True,
            host_hint=f"Add {{host}} to permissions.net in [hooks.entries.{job.name}] of the config",
        )
        handler = f"file://{quote(os.path.join(place, job.handler))}"
        record = self._notes.recorder(job) if self._notes else _ignore
        return _Program(words, project, {**self._own_env(job), **grants.env}, confinement, handler, record)

    def _check_bare(self, grants: Grants) -> None:
        """Without a sandbox nothing hides this program's own folder in one that was granted. Raises: ClawftError."""
        ours = os.path.realpath(self._sandbox.workspace.user_dir)
        if self._sandbox.settings.mode == "off":
            for path in (*grants.read, *grants.write):
                if is_within(ours, os.path.realpath(path)):
                    message = (
                        f"Without a sandbox {path} cannot be given to a hook: the folder of clawft itself lies in it"
                    )
                    raise ClawftError("hook-permissions", message, hint="See: weft doctor")

    def _tell(self, project: str) -> str:
        """The project as Deno can be told of it. It has no words for some names; the sandbox around it knows the very
        folder then: whoever names one must not have the user's own hooks fail in it."""
        return project if self._sandbox.settings.mode == "off" else find_tellable(project)

    def _own_env(self, job: HookJob) -> dict[str, str]:
        """What Deno itself is told. It keeps what it compiles, and what hooks store, in the home folder, which is
        private in the sandbox: nothing is left there for the next process to find."""
        env = {"DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1", "HOME": "/tmp"}
        if self._sandbox.settings.mode == "off":
            own = sha256(os.fsencode(job.root)).hexdigest()[:16]
            return {**env, "DENO_DIR": os.path.join(self._sandbox.workspace.user_dir, "cache", "deno", own)}
        return {**env, "DENO_DIR": "/tmp/deno"} if "HOME" in job.grants.env else env


def _limit(limits: Limits, memory_mb: int) -> Limits:
    """V8 holds its heap to the limit itself. Beside that it needs some room, and asks for much that it never uses."""
    return msgspec.structs.replace(
        limits, memory_bytes=(memory_mb + 256) * _MB, data_bytes=(2 * memory_mb + 1280) * _MB, processes=128
    )


def _ignore(kind: str, subject: str, decision: str, rule: str) -> None:
    pass
