"""The tool `exec_shell`: a command line, judged by the command policy before it runs in the sandbox.

A command with an exit code other than 0 did run: its result is `partial`, with the code in its text and data. The same
holds where it was stopped; what it wrote until then is kept.
"""

import math
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any

import anyio
from anyio import to_thread
from msgspec import Meta, Struct, structs

from clawft.agent.tools.command import (
    CommandPlaces,
    HostRecord,
    ask_unconfined,
    begin_after,
    confine,
    explain_held_back,
    explain_sandbox_result,
    get_room,
    is_confined,
    make_command_result,
)
from clawft.agent.tools.environment import command_env, find_planted
from clawft.agent.tools.file_access import base_folder, resolve_inside
from clawft.agent.tools.hosts import HostQuestions
from clawft.agent.tools.processes import make_process_result
from clawft.agent.tools.saved_files import mask_file, new_spill_path
from clawft.agent.tools.tool import ArgumentAlias, Checked, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.config.tools import ExecSettings
from clawft.files import real_path
from clawft.git import find_unsafe_git_setting
from clawft.sandbox.background import ProcessLog
from clawft.sandbox.process import Finished, Streams, run_process
from clawft.trust.command_policy import CommandJudge, CommandPolicy, CommandVerdict
from clawft.trust.modes import Mode
from clawft.trust.programs import PreparedProgram, clean_environ, find_files, show_all, show_files
from clawft.trust.shell_text import read_shell_text

_DESCRIPTION = """\
Run shell text with {shell} in the project folder: several lines, loops, pipes, here-documents, substitutions,
functions and `cd x && y` all work. It has no terminal and no input, sees few environment variables, and is ended with
all it started after {timeout_s:g} seconds. It runs in a sandbox: only the project can be changed, but not its agent
folders; /tmp is kept for this session, $HOME is empty and gone afterwards; files that hold secrets or that a rule
denies cannot be read; the network holds only hosts that the person allowed. Commits, branches and the like are taken
over when the command has ended; hooks and most settings of git are not. To read, write and search files use the tools
for that."""
_SHELL = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"  # models write bash
_ROOM_FOR_NOTES = 2048
_FIRST_S = 1.0  # to see what fails at once
_ALONE = "[this machine has only the Landlock sandbox: other commands cannot reach this process; bubblewrap allows it]"
_ALIASES = {
    "timeout": ArgumentAlias("timeout_s", 0.001),
    "description": ArgumentAlias(),
    "directory": ArgumentAlias("cwd"),
    "workdir": ArgumentAlias("cwd"),
}


class ExecShellArguments(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1, max_length=100_000, description="The shell text, of one line or many.")]
    timeout_s: Annotated[float, Meta(gt=0, description="Stop it sooner, after so many seconds.")] | None = None
    cwd: Annotated[str, Meta(description="The folder to run it in; the last one kept, or the current one.")] = ""
    keep_cwd: Annotated[bool, Meta(description="Run later commands that name no `cwd` in this one, too.")] = False
    background: Annotated[
        bool,
        Meta(description="Let it run on, as a server does: process_output reads what it writes, process_end ends it."),
    ] = False
    outside_sandbox: Annotated[
        bool, Meta(description="Run it with all rights of the person, who is asked each time. Only if it must be so.")
    ] = False


