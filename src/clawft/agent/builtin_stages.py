"""The pipeline stages that the product inserts itself: MCP servers and their tools before the prompt, memory before
and after a turn, notices on trust and sandbox.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from anyio import to_thread

from clawft.agent.hooks.registry import Hooks
from clawft.agent.mcp import McpServerPool, RemoteError, RemoteTool
from clawft.agent.memory import MemoryFiles
from clawft.agent.runtime import Insertion, Turn
from clawft.agent.tools.tool import ErrorCode, Tool, ToolContext, ToolError, ToolResult, ToolStatus, shorten
from clawft.contracts import MemoryBackend, Phase
from clawft.errors import ClawftError, Diagnostic
from clawft.messages import Noticed
from clawft.trust.modes import find_unfollowed

_MAX_ASKED = 500  # characters of arguments that a question shows
_CODES: dict[str, ErrorCode] = {
    "mcp-timeout": "TIMEOUT",
    "mcp-arguments": "INVALID_PARAM",
    "mcp-unknown": "NOT_FOUND",
}


def server_tools(pool: McpServerPool, remote: Iterable[RemoteTool]) -> tuple[Tool, ...]:
    """One tool of ours for each that a server offers."""
    return tuple(_make_tool(pool, tool) for tool in remote)


def _make_tool(pool: McpServerPool, remote: RemoteTool) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        if not remote.trusted or context.permission.must_ask:
            await _ask(pool, remote, arguments, context)
        await context.act.begin()
        return await _call(pool, remote, arguments)

    # What a server says of itself counts only where the user trusts it.
    read_only = remote.trusted and remote.read_only_hint
    twice = remote.trusted and (remote.read_only_hint or remote.idempotent_hint)
    return Tool(
        remote.name,
        remote.description,
        run,
        remote.parameters,
        read_only=read_only,
        asks=True,
        repeatable=lambda _: twice,
    )


async def _ask(pool: McpServerPool, remote: RemoteTool, arguments: Mapping[str, Any], context: ToolContext) -> None:
    shown = json.dumps(arguments, ensure_ascii=False, default=repr)
    question = f"Let the MCP server '{remote.server}' run {remote.name}?"
    why = "The server is not trusted" if not remote.trusted else f"Asked by {context.permission.must_ask}"
    if not await context.ask(question, f"{why}. Arguments: {shorten(shown, _MAX_ASKED)}"):
        hint = f"Set trusted = true in [mcp.servers.{remote.server}] to run its tools without being asked"
        if pool.is_from_plugin(remote.server):
            hint = f"To run it without being asked: weft permissions allow {remote.name}"
        raise ToolError("PERMISSION_DENIED", f"{remote.name} was not allowed to run", hint=hint)


async def _call(pool: McpServerPool, remote: RemoteTool, arguments: Mapping[str, Any]) -> ToolResult:
    try:
        result = await pool.call(remote.name, arguments)
    except RemoteError as error:
        raise ToolError(_CODES.get(error.code, "EXECUTION_ERROR"), str(error), hint=error.hint) from error
    status: ToolStatus = "error" if result.is_error else "partial" if result.cut else "success"
    data = {} if result.structured is None else {"structured": result.structured}
    return ToolResult(result.text, status, data, result.images)


Renew = Callable[[], Awaitable[Sequence[Diagnostic]]]
CheckSkills = Callable[[], Awaitable[tuple[Sequence[Diagnostic], bool]]]  # what there is to say; is anything revoked

MAX_MEMORY = 6_000  # characters of MEMORY.md that every prompt holds; memory_read finds the rest
MAX_RECALLED = 60  # facts of a plugin's memory that every prompt holds, at most
MAX_HISTORY = 300
MAX_NAMED = 8  # skills that are kept back, in one sentence
_REMEMBERED = "# Memory\nWhat you noted in earlier sessions:\n\n"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


async def _tell_untrusted(turn: Turn) -> None:
    """Tell the user, at the first turn of a conversation, which skills are not offered because nobody approved them."""
    names = (
        sorted({status.name for status in turn.skills.statuses if status.state == "untrusted"}) if turn.id == 1 else []
    )
    if names:
        shown = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
        message = f"Not approved, so not offered: {shown}"
        hint = "Look at them: weft trust, or weft skills trust --all; or /trust in the terminal"
        turn.warn("skills-untrusted", message, hint)


TELL_UNTRUSTED = Insertion(Phase.PRE_ROUTE, "untrusted", _tell_untrusted)


async def _tell_sandbox(turn: Turn) -> None:
    """At the first turn: what of the project's config gives no power, and that commands run with all rights."""
    settings, runtime = turn.runtime.sandbox.settings, turn.runtime
    for diagnostic in find_unfollowed(runtime.config, runtime.workspace.user_dir) if turn.id == 1 else ():
        turn.warn(diagnostic.code, diagnostic.message, diagnostic.hint)
    if turn.id == 1 and settings.mode == "off":
        message = "Commands run WITHOUT a sandbox, with all your rights: sandbox.mode is 'off'"
        turn.warn("sandbox-off", message, "See: weft help security")


