"""The tools that a skill declares: which can be offered, with which program, and why others are not (R17, D14)."""

import os
import posixpath
import re
from collections.abc import Collection
from typing import Any

from msgspec import Struct

from clawft.discovery.digest import list_files
from clawft.errors import Diagnostic
from clawft.format.model import Skill, ToolDefinition
from clawft.format.schema import check_schema
from clawft.tools.starting import ENDINGS, find_start

__all__ = ["SCRIPTS", "Provided", "check_provided", "find_file", "list_scripts"]

SCRIPTS = "scripts/"
MAX_TOOLS = 32  # of one skill; models and wires take so many and no more
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")  # what every wire takes
_ON_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PLACEHOLDER = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|\{\{?[ ]?([A-Za-z_][\w-]*)[ ]?\}\}?")


class Provided(Struct, frozen=True):
    """A tool that can be offered. `file` is the program among the skill's files, else it is found on PATH."""

    name: str
    description: str
    parameters: dict[str, Any]
    words: tuple[str, ...]  # the program and its own words; what a model says is never among them
    file: str = ""
    repeatable: bool = False

    @property
    def shown(self) -> str:
        """The program as people see it."""
        return " ".join(self.words)


def check_provided(skill: Skill, folder: str, path: str) -> tuple[tuple[Provided, ...], tuple[Diagnostic, ...]]:
    """The tools of a skill that can be offered, and what there is to say about them. `path` is the skill's file."""
    files = list_files(folder) if skill.provided_tools else ()
    offered: dict[str, Provided] = {}
    said: list[Diagnostic] = []
    for one in skill.provided_tools:
        found = _check(one, skill, folder, files)
        if isinstance(found, Diagnostic):
            said.append(_at(found, path))
        elif len(offered) == MAX_TOOLS:
            said.append(_at(_refuse("tool-limit", one, f"a skill may bring {MAX_TOOLS}"), path))
        elif found.name.lower() in offered:
            said.append(_at(_refuse("tool-name", one, "another of its name comes first"), path))
        else:
            offered[found.name.lower()] = found
            said += [_at(warning, path) for warning in _warn(found)]
    return tuple(offered.values()), tuple(said)


def _check(one: ToolDefinition, skill: Skill, folder: str, files: Collection[str]) -> Provided | Diagnostic:
    execution = one.execution or skill.execution
    if execution == "prompt":
        return _refuse("tool-execution", one, "nothing says how it runs", "Write execution: shell")
    if execution != "shell":
        return _refuse("tool-execution", one, f"execution '{execution}' is not supported", "Only shell is")
    if not _NAME.fullmatch(one.name) or "__" in one.name:
        hint = "At most 64 letters, digits, _ and -, without __, which is for tools of MCP servers"
        return _refuse("tool-name", one, "its name cannot be a tool's", hint)
    if problem := check_schema(one.parameters):
        return _refuse("tool-schema", one, f"its schema cannot be checked: {problem}")
    program = _find_program(one, files)
    if isinstance(program, Diagnostic):
        return program
    words, file = program
    if file and (problem := _why_no_start(os.path.join(folder, file), file)):
        return _refuse("tool-program", one, problem, "Give it a first line like #!/bin/sh, or an ending like .py")
    return Provided(one.name, one.description, _complete(one.parameters), words, file, one.repeatable)


def _find_program(one: ToolDefinition, files: Collection[str]) -> tuple[tuple[str, ...], str] | Diagnostic:
    """The words of its program, and the file that it is, if it is one of the skill's."""
    if not one.command:
        named = [file for file in files if file in (f"{SCRIPTS}{one.name}{end}" for end in ("", *ENDINGS))]
        if len(named) == 1:
            return (named[0],), named[0]
        missing = f"there is no file {SCRIPTS}{one.name}, with or without an ending, and no command is named"
        problem = f"{' and '.join(named)} may both be meant" if named else missing
        return _refuse("tool-program", one, problem, f"Add the file, or command: [{SCRIPTS}…]")
    program, *rest = one.command
    file = find_file(program, files)
    if file:
        return (file, *rest), file
    if not _ON_PATH.fullmatch(program):
        return _refuse(
            "tool-program", one, f"its command '{program[:60]}' is neither a file of it nor a program's name"
        )
    return one.command, ""


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


def _complete(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what wires ask for, and with what holds here: names that are not defined are refused."""
    return {"additionalProperties": False, "properties": {}, **schema, "type": "object"}


def _warn(one: Provided) -> list[Diagnostic]:
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