def exec_shell_tool(settings: ExecSettings, policy: CommandPolicy) -> Tool:
    """The tool with the user's settings; `policy` is made of the same ones."""
    judge = CommandJudge(settings, policy)
    reading = CommandPolicy(ExecSettings())  # the list that a user wrote may hold more than what reads

    def looks(arguments: Mapping[str, Any]) -> bool:
        """Return whether a command only looks, whatever it is run in. What git does depends on the repository."""
        verdict = reading.judge(arguments["command"])
        stays = arguments.get("outside_sandbox") or arguments.get("background")
        return verdict.decision == "allow" and not _uses_git(verdict) and not stays

    async def check(arguments: ExecShellArguments, context: ToolContext) -> Checked:
        """Check the outcome of an interrupted call: a command that only reads may be run again; of any other nothing is
        known."""
        env = command_env(settings, context.environ, {})
        verdict = await to_thread.run_sync(reading.judge, arguments.command)
        verdict = _look_closer(verdict, _find_cwd(arguments, context), context, env)
        return "not-done" if verdict.decision == "allow" and not arguments.outside_sandbox else None

    async def run(arguments: ExecShellArguments, context: ToolContext) -> ToolResult:
        cwd = _find_cwd(arguments, context)
        if arguments.background:
            await _check_background(arguments, context)
        is_asked = await _check(arguments, judge, await _prepare(arguments, cwd, {}, context), context)
        supplied = await to_thread.run_sync(context.take_shell_env)
        program = await _prepare(arguments, cwd, supplied.env, context)
        if arguments.keep_cwd and context.commands:
            context.commands.cwd = cwd
        spill_path = new_spill_path(context, "exec_shell")
        hosts = HostRecord(context)
        start = await _begin(arguments, program, context, hosts, is_asked=is_asked)
        if arguments.background:
            return await _keep_running(arguments.command, start, program, context)
        try:
            finished = await start(
                program.words,
                cwd=program.cwd,
                env=program.env,
                timeout_s=min(arguments.timeout_s or settings.timeout_s, settings.timeout_s),
                max_bytes=settings.max_output_bytes,
                streams=Streams(spill_path=spill_path),
            )
        finally:  # a command that was cancelled has left its output there, too
            if os.path.exists(spill_path):
                mask_file(context, spill_path)
        result = make_command_result(finished, cwd)
        if supplied.note:
            result = structs.replace(result, text=f"{result.text}\n[{supplied.note}]")
        if finished.held_back:
            result = explain_held_back(result, finished.held_back)
        return result if arguments.outside_sandbox else explain_sandbox_result(result, context, hosts.refused)

    async def _prepare(
        arguments: ExecShellArguments, cwd: str, own: Mapping[str, str], context: ToolContext
    ) -> PreparedProgram:
        """Prepare what is started; its files are named where no sandbox confines them. Raises: Refused."""
        command = arguments.command
        names = _name_programs(command)
        if arguments.outside_sandbox:
            env = command_env(settings, clean_environ(context.environ), own)
            return context.sandbox.host_programs.prepare_line(command, names, env, cwd)
        env = command_env(settings, context.environ, own)
        confined = await to_thread.run_sync(is_confined, context)
        files = () if confined else find_files(names, env.get("PATH", os.defpath), cwd)
        return PreparedProgram((_SHELL, "-c", command), cwd, env, files)

    tool = define_tool(
        "exec_shell",
        _DESCRIPTION.format(shell=os.path.basename(_SHELL), timeout_s=settings.timeout_s),
        ExecShellArguments,
        run,
        aliases=_ALIASES,
    )
    limit = settings.max_output_bytes + _ROOM_FOR_NOTES
    return structs.replace(
        tool,
        max_chars=limit,
        asks=True,
        judges_itself=True,
        repeatable=looks,
        changes_files=lambda arguments: not looks(arguments),
        check=check,
    )


async def _begin(
    arguments: ExecShellArguments, program: PreparedProgram, context: ToolContext, hosts: HostRecord, *, is_asked: bool
) -> Callable[..., Awaitable[Finished]]:
    """Write down that a command is allowed, and return what runs it: in the sandbox, or outside. Raises: Refused."""
    command = arguments.command
    where = "outside" if arguments.outside_sandbox else context.sandbox.status().kind
    detail = {"sandbox": where, "cwd": program.cwd, **({"files": program.files} if program.files else {})}

    async def begin() -> None:
        await context.act.begin()
        context.record("command", command, "allow", context.permission.granted.rule, detail=detail)

    async def agree(_: str) -> bool:
        return True

    if where != "none" or not is_asked:  # a person who is asked has to agree first
        await begin()
    if arguments.outside_sandbox:
        return run_process
    unconfined = ask_unconfined(context, show_all(command) + show_files(program.files))
    ask = begin_after(unconfined, begin) if is_asked else agree
    looking = context.permission.mode is Mode.PLAN
    run = partial(context.sandbox.run, confinement=confine(context, looking=looking), ask=ask, record=hosts)
    if looking:  # it reaches no host, and nothing else that runs in the session
        return run
    run = partial(run, room=get_room(context))
    if arguments.background:  # it may reach for a host, or end, when nobody is there any more
        return run
    questions = HostQuestions(context, show_all(command))
    review = partial(context.ask, dangerous=True)  # no rule and no mode answers for a person
    return partial(run, ask_host=questions, clock=questions.clock, review=review)


async def _check_background(arguments: ExecShellArguments, context: ToolContext) -> None:
    """Check that a command can be kept running. Raises: ToolError."""
    if arguments.outside_sandbox:
        raise ToolError("INVALID_PARAM", "What runs in the background runs in the sandbox: leave out `outside_sandbox`")
    if context.commands is None or (await to_thread.run_sync(context.sandbox.status)).kind == "none":
        raise ToolError("EXECUTION_ERROR", "Nothing can run in the background here: there is no sandbox")


