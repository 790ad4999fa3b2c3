"""The tools that a skill declares: which can be offered, with which program or engine, and why others cannot."""

import os
import posixpath
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawft.config.extensions import WasmSettings
from clawft.contracts import ToolOutput
from clawft.errors import Diagnostic
from clawft.skills.discovery.digest import list_files
from clawft.skills.discovery.locations import Location
from clawft.skills.parse.model import Skill, ToolDefinition
from clawft.skills.parse.schema import check_schema

if TYPE_CHECKING:
    from clawft.sandbox.wasi import Wasi


# Ending -> what runs such a file, where it is not a program by itself.
ENDINGS: dict[str, tuple[str, ...]] = {
    ".sh": ("sh",),
    ".bash": ("bash",),
    ".zsh": ("zsh",),
    ".py": ("python3",),
    ".js": ("node",),
    ".mjs": ("node",),
    ".cjs": ("node",),
    ".rb": ("ruby",),
    ".pl": ("perl",),
    ".php": ("php",),
    ".lua": ("lua",),
    ".r": ("Rscript",),
    ".ps1": ("pwsh", "-File"),
}
_INTERPRETERS = frozenset(words[0] for words in ENDINGS.values()) | {"dash", "ksh", "python", "deno", "bun"}
_SHEBANG = re.compile(rb"#![ \t]*(?:/usr/bin/env[ \t]+(?:-S[ \t]+)?)?(?:[^ \t\n]*/)?([A-Za-z0-9.+-]+)[ \t\r]*(?:\n|\Z)")
_HEAD = 256


def find_start(path: str) -> tuple[str, ...] | None:
    """The words that start a file, to be followed by its path; None if nobody can tell what would run it.

    Raises: OSError.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        head = file.read(_HEAD)
        executable = bool(os.fstat(file.fileno()).st_mode & 0o111)
    if executable and head.startswith((b"#!", b"\x7fELF")):
        return ()
    named = ENDINGS.get(os.path.splitext(path)[1].lower())
    if named is not None:
        return named
    match = _SHEBANG.match(head)
    interpreter = match[1].decode() if match else ""
    return (interpreter,) if interpreter in _INTERPRETERS else None


SCRIPTS = "scripts/"
WASM = ".wasm"
MAX_TOOLS = 32  # of one skill; models and wires take so many and no more
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")  # what every wire takes
_ON_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_NATIVE = "Write execution: shell, or bring the skill along with a plugin that does its tools"
_MODULE = b"\0asm\x01\0\0\0"
_COMPONENT = b"\0asm\x0d\0\x01\0"
_PLACEHOLDER = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|\{\{?[ ]?([A-Za-z_][\w-]*)[ ]?\}\}?")


class SkillRuntime(Struct, frozen=True):
    """The engines that run a skill's tools: WebAssembly, and the plugin that brings the skill, if it runs."""

    wasm: WasmSettings = WasmSettings()
    plugin: str = ""
    no_plugin: str = "only a plugin's skill has such tools"  # why there is none


class DeclaredTool(Struct, frozen=True):
    """A tool that can be offered. `file` is the program among the skill's files, else it is found on PATH.

    Without words, `plugin` does it.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    words: tuple[str, ...]  # the program and its own words; what a model says is never among them
    file: str = ""
    repeatable: bool = False
    plugin: str = ""

    @property
    def shown(self) -> str:
        """The program as people see it."""
        return " ".join(self.words) or f"plugin {self.plugin}"


def check_declared_tools(
    skill: Skill,
    folder: str,
    path: str,
    runtime: SkillRuntime = SkillRuntime(),  # noqa: B008
) -> tuple[tuple[DeclaredTool, ...], tuple[Diagnostic, ...]]:
    """The tools of a skill that can be offered, and what there is to say about them. `path` is the skill's file."""
    files = list_files(folder) if skill.provided_tools else ()
    offered: dict[str, DeclaredTool] = {}
    diagnostics: list[Diagnostic] = []
    for provided_tool in skill.provided_tools:
        found = _check(provided_tool, provided_tool.execution or skill.execution, runtime) or _make(
            provided_tool, skill, folder, files, runtime
        )
        if isinstance(found, Diagnostic):
            diagnostics.append(_at(found, path))
        elif len(offered) == MAX_TOOLS:
            diagnostics.append(_at(_refuse("tool-limit", provided_tool, f"a skill may bring {MAX_TOOLS}"), path))
        elif found.name.lower() in offered:
            diagnostics.append(_at(_refuse("tool-name", provided_tool, "another of its name comes first"), path))
        else:
            offered[found.name.lower()] = found
            diagnostics += [_at(warning, path) for warning in _warn(found)]
    return tuple(offered.values()), tuple(diagnostics)


