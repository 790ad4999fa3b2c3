"""The stages that the product itself inserts: MCP servers join before the prompt is made, memory before and after."""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from anyio import to_thread

from clawft.contracts import MemoryBackend
from clawft.errors import ClawftError, Diagnostic
from clawft.hooks.registry import Hooks
from clawft.mcp import McpHub
from clawft.memory import MemoryFiles
from clawft.messages import Noticed
from clawft.run.turn import Insertion, Phase, Turn
from clawft.tools.mcp import server_tools
from clawft.trust.unfollowed import find_unfollowed

__all__ = [
    "TELL_SANDBOX",
    "TELL_UNTRUSTED",
    "CheckSkills",
    "Renew",
    "hook_insertions",
    "memory_insertions",
    "served_insertion",
    "server_insertion",
]

Renew = Callable[[], Awaitable[Sequence[Diagnostic]]]
CheckSkills = Callable[[], Awaitable[tuple[Sequence[Diagnostic], bool]]]  # what there is to say; is anything revoked

MAX_MEMORY = 6_000  # characters of MEMORY.md that every prompt holds; memory_read finds the rest
MAX_RECALLED = 60  # facts of a plugin's memory that every prompt holds, at most
MAX_HISTORY = 300
MAX_NAMED = 8  # skills that are kept back, in one sentence
_REMEMBERED = "# Memory\nWhat you noted in earlier sessions:\n\n"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


async def _tell_untrusted(turn: Turn) -> None:
    """Which skills are kept back since nobody approved them, at the first turn of a conversation."""
    names = sorted({one.name for one in turn.skills.standings if one.state == "untrusted"}) if turn.id == 1 else []
    if names:
        shown = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
        message = f"Not approved, so not offered: {shown}"
        hint = "Look at them: weft skills trust --all; or /trust in the terminal"
        turn.emit(Noticed(code="skills-untrusted", message=message, severity="warning", hint=hint))


TELL_UNTRUSTED = Insertion(Phase.PRE_ROUTE, "untrusted", _tell_untrusted)


async def _tell_sandbox(turn: Turn) -> None:
    """At the first turn: what of the project's config gives no power, and that commands run with all rights."""
    settings, runtime = turn.runtime.sandbox.settings, turn.runtime
    for one in find_unfollowed(runtime.config, runtime.workspace.user_dir) if turn.id == 1 else ():
        turn.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))
    if turn.id == 1 and settings.mode == "off":
        message = "Commands run WITHOUT a sandbox, with all your rights: sandbox.mode is 'off'"
        turn.emit(Noticed(code="sandbox-off", message=message, severity="warning", hint="See: weft help security"))


TELL_SANDBOX = Insertion(Phase.PRE_ROUTE, "sandbox", _tell_sandbox)


def hook_insertions(hooks: Hooks) -> tuple[Insertion, ...]:
    """Tell what keeps hooks from being run when it is first seen; of a skill's, once that is loaded."""
    told: set[Diagnostic] = set()

    async def tell(turn: Turn) -> None:
        waiting = {one.found.file for one in turn.skills.standings if one.name not in turn.skills.loaded}
        new = [one for one in hooks.check() if one not in told and one.path not in waiting]
        for one in new:
            where = turn.runtime.workspace.shorten(one.path)
            message = f"Hooks in {where}: {one.message}" if one.path else one.message
            code = "hooks-untrusted" if one.code == "untrusted" else one.code
            turn.notice(Noticed(code=code, message=message, severity="warning", hint=one.hint))
        told.update(new)

    return Insertion(Phase.PRE_ROUTE, "hooks", tell), Insertion(Phase.POST_SCORE, "hooks", tell)


def served_insertion(renew: Renew, check: CheckSkills) -> Insertion:
    """Before a person's skill of an MCP server is loaded: ask the servers whether it is still what was approved."""

    async def look(turn: Turn) -> None:
        asked = {one.rpartition(":")[2] for one in (turn.request.skill, *turn.request.more_skills)}
        if any(one.name in asked and one.found.location.scope == "mcp" for one in turn.skills.standings):
            _tell(turn, await renew())
            await _check_skills(turn, check)

    return Insertion(Phase.PRE_ROUTE, "mcp-skills", look)


