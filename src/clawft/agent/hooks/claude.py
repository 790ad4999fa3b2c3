"""Claude Code's words for what hooks get and answer: tools and their arguments, the event on stdin, the answer on
stdout and in the exit code."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from clawft.agent.hooks.events import HookEvent, HookFailed, HookReply, read_json
from clawft.trust.modes import CLAUDE_MODES
from clawft.trust.tools import SKILL_TOOL, TOOL_ALIASES
from clawft.workspace import resolve_path

MAX_REASON = 4_000
_NAMES = {
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "list_directory": "LS",
    "glob": "Glob",
    "grep": "Grep",
    "exec_shell": "Bash",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "delegate": "Task",
}
_FILES = frozenset({"read_file", "write_file", "edit_file"})
_MODES = {ours.value: theirs for theirs, ours in CLAUDE_MODES.items()}
_BLOCKS = 2


def name_tool(tool: str) -> str:
    """Return Claude Code's name for one of weft's tools; a tool of an MCP server is `mcp__server__tool`."""
    return f"mcp__{tool}" if "__" in tool else _NAMES.get(tool, tool)


def list_tool_names(tool: str) -> tuple[str, ...]:
    """All names that a matcher may mean a tool by; what was called MultiEdit or Agent is one of ours, too."""
    aliases = (theirs for theirs, ours in TOOL_ALIASES.items() if ours == tool)
    return tuple(dict.fromkeys((name_tool(tool), tool, *aliases)))


def make_input(event: HookEvent, name: str, cwd: str, home: str) -> dict[str, Any]:
    """The event as a hook reads it from stdin; `name` is Claude's for what happened. There is no transcript for it."""
    payload = {
        "session_id": event.session_key,
        "transcript_path": "",
        "cwd": cwd,
        "permission_mode": _MODES.get(event.mode, "default"),
        "hook_event_name": name,
    }
    return payload | _OWN[name](event.context, cwd, home)


def _tell_call(context: Mapping[str, Any], cwd: str, home: str) -> dict[str, Any]:
    tool = str(context.get("toolName", ""))
    return {
        "tool_name": name_tool(tool),
        "tool_input": _tell_arguments(tool, context.get("params"), cwd, home),
        "tool_use_id": str(context.get("toolCallId", "")),
    }


def _tell_arguments(tool: str, params: Any, cwd: str, home: str) -> dict[str, Any]:
    """The arguments under our names, and under theirs. What a model sent may be anything."""
    arguments = dict(params) if isinstance(params, Mapping) else {}
    theirs: dict[str, Any] = {}
    if tool in _FILES and isinstance(arguments.get("path"), str) and "\0" not in arguments["path"]:
        theirs["file_path"] = resolve_path(arguments["path"], cwd, home)
    if tool == "exec_shell" and isinstance(arguments.get("timeout_s"), int | float):
        theirs["timeout"] = int(arguments["timeout_s"] * 1000)
    if tool == "delegate":
        theirs["prompt"] = arguments.get("task", "")
    if tool == SKILL_TOOL:
        theirs["skill"] = arguments.get("name", "")
    return arguments | theirs


def _tell_result(context: Mapping[str, Any], cwd: str, home: str) -> dict[str, Any]:
    call = _tell_call(context, cwd, home)
    text = str(context.get("result", ""))
    response: dict[str, Any] = {"success": not context.get("isError"), "content": text}
    if call["tool_name"] == "Bash":
        response |= {"stdout": text, "stderr": "", "interrupted": False}
    if "file_path" in call["tool_input"]:
        response["filePath"] = call["tool_input"]["file_path"]
    return call | {"tool_response": response, "duration_ms": context.get("durationMs", 0)}


_OWN: Mapping[str, Callable[[Mapping[str, Any], str, str], dict[str, Any]]] = {
    "PreToolUse": _tell_call,
    "PostToolUse": _tell_result,
    "UserPromptSubmit": lambda context, *_: {"prompt": str(context.get("content", ""))},
    "SessionStart": lambda context, *_: {"source": str(context.get("source", "startup"))},
    "Stop": lambda context, *_: {
        "stop_hook_active": bool(context.get("stopHookActive")),
        "last_assistant_message": str(context.get("lastMessage", "")),
    },
}

_Text = Annotated[str, Meta(max_length=200_000)]


