"""Programs of loaded skills as tools: run the approved bytes in the sandbox, a native plugin tool, or a script."""

import json
import os
import re
import shlex
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from msgspec import Meta, Struct, structs

from clawft.agent.mcp.remote import clean_text
from clawft.agent.tools.command import (
    HostRecord,
    ask_unconfined,
    begin_after,
    confine,
    explain_sandbox_result,
    get_room,
    is_confined,
    make_command_result,
)
from clawft.agent.tools.environment import command_env
from clawft.agent.tools.hosts import HostQuestions
from clawft.agent.tools.saved_files import mask_file, new_spill_path
from clawft.agent.tools.skill_tools import (
    SCRIPTS,
    WASM,
    DeclaredTool,
    SkillEngines,
    check_declared_tools,
    find_file,
    find_skill_runtime,
    find_start,
    list_scripts,
)
from clawft.agent.tools.skillset import LoadedSkill, Skillset
from clawft.agent.tools.tool import ErrorCode, Tool, ToolContext, ToolError, ToolResult, define_tool, shorten
from clawft.config.tools import ExecSettings
from clawft.contracts import PluginError
from clawft.errors import ClawftError, Diagnostic, find_close
from clawft.files import real_path
from clawft.sandbox.process import Runnable, Streams
from clawft.skills.parse.schema import check_arguments
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.modes import Mode
from clawft.trust.permissions import UsableSkill
from clawft.trust.programs import find_files, show_all, show_files
from clawft.trust.run_copies import open_skill_copy
from clawft.trust.tools import known_tool_names

_MAX_ASKED = 600  # characters of arguments that a question shows
_EXPLAINED = (
    "[it ran in a sandbox: only the project can be changed, but not its .git and agent folders, and no host can be"
    " reached but those that the skill was approved with]"
)


class ProgramStart(Struct, frozen=True):
    """The program to run. `file` is the first of the words if that is one of the skill's files, else it is on PATH."""

    skill: str
    words: tuple[str, ...]
    file: str = ""
    tool: str = ""  # the declared tool that it is the program of
    shown: str = ""  # what a model gave it, as people see it
    stdin: bytes = b""
    variables: Mapping[str, str] = {}

    @property
    def line(self) -> str:
        return shlex.join(self.words)

    @property
    def is_wasm(self) -> bool:
        return self.file.endswith(WASM)


