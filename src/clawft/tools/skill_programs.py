"""The programs of loaded skills as tools: those that a skill declares, and `skill_run_script` for its scripts.

Arguments are data: checked against the declared schema, then JSON on standard input, and each that is a plain value is
also a variable `ARG_NAME`. None of them is ever part of a command line that a shell reads.
"""

import json
import re
import shlex
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from clawft.errors import Diagnostic, find_close
from clawft.format.schema import check_arguments
from clawft.mcp.plain import clean_text
from clawft.tools.engines import find_means
from clawft.tools.native import NativeCall, run_native
from clawft.tools.program import Programs, Start
from clawft.tools.provided import SCRIPTS, Provided, check_provided, find_file, list_scripts
from clawft.tools.skillset import Loaded
from clawft.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.trust.tools import known_tool_names

__all__ = ["program_tools"]

MAX_GIVEN = 1 << 20  # bytes of arguments or input
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


def program_tools(programs: Programs, taken: Collection[str]) -> tuple[Tool, ...]:
    """The programs of all loaded skills. `taken` are names of other tools, which none of these gets."""
    skills = programs.skills
    loaded = skills.list_loaded()
    names = {name.lower() for name in (*taken, *known_tool_names())}
    room = len(names) + MAX_TOOLS
    tools: list[Tool] = []
    skills.brought = {}
    for one in loaded:
        own = _declare_all(programs, one, names, room)
        skills.brought[one.name] = frozenset(tool.name for tool in own)
        tools += own
    listed = [(one.name, scripts) for one in loaded if (scripts := list_scripts(one.folder))]
    return (*tools, *((_script_tool(programs, listed),) if listed else ()))


def _declare_all(programs: Programs, loaded: Loaded, names: set[str], room: int) -> list[Tool]:
    """The tools that one skill declares, under names that are free; they are taken then, up to `room` in all."""
    means = find_means(loaded.location, programs.engines.wasm, programs.engines.plugins)
    provided, said = check_provided(loaded.cleared.skill, loaded.folder, loaded.folder, means)
    tools = []
    for one in provided:
        name = _choose_name(loaded.name, one.name, names)
        if len(names) >= room:
            message = f"The tool '{one.name}' is not offered: skills brought {MAX_TOOLS} already"
            said = (*said, Diagnostic("tool-limit", "warning", message, loaded.folder))
        elif not name:
            message = f"The tool '{one.name}' is not offered: its name is taken, and so is {loaded.name}-{one.name}"
            said = (*said, Diagnostic("tool-name", "warning", message, loaded.folder))
        else:
            names.add(name.lower())
            tools.append(_declared(programs, loaded.name, name, one))
    for problem in said:
        programs.skills.add_problem(problem)
    return tools


def _choose_name(skill: str, tool: str, names: Collection[str]) -> str:
    """The tool's own name; `SKILL-TOOL` if that is taken; nothing if no name is left for it."""
    for name in (tool, f"{skill}-{tool}"):
        if name.lower() not in names and len(name) <= MAX_NAME and "__" not in name:
            return name
    return ""


def _declared(programs: Programs, skill: str, name: str, provided: Provided) -> Tool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        given = _read(arguments, provided)
        text = json.dumps(given, ensure_ascii=False)
        if provided.plugin:
            call = NativeCall(provided.plugin, skill, provided.name, given, name, text if given else "")
            return await run_native(programs, call, context)
        start = Start(
            skill, provided.words, provided.file, name, text if given else "", _encode(text), _variables(given)
        )
        return await programs.run(start, context)

    description = clean_text(provided.description) or f"The tool {provided.name}."
    tool = Tool(name, f"{description} (of the skill '{skill}')", run, provided.parameters)
    return structs.replace(_bounded(programs, tool), repeatable=lambda _: provided.repeatable)


def _script_tool(programs: Programs, listed: list[tuple[str, tuple[str, ...]]]) -> Tool:
    async def run(arguments: ScriptArguments, context: ToolContext) -> ToolResult:
        return await _run_script(programs, arguments, context)

    shown = "; ".join(f"{name}: {_list(scripts)}" for name, scripts in listed[:_MAX_LISTED])
    return _bounded(programs, define_tool("skill_run_script", _SCRIPT.format(scripts=shown), ScriptArguments, run))


def _list(scripts: tuple[str, ...]) -> str:
    more = len(scripts) - _MAX_LISTED
    return ", ".join(scripts[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _bounded(programs: Programs, tool: Tool) -> Tool:
    return structs.replace(tool, max_chars=programs.settings.max_output_bytes + _ROOM_FOR_NOTES, asks=True)


async def _run_script(programs: Programs, arguments: ScriptArguments, context: ToolContext) -> ToolResult:
    words = (arguments.script, *arguments.args)
    shown = shlex.join(arguments.args) + (f" and {len(arguments.stdin)} characters of input" if arguments.stdin else "")
    if any("\0" in word for word in words):
        raise ToolError("INVALID_PARAM", "A NUL character cannot be passed to a program")
    _encode(" ".join(words))
    start = Start(arguments.name, words, arguments.script, shown=shown, stdin=_encode(arguments.stdin))
    try:
        script = _find_script(programs, arguments)
    except ToolError as error:
        programs.refuse(start, str(error), context)
        raise
    return await programs.run(structs.replace(start, words=(script, *arguments.args), file=script), context)


def _find_script(programs: Programs, arguments: ScriptArguments) -> str:
    scripts = list_scripts(programs.skills.get_loaded(arguments.name))
    found = find_file(arguments.script, scripts) or find_file(f"{SCRIPTS}{arguments.script}", scripts)
    if found:
        return found
    close = find_close(arguments.script, scripts)
    hint = f"Did you mean '{close}'?" if close else f"It has {_list(scripts) or 'none'}"
    raise ToolError("NOT_FOUND", f"The skill has no script '{arguments.script[:200]}'", hint=hint)


def _read(arguments: Mapping[str, Any], provided: Provided) -> dict[str, Any]:
    """The arguments as the schema wants them. Raises: ToolError."""
    required = provided.parameters.get("required", ())
    # Models often write null for what they leave out.
    given = {name: value for name, value in arguments.items() if value is not None or name in required}
    if problem := check_arguments(given, provided.parameters):
        known = ", ".join(provided.parameters["properties"]) or "no arguments"
        raise ToolError(
            "INVALID_PARAM", f"The arguments are not as the tool wants them: {problem}", hint=f"It takes {known}"
        )
    return given


def _encode(text: str) -> bytes:
    """Raises: ToolError for what is too much."""
    data = text.encode()
    if len(data) > MAX_GIVEN:
        raise ToolError("INVALID_PARAM", f"It is given more than {MAX_GIVEN} bytes")
    return data


def _variables(given: Mapping[str, Any]) -> dict[str, str]:
    """`ARG_NAME` for each plain value whose name is one of a variable, and no other's in capital letters."""
    named: dict[str, list[str]] = {}
    for name, value in given.items():
        if isinstance(value, str | int | float) and _VARIABLE.fullmatch(name):
            text = value if isinstance(value, str) else json.dumps(value)
            named.setdefault(f"ARG_{name.upper()}", []).append(text)
    if any("\0" in text for texts in named.values() for text in texts):
        raise ToolError("INVALID_PARAM", "A NUL character cannot be passed to a program")
    return {
        name: texts[0] for name, texts in named.items() if len(texts) == 1 and len(texts[0].encode()) <= MAX_VARIABLE
    }