def _check(one: ToolDefinition, execution: str, runtime: SkillRuntime) -> Diagnostic | None:
    """Return why a tool cannot be offered, whatever its program is; None if it can."""
    if execution == "prompt":
        return _refuse("tool-execution", one, "nothing says how it runs", "Write execution: shell, wasm or native")
    if execution == "native" and not runtime.plugin:
        return _refuse("tool-execution", one, f"its execution is native, and {runtime.no_plugin}", _NATIVE)
    if execution == "wasm" and not find_spec("wasmtime"):
        return _refuse("wasm-missing", one, "WebAssembly is not installed", "Install clawft[wasm]")
    if not _NAME.fullmatch(one.name) or "__" in one.name:
        hint = "At most 64 letters, digits, _ and -, without __, which is for tools of MCP servers"
        return _refuse("tool-name", one, "its name cannot be a tool's", hint)
    if problem := check_schema(one.parameters):
        return _refuse("tool-schema", one, f"its schema cannot be checked: {problem}")
    return None


def _make(
    one: ToolDefinition, skill: Skill, folder: str, files: Collection[str], runtime: SkillRuntime
) -> DeclaredTool | Diagnostic:
    """The tool with its program; why it cannot be offered, if there is none."""
    execution, parameters = one.execution or skill.execution, _complete(one.parameters)
    if execution == "native":
        return DeclaredTool(one.name, one.description, parameters, (), "", one.repeatable, runtime.plugin)
    is_wasm = execution == "wasm"
    program = _find_module(one, files) if is_wasm else _find_program(one, files)
    if isinstance(program, Diagnostic):
        return program
    words, file = program
    at = os.path.join(folder, file)
    if is_wasm and (why := _why_no_module(at, file, runtime.wasm)):
        return _refuse("tool-program", one, *why)
    if file and not is_wasm and (problem := _why_no_start(at, file)):
        return _refuse("tool-program", one, problem, "Give it a first line like #!/bin/sh, or an ending like .py")
    repeatable = one.repeatable or is_wasm  # which can change nothing that outlives it
    return DeclaredTool(one.name, one.description, parameters, words, file, repeatable)


def _find_program(one: ToolDefinition, files: Collection[str]) -> tuple[tuple[str, ...], str] | Diagnostic:
    """The words of its program, and the file that it is, if it is one of the skill's."""
    if not one.command:
        names = [f"{SCRIPTS}{one.name}{end}" for end in ("", *ENDINGS)]
        return _find_named(one, files, names, f"there is no file {names[0]}, with or without an ending,")
    program, *rest = one.command
    file = find_file(program, files)
    if file:
        return (file, *rest), file
    if not _ON_PATH.fullmatch(program):
        return _refuse(
            "tool-program", one, f"its command '{program[:60]}' is neither a file of it nor a program's name"
        )
    return one.command, ""


def _find_module(one: ToolDefinition, files: Collection[str]) -> tuple[tuple[str, ...], str] | Diagnostic:
    """Find the WebAssembly module of a tool, which is always a file of the skill."""
    if not one.command:
        names = [f"{SCRIPTS}{one.name}{WASM}", f"{one.name}{WASM}"]
        return _find_named(one, files, names, f"there is no file {' or '.join(names)},")
    program, *rest = one.command
    file = find_file(program, files)
    if not file.endswith(WASM):
        return _refuse("tool-program", one, f"its command '{program[:60]}' is no {WASM} file of it")
    return (file, *rest), file


