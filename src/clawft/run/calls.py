"""The tool calls of one answer: read-only ones side by side, the others one after the other, results in order."""

from collections.abc import Sequence
from itertools import groupby

import anyio

from clawft.errors import find_close
from clawft.messages import ApprovalNeeded, Message, ToolCall, ToolFinished, ToolStarted
from clawft.run.turn import Turn
from clawft.tools.execute import Envelope, fail, render_for_model, run_tool
from clawft.tools.tool import Tool, ToolContext, ToolError
from clawft.trust.tools import canonical_tool, tool_matches

__all__ = ["run_calls"]

MAX_PARALLEL = 8
_MAX_NAME = 100  # characters of a name that a model made up


async def run_calls(turn: Turn, calls: Sequence[ToolCall]) -> list[Message]:
    """A result for every call, in the order of the calls, whatever happens to each."""
    results: list[Message] = []
    for parallel, group in groupby(calls, lambda call: _is_read_only(turn, call)):
        some = list(group)
        if parallel and len(some) > 1:
            results += await _run_side_by_side(turn, some)
        else:
            results += [await _run(turn, call) for call in some]
    return results


def _is_read_only(turn: Turn, call: ToolCall) -> bool:
    tool = _find(turn, call.name)
    return tool is not None and tool.read_only


def _find(turn: Turn, name: str) -> Tool | None:
    return turn.registry.find(name) or turn.registry.find(canonical_tool(name))


async def _run_side_by_side(turn: Turn, calls: Sequence[ToolCall]) -> list[Message]:
    results: dict[str, Message] = {}
    limiter = anyio.CapacityLimiter(MAX_PARALLEL)

    async def run(key: str, call: ToolCall) -> None:
        async with limiter:
            results[key] = await _run(turn, call)

    async with anyio.create_task_group() as group:
        for index, call in enumerate(calls):
            group.start_soon(run, str(index), call)
    return [results[str(index)] for index in range(len(calls))]


async def _run(turn: Turn, call: ToolCall) -> Message:
    tool = _find(turn, call.name)
    name = tool.name if tool else call.name[:_MAX_NAME]
    turn.emit(ToolStarted(call=call.id, tool=name, arguments=call.arguments, summary=_summarise(tool, call)))
    context = _context(turn, call, name)
    try:
        allowed = _check(turn, tool, call)
    except ToolError as error:
        envelope = fail(error, call.arguments, context)
    else:
        timeout_s = turn.runtime.config.agents.defaults.tool_timeout_s
        envelope = await run_tool(allowed, call.arguments, context, timeout_s=timeout_s, malformed=call.malformed)
    _count(turn, envelope)
    turn.emit(ToolFinished(call=call.id, tool=name, status=envelope.status, result=envelope.to_dict()))
    _remember(turn, name, envelope)
    return Message(
        "tool",
        render_for_model(envelope),
        tool_call_id=call.id,
        name=name,
        images=envelope.images,
        is_error=envelope.status == "error",
    )


def _check(turn: Turn, tool: Tool | None, call: ToolCall) -> Tool:
    """Whether the turn has the tool, and no active skill forbids it (R114, D54). Raises: ToolError."""
    if tool is None:
        close = find_close(canonical_tool(call.name), turn.registry.names)
        hint = f"Did you mean '{close}'?" if close else f"There are {', '.join(turn.registry.names) or 'none'}"
        raise ToolError("NOT_FOUND", f"There is no tool '{call.name[:_MAX_NAME]}' in this turn", hint=hint)
    if tool.name == "skill_read":
        return tool
    for active in (*turn.conversation.inherited, *turn.skills.active):
        allowed, denied = active.skill.allowed_tools, active.skill.disallowed_tools
        if (allowed and not tool_matches(tool.name, allowed)) or tool_matches(tool.name, denied):
            raise ToolError("PERMISSION_DENIED", f"The skill '{active.name}' does not allow the tool '{tool.name}'")
    return tool


def _context(turn: Turn, call: ToolCall, name: str) -> ToolContext:
    async def ask(question: str, reason: str, *, grave: bool = False) -> bool:
        return await _ask(turn, ApprovalNeeded(call=call.id, tool=name, question=question, reason=reason, grave=grave))

    runtime = turn.runtime
    context = ToolContext(
        runtime.workspace,
        runtime.environ,
        spill_dir=runtime.spill_dir(turn.session.key),
        ask=ask,
        emit=turn.emit,
    )
    # What a delegated agent changes belongs to the turn of the person, who may want it back.
    context.keep_dir, context.turn = runtime.spill_dir(turn.conversation.account), turn.conversation.turn
    context.mask = runtime.secrets.mask
    context.sandbox = runtime.sandbox
    context.skill_env = turn.skills.env(runtime.config.skills.entries, runtime.environ)
    context.read_roots = tuple(turn.skills.loaded.values())
    return context


async def _ask(turn: Turn, event: ApprovalNeeded) -> bool:
    """Put a question to whoever started the turn. Nobody there, or no answer, is a no."""
    conversation, name, question = turn.conversation, event.tool, event.question
    approvals, place, meant = (
        turn.runtime.approvals,
        f"{turn.runtime.workspace.project}#{name}#{question}",
        _meant(turn, question),
    )
    if not event.grave and ((name, question) in conversation.approved or approvals.has("tool", place, meant)):
        return True
    turn.emit(event)
    answer = await conversation.approve(event) if conversation.approve else "no"
    if event.grave:
        return answer != "no"
    if answer == "session":
        conversation.approved.add((name, question))
    elif answer == "always":
        approvals.add("tool", {place: meant})
    return answer != "no"


def _meant(turn: Turn, question: str) -> bytes:
    """What a lasting yes is bound to: the question itself, and the skills that were active, as they are."""
    return "\n".join([question, *(one.digest for one in turn.skills.active)]).encode("utf-8", "replace")


def _count(turn: Turn, envelope: Envelope) -> None:
    turn.calls += 1
    turn.failed_calls += envelope.status == "error"
    turn.refused += bool(envelope.error) and envelope.error.get("code") == "PERMISSION_DENIED"


def _summarise(tool: Tool | None, call: ToolCall) -> str:
    if tool and tool.summarise:
        return tool.summarise(call.arguments)
    values = [str(value) for value in call.arguments.values() if isinstance(value, str | int | float)]
    return " ".join(" ".join(values).split())[:120]


def _remember(turn: Turn, name: str, envelope: Envelope) -> None:
    """A skill that was loaded is noted in the session, whole, so that it survives compaction."""
    if name == "Skill" and envelope.status == "success" and not envelope.data.get("already_loaded"):
        data = envelope.data
        content = turn.runtime.secrets.mask(data["content"])
        turn.session.activate(data["name"], content, turn.id, scope=data["scope"], digest=data["digest"])