TELL_SANDBOX = Insertion(Phase.PRE_ROUTE, "sandbox", _tell_sandbox)


def hook_insertions(hooks: Hooks) -> tuple[Insertion, ...]:
    """Tell what keeps hooks from being run when it is first seen; of a skill's, once that is loaded."""
    reported: set[Diagnostic] = set()

    async def tell(turn: Turn) -> None:
        waiting = {status.found.file for status in turn.skills.statuses if status.name not in turn.skills.loaded}
        new = [
            diagnostic for diagnostic in hooks.check() if diagnostic not in reported and diagnostic.path not in waiting
        ]
        for diagnostic in new:
            where = turn.runtime.workspace.shorten(diagnostic.path)
            message = f"Hooks in {where}: {diagnostic.message}" if diagnostic.path else diagnostic.message
            code = "hooks-untrusted" if diagnostic.code == "untrusted" else diagnostic.code
            turn.notice(Noticed(code=code, message=message, severity="warning", hint=diagnostic.hint))
        reported.update(new)

    return Insertion(Phase.PRE_ROUTE, "hooks", tell), Insertion(Phase.POST_SCORE, "hooks", tell)


def served_insertion(renew: Renew, check: CheckSkills) -> Insertion:
    """Before a person's skill of an MCP server is loaded: ask the servers whether it is still what was approved."""

    async def look(turn: Turn) -> None:
        asked = {more_skill.rpartition(":")[2] for more_skill in (turn.request.skill, *turn.request.more_skills)}
        if any(status.name in asked and status.found.location.scope == "mcp" for status in turn.skills.statuses):
            _tell(turn, await renew())
            await _check_skills(turn, check)

    return Insertion(Phase.PRE_ROUTE, "mcp-skills", look)


async def _check_skills(turn: Turn, check: CheckSkills) -> None:
    try:
        diagnostics, is_changed = await check()
    except ClawftError as error:  # approvals that cannot be read approve nothing, and that is said where they count
        diagnostics, is_changed = [error.diagnostic], True
    _tell(turn, diagnostics)
    if is_changed:
        turn.skills.reload()


def _tell(turn: Turn, diagnostics: Sequence[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        severity: Literal["warning", "note"] = "note" if diagnostic.severity == "note" else "warning"
        turn.notice(Noticed(code=diagnostic.code, message=diagnostic.message, severity=severity, hint=diagnostic.hint))


def server_insertion(pool: McpServerPool, renew: Renew, check: CheckSkills) -> Insertion:
    """Start servers that are not running, and take the tools they have now; `renew` has plugins join and leave, `check`
    compares the skills that servers offer with what was approved."""
    had_any = False

    async def join(turn: Turn) -> None:
        nonlocal had_any
        news = await renew()
        remote, diagnostics = await pool.tools()
        if remote or had_any:
            turn.runtime.server_tools = server_tools(pool, remote)
        had_any = bool(remote)
        for diagnostic in (*news, *diagnostics):
            turn.warn(diagnostic.code, diagnostic.message, diagnostic.hint)
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
            turn.warn(error.code, message, error.hint)
            text = f"The memory cannot be read right now: {error.diagnostic.message}"
        if text:
            turn.extra_sections.append(f"{_REMEMBERED}{text}")

    return (Insertion(Phase.PRE_ASSEMBLE, "memory", recall),)


def _recall(memory: MemoryBackend) -> str:
    """The first facts of a memory, as many as fit, in the order that it lists them. Raises: ClawftError."""
    keys = memory.list_keys()
    facts: list[str] = []
    for key in keys[:MAX_RECALLED]:
        value = memory.retrieve(key)
        if value is not None:
            facts.append(f"## {key}\n{value.strip()}")
        if sum(map(len, facts)) > MAX_MEMORY:
            break
    text = "\n\n".join(facts)
    if len(text) > MAX_MEMORY or len(keys) > len(facts):
        text = f"{text[:MAX_MEMORY]}\n… (memory_read finds the rest)"
    return text


def _file_insertions(memory: MemoryFiles) -> tuple[Insertion, ...]:
    async def recall(turn: Turn) -> None:
        for diagnostic in memory.check_index():
            turn.warn(diagnostic.code, diagnostic.message, diagnostic.hint)
        text = _COMMENT.sub("", memory.read_memory()).strip().removeprefix("# Memory").strip()
        if text:
            cut = text if len(text) <= MAX_MEMORY else text[:MAX_MEMORY] + "\n… (memory_read finds the rest)"
            turn.extra_sections.append(f"{_REMEMBERED}{cut}")

    async def note(turn: Turn) -> None:
        if turn.conversation.depth:  # the history is of what people asked for
            return
        text = " ".join(turn.request.text.split())[:MAX_HISTORY]
        memory.append_history(turn.runtime.secrets.mask(text), turn.session.key, datetime.now())

    return (
        Insertion(Phase.PRE_ASSEMBLE, "memory", recall),
        Insertion(Phase.POST_SCORE, "history", note),
    )
