"""The tool `delegate`: hands part of a task to a fresh local agent, to Claude's command line or to a command that the
user configured."""

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from clawft.agent.fork import Fork, run_fork
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Conversation
from clawft.agent.skill_invocation import render_fork_result
from clawft.agent.tools.environment import command_env
from clawft.agent.tools.tool import ArgumentAlias, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.config.tools import DelegationTarget
from clawft.errors import NotFound, Refused
from clawft.sandbox.process import run_process
from clawft.trust.programs import clean_environ, show_all, show_files

_MAX_TASK = 8_000  # characters for another program: a person must be able to read what they approve
_CLAUDE = ("claude", "-p")
_ALIASES = {"prompt": ArgumentAlias("task"), "description": ArgumentAlias(), "subagent_type": ArgumentAlias()}
_TARGETS = (None, *DelegationTarget)
_DESCRIPTION = (
    "Hand a self-contained task to another agent and get its answer. It sees nothing of this conversation: say"
    " everything it needs. Good for searches whose details you do not need."
)


class DelegateArguments(Struct, forbid_unknown_fields=True):
    task: Annotated[str, Meta(description="The whole task, with all it needs to know", min_length=1)]
    target: Annotated[
        Literal["local", "claude", "flow", "auto"] | None,
        Meta(description="Who does it; leave it out unless the user said so"),
    ] = None


def delegate_tool(conversation: Conversation) -> Tool:
    async def run(arguments: DelegateArguments, context: ToolContext) -> ToolResult:
        return await _delegate(conversation, arguments, context)

    def stays_here(arguments: Mapping[str, Any]) -> bool:
        target = arguments.get("target") or None
        return target in _TARGETS and _choose_target(conversation, target) is DelegationTarget.LOCAL

    # Each target has a limit of its own. A local agent resumes from its own steps; another program would start over.
    tool = define_tool("delegate", _DESCRIPTION, DelegateArguments, run, aliases=_ALIASES)
    return structs.replace(
        tool,
        timeout_s=math.inf,
        may_run_parallel=stays_here,
        repeatable=stays_here,
        has_steps=stays_here,
        begins=True,
        # What a fork changes is recorded by the fork's own calls.
        changes_files=lambda arguments: not stays_here(arguments),
        judges_itself=True,
    )


def _choose_target(conversation: Conversation, asked: str | None) -> DelegationTarget:
    settings = conversation.runtime.config.tools.delegate
    target = DelegationTarget(asked) if asked else settings.target
    if target is DelegationTarget.AUTO:
        return DelegationTarget.FLOW if settings.command else DelegationTarget.LOCAL
    return target


async def _delegate(conversation: Conversation, arguments: DelegateArguments, context: ToolContext) -> ToolResult:
    settings = conversation.runtime.config.tools.delegate
    target = _choose_target(conversation, arguments.target)
    if target is DelegationTarget.LOCAL:
        await context.act.begin()
        return await _run_here(conversation, arguments.task)
    if target is DelegationTarget.FLOW and not settings.command:
        raise ToolError("INVALID_PARAM", "No command is configured for 'flow'", hint="Set tools.delegate.command")
    command = settings.command if target is DelegationTarget.FLOW else _CLAUDE
    return await _run_command(conversation, command, arguments.task, context)


async def _run_here(conversation: Conversation, task: str) -> ToolResult:
    """A fork with the same agent."""
    turn = conversation.current_turn
    if not conversation.has_room:
        limit = conversation.runtime.config.agents.fork.max_depth
        raise ToolError("PERMISSION_DENIED", f"Delegation stops {limit} levels deep", hint="Do the task yourself")
    return render_fork_result(
        await run_fork(turn, Fork(TurnRequest(task, model=turn.request.model), conversation.agent))
    )


async def _run_command(
    conversation: Conversation, command: Sequence[str], task: str, context: ToolContext
) -> ToolResult:
    if task.startswith("-") or "\0" in task or len(task) > _MAX_TASK:
        message = f"For another program a task is at most {_MAX_TASK} characters of text that do not begin with '-'"
        raise ToolError("INVALID_PARAM", message)
    words = (*command, task)
    tools = conversation.runtime.config.tools
    env = command_env(tools.exec, clean_environ(context.environ), {})
    try:  # the project is what it is to work on
        program = context.sandbox.host_programs.prepare(words, env, context.workspace.project)
    except (NotFound, Refused) as error:
        context.record("command", shlex.join(words), "deny", str(error))
        raise ToolError("NOT_FOUND", str(error), hint=error.hint) from error
    question = f"Delegate to: {show_all(shlex.join(words))}{show_files(program.files)}"
    # It has all rights of the person, so no flag, mode or earlier answer says yes to it.
    if not await context.ask(question, "another program does this with its own rights", dangerous=True):
        raise ToolError("PERMISSION_DENIED", f"Delegating to '{command[0]}' was not approved")
    await context.act.begin()
    context.record(
        "command", shlex.join(words), "allow", "approved", detail={"sandbox": "outside", "files": program.files}
    )
    done = await run_process(
        program.words,
        cwd=program.cwd,
        env=program.env,
        timeout_s=tools.delegate.timeout_s,
        max_bytes=tools.exec.max_output_bytes,
    )
    text = done.output.decode("utf-8", errors="replace")
    if done.code != 0:
        raise ToolError("EXECUTION_ERROR", f"'{command[0]}' ended with {done.code}: {text[-2000:]}")
    return ToolResult(text, data={"command": list(command)})
