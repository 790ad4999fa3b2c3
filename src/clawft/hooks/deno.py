"""Runs hooks with Deno: our runner loads the handler with the permissions it was granted, inside the sandbox."""

import importlib.util
import json
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.hooks.events import HookEvent, HookFailed, Reply, read_reply
from clawft.hooks.grants import HookJob
from clawft.sandbox.confinement import Confinement, Limits
from clawft.sandbox.process import Finished, Streams
from clawft.sandbox.proxy import Record
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.copies import open_skill_copy

__all__ = ["Deno", "find_deno"]

_JS = os.path.join(os.path.dirname(__file__), "js")
_MB = 1024 * 1024
_MAX_PRINTED = 4_000


def find_deno() -> str:
    """Where Deno is. Raises: ClawftError without the extra."""
    if importlib.util.find_spec("deno") is None:
        message = "Hooks in TypeScript need Deno, which is not installed"
        raise ClawftError("deno-missing", message, hint="Install clawft[deno]")
    from deno import find_deno_bin

    try:
        return os.path.realpath(str(find_deno_bin()))
    except FileNotFoundError as error:
        raise ClawftError(
            "deno-missing", f"Deno is not where it should be: {error}", hint="Install clawft[deno]"
        ) from error


class Program(Struct, frozen=True):
    """A Deno process for one hook, ready to be started in the sandbox."""

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    confinement: Confinement
    handler: str  # as the process sees it


class Deno:
    """Calls hooks, each in a process of its own."""

    def __init__(self, sandbox: Sandbox, record: Record = lambda *_: None) -> None:
        self._sandbox = sandbox
        self._record = record
        self._binary = ""

    async def call(self, job: HookJob, event: HookEvent) -> Reply:
        """What the handler makes of an event. Raises: HookFailed; Refused if it cannot be confined or has changed."""
        mark = secrets.token_hex(16)
        async with self.prepare(job, "runner.js") as program:
            call = {"mark": mark, "handler": program.handler, "export": job.export, "event": event.to_dict()}
            finished = await self._sandbox.run(
                program.words,
                cwd=program.cwd,
                env=program.env,
                timeout_s=job.timeout_s,
                max_bytes=job.max_bytes,
                streams=Streams(stdin=msgspec.json.encode(call), merged=False),
                confinement=program.confinement,
                record=self._record,
            )
        return _read(job, event, finished, mark.encode())

    @asynccontextmanager
    async def prepare(self, job: HookJob, main: str) -> AsyncIterator[Program]:
        """The process that runs one of our modules for a hook. Raises: ClawftError."""
        self._binary = self._binary or find_deno()
        if not job.digest:
            yield self._program(job, main, job.root, ())
            return
        user_dir = self._sandbox.workspace.user_dir
        async with open_skill_copy(user_dir, job.root, job.digest) as copy:
            mounted = self._sandbox.status().kind == "bubblewrap"
            place = job.root if mounted else copy  # where nothing can be mounted, the copy is used where it is
            yield self._program(job, main, place, ((copy, place),))

    def _program(self, job: HookJob, main: str, place: str, mounts: tuple[tuple[str, str], ...]) -> Program:
        grants, project = job.grants, self._sandbox.workspace.project
        own = () if mounts else (place,)
        read = (place, project, _JS, *grants.read, *grants.write)
        words = (
            self._binary, "run", "--quiet", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock",
            "--unstable-detect-cjs", "--no-code-cache", f"--v8-flags=--max-old-space-size={job.memory_mb}",
            f"--import-map={_JS}/imports.json", *_allow("read", read), *_allow("write", grants.write),
            *_allow("net", grants.net), *_allow("env", tuple(grants.env)),
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
            host_hint=f"Add {{host}} to permissions.net in [hooks.entries.{job.name}] of the config",
        )
        fixed = {"DENO_DIR": "/tmp/deno", "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1", "HOME": "/tmp"}
        handler = f"file://{_quote(os.path.join(place, job.handler))}"
        return Program(words, "/", {**fixed, **grants.env}, confinement, handler)


def _allow(what: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A flag of Deno's. A comma in a path is written twice."""
    return (f"--allow-{what}=" + ",".join(one.replace(",", ",,") for one in dict.fromkeys(names)),) if names else ()


def _quote(path: str) -> str:
    from urllib.parse import quote

    return quote(path)


def _limit(limits: Limits, memory_mb: int) -> Limits:
    """V8 needs some room beside the heap that it is limited to."""
    return msgspec.structs.replace(limits, memory_bytes=(2 * memory_mb + 512) * _MB, processes=64, tmp_bytes=64 * _MB)


def _read(job: HookJob, event: HookEvent, finished: Finished, mark: bytes) -> Reply:
    """The answer in what a process wrote. Raises: HookFailed."""
    before, found, rest = finished.output.rpartition(b"\n" + mark)
    printed = (before if found else finished.output) + finished.errors
    told = printed.decode("utf-8", "replace").strip()[-_MAX_PRINTED:]
    if finished.timed_out:
        raise HookFailed("hook-timeout", f"It took longer than {job.timeout_s:g} seconds and was ended")
    if finished.flooded or finished.truncated:
        raise HookFailed("hook-flooded", f"It wrote more than {job.max_bytes} bytes")
    if finished.exceeded or b"heap out of memory" in finished.errors or finished.code in (132, 133, 134):
        raise HookFailed("hook-memory", f"It needed more than {job.memory_mb} MB of memory and was ended")
    if not found:
        raise HookFailed("hook-ended", f"It ended without an answer (exit code {finished.code})", hint=_last_line(told))
    return read_answer(job, event, rest, told, finished.seconds * 1000)


def read_answer(job: HookJob, event: HookEvent, answer: bytes, printed: str, time_ms: float) -> Reply:
    """The answer of our own modules. Raises: HookFailed."""
    try:
        said: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise HookFailed("hook-result", "Its answer is no JSON") from error
    problem = said.get("error")
    if problem is not None:
        raise _explain(job, problem)
    return read_reply(event, said, printed=printed, time_ms=time_ms)


def _explain(job: HookJob, problem: Mapping[str, Any]) -> HookFailed:
    message = str(problem.get("message", ""))[:1000]
    if problem.get("kind") == "denied":
        hint = f"To allow it: permissions in [hooks.entries.{job.name}] of your config"
        return HookFailed("hook-denied", message.partition(", run again")[0], hint=hint)
    name = str(problem.get("name", "")) if problem.get("kind") == "thrown" else ""
    return HookFailed("hook-failed", f"{name}: {message}" if name and name != "Error" else message)


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2][:300]
