"""The tools `process_output` and `process_end`: what `exec_shell` left running in the background."""

from typing import Annotated

import anyio
from msgspec import Meta, Struct, structs

from clawft.agent.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.sandbox.background import BackgroundProcess

_SHOWN_BYTES = 24 * 1024
_MAX_WAIT_S = 60.0
_OUTPUT = """\
Read what a process that exec_shell started in the background wrote since you last read it, and whether it still runs.
`wait_s` waits until it ends, or so long at most."""
_END = "End a process that exec_shell started in the background, with all that it started."


class ProcessOutputArguments(Struct, frozen=True, forbid_unknown_fields=True):
    process: Annotated[int, Meta(description="Its number.")]
    wait_s: Annotated[float, Meta(ge=0, le=_MAX_WAIT_S, description="How many seconds to wait for its end.")] = 0


class ProcessEndArguments(Struct, frozen=True, forbid_unknown_fields=True):
    process: Annotated[int, Meta(description="Its number.")]


def process_tools() -> tuple[Tool, ...]:
    end = define_tool("process_end", _END, ProcessEndArguments, _end)
    return (
        define_tool("process_output", _OUTPUT, ProcessOutputArguments, _read, read_only=True),
        structs.replace(end, judges_itself=True, repeatable=lambda _: True),
    )


async def _read(arguments: ProcessOutputArguments, context: ToolContext) -> ToolResult:
    process = _get_process(arguments.process, context)
    with anyio.move_on_after(arguments.wait_s):
        await process.over.wait()
    return make_process_result(process)


async def _end(arguments: ProcessEndArguments, context: ToolContext) -> ToolResult:
    process = _get_process(arguments.process, context)
    await process.end()
    return make_process_result(process)


def _get_process(number: int, context: ToolContext) -> BackgroundProcess:
    processes = context.commands.processes if context.commands else None
    found = processes.find(number) if processes else None
    if found is None:
        numbers = ", ".join(str(process.number) for process in processes or ())
        hint = f"There are: {numbers}" if numbers else "exec_shell with `background` starts one"
        raise ToolError("NOT_FOUND", f"There is no process {number} in the background", hint=hint)
    return found


def make_process_result(process: BackgroundProcess) -> ToolResult:
    """The new output of a process, and its state."""
    output, skipped = process.log.read_new(_SHOWN_BYTES)
    cut = f"[{skipped} bytes before this are left out; the newest are in {process.log.path}]" if skipped else ""
    text = "\n".join(filter(None, (cut, output.rstrip("\n"), f"[process {process.number}: {process.state}]")))
    finished = process.finished
    data = {"process": process.number, "state": process.state, "running": not process.over.is_set()}
    return ToolResult(text, data=data | ({"exit_code": finished.code} if finished else {}), path_resolved=process.cwd)