class _Specific(Struct, frozen=True):
    permissionDecision: str = ""  # noqa: N815  (their name)
    permissionDecisionReason: _Text = ""  # noqa: N815
    additionalContext: _Text = ""  # noqa: N815
    updatedInput: Any = None  # noqa: N815
    updatedMCPToolOutput: Any = None  # noqa: N815
    updatedToolOutput: Any = None  # noqa: N815


class _Answer(Struct, frozen=True):
    """The JSON answer of a hook; unknown fields are ignored."""

    goes_on: bool = msgspec.field(default=True, name="continue")
    stopReason: _Text = ""  # noqa: N815
    systemMessage: _Text = ""  # noqa: N815
    decision: str = ""
    reason: _Text = ""
    additionalContext: _Text = ""  # noqa: N815
    hookSpecificOutput: _Specific = _Specific()  # noqa: N815


class ClaudeHookAnswer(Struct, frozen=True):
    """The answer of a hook, and what it asked for that no hook can have."""

    reply: HookReply
    unfollowed: tuple[str, ...] = ()


def read_output(name: str, code: int, output: str, errors: str) -> ClaudeHookAnswer:
    """Convert a hook's exit code and output to an answer. Raises: HookFailed if the hook failed or its output makes no
    sense."""
    if code == _BLOCKS:
        return ClaudeHookAnswer(_refuse(name, errors.strip()[:MAX_REASON] or "it gave no reason"))
    if code != 0:
        last = (errors.strip() or output.strip()).rpartition("\n")[2][:300]
        raise HookFailed("hook-failed", f"it ended with exit code {code}{f': {last}' if last else ''}")
    if not output.strip().startswith("{"):
        adds_output = name in ("UserPromptSubmit", "SessionStart")
        return ClaudeHookAnswer(HookReply(added=output.strip() if adds_output else "", printed=output))
    try:
        answer = msgspec.convert(read_json(output), _Answer)
    except (ValueError, RecursionError) as error:  # also what msgspec raises
        raise HookFailed("hook-result", f"it answered something that is not understood: {str(error)[:300]}") from error
    reply = _follow(name, answer, output)
    return ClaudeHookAnswer(reply, _find_unfollowed(answer))


def _refuse(name: str, reason: str) -> HookReply:
    """Build the reply for a refusal. After a tool ran, the reason goes to the model; at the start of a session, which
    cannot be refused, it is only shown."""
    if name == "PostToolUse":
        return HookReply(added=reason)
    if name == "SessionStart":
        return HookReply(messages=(reason,))
    return HookReply(blocked=reason)


def _follow(name: str, answer: _Answer, output: str) -> HookReply:
    own = answer.hookSpecificOutput
    decision = own.permissionDecision or answer.decision
    reason = (own.permissionDecisionReason or answer.reason).strip()[:MAX_REASON] or "it gave no reason"
    added, messages = own.additionalContext or answer.additionalContext, []
    blocked = asks = None
    if not answer.goes_on:
        stop = answer.stopReason.strip()[:MAX_REASON] or "it gave no reason"
        if name in ("PreToolUse", "UserPromptSubmit"):
            blocked = stop
        else:
            messages.append(f"It asks to stop here: {stop}")
    elif decision in ("deny", "block"):
        refused = _refuse(name, reason)
        blocked, added = refused.blocked, "\n".join(filter(None, (refused.added, added)))
        messages += refused.messages
    elif decision == "ask" and name == "PreToolUse":
        asks = reason
    messages += [answer.systemMessage] if answer.systemMessage.strip() else []
    return HookReply(
        messages=tuple(message[:MAX_REASON] for message in messages),
        added=added.strip(),
        blocked=blocked,
        asks=asks,
        printed=output,
    )


def _find_unfollowed(answer: _Answer) -> tuple[str, ...]:
    """Find the parts of an answer that weft does not follow: those that would allow a call, or change its input or its
    output."""
    own = answer.hookSpecificOutput
    decision = own.permissionDecision or answer.decision
    named = (
        ("permissionDecision allow", decision in ("allow", "approve")),
        ("updatedInput", own.updatedInput is not None),
        ("updatedToolOutput", own.updatedToolOutput is not None or own.updatedMCPToolOutput is not None),
    )
    return tuple(what for what, is_there in named if is_there)
