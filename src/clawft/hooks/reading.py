"""The answer of a hook in what its process wrote, or why there is none: the same for both ways of running it."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from clawft.hooks.events import HookEvent, HookFailed, Reply, read_reply
from clawft.hooks.grants import HookJob
from clawft.sandbox.process import Finished

__all__ = ["read_finished"]

_MAX_PRINTED = 4_000
_MAX_MESSAGE = 1_000
_AT = re.compile(r"\s+at file://(?P<path>\S+):(?P<line>\d+):\d+$")
_NEEDS = re.compile(r"Requires \S+ access[^\n]*")
# How V8 and Deno themselves end when nothing is left, and what a hook gets that asks for more.
_ENDED = (b"Fatal JavaScript out of memory", b"Fatal process out of memory", b"memory allocation of ")
_WAITS = b"Top-level await promise never resolved"
_REFUSED = ("Array buffer allocation failed", "Unable to grow instance memory", "could not allocate memory")


def read_finished(job: HookJob, event: HookEvent, finished: Finished, mark: bytes) -> Reply:
    """What a process answered to one call. Raises: HookFailed."""
    before, found, rest = finished.output.rpartition(b"\n" + mark)
    answer, ended, after = rest.partition(b"\n")
    told = _decode((before + after if found else finished.output) + finished.errors)
    if finished.timed_out:
        raise HookFailed("hook-timeout", f"It took longer than {job.timeout_s:g} seconds and was ended")
    if finished.flooded or finished.truncated:
        raise HookFailed("hook-flooded", f"It wrote more than {job.max_bytes} bytes and was ended")
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
        said: dict[str, Any] = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise HookFailed("hook-result", "Its answer cannot be read: it is too deep, or no JSON") from error
    problem = said.get("error")
    if problem is not None:
        raise _explain(job, problem)
    return read_reply(event, said, printed=printed, time_ms=time_ms)


def _explain(job: HookJob, problem: Mapping[str, Any]) -> HookFailed:
    """Our own modules wrote it, of what the hook threw."""
    message, kind, name = str(problem["message"])[:_MAX_MESSAGE], problem["kind"], str(problem["name"])[:100]
    needs = _NEEDS.search(message)
    if kind == "denied" or (needs and kind == "thrown"):  # what may not be imported is no error of its own for Deno
        denied = needs[0] if needs else message
        what = "give it the variable HOME" if '"homedir"' in denied else "permissions"
        hint = f"To allow it: {what} in [hooks.entries.{job.name}] of your config"
        return HookFailed("hook-denied", denied.partition(", run again")[0], hint=hint)
    if any(one in message for one in _REFUSED):
        return _need_memory(job)
    at = _AT.search(message)
    if at:  # Deno says where it is in a last line, and quotes the line
        path, line = _find_place(job, unquote(at["path"])), int(at["line"])
        return HookFailed("hook-failed", message[: at.start()].partition("\n")[0], path=path, line=line)
    if kind == "result":
        return HookFailed("hook-result", f"It answered something that is no event: {message}")
    return HookFailed("hook-failed", f"{name}: {message}" if name not in ("", "Error") else message)


def _find_place(job: HookJob, path: str) -> str:
    """Where a file of the hook really is: where nothing can be mounted it runs on a copy elsewhere."""
    place = path.removesuffix(job.handler)
    return os.path.join(job.root, job.handler) if place != path else path


def _need_memory(job: HookJob) -> HookFailed:
    hint = "Raise hooks.memory_mb in your config if it needs more"
    return HookFailed("hook-memory", f"It needed more than {job.memory_mb} MB of memory", hint=hint)