class SkillPrograms:
    """The programs of the skills in one conversation. `own_env` returns the variables of one skill."""

    def __init__(
        self,
        skills: Skillset,
        settings: ExecSettings,
        policy: CommandPolicy,
        own_env: Callable[[UsableSkill], Mapping[str, str]],
        engines: SkillEngines,
    ) -> None:
        self.skills = skills
        self.settings = settings
        self._policy = policy
        self._own_env = own_env
        self.engines = engines

    async def run(self, start: ProgramStart, context: ToolContext) -> ToolResult:
        """Ask for it, and run it to its end. Raises: ToolError, Refused."""
        try:
            loaded = self.skills.get_unchanged(start.skill)
            if objection := self._policy.object_to(start.words):
                raise ToolError("PERMISSION_DENIED", f"The program was refused: {objection}")
            await self._ask(start, loaded, context, await self._how(start, context))
            return await self._run(start, loaded, context)
        except ClawftError as error:
            if not context.act.is_begun:  # of what was begun the call's own line says how it ended
                self.refuse(start, str(error), context)
            raise

    async def permit(self, start: ProgramStart, context: ToolContext, how: str) -> None:
        """Ask for what is no program, and write down that it is done. Raises: ToolError, Refused."""
        loaded = self.skills.get_unchanged(start.skill)
        await self._ask(start, loaded, context, how)
        await _begin(start, loaded, context)

    def refuse(self, start: ProgramStart, why: str, context: ToolContext) -> None:
        """Write down that it is not run."""
        context.record("command", start.line, "deny", why, detail=_detail(start))

    async def _how(self, start: ProgramStart, context: ToolContext) -> str:
        if start.is_wasm:
            return "WebAssembly"
        return "sandboxed" if await to_thread.run_sync(is_confined, context) else "WITHOUT a sandbox"

    async def _ask(self, start: ProgramStart, loaded: LoadedSkill, context: ToolContext, how: str) -> None:
        what = f"the tool '{start.tool}' ({_show(start.line)})" if start.tool else _show(start.words[0])
        # The digest binds a lasting answer to the program, also where the skill is not active any more.
        digest = loaded.usable.digest.removeprefix("sha256:")[:16]
        question = f"Run {what} of the skill '{start.skill}' ({how}; {digest})"
        arguments = _show(start.shown)
        reason = f"it is given {shorten(arguments, _MAX_ASKED) or 'nothing'}"
        if not await context.ask(question, reason):
            message = f"It needs approval, which was not given: {what} of the skill '{start.skill}'"
            raise ToolError("PERMISSION_DENIED", message, hint="Do without it, or ask the person")

    async def _run(self, start: ProgramStart, loaded: LoadedSkill, context: ToolContext) -> ToolResult:
        folder, settings = real_path(loaded.folder), self.settings
        spill_path = new_spill_path(context, start.tool or start.words[0])
        async with open_skill_copy(context.workspace.user_dir, folder, loaded.usable.digest) as copy:
            mounted = context.sandbox.status().kind == "bubblewrap"
            place = folder if mounted else copy  # where nothing can be mounted, the copy is used where it is
            async with self._prepare(start, loaded, (copy, place), context) as program:
                begin = partial(_begin, start, loaded, context)
                if start.is_wasm or context.sandbox.status().kind != "none":  # else a person is asked first
                    await begin()
                files = find_files(program.words[:1], program.env.get("PATH", os.defpath), place)
                hosts, questions = HostRecord(context), HostQuestions(context, _name(start))
                try:
                    finished = await context.sandbox.run(
                        program.words,
                        cwd=place,
                        env=program.env,
                        timeout_s=program.timeout_s,
                        max_bytes=settings.max_output_bytes,
                        streams=Streams(stdin=start.stdin, spill_path=spill_path),
                        confinement=program.confinement,
                        ask=begin_after(
                            program.ask or ask_unconfined(context, _name(start) + show_files(files)), begin
                        ),
                        record=hosts,
                        room=None if start.is_wasm else get_room(context),
                        ask_host=questions,
                        clock=questions.clock,
                    )
                finally:  # one that was cancelled has left its output there, too
                    if os.path.exists(spill_path):
                        mask_file(context, spill_path)
        result = make_command_result(finished, loaded.folder)
        return result if start.is_wasm else explain_sandbox_result(result, context, hosts.refused, _EXPLAINED)

    @asynccontextmanager
    async def _prepare(
        self, start: ProgramStart, loaded: LoadedSkill, mount: tuple[str, str], context: ToolContext
    ) -> AsyncIterator[Runnable]:
        """A program as it is started. Raises: ToolError."""
        copy, place = mount
        if start.is_wasm:
            env = {**self._own_env(loaded.usable), **start.variables}
            async with self.engines.open_wasi().open(start.file, start.words, env, mount) as program:
                yield program
            return
        # Those that all active untrusted skills, and the skill itself if it is untrusted, were approved with.
        hosts = context.hosts.find_hosts(*((loaded.usable.at_work("").hosts,) if loaded.usable.is_untrusted else ()))
        confinement = structs.replace(confine(context), mounts=(mount,), hosts=hosts)
        env = self._environment(start, loaded, place, context)
        yield Runnable(_start_words(start, copy, place), env, confinement, self.settings.timeout_s)

    def _environment(
        self, start: ProgramStart, loaded: LoadedSkill, place: str, context: ToolContext
    ) -> dict[str, str]:
        places = {"CLAUDE_SKILL_DIR": place, "CLAUDE_PROJECT_DIR": context.workspace.project}
        env = command_env(self.settings, context.environ, self._own_env(loaded.usable))
        return {**env, **places, **start.variables}


def _name(start: ProgramStart) -> str:
    return f"{_show(start.line)} of the skill '{start.skill}'"


def _start_words(start: ProgramStart, copy: str, place: str) -> tuple[str, ...]:
    """The words of the program as it is started. Raises: ToolError."""
    if not start.file:
        return start.words
    try:
        by = find_start(os.path.join(copy, start.file))
    except OSError as error:
        raise ToolError("NOT_FOUND", f"{start.file} cannot be read: {error.strerror}") from error
    if by is None:
        hint = "A script is executable with a first line like #!/bin/sh, or has an ending like .py"
        raise ToolError("INVALID_PARAM", f"Nothing tells how to start {start.file}", hint=hint)
    return (*by, os.path.join(place, start.file), *start.words[1:])


def _show(text: str) -> str:
    """A text in a question: on one line, and nothing of it acts on a terminal."""
    return show_all(text).replace("\n", "\\n")


async def _begin(start: ProgramStart, loaded: LoadedSkill, context: ToolContext) -> None:
    """Write down that a program is allowed. Raises: Refused if that is not possible."""
    await context.act.begin()
    context.record("command", start.line, "allow", _rule(context), detail=_detail(start, loaded))


def _rule(context: ToolContext) -> str:
    return "mode full" if context.permission.mode is Mode.FULL else "approved"