async def _keep_running(
    command: str, start: Callable[..., Awaitable[Finished]], program: PreparedProgram, context: ToolContext
) -> ToolResult:
    """Start a command that runs until it ends, is ended, or the session is over; what it writes first is shown."""
    assert context.commands is not None, "it was checked"

    async def work(log: ProcessLog) -> Finished:
        return await start(
            program.words,
            cwd=program.cwd,
            env=program.env,
            timeout_s=math.inf,
            max_bytes=_ROOM_FOR_NOTES,
            streams=Streams(listen=log.add),
        )

    path = new_spill_path(context, "process")
    process = context.commands.processes.start(
        command, program.cwd, partial(ProcessLog, path, context.files.mask), work
    )
    with anyio.move_on_after(_FIRST_S):
        await process.over.wait()
    result = make_process_result(process)
    alone = context.sandbox.status().kind == "landlock"
    return structs.replace(result, text=f"{result.text}\n{_ALONE}") if alone else result


def _find_cwd(arguments: ExecShellArguments, context: ToolContext) -> str:
    chosen = context.commands.cwd if context.commands and os.path.isdir(context.commands.cwd) else ""
    cwd = resolve_inside(context, arguments.cwd or chosen) if arguments.cwd or chosen else base_folder(context)
    if not os.path.isdir(cwd):
        raise ToolError("INVALID_PARAM", f"`cwd` '{arguments.cwd}' is no folder")
    return cwd


async def _check(
    arguments: ExecShellArguments, judge: CommandJudge, program: PreparedProgram, context: ToolContext
) -> bool:
    """Have a person agree to what needs it; where there is no sandbox, return whether they are still to be asked.

    Raises: ToolError.
    """
    cwd = program.cwd
    command, mode, kind = arguments.command, context.permission.mode, context.sandbox.status().kind
    confined = kind in ("bubblewrap", "landlock")
    verdict = await to_thread.run_sync(judge.judge, command, CommandPlaces(cwd, context), mode, kind)
    if mode is Mode.ASK or (not confined and mode is not Mode.FULL):
        verdict = _look_closer(verdict, cwd, context, program.env)
    if verdict.decision == "allow" and context.permission.must_ask:
        verdict = structs.replace(verdict, decision="ask", reason=context.permission.must_ask)
    if verdict.decision == "deny":
        raise ToolError("PERMISSION_DENIED", f"The command was refused: {verdict.reason}")
    if verdict.decision == "ask" and kind == "none" and mode is not Mode.FULL and not arguments.outside_sandbox:
        return True  # one question, which says that there is no sandbox
    if verdict.decision == "ask" or arguments.outside_sandbox:
        outside = " OUTSIDE the sandbox" if arguments.outside_sandbox else ""
        # From the project on, wherever weft was started: a lasting answer must not fit another folder.
        project = real_path(context.workspace.project)
        where = "" if cwd == project else f" (in {show_all(os.path.relpath(cwd, project))})"
        question = f"Run{outside}: {show_all(command)}{where}{show_files(program.files)}"
        rights = "it gets all your rights: your files, your keys and the network" if outside else ""
        started = _suspect_repository(verdict, cwd) if outside else ""
        reason = "; ".join(filter(None, (rights, started, verdict.reason if verdict.decision == "ask" else "")))
        if not await context.ask(question, reason, dangerous=arguments.outside_sandbox):
            raise ToolError(
                "PERMISSION_DENIED",
                f"The command needs approval, which was not given: {reason}",
                hint="Do without it, or ask the person",
            )
    return False


def _name_programs(command: str) -> list[str]:
    """The names of the programs that a text starts, as far as they can be read."""
    return [part.texts[0] for part in read_shell_text(command).commands]


def _look_closer(verdict: CommandVerdict, cwd: str, context: ToolContext, env: Mapping[str, str]) -> CommandVerdict:
    """The verdict on a command where it is run: what only looks by its words may start programs there."""
    if verdict.decision == "allow" and (reason := _suspect_repository(verdict, cwd)):
        return structs.replace(verdict, decision="ask", reason=reason)
    if verdict.decision == "allow" and (planted := find_planted(verdict.commands, env, context.sandbox.host_programs)):
        return structs.replace(verdict, decision="ask", reason=planted)
    return verdict


def _suspect_repository(verdict: CommandVerdict, cwd: str) -> str:
    """Return why git may do something else in a folder than what a line says; '' where it does not, or is not used."""
    program = find_unsafe_git_setting(cwd) if _uses_git(verdict) else ""
    return program and f"what this repository says may start a program, or lead elsewhere ({program})"


def _uses_git(verdict: CommandVerdict) -> bool:
    return any(words[0] == "git" for words in verdict.commands)
