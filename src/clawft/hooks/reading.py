"""The answer of a hook in what its process wrote, or why there is none: the same for both ways of running it."""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from clawft.hooks.events import HookEvent, HookFailed, Reply, read_reply
from clawft.hooks.grants import HookJob
from clawft.hooks.text import read_json
from clawft.sandbox.process import Finished

__all__ = ["read_finished"]

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


def read_finished(job: HookJob, event: HookEvent, finished: Finished, mark: bytes) -> Reply:
    """What a process answered to one call. Raises: HookFailed."""
    before, found, rest = finished.output.rpartition(b"\n" + mark)
    answer, ended, after = rest.partition(b"\n")
    told = _decode((before + after if found else finished.output) + finished.errors)
    if finished.timed_out:
        hint = f"If it needs longer, raise timeout_s in [hooks.entries.{job.name}] of your config"
        raise HookFailed("hook-timeout", f"It took longer than {job.timeout_s:g} seconds and was ended", hint=hint)
    if finished.flooded or finished.truncated:
        hint = "If it needs more, raise hooks.max_output_bytes in your config"
        raise HookFailed("hook-flooded", f"It wrote more than {job.max_bytes} bytes and was ended", hint=hint)
    if finished.exceeded == "processes":
        raise HookFailed("hook-ended", "It started too many processes and was ended")
    if finished.exceeded or any(one in finished.errors for one in _ENDED):
        raise _need_memory(job)
    if not (found and ended) and _WAITS in finished.errors:
        raise HookFailed("hook-failed", "It waits for something that never comes", path=_find_place(job, job.handler))
    if not (found and ended):
        how = f"signal {-finished.code}" if finished.code < 0 else f"exit code {finished.code}"
        raise HookFailed("hook-ended", f"It ended without an answer ({how})", hint=told.rpartition("\n")[2][:300])
    return _read(job, event, answer, told, finished.seconds * 1000)


def _decode(printed: bytes) -> str:
    return printed.decode("utf-8", "replace").strip()[-_MAX_PRINTED:]


def _read(job: HookJob, event: HookEvent, answer: bytes, printed: str, time_ms: float) -> Reply:
    try:
        said: dict[str, Any] = read_json(answer)
    except (ValueError, RecursionError) as error:
        raise HookFailed("hook-result", "Its answer cannot be read: it is too deep, or no JSON") from error
    problem = said.get("error")
    if problem is not None:
        raise _explain(job, problem)
    return read_reply(event, said, printed=printed, time_ms=time_ms)


def _explain(job: HookJob, problem: Mapping[str, Any]) -> HookFailed:
    """Our own modules wrote it, of what the hook threw."""
    message, kind, name = str(problem["message"])[:_MAX_MESSAGE], problem["kind"], str(problem["name"])[:100]
    path, line = _find_frame(job, str(problem.get("stack", ""))[:_MAX_STACK])
    needs = _NEEDS.search(message)
    if kind == "denied" or (needs and kind == "thrown"):  # what may not be imported is no error of its own for Deno
        denied = (needs[0] if needs else message).partition(", run again")[0]
        return HookFailed("hook-denied", denied, path=path, line=line, hint=_hint_denied(job, denied))
    if any(one in message for one in _REFUSED):
        return _need_memory(job)
    if kind == "export":
        hint = "Write `export default`, or name what it exports in metadata.openclaw.export of its HOOK.md"
        return HookFailed("hook-failed", message, path=_find_place(job, job.handler), hint=hint)
    if kind == "result":
        return HookFailed("hook-result", f"It answered something that is no event: {message}")
    hint = next((hint for sign, hint in _HINTS if sign in message), "")
    said = f"{name}: {message}" if name not in ("", "Error") else message
    at = _AT.search(message)
    if at:  # Deno says where it is in a last line, and quotes the line
        path, line = _find_place(job, unquote(at["path"])), int(at["line"])
        said = message[: at.start()].partition("\n")[0].partition(' from "file:')[0]
    return HookFailed("hook-failed", said, path=path, line=line, hint=hint)


def _hint_denied(job: HookJob, denied: str) -> str:
    """What to write where, so that it is allowed: the words of the config for what Deno names."""
    asked = _ACCESS.match(denied)
    kind, what = (asked["kind"], asked["what"]) if asked else ("", "")
    entry = f"[hooks.entries.{job.name}] of your config"
    if what == "homedir":
        return f"To allow it: give it the variable HOME in {entry}"
    if kind in ("read", "write", "net"):
        return f'To allow it: permissions = {{ {kind} = ["{what}"] }} in {entry}, beside all else that it needs'
    return "No hook can be allowed this"


def _find_frame(job: HookJob, stack: str) -> tuple[str, int]:
    """The first line of the hook's own in what led to an error. The hook may have written that itself: what is told
    of it is the name of a file that is there, and a number."""
    for frame in _FRAME.finditer(stack):
        path = _find_place(job, unquote(frame["path"]))
        if path.startswith(f"{job.root}/") and os.path.isfile(path):
            return path, int(frame["line"])
    return "", 0


def _find_place(job: HookJob, path: str) -> str:
    """Where a file of the hook really is: where nothing can be mounted it runs on a copy elsewhere."""
    place = path.removesuffix(job.handler)
    return os.path.join(job.root, job.handler) if place != path else path


def _need_memory(job: HookJob) -> HookFailed:
    hint = "Raise hooks.memory_mb in your config if it needs more"
    return HookFailed("hook-memory", f"It needed more than {job.memory_mb} MB of memory", hint=hint)