def _detail(start: ProgramStart, loaded: LoadedSkill | None = None) -> dict[str, str]:
    """Return the audit fields of a program: its skill, even if that is no longer active, and its input."""
    digest = {"digest": loaded.usable.digest} if loaded else {}
    return {"skill": start.skill, **digest, "tool": start.tool or "skill_run_script", "given": start.shown[:_MAX_ASKED]}


_CODES: dict[str, ErrorCode] = {"plugin-timeout": "TIMEOUT", "plugin-changed": "PERMISSION_DENIED"}


class NativeCall(Struct, frozen=True):
    """A call to a plugin: a tool as its skill declares it, its arguments, and both as people see them."""

    plugin: str
    skill: str
    name: str
    arguments: Mapping[str, Any]
    shown: str
    arguments_text: str

    @property
    def start(self) -> ProgramStart:
        """The same as a question and the audit log show it."""
        return ProgramStart(
            self.skill, (f"plugin:{self.plugin}", self.name), tool=self.shown, shown=self.arguments_text
        )


async def run_native(programs: SkillPrograms, call: NativeCall, context: ToolContext) -> ToolResult:
    """Ask for it, and have it done. Raises: ToolError, Refused."""
    start, call_plugin = call.start, programs.engines.call_plugin
    assert call_plugin is not None
    try:
        await programs.permit(start, context, f"by the plugin '{call.plugin}'")
        output = await call_plugin(call.plugin, call.skill, call.name, call.arguments)
    except PluginError as error:
        raise ToolError(_CODES.get(error.code, "EXECUTION_ERROR"), str(error), hint=error.hint) from error
    except ClawftError as error:
        if not context.act.is_begun:
            programs.refuse(start, str(error), context)
        raise
    return ToolResult(output.content, "error" if output.is_error else "success")


MAX_INPUT_BYTES = 1 << 20  # bytes of arguments or input
MAX_VARIABLE = 100_000  # bytes; what is longer is on standard input alone
MAX_NAME = 64
MAX_TOOLS = 64  # of all skills of a conversation
_ROOM_FOR_NOTES = 2048
_MAX_LISTED = 20
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SCRIPT = """Run a script of a skill that was loaded, in a sandbox, with the skill's folder as its current folder.
`args` are passed as they are, each as one word; no shell reads them. A person may be asked first.
Scripts: {scripts}"""


class ScriptArguments(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="Name of a loaded skill")]
    script: Annotated[str, Meta(description="Path of the script, as in scripts/report.py")]
    args: Annotated[tuple[str, ...], Meta(description="Its arguments, one word each", max_length=256)] = ()
    stdin: Annotated[str, Meta(description="What it reads from standard input")] = ""


def program_tools(programs: SkillPrograms, taken: Collection[str]) -> tuple[Tool, ...]:
    """The programs of all loaded skills. `taken` are names of other tools, which none of these gets."""
    skills = programs.skills
    loaded = skills.list_loaded()
    names = {name.lower() for name in (*taken, *known_tool_names())}
    room = len(names) + MAX_TOOLS
    tools: list[Tool] = []
    skills.brought = {}
    for loaded_skill in loaded:
        own = _declare_all(programs, loaded_skill, names, room)
        skills.brought[loaded_skill.name] = frozenset(tool.name for tool in own)
        tools += own
    listed = [(loaded_skill.name, scripts) for loaded_skill in loaded if (scripts := list_scripts(loaded_skill.folder))]
    return (*tools, *((_script_tool(programs, listed),) if listed else ()))


def _declare_all(programs: SkillPrograms, loaded: LoadedSkill, names: set[str], room: int) -> list[Tool]:
    """The tools that one skill declares, under names that are free; they are taken then, up to `room` in all."""
    runtime = find_skill_runtime(loaded.location, programs.engines.wasm, programs.engines.plugins)
    provided, diagnostics = check_declared_tools(loaded.usable.skill, loaded.folder, loaded.folder, runtime)
    tools = []
    for declared in provided:
        name = _choose_name(loaded.name, declared.name, names)
        if len(names) >= room:
            message = f"The tool '{declared.name}' is not offered: skills brought {MAX_TOOLS} already"
            diagnostics = (*diagnostics, Diagnostic("tool-limit", "warning", message, loaded.folder))
        elif not name:
            message = (
                f"The tool '{declared.name}' is not offered: its name is taken, and so is {loaded.name}-{declared.name}"
            )
            diagnostics = (*diagnostics, Diagnostic("tool-name", "warning", message, loaded.folder))
        else:
            names.add(name.lower())
            tools.append(_declared(programs, loaded.name, name, declared))
    for problem in diagnostics:
        programs.skills.add_problem(problem)
    return tools


def _choose_name(skill: str, tool: str, names: Collection[str]) -> str:
    """The tool's own name; `SKILL-TOOL` if that is taken; nothing if no name is left for it."""
    for name in (tool, f"{skill}-{tool}"):
        if name.lower() not in names and len(name) <= MAX_NAME and "__" not in name:
            return name
    return ""


