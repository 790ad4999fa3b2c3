"""The tool calls of one answer: read-only ones in parallel, the others in order, with hooks before and after each."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from itertools import groupby

import anyio
from msgspec import structs

from clawft.agent.hooks.events import EventOutcome
from clawft.agent.runtime import Turn
from clawft.agent.tool_permission import (
    is_denied,
    judge_call,
    make_context,
    permit,
)
from clawft.agent.tools.execution import (
    Envelope,
    check_tool,
    make_failure,
    render_doubtful_call,
    render_for_model,
    run_tool,
)
from clawft.agent.tools.steps import StepDoubt, TurnStep
from clawft.agent.tools.tool import (
    CallAct,
    Tool,
    ToolContext,
    ToolError,
    may_change_files,
    may_repeat,
    rename_arguments,
    shorten,
)
from clawft.agent.turn_hooks import fire_hooks, mark_hook_texts, render_added_texts
from clawft.errors import Refused, find_close
from clawft.messages import Message, Noticed, ToolCall, ToolFinished, ToolStarted
from clawft.trust.tools import SKILL_TOOL, canonical_tool

MAX_HOOK_RESULT = 20_000  # characters of a result that hooks get


async def run_before_call_hooks(
    turn: Turn, tool: Tool, call: ToolCall, context: ToolContext, at: int
) -> EventOutcome | None:
    """Run the hooks before a tool call; None if no hook was asked."""
    if not turn.runtime.hooks.wants("tool:before") or is_denied(turn, tool, call, context):
        return None
    return await fire_hooks(turn, "tool:before", _tell_call(tool, call), str(at))


async def run_after_call_hooks(turn: Turn, tool: Tool, call: ToolCall, envelope: Envelope, at: int) -> str:
    """Tell hooks what came of a call that was made; what they add to what the model reads of it."""
    if not turn.runtime.hooks.wants("tool:after") or envelope.error.get("code") == "PERMISSION_DENIED":
        return ""
    text = turn.runtime.secrets.mask(render_for_model(envelope))  # before it is cut, which may part a secret
    fields = {
        **_tell_call(tool, call),
        "result": shorten(text, MAX_HOOK_RESULT),
        "isError": envelope.status == "error",
        "durationMs": envelope.stats.get("time_ms", 0),
    }
    outcome = await fire_hooks(turn, "tool:after", fields, str(at))
    if outcome is None:
        return ""
    objection = mark_hook_texts((outcome.blocked,)) if outcome.blocked else ""  # too late to refuse it, not to say so
    return "\n\n".join(filter(None, (render_added_texts(turn, outcome, f"the result of {tool.name}"), objection)))


def _tell_call(tool: Tool, call: ToolCall) -> dict[str, object]:
    return {"toolName": tool.name, "params": call.arguments, "toolCallId": call.id}


MAX_PARALLEL = 8
_MAX_NAME = 100  # characters of a name that a model made up


async def run_calls(turn: Turn, calls: Sequence[ToolCall]) -> list[Message]:
    """A result for every call, in the order of the calls, whatever happens to each."""
    results: list[Message] = []
    renamed = [_rename(turn, call) for call in calls]
    for parallel, group in groupby(enumerate(renamed), lambda numbered: _may_run_parallel(turn, numbered[1])):
        some = list(group)
        if parallel and len(some) > 1:
            results += await _run_side_by_side(turn, some)
            continue
        for at, call in some:
            results.append(await _run(turn, call, at))
    return results


def _rename(turn: Turn, call: ToolCall) -> ToolCall:
    """Return a call with the tool's own names of its arguments, before anything judges it."""
    tool = _find(turn, call.name) or _find_hidden(turn, call)
    return structs.replace(call, arguments=rename_arguments(tool, call.arguments)) if tool and tool.aliases else call


def _may_run_parallel(turn: Turn, call: ToolCall) -> bool:
    tool = _find(turn, call.name)
    return tool is not None and (
        tool.read_only or (tool.may_run_parallel is not None and tool.may_run_parallel(call.arguments))
    )


def _find(turn: Turn, name: str) -> Tool | None:
    return turn.prompt.tools.find(name) or turn.prompt.tools.find(canonical_tool(name))