def _find_named(
    one: ToolDefinition, files: Collection[str], names: list[str], missing: str
) -> tuple[tuple[str, ...], str] | Diagnostic:
    """The one file that is there of those that may be meant where no command is named."""
    named = [file for file in files if file in names]
    if len(named) == 1:
        return (named[0],), named[0]
    problem = f"{' and '.join(named)} may both be meant" if named else f"{missing} and no command is named"
    return _refuse("tool-program", one, problem, f"Add the file, or command: [{SCRIPTS}…]")


def find_file(name: str, files: Collection[str]) -> str:
    """The file of a skill that a path below its folder means; '' if it is none of them, which no link is."""
    path = posixpath.normpath(name) if name and not name.startswith("/") else ""
    return path if path in files else ""


def list_scripts(folder: str) -> tuple[str, ...]:
    """The files of a skill that may be run as scripts."""
    return tuple(name for name in list_files(folder) if name.startswith(SCRIPTS))


def _why_no_start(path: str, file: str) -> str:
    try:
        return "" if find_start(path) is not None else f"nothing tells how to start {file}"
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}"


def _why_no_module(path: str, file: str, settings: WasmSettings) -> tuple[str, str] | None:
    """Return why a file cannot be a module, by its first bytes and its size, and a hint; None if it may be one. The
    rest is checked when it runs."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            head, size = opened.read(len(_MODULE)), os.fstat(opened.fileno()).st_size
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}", ""
    if head != _MODULE:
        what = "a component, not a module" if head == _COMPONENT else "no module of WebAssembly"
        return f"{file} is {what}", "It has to be a module of WASI preview 1, as made for the target wasm32-wasip1"
    if size > settings.max_bytes:
        larger = f"weft config set plugins.wasm.max_bytes {size}"
        return f"{file} has {size} bytes, and plugins.wasm.max_bytes is {settings.max_bytes}", f"If it may: {larger}"
    return None


def _complete(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what wires ask for, and with what holds here: names that are not defined are refused."""
    return {"additionalProperties": False, "properties": {}, **schema, "type": "object"}


def _warn(one: DeclaredTool) -> list[Diagnostic]:
    """Words that look as if an argument were to be put into them: none ever is."""
    names = set(one.parameters["properties"])
    for word in one.words[1:]:
        for match in _PLACEHOLDER.finditer(word):
            if (match[1] or match[2]) in names:
                message = f"'{match[0]}' in the command of the tool '{one.name}' is passed as it is written"
                hint = "Read the arguments from standard input, as JSON, or from ARG_ variables"
                return [Diagnostic("tool-placeholder", "warning", message, hint=hint)]
    return []


def _refuse(code: str, one: ToolDefinition, why: str, hint: str = "") -> Diagnostic:
    return Diagnostic(code, "warning", f"The tool '{one.name[:60]}' is not offered: {why}", hint=hint)


def _at(one: Diagnostic, path: str) -> Diagnostic:
    return Diagnostic(one.code, one.severity, one.message, path, 0, one.hint)


# The plugin, the skill, the tool and its arguments. Raises: PluginError.
CallPlugin = Callable[[str, str, str, Mapping[str, Any]], Awaitable[ToolOutput]]


class SkillEngines(Struct, frozen=True):
    """`plugins` are those that can be called."""

    wasm: WasmSettings
    open_wasi: Callable[[], "Wasi"]
    plugins: Collection[str] = ()
    call_plugin: CallPlugin | None = None


def find_skill_runtime(location: Location | None, wasm: WasmSettings, plugins: Collection[str]) -> SkillRuntime:
    """Find the engines for a skill at a location. Only the plugin that brings a skill runs its tools."""
    if location is None or location.scope != "plugin":
        return SkillRuntime(wasm)
    if location.layer in plugins:
        return SkillRuntime(wasm, location.layer)
    return SkillRuntime(wasm, no_plugin=f"the plugin '{location.layer}' does not run, or has no code")
