"""A command of a conversation: the paths on its line, its sandbox confinement, and its result for the model."""

import os
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from msgspec import structs

from clawft.agent.tools.file_access import reading_filter, resolve_inside
from clawft.agent.tools.tool import ToolContext, ToolError, ToolResult
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import FLOOD_BYTES, Finished
from clawft.sandbox.room import SandboxRoom
from clawft.sandbox.sandbox import Ask
from clawft.skills.parse.model import escape_invisible

MAX_MATCHES = 2_000
MAX_BELOW = 50_000


class CommandPlaces:
    """The paths of a command that is to run in `cwd`."""

    def __init__(self, cwd: str, context: ToolContext) -> None:
        self._cwd = cwd
        self._context = context

    def is_inside(self, path: str) -> bool:
        """Return whether a path is one that file tools may read."""
        return self._find(path) is not None

    def is_open(self, path: str) -> bool:
        """Return whether file tools may read all below a path; too much to be looked at counts as no."""
        real = self._find(path)
        if real is None:
            return False
        may_read = reading_filter(self._context, real)
        left = MAX_BELOW
        for where, folders, files in os.walk(real):
            left -= len(folders) + len(files)
            if left < 0 or not all(may_read(os.path.join(where, name)) for name in (*folders, *files)):
                return False
        return True

    def expand(self, pattern: str) -> Sequence[str] | None:
        """Expand a glob to everything the shell may put in its place, and perhaps more; None if it is too much."""
        start, rest = self._split(pattern)
        found = [start]
        for part in rest.split("/"):
            found = [f"{folder}/{name}" for folder in found for name in _match(folder, part)]
            if len(found) > MAX_MATCHES:
                return None
        return found

    def _split(self, path: str) -> tuple[str, str]:
        """The folder that a path starts at, and the rest of it as it is written."""
        if path == "~" or path.startswith("~/"):
            return self._context.workspace.home, path[2:]
        return ("", path[1:]) if path.startswith("/") else (self._cwd, path)

    def _find(self, path: str) -> str | None:
        try:
            return resolve_inside(self._context, "/".join(self._split(path)))
        except ToolError:
            return None


def _match(folder: str, part: str) -> Iterator[str]:
    """Names in a folder that a part of a pattern may match: those with its start, and with its end if that is sure."""
    signs = [index for index, char in enumerate(part) if char in "*?["]
    if not signs:
        yield part
        return
    start, end = part[: signs[0]], "" if "[" in part else part[signs[-1] + 1 :]
    try:
        names = os.listdir(folder or "/")
    except OSError:
        return
    for name in names:
        if name.startswith(start) and name.endswith(end) and (name[0] != "." or start):
            yield name


_IN_THE_WAY = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|Network is unreachable|Could not resolve host"
    r"|Temporary failure in name resolution|Name or service not known|Device or resource busy|ENOTFOUND|EAI_AGAIN"
    r"|unsupported file type"  # git, of a secret that is part of the repository
)
_PORTS = re.compile(r":(?:80|443)$")  # those that a grant need not name
_MAX_HOSTS = 5
_NO_NAME = re.compile(
    r"Could not resolve host|Temporary failure in name resolution|Name or service not known|ENOTFOUND|EAI_AGAIN"
    r"|Network is unreachable"
)
_NO_PROXY = (
    "[it looked for a host by itself; in the sandbox only what obeys HTTPS_PROXY reaches hosts, so have it use that]"
)
_MAX_HELD_BACK = 20
_HELD_BACK = "[not taken over from the sandbox, since it steers other programs or could not be checked:]"
_EXPLAINED = (
    "[it ran in a sandbox: only allowed hosts can be reached, files such as .env cannot be read, and only the project"
    " can be changed, but not its agent folders. If it cannot work so, `outside_sandbox` asks the person]"
)


def confine(context: ToolContext, *, looking: bool = False) -> Confinement:
    """Return the sandbox limits of every command of the conversation: it writes in the project, reads loaded skills and
    reaches granted hosts. One that is only `looking` writes in /tmp alone and reaches no host."""
    project = context.workspace.project
    readable = (context.files.spill_dir, *context.read_roots)
    tmp, denied = context.commands.tmp if context.commands else "", context.permission.denied
    if looking:
        return Confinement(readable=(project, *readable), only=True, denied=denied, tmp=tmp)
    hosts = context.hosts.find_hosts()
    return Confinement(writable=(project,), readable=readable, hosts=hosts, denied=denied, proxy=True, tmp=tmp)


def get_room(context: ToolContext) -> SandboxRoom | None:
    """Return the namespaces that the commands of the session share."""
    return context.commands.room if context.commands else None


def is_confined(context: ToolContext) -> bool:
    """Return whether commands run in a sandbox here; finding out takes a moment the first time."""
    return context.sandbox.status().kind in ("bubblewrap", "landlock")