async def _run_side_by_side(turn: Turn, calls: Sequence[tuple[int, ToolCall]]) -> list[Message]:
    results: dict[int, Message] = {}
    limiter = anyio.CapacityLimiter(max(MAX_PARALLEL, turn.conversation.slots.total_tokens))

    async def run(at: int, call: ToolCall) -> None:
        async with limiter:
            results[at] = await _run(turn, call, at)

    async with anyio.create_task_group() as group:
        for at, call in calls:
            group.start_soon(run, at, call)
    return [results[at] for at, _ in calls]


async def _run(turn: Turn, call: ToolCall, at: int) -> Message:
    tool = _find(turn, call.name)
    name, summary = tool.name if tool else call.name[:_MAX_NAME], _summarise(tool, call)
    turn.emit(ToolStarted(call=call.id, tool=name, arguments=call.arguments, summary=summary))
    context = make_context(turn, tool, call, name, at)
    # Before the step that the call is: one that only got as far as a hook was not in flight.
    hooked = await run_before_call_hooks(turn, tool, call, context, at) if tool else None
    attempt = partial(_attempt, turn, tool, call, context, hooked)
    declared = tool or _find_hidden(turn, call)
    if declared and _has_steps(declared, call):
        with turn.conversation.steps.within(str(at)):
            envelope = await attempt()
        if declared.loads_skills:
            await _check_as_before(turn, envelope, summary, at)
    else:  # also where there is no such tool: there may be one, or have been one, when the turn is run again
        is_harmless = tool is not None and may_repeat(tool, call.arguments)
        step = TurnStep("tool", name, is_harmless, turn.runtime.secrets.mask(summary))
        doubt = StepDoubt(
            partial(check_tool, tool, call.arguments, context) if tool else None,
            partial(render_doubtful_call, call.arguments, context),
        )
        envelope = await turn.conversation.steps.run(step, attempt, Envelope, at=str(at), doubt=doubt)
    _count(turn, envelope)
    turn.emit(ToolFinished(call=call.id, tool=name, status=envelope.status, result=envelope.to_dict()))
    added = await run_after_call_hooks(turn, tool, call, envelope, at) if tool else ""
    return Message(
        "tool",
        "\n\n".join(filter(None, (render_for_model(envelope), added))),
        tool_call_id=call.id,
        name=name,
        images=envelope.images,
        is_error=envelope.status == "error",
    )


async def _check_as_before(turn: Turn, envelope: Envelope, summary: str, at: int) -> None:
    """A skill is loaded anew when a run is begun again. One that cannot be now, and was at work when the model spoke
    before, would no longer limit what that asked for. Raises: Refused."""

    async def tell() -> bool:
        return envelope.status == "success"

    step = TurnStep("tool", SKILL_TOOL, summary=turn.runtime.secrets.mask(summary))
    was_there = await turn.conversation.steps.run(step, tell, bool, at=str(at))
    if was_there and envelope.status != "success":
        why = envelope.error.get("message", "")
        message = f"The skill of this run that was loaded before cannot be now ({summary}): {why}"
        raise Refused("run-skill-gone", message, hint="Put it back as it was, then try the run again")


async def _attempt(
    turn: Turn, tool: Tool | None, call: ToolCall, context: ToolContext, hooked: EventOutcome | None
) -> Envelope:
    """Make a call and return its result, even if it fails; a refusal goes to the audit log."""
    try:
        envelope = await _execute(turn, _get(turn, tool, call, context), call, context, hooked)
    except (ToolError, Refused) as error:
        envelope = make_failure(error, call.arguments, context)
    if envelope.error.get("code") == "PERMISSION_DENIED":
        subject = f"{tool.name if tool else call.name[:_MAX_NAME]} {_summarise(tool, call)}".strip()
        context.record("denial", subject, "deny", envelope.error["message"], detail=_identify(turn, call))
    return envelope


def _has_steps(tool: Tool, call: ToolCall) -> bool:
    """Return whether what a call does are steps of their own: it loads a skill, or works in a conversation of its
    own."""
    return tool.loads_skills or (tool.has_steps is not None and tool.has_steps(call.arguments))


