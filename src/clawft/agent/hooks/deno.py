"""Run TypeScript hooks with Deno in the sandbox, and read their answers."""

import os
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from clawft.agent.hooks.events import HookEvent, HookFailed, HookReply, read_json, read_reply, write_json
from clawft.agent.hooks.handlers import HookAudit, HookGrants, HookLaunch, allow_flags, find_flag_path
from clawft.errors import ClawftError
from clawft.files import is_within
from clawft.sandbox.confinement import Confinement, ResourceLimits
from clawft.sandbox.process import Finished, Launch, Streams
from clawft.sandbox.proxy import Record
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.run_copies import open_skill_copy

_MAX_PRINTED = 4_000
_MAX_MESSAGE = 1_000
_MAX_STACK = 20_000
_AT = re.compile(r"\s+at file://(?P<path>\S+):(?P<line>\d+):\d+$")
_FRAME = re.compile(r"file://(?P<path>[^\s()]+):(?P<line>\d{1,7}):\d+")
_ACCESS = re.compile(r'Requires (?P<kind>\S+) access to "(?P<what>[^"]*)"')
_NEEDS = re.compile(r"Requires \S+ access[^\n]*")
# How V8 and Deno themselves end when nothing is left, and what a hook gets that asks for more.
_ENDED = (b"Fatal JavaScript out of memory", b"Fatal process out of memory", b"memory allocation of ")
_WAITS = b"Top-level await promise never resolved"
_REFUSED = ("Array buffer allocation failed", "Unable to grow instance memory", "could not allocate memory")
_HINTS = (
    ("not in import map", "A hook imports its own files and node: modules: put what else it needs into its folder"),
    ("Command failed", "A hook cannot start programs"),
    ("Read-only file system", "Only a file or a folder that is there already can be written: make it first"),
    ("(os error 2): writefile", "Where it writes must be there already: make the folder first"),
)


def read_finished(job: HookLaunch, event: HookEvent, finished: Finished, mark: bytes) -> HookReply:
    """Read the reply of a finished process to one call. Raises: HookFailed."""
    before, found, rest = finished.output.rpartition(b"\n" + mark)
    answer, ended, after = rest.partition(b"\n")
    rest = (before + after if found else finished.output) + finished.errors
    printed = rest.decode("utf-8", "replace").strip()[-_MAX_PRINTED:]
    if finished.timed_out:
        hint = f"If it needs longer, raise timeout_s in [hooks.entries.{job.name}] of your config"
        raise HookFailed("hook-timeout", f"It took longer than {job.timeout_s:g} seconds and was ended", hint=hint)
    if finished.flooded or finished.truncated:
        hint = "If it needs more, raise hooks.max_output_bytes in your config"
        raise HookFailed("hook-flooded", f"It wrote more than {job.max_bytes} bytes and was ended", hint=hint)
    if finished.exceeded == "processes":
        raise HookFailed("hook-ended", "It started too many processes and was ended")
    if finished.exceeded or any(phrase in finished.errors for phrase in _ENDED):
        raise _need_memory(job)
    if not (found and ended) and _WAITS in finished.errors:
        raise HookFailed("hook-failed", "It waits for something that never comes", path=_find_place(job, job.handler))
    if not (found and ended):
        how = f"signal {-finished.code}" if finished.code < 0 else f"exit code {finished.code}"
        raise HookFailed("hook-ended", f"It ended without an answer ({how})", hint=printed.rpartition("\n")[2][:300])
    return _read(job, event, answer, printed, finished.seconds * 1000)


def _read(job: HookLaunch, event: HookEvent, answer: bytes, printed: str, time_ms: float) -> HookReply:
    try:
        reply: dict[str, Any] = read_json(answer)
    except (ValueError, RecursionError) as error:
        raise HookFailed("hook-result", "Its answer cannot be read: it is too deep, or no JSON") from error
    problem = reply.get("error")
    if problem is not None:
        raise _explain(job, problem)
    return read_reply(event, reply, printed=printed, time_ms=time_ms)


def _explain(job: HookLaunch, problem: Mapping[str, Any]) -> HookFailed:
    """Our own modules wrote it, of what the hook threw."""
    message, kind, name = str(problem["message"])[:_MAX_MESSAGE], problem["kind"], str(problem["name"])[:100]
    path, line = _find_frame(job, str(problem.get("stack", ""))[:_MAX_STACK])
    needs = _NEEDS.search(message)
    if kind == "denied" or (needs and kind == "thrown"):  # what may not be imported is no error of its own for Deno
        denied = (needs[0] if needs else message).partition(", run again")[0]
        return HookFailed("hook-denied", denied, path=path, line=line, hint=_hint_denied(job, denied))
    if any(phrase in message for phrase in _REFUSED):
        return _need_memory(job)
    if kind == "export":
        hint = "Write `export default`, or name what it exports in metadata.openclaw.export of its HOOK.md"
        return HookFailed("hook-failed", message, path=_find_place(job, job.handler), hint=hint)
    if kind == "result":
        return HookFailed("hook-result", f"It answered something that is no event: {message}")
    hint = next((hint for sign, hint in _HINTS if sign in message), "")
    text = f"{name}: {message}" if name not in ("", "Error") else message
    at = _AT.search(message)
    if at:  # Deno says where it is in a last line, and quotes the line
        path, line = _find_place(job, unquote(at["path"])), int(at["line"])
        text = message[: at.start()].partition("\n")[0].partition(' from "file:')[0]
    return HookFailed("hook-failed", text, path=path, line=line, hint=hint)


