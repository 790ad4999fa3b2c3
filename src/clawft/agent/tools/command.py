"""What commands of a conversation may reach in the sandbox, and what is said where it is not there or in the way."""

import re
import shlex
from collections.abc import Callable

from msgspec import structs

from clawft.sandbox.confinement import Confinement
from clawft.sandbox.proxy import Record
from clawft.sandbox.sandbox import Ask
from clawft.tools.tool import ToolContext, ToolResult
from clawft.trust.granted import granted_hosts

__all__ = [
    "ask_unconfined",
    "begin_after",
    "confine",
    "explain_sandbox",
    "hosts_for",
    "is_confined",
    "record_hosts",
]

_IN_THE_WAY = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|Network is unreachable|Could not resolve host"
    r"|Temporary failure in name resolution|Name or service not known|Device or resource busy|ENOTFOUND|EAI_AGAIN"
    r"|unsupported file type"  # git, of a secret that is part of the repository
)
_PORTS = re.compile(r":(?:80|443)$")  # those that a grant need not name
_MAX_HOSTS = 5
_EXPLAINED = (
    "[it ran in a sandbox: only allowed hosts can be reached, files such as .env cannot be read, and only the project"
    " can be changed, but not its .git and agent folders. If it cannot work so, `outside_sandbox` asks the person]"
)


def confine(context: ToolContext) -> Confinement:
    """What every command of the conversation gets: the project, to read the skills that are loaded, granted hosts."""
    readable = (context.spill_dir, *context.read_roots)
    return Confinement(writable=(context.workspace.project,), readable=readable, hosts=hosts_for(context))


def is_confined(context: ToolContext) -> bool:
    """Return whether commands run in a sandbox here; finding out takes a moment the first time."""
    return context.sandbox.status().kind in ("bubblewrap", "landlock")


def hosts_for(context: ToolContext) -> tuple[str, ...]:
    """The hosts that programs of the conversation may reach now."""
    approved = [one.hosts for one in context.active if one.stranger]
    return granted_hosts(context.rules, approved)


def record_hosts(context: ToolContext) -> Record:
    """Writes down which hosts a program reaches, and keeps those it was refused, to be told."""

    def record(kind: str, subject: str, decision: str, rule: str) -> None:
        if decision == "deny":
            context.refused_hosts.append((subject, rule))
        context.record(kind, subject, decision, rule)

    return record


def ask_unconfined(context: ToolContext, shown: str) -> Ask:
    """Asks a person, each time, whether a command may run without a sandbox where there is none."""

    async def ask(reason: str) -> bool:
        return await context.ask(f"Run WITHOUT a sandbox: {shown}", f"there is none here: {reason}", grave=True)

    return ask


def begin_after(ask: Ask, begin: Callable[[], None]) -> Ask:
    """Ask, and begin with a yes."""

    async def ask_and_begin(reason: str) -> bool:
        if not await ask(reason):
            return False
        begin()
        return True

    return ask_and_begin


def explain_sandbox(result: ToolResult, context: ToolContext, words: str = _EXPLAINED) -> ToolResult:
    """The result with a word on the sandbox where that was likely in the way, and on hosts that were refused.

    `hindered` is the same for people, who are not shown the text.
    """
    if context.refused_hosts:  # most programs do not show why their tunnel failed
        shown = context.refused_hosts[:_MAX_HOSTS]
        hosts = ", ".join(f"{subject} ({rule})" for subject, rule in shown)
        hint = _hint_hosts([subject for subject, rule in shown if rule == "not-granted"])
        data = {**result.data, "hindered": f"refused: {', '.join(subject for subject, _ in shown)}{hint}"}
        return structs.replace(result, text=f"{result.text}\n[refused: {hosts}{hint}]", data=data)
    if not is_confined(context) or not result.data.get("exit_code") or not _IN_THE_WAY.search(result.text):
        return result
    data = {**result.data, "hindered": "it ran in the sandbox, which may be why"}
    return structs.replace(result, text=f"{result.text}\n{words}", data=data)


def _hint_hosts(subjects: list[str]) -> str:
    """The command that would let programs reach these hosts."""
    rules = dict.fromkeys(shlex.quote(f"WebFetch(domain:{_PORTS.sub('', one)})") for one in subjects)
    return f". To allow it: weft permissions allow {' '.join(rules)}" if rules else ""