async def _execute(
    turn: Turn, tool: Tool, call: ToolCall, context: ToolContext, hooked: EventOutcome | None
) -> Envelope:
    """Run a tool, if it may be used so. Of one that acts two facts are written down: that it was allowed, before it
    begins, and how it ended. Raises: ToolError, Refused."""
    context = await permit(turn, tool, call, context, hooked)
    timeout_s = tool.timeout_s or turn.runtime.config.agents.defaults.tool_timeout_s
    if tool.read_only and not tool.plugin:  # that it only looks is not just what a plugin says
        return await run_tool(tool, call.arguments, context, timeout_s=timeout_s, problem=_find_problem(call))
    subject, about = f"{tool.name} {_summarise(tool, call)}".strip(), {"call": call.id}

    rule, detail = context.permission.granted.rule, _identify(turn, call)
    write = partial(context.record, "tool", subject, "allow", rule, detail=detail)
    prepare = partial(record_before_change, turn) if may_change_files(tool, call.arguments) else None
    context = structs.replace(context, act=CallAct(write, prepare))
    if not (tool.asks or tool.begins):
        await context.act.begin()
    how: dict[str, object] = {"status": "cancelled"}
    try:
        envelope = await run_tool(tool, call.arguments, context, timeout_s=timeout_s, problem=_find_problem(call))
        how = _tell_end(envelope)
    finally:
        if context.act.is_begun:
            context.record("tool", subject, "finished", detail={**about, **how})
    return envelope


async def record_before_change(turn: Turn) -> None:
    """Record the project before the turn changes it; what undo does not cover is said once in a conversation."""

    def tell(event: Noticed) -> None:
        if event.message not in turn.conversation.noticed:
            turn.conversation.noticed.add(event.message)
            turn.emit(event)

    if turn.conversation.checkpoint is not None:
        await turn.conversation.checkpoint.begin(tell)


def _find_problem(call: ToolCall) -> str:
    """Find out why a call cannot be made as it came; '' if it can."""
    return call.problem or (f"The arguments are no JSON object: {call.malformed[:200]}" if call.malformed else "")


def _identify(turn: Turn, call: ToolCall) -> dict[str, object]:
    """Return the id of a call and the digest of all its arguments, for the audit log: the subject shows only their
    start."""
    try:
        text = json.dumps(call.arguments, sort_keys=True, default=repr)
    except (RecursionError, ValueError):
        text = call.malformed
    digest = hashlib.sha256(turn.runtime.secrets.mask(text).encode("utf-8", "replace")).hexdigest()
    return {"call": call.id, "arguments_sha256": digest}


def _tell_end(envelope: Envelope) -> dict[str, object]:
    """Return how a call ended, for the audit log."""
    code, exit_code = envelope.error.get("code"), envelope.data.get("exit_code")
    fields = {"status": envelope.status, "code": code, "exit_code": exit_code, "ms": envelope.stats.get("time_ms")}
    return {name: value for name, value in fields.items() if value is not None}


def _get(turn: Turn, tool: Tool | None, call: ToolCall, context: ToolContext) -> Tool:
    """The tool of a call. Raises: ToolError where the turn has none of this name."""
    if tool is None:
        if hidden := _find_hidden(turn, call):
            judge_call(turn, hidden, call, context)  # its rule says why
        close = find_close(canonical_tool(call.name), turn.prompt.tools.names)
        hint = f"Did you mean '{close}'?" if close else f"There are {', '.join(turn.prompt.tools.names) or 'none'}"
        raise ToolError("NOT_FOUND", f"There is no tool '{call.name[:_MAX_NAME]}' in this turn", hint=hint)
    return tool


def _find_hidden(turn: Turn, call: ToolCall) -> Tool | None:
    """Find a tool that exists, and that the model was not offered."""
    every = turn.conversation.list_tools()
    return every.find(call.name) or every.find(canonical_tool(call.name))


def _count(turn: Turn, envelope: Envelope) -> None:
    turn.calls.made += 1
    turn.calls.failed += envelope.status == "error"
    turn.calls.refused += bool(envelope.error) and envelope.error.get("code") == "PERMISSION_DENIED"


def _summarise(tool: Tool | None, call: ToolCall) -> str:
    if tool and tool.summarise:
        return tool.summarise(call.arguments)
    values = [_show_value(name, value) for name, value in call.arguments.items()]
    return " ".join(" ".join(values).split())[:120]


def _show_value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"[{name}]" if value else ""  # `True` alone says nothing
    return str(value) if isinstance(value, str | int | float) else ""