def _declared(programs: SkillPrograms, skill: str, name: str, provided: DeclaredTool) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        values = _read(arguments, provided)
        text = json.dumps(values, ensure_ascii=False)
        if provided.plugin:
            call = NativeCall(provided.plugin, skill, provided.name, values, name, text if values else "")
            return await run_native(programs, call, context)
        start = ProgramStart(
            skill, provided.words, provided.file, name, text if values else "", _encode(text), _variables(values)
        )
        return await programs.run(start, context)

    description = clean_text(provided.description) or f"The tool {provided.name}."
    tool = Tool(name, f"{description} (of the skill '{skill}')", run, provided.parameters)
    return structs.replace(_bounded(programs, tool), repeatable=lambda _: provided.repeatable)


def _script_tool(programs: SkillPrograms, listed: list[tuple[str, tuple[str, ...]]]) -> Tool:
    async def run(arguments: ScriptArguments, context: ToolContext) -> ToolResult:
        return await _run_script(programs, arguments, context)

    shown = "; ".join(f"{name}: {_list(scripts)}" for name, scripts in listed[:_MAX_LISTED])
    return _bounded(programs, define_tool("skill_run_script", _SCRIPT.format(scripts=shown), ScriptArguments, run))


def _list(scripts: tuple[str, ...]) -> str:
    more = len(scripts) - _MAX_LISTED
    return ", ".join(scripts[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _bounded(programs: SkillPrograms, tool: Tool) -> Tool:
    return structs.replace(tool, max_chars=programs.settings.max_output_bytes + _ROOM_FOR_NOTES, asks=True)


async def _run_script(programs: SkillPrograms, arguments: ScriptArguments, context: ToolContext) -> ToolResult:
    words = (arguments.script, *arguments.args)
    shown = shlex.join(arguments.args) + (f" and {len(arguments.stdin)} characters of input" if arguments.stdin else "")
    if any("\0" in word for word in words):
        raise ToolError("INVALID_PARAM", "A NUL character cannot be passed to a program")
    _encode(" ".join(words))
    start = ProgramStart(arguments.name, words, arguments.script, shown=shown, stdin=_encode(arguments.stdin))
    try:
        script = _find_script(programs, arguments)
    except ToolError as error:
        programs.refuse(start, str(error), context)
        raise
    return await programs.run(structs.replace(start, words=(script, *arguments.args), file=script), context)


def _find_script(programs: SkillPrograms, arguments: ScriptArguments) -> str:
    scripts = list_scripts(programs.skills.get_usable(arguments.name).folder)
    found = find_file(arguments.script, scripts) or find_file(f"{SCRIPTS}{arguments.script}", scripts)
    if found:
        return found
    close = find_close(arguments.script, scripts)
    hint = f"Did you mean '{close}'?" if close else f"It has {_list(scripts) or 'none'}"
    raise ToolError("NOT_FOUND", f"The skill has no script '{arguments.script[:200]}'", hint=hint)


def _read(arguments: Mapping[str, Any], provided: DeclaredTool) -> dict[str, Any]:
    """The arguments as the schema wants them. Raises: ToolError."""
    required = provided.parameters.get("required", ())
    # Models often write null for what they leave out.
    values = {name: value for name, value in arguments.items() if value is not None or name in required}
    if problem := check_arguments(values, provided.parameters):
        known = ", ".join(provided.parameters["properties"]) or "no arguments"
        raise ToolError(
            "INVALID_PARAM", f"The arguments are not as the tool wants them: {problem}", hint=f"It takes {known}"
        )
    return values


def _encode(text: str) -> bytes:
    """Raises: ToolError for what is too much."""
    data = text.encode()
    if len(data) > MAX_INPUT_BYTES:
        raise ToolError("INVALID_PARAM", f"It is given more than {MAX_INPUT_BYTES} bytes")
    return data


def _variables(values: Mapping[str, Any]) -> dict[str, str]:
    """`ARG_NAME` for each plain value whose name is one of a variable, and no other's in capital letters."""
    named: dict[str, list[str]] = {}
    for name, value in values.items():
        if isinstance(value, str | int | float) and _VARIABLE.fullmatch(name):
            text = value if isinstance(value, str) else json.dumps(value)
            named.setdefault(f"ARG_{name.upper()}", []).append(text)
    if any("\0" in text for texts in named.values() for text in texts):
        raise ToolError("INVALID_PARAM", "A NUL character cannot be passed to a program")
    return {
        name: texts[0] for name, texts in named.items() if len(texts) == 1 and len(texts[0].encode()) <= MAX_VARIABLE
    }