def _hint_denied(job: HookLaunch, denied: str) -> str:
    """Return a hint with the config setting that allows what Deno denied."""
    asked = _ACCESS.match(denied)
    kind, what = (asked["kind"], asked["what"]) if asked else ("", "")
    entry = f"[hooks.entries.{job.name}] of your config"
    if what == "homedir":
        return f"To allow it: give it the variable HOME in {entry}"
    if kind in ("read", "write", "net"):
        return f'To allow it: permissions = {{ {kind} = ["{what}"] }} in {entry}, beside all else that it needs'
    return "No hook can be allowed this"


def _find_frame(job: HookLaunch, stack: str) -> tuple[str, int]:
    """Find the first line of the hook's own files in an error's stack, as path and line; ('', 0) if there is none. The
    hook may have written the stack itself, so only the name of an existing file and a number are used."""
    for frame in _FRAME.finditer(stack):
        path = _find_place(job, unquote(frame["path"]))
        if path.startswith(f"{job.root}/") and os.path.isfile(path):
            return path, int(frame["line"])
    return "", 0


def _find_place(job: HookLaunch, path: str) -> str:
    """Return the real path of a hook's file: where nothing can be mounted, the hook runs on a copy elsewhere."""
    place = path.removesuffix(job.handler)
    return os.path.join(job.root, job.handler) if place != path else path


def _need_memory(job: HookLaunch) -> HookFailed:
    hint = "Raise hooks.memory_mb in your config if it needs more"
    return HookFailed("hook-memory", f"It needed more than {job.memory_mb} MB of memory", hint=hint)


_JS = os.path.join(os.path.dirname(__file__), "js")
_MB = 1024 * 1024


def find_deno() -> str:
    """Return the path of Deno. Raises: ClawftError if the extra is not installed."""
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


class DenoRunner:
    """Calls hooks, each in a process of its own. `notes` is where it is written down what they get."""

    def __init__(self, sandbox: Sandbox, notes: HookAudit | None = None) -> None:
        self._sandbox = sandbox
        self._notes = notes
        self._binary = ""

    async def call(self, job: HookLaunch, event: HookEvent) -> HookReply:
        """Run the handler on an event. Raises: HookFailed; Refused if it cannot be confined or has changed."""
        return await self._run(job, event, event.to_call())

    async def load(self, job: HookLaunch) -> None:
        """Load the handler, and do not call it. Raises: as `call`."""
        await self._run(job, HookEvent("session", "start"), {"event": None})

    async def _run(self, job: HookLaunch, event: HookEvent, asked: Mapping[str, Any]) -> HookReply:
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
    async def open(self, job: HookLaunch, main: str) -> AsyncIterator[tuple[Launch, str]]:
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
    async def _prepare(self, job: HookLaunch, main: str) -> AsyncIterator[_Program]:
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

    def _program(self, job: HookLaunch, main: str, place: str, mounts: tuple[tuple[str, str], ...]) -> _Program:
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
            readable=(project, *own),
            whole={"program": (self._binary, _JS), "named": grants.read},
            hidden=("/etc/passwd", "/etc/group"),
            mounts=mounts,
            hosts=grants.net,
            limits=_limit(self._sandbox.limits, job.memory_mb),
            least=True,
            host_hint=f"Add {{host}} to permissions.net in [hooks.entries.{job.name}] of the config",
        )
        handler = f"file://{quote(os.path.join(place, job.handler))}"
        record: Record = self._notes.recorder(job) if self._notes else lambda *_: None
        return _Program(words, project, {**self._own_env(job), **grants.env}, confinement, handler, record)

    def _check_bare(self, grants: HookGrants) -> None:
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
        """Return the project as a path that Deno's flags can express. In a sandbox a folder above it is good enough,
        because the sandbox enforces the exact one: an unusual folder name must not break the user's own hooks."""
        return project if self._sandbox.settings.mode == "off" else find_flag_path(project)

    def _own_env(self, job: HookLaunch) -> dict[str, str]:
        """Return the environment of Deno itself. Deno's cache and what hooks store go to the home folder, which is
        private in the sandbox, so nothing is left there for the next process to find."""
        env = {"DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1", "HOME": "/tmp"}
        if self._sandbox.settings.mode == "off":
            own = sha256(os.fsencode(job.root)).hexdigest()[:16]
            return {**env, "DENO_DIR": os.path.join(self._sandbox.workspace.user_dir, "cache", "deno", own)}
        return {**env, "DENO_DIR": "/tmp/deno"} if "HOME" in job.grants.env else env


def _limit(limits: ResourceLimits, memory_mb: int) -> ResourceLimits:
    """V8 holds its heap to the limit itself. Beside that it needs some room, and asks for much that it never uses."""
    return msgspec.structs.replace(
        limits, memory_bytes=(memory_mb + 256) * _MB, data_bytes=(2 * memory_mb + 1280) * _MB, processes=128
    )