async def _check_skills(turn: Turn, check: CheckSkills) -> None:
    try:
        said, is_changed = await check()
    except ClawftError as error:  # approvals that cannot be read approve nothing, and that is said where they count
        said, is_changed = [error.diagnostic], True
    _tell(turn, said)
    if is_changed:
        turn.skills.reload()


def _tell(turn: Turn, said: Sequence[Diagnostic]) -> None:
    for one in said:
        severity: Literal["warning", "note"] = "note" if one.severity == "note" else "warning"
        turn.notice(Noticed(code=one.code, message=one.message, severity=severity, hint=one.hint))


def server_insertion(hub: McpHub, renew: Renew | None = None, check: CheckSkills | None = None) -> Insertion:
    """Start servers that are not running, and take the tools they have now; `renew` has plugins join and leave, `check`
    compares the skills that servers offer with what was approved."""
    had_any = False

    async def join(turn: Turn) -> None:
        nonlocal had_any
        news = await renew() if renew else ()
        remote, diagnostics = await hub.tools()
        if remote or had_any:
            turn.runtime.server_tools = server_tools(hub, remote)
        had_any = bool(remote)
        for one in (*news, *diagnostics):
            turn.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))
        if check:
            await _check_skills(turn, check)

    return Insertion(Phase.PRE_ASSEMBLE, "mcp", join)


def memory_insertions(memory: MemoryBackend) -> tuple[Insertion, ...]:
    """Lasting facts are part of the prompt; each turn leaves a line in the history of the files."""
    if isinstance(memory, MemoryFiles):
        return _file_insertions(memory)

    async def recall(turn: Turn) -> None:
        try:
            text = await to_thread.run_sync(partial(_recall, memory))
        except ClawftError as error:  # the model must not take a memory that is away for an empty one
            message = f"The memory '{memory.name}' cannot be read: {error}"
            turn.emit(Noticed(code=error.code, message=message, severity="warning", hint=error.hint))
            text = f"The memory cannot be read right now: {error.diagnostic.message}"
        if text:
            turn.extra_sections.append(f"{_REMEMBERED}{text}")

    return (Insertion(Phase.PRE_ASSEMBLE, "memory", recall),)


def _recall(memory: MemoryBackend) -> str:
    """The first facts of a memory, as many as fit, in the order that it lists them. Raises: ClawftError."""
    keys = memory.list_keys()
    told: list[str] = []
    for key in keys[:MAX_RECALLED]:
        value = memory.retrieve(key)
        if value is not None:
            told.append(f"## {key}\n{value.strip()}")
        if sum(map(len, told)) > MAX_MEMORY:
            break
    text = "\n\n".join(told)
    if len(text) > MAX_MEMORY or len(keys) > len(told):
        text = f"{text[:MAX_MEMORY]}\n… (memory_read finds the rest)"
    return text


def _file_insertions(memory: MemoryFiles) -> tuple[Insertion, ...]:
    async def recall(turn: Turn) -> None:
        for one in memory.check_index():
            turn.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))
        text = _COMMENT.sub("", memory.read_memory()).strip().removeprefix("# Memory").strip()
        if text:
            cut = text if len(text) <= MAX_MEMORY else text[:MAX_MEMORY] + "\n… (memory_read finds the rest)"
            turn.extra_sections.append(f"{_REMEMBERED}{cut}")

    async def note(turn: Turn) -> None:
        if turn.conversation.depth:  # the history is of what people asked for
            return
        said = " ".join(turn.request.text.split())[:MAX_HISTORY]
        memory.append_history(turn.runtime.secrets.mask(said), turn.session.key, datetime.now())

    return (
        Insertion(Phase.PRE_ASSEMBLE, "memory", recall),
        Insertion(Phase.POST_SCORE, "history", note),
    )