class HostRecord:
    """Logs the hosts that a program reaches, and keeps those that it was refused, each with why, for the report."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self.refused: list[tuple[str, str]] = []

    def __call__(self, kind: str, subject: str, decision: str, rule: str) -> None:
        if decision == "deny":
            self.refused.append((subject, rule))
        self._context.record(kind, subject, decision, rule)


def ask_unconfined(context: ToolContext, shown: str) -> Ask:
    """Asks a person, each time, whether a command may run without a sandbox where there is none."""

    async def ask(reason: str) -> bool:
        return await context.ask(f"Run WITHOUT a sandbox: {shown}", f"there is none here: {reason}", dangerous=True)

    return ask


def begin_after(ask: Ask, begin: Callable[[], Awaitable[None]]) -> Ask:
    """Ask, and begin with a yes."""

    async def ask_and_begin(reason: str) -> bool:
        if not await ask(reason):
            return False
        await begin()
        return True

    return ask_and_begin


def explain_sandbox_result(
    result: ToolResult, context: ToolContext, refused: Sequence[tuple[str, str]], words: str = _EXPLAINED
) -> ToolResult:
    """Add to a result a word on the sandbox where that was likely in the way, and on hosts that were refused.

    `hindered` is the same for people, who are not shown the text.
    """
    if refused:  # most programs do not show why their tunnel failed
        shown = refused[:_MAX_HOSTS]
        hosts = ", ".join(f"{subject} ({rule})" for subject, rule in shown)
        hint = _hint_hosts([subject for subject, rule in shown if rule == "not-granted"])
        data = {**result.data, "hindered": f"refused: {', '.join(subject for subject, _ in shown)}{hint}"}
        return structs.replace(result, text=f"{result.text}\n[refused: {hosts}{hint}]", data=data)
    if not is_confined(context) or not result.data.get("exit_code") or not _IN_THE_WAY.search(result.text):
        return result
    data = {**result.data, "hindered": "it ran in the sandbox, which may be why"}
    more = f"\n{_NO_PROXY}" if _NO_NAME.search(result.text) else ""
    return structs.replace(result, text=f"{result.text}\n{words}{more}", data=data)


def explain_held_back(result: ToolResult, held_back: Sequence[str]) -> ToolResult:
    """Add to a result what the command changed in the sandbox and was not taken over; `held_back` is the same for
    programs."""
    lines = [f"- {escape_invisible(line)}" for line in held_back[:_MAX_HELD_BACK]]
    if more := len(held_back) - len(lines):
        lines.append(f"- and {more} more")
    text = "\n".join((f"{result.text}\n{_HELD_BACK}", *lines))
    return structs.replace(result, text=text, data={**result.data, "held_back": list(held_back)})


def _hint_hosts(subjects: list[str]) -> str:
    """The command that would let programs reach these hosts."""
    rules = dict.fromkeys(shlex.quote(f"WebFetch(domain:{_PORTS.sub('', subject)})") for subject in subjects)
    return f". To allow it: weft permissions allow {' '.join(rules)}" if rules else ""


_EXCEEDED = {
    "processes": "it started more processes than sandbox.max_processes allows",
    "memory": "it took more memory than sandbox.memory_mb allows",
}


def decode_output(finished: Finished, why_cut: str) -> str:
    """The output of a program as text, which says where it was cut, and why or what became of the rest."""
    head, tail = finished.output[: finished.head_bytes], finished.output[finished.head_bytes :]
    if not finished.truncated:
        return finished.output.decode("utf-8", "replace")
    gap = f"\n[cut: {finished.cut_bytes} bytes are left out here; {why_cut}]\n"
    return head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")


def make_command_result(finished: Finished, cwd: str) -> ToolResult:
    """A result: `partial` unless the program ended well and all of its output is there."""
    saved = f"the whole is in {finished.saved_to}, to be read with read_file" if finished.saved_to else "it is lost"
    text, note = decode_output(finished, saved), _note(finished)
    shown = "\n".join(filter(None, (text.rstrip("\n"), f"[{note}]" if note else ""))) or "[no output]"
    data: dict[str, Any] = {
        "exit_code": finished.code,
        "seconds": round(finished.seconds, 3),
        "timed_out": finished.timed_out,
        "truncated": finished.truncated,
    }
    if finished.saved_to:
        data["saved_to"] = finished.saved_to
    whole = finished.code == 0 and not finished.truncated and not finished.timed_out
    return ToolResult(shown, "success" if whole else "partial", data, path_resolved=cwd)


def _note(finished: Finished) -> str:
    took = f"after {finished.seconds:.1f} s"
    if finished.timed_out:
        return f"stopped {took}: its time was up"
    if finished.flooded:
        return f"stopped {took}: it wrote more than {FLOOD_BYTES} bytes"
    if finished.exceeded:
        return f"stopped {took}: {_EXCEEDED[finished.exceeded]}"
    if finished.code < 0:
        return f"ended by signal {-finished.code} {took}"
    if finished.code:
        return f"exit code {finished.code} {took}"
    return took if finished.seconds >= 1 else ""
