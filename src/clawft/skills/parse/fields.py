"""The fields of a skill: which spelling of a key means which field, and how its value is read."""

import re
import shlex
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.model import SkillInstaller, ToolDefinition

UNREAD = object()  # what a reader returns for a value that cannot be used

_INSTALL_LISTS = frozenset({"bins", "os"})
_INSTALL_TEXTS = frozenset(SkillInstaller.__struct_fields__) - _INSTALL_LISTS
NOTHING = ("!*",)  # a list of tools that cannot be read grants none: it never widens what the skill may do
_WORD = re.compile(r"[^\s,()]+(?:\s*\([^()]*\)?[^\s,]*)?|\([^\s,]*|\)[^\s,]*")
_BALANCED = re.compile(r"[^\s()\[\]{}]+(?:\([^()]*\))?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SCALAR = (str, int, float)
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
_INSTALLER = (dict, str)
EXECUTIONS = ("prompt", "wasm", "native", "shell")


class Field(Struct, frozen=True):
    """One field: its name in Skill, its canonical key, and the function that reads a value."""

    name: str
    key: str
    read: Callable[[Any, str, DiagnosticCollector], Any]


def read_text(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    if type(value) is str:
        return value.strip() if value.isprintable() else _without_control(value, key, notes)
    if isinstance(value, _SCALAR):
        return notes.written_value(key) or str(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        notes.add("wrong-type", "warning", f"'{key}' should be a text, not a list; its items were joined", key=key)
        return ", ".join(value)
    return _refuse(value, key, "a text", notes)


def _without_control(value: str, key: str, notes: DiagnosticCollector) -> str:
    """The text without characters that would act on a terminal or hide text from a reader; lines may break."""
    cleaned = _CONTROL.sub("", value)
    if cleaned != value:
        notes.add("control-character", "warning", f"'{key}' holds control characters; they were removed", key=key)
    return cleaned.strip()


def read_hint(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """`argument-hint: [topic]` is YAML for a list, and meant as it is written."""
    return notes.written_value(key) if isinstance(value, list) else read_text(value, key, notes)


def read_flag(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    if type(value) is bool:
        return value
    word = str(value).strip().lower()
    if isinstance(value, str | int) and (word in _TRUE or word in _FALSE):
        meant = word in _TRUE
        spelled = str(meant).lower()
        message, hint = f"'{key}' was read as {spelled}", f"Write {key}: {spelled}"
        notes.add("flag-spelling", "note", message, key=key, hint=hint, fix=notes.replace_value(key, spelled))
        return meant
    return _refuse(value, key, "true or false", notes)


def read_names(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """A list of texts; a single text is a list of one, and commas divide it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list):
        names = tuple([str(item).strip() for item in value if isinstance(item, _SCALAR)])
        if len(names) < len(value):
            notes.add("wrong-type", "warning", f"'{key}' holds items that are not texts; they were left out", key=key)
        return names
    return _refuse(value, key, "a list of texts", notes)


def read_needs(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """A list of things with their versions: texts, `{name, version}`, or a mapping of names to versions.

    What is marked as optional, or as something else than a skill, is left out.
    """
    if isinstance(value, dict):
        value = [{"name": name, "version": version} for name, version in value.items()]
    if not isinstance(value, list):
        return read_names(value, key, notes)
    return read_names([_write_need(item) for item in value if not _is_other(item)], key, notes)


def _is_other(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    return item.get("optional") is True or item.get("required") is False or item.get("type", "skill") != "skill"


def _write_need(item: Any) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return item
    version = item.get("version")
    wanted = str(version).strip() if isinstance(version, _SCALAR) else ""
    return item["name"] + (f"=={wanted}" if wanted[:1].isdigit() else wanted)


def read_words(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """Read a list of tools: YAML list, or words divided by commas or spaces, `Bash(git add:*)` being one."""
    items = [value] if isinstance(value, str) else read_names(value, key, notes)
    if items is UNREAD:
        return NOTHING
    words = [word for item in items for word in _WORD.findall(item)]
    balanced = tuple(word for word in words if _BALANCED.fullmatch(word))
    if len(balanced) < len(words):
        bad = next(word for word in words if not _BALANCED.fullmatch(word))
        notes.add("tools-unbalanced", "warning", f"'{key}' holds what is no tool and was left out: {bad[:60]}", key=key)
    return balanced if balanced or not words else NOTHING


def read_denied(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """Tools that are taken away: where that cannot be read, all of them."""
    words = read_words(value, key, notes)
    return ("*",) if words == NOTHING else words


def read_arguments(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """Names of arguments: a list, or words."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else read_names(value, key, notes)


def json_safe(value: Any, depth: int = 12) -> Any:
    """A value that JSON can hold: keys as texts, numbers of 64 bits, and no deeper than `depth`."""
    if isinstance(value, dict):
        return {str(key): json_safe(inner, depth - 1) for key, inner in value.items()} if depth else {}
    if isinstance(value, list):
        return [json_safe(inner, depth - 1) for inner in value] if depth else []
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value if isinstance(value, str | int | float | None) and value == value else str(value)


def read_mapping(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """A mapping as it is written, for what looks into it and checks what it takes."""
    return value if isinstance(value, dict) else _refuse(value, key, "a mapping", notes)


def read_json(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """A mapping that is kept whole."""
    mapping = read_mapping(value, key, notes)
    return mapping if mapping is UNREAD else json_safe(mapping)


def read_tools(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """Read the tools as they are written: `skill.py` divides required tools from provided ones."""
    if isinstance(value, list):
        return value
    return list(read_words(value, key, notes)) if isinstance(value, str) else _refuse(value, key, "a list", notes)


def read_installs(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """Read the ways to install what is required; an unknown kind keeps its label."""
    items = (
        [dict(item, kind=kind) for kind, item in value.items() if isinstance(item, dict)]
        if isinstance(value, dict)
        else value
    )
    if not isinstance(items, list):
        return _refuse(value, key, "a list of installers", notes)
    return tuple([_install(item) for item in items if isinstance(item, _INSTALLER)])


def _install(item: Any) -> SkillInstaller:
    if isinstance(item, str):
        return SkillInstaller(label=item)
    fields: dict[str, Any] = {}
    for key, value in item.items():
        if key in _INSTALL_LISTS:
            if isinstance(value, list):
                fields[key] = tuple(map(str, value))
        elif key in _INSTALL_TEXTS and value:
            fields[key] = str(value)
    return SkillInstaller(**fields)


def _choice(*allowed: str) -> Callable[[Any, str, DiagnosticCollector], Any]:
    def read_choice(value: Any, key: str, notes: DiagnosticCollector) -> Any:
        word = str(value).strip().lower()
        if word in allowed:
            return word
        return _refuse(value, key, " or ".join(allowed), notes)

    return read_choice


def _refuse(value: Any, key: str, wanted: str, notes: DiagnosticCollector) -> object:
    shown = repr(value)[:40] if isinstance(value, str | int | float | bool) else f"a {type(value).__name__}"
    notes.add("wrong-type", "warning", f"'{key}' should be {wanted}, not {shown}; it was left out", key=key)
    return UNREAD


# Skill field -> (reader, further spellings). The canonical key is the field's name with hyphens; its snake_case and
# camelCase spellings are always understood.
_FIELDS: dict[str, tuple[Callable[[Any, str, DiagnosticCollector], Any], tuple[str, ...]]] = {
    "name": (read_text, ()),
    "description": (read_text, ()),
    "display_name": (read_text, ("title",)),
    "when_to_use": (read_text, ()),
    "version": (read_text, ()),
    "license": (read_text, ("licence",)),
    "compatibility": (read_text, ()),
    "homepage": (read_text, ("url", "website")),
    "author": (read_text, ()),
    "emoji": (read_text, ()),
    "category": (read_text, ()),
    "tags": (read_names, ()),
    "triggers": (read_names, ("trigger", "keywords", "read-when")),
    "disable_model_invocation": (read_flag, ()),
    "user_invocable": (read_flag, ("invocable",)),
    "always": (read_flag, ()),
    "argument_hint": (read_hint, ()),
    "arguments": (read_arguments, ()),
    "variables": (read_names, ()),
    "paths": (read_names, ()),
    "context": (_choice("inline", "fork"), ()),
    "agent": (read_text, ()),
    "background": (read_flag, ()),
    "model": (read_text, ()),
    "effort": (read_text, ()),
    "shell": (read_text, ()),
    "execution": (_choice(*EXECUTIONS), ()),
    "allowed_tools": (read_words, ()),
    "disallowed_tools": (read_denied, ()),
    "tools": (read_tools, ()),
    "permissions": (read_names, ()),
    "hooks": (read_json, ()),
    "hook_before": (read_text, ()),
    "hook_after": (read_text, ()),
    "command_dispatch": (read_text, ()),
    "command_tool": (read_text, ()),
    "command_arg_mode": (read_text, ()),
    "requires": (read_mapping, ()),
    "install": (read_installs, ()),
    "os": (read_names, ("platforms",)),
    "bins": (read_names, ()),
    "primary_env": (read_text, ()),
    "skill_key": (read_text, ()),
    "dependencies": (read_needs, ("depends-on",)),
    "required_environment_variables": (read_tools, ()),
    "env_vars": (read_tools, ()),
    "metadata": (read_mapping, ()),
}


_SNAKE = {"when_to_use", "required_environment_variables", "display_name"}  # as the client that reads them writes them


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _spellings() -> dict[str, Field]:
    keys: dict[str, Field] = {}
    for name, (read, further) in _FIELDS.items():
        canonical = name if name in _SNAKE else name.replace("_", "-")
        for spelling in (name.replace("_", "-"), name, _camel(name), *further):
            keys[spelling] = Field(name, canonical if spelling not in further else spelling, read)
    return keys


KEYS = _spellings()
# What may also be in a client's block under `metadata`.
_IN_BLOCK = (
    *("always", "emoji", "homepage", "skill_key", "primary_env", "os", "requires"),
    *("install", "category", "tags", "author", "env_vars", "version"),
)
BLOCK_KEYS = {spelling: field for spelling, field in KEYS.items() if field.name in _IN_BLOCK}


MAX_WORDS = 64
# What MCP's own tool definitions hold beside these is understood, and has no effect.
_KEYS = frozenset(
    {"name", "description", "parameters", "inputSchema", "command", "execution", "repeatable", "idempotent"}
)
_OF_MCP = frozenset({"title", "annotations", "outputSchema", "icons", "_meta"})
_OPERATORS = frozenset("();<>|&")


def read_tool(item: dict[Any, Any], notes: DiagnosticCollector) -> ToolDefinition | None:
    """A tool definition, or one of MCP's (`inputSchema`); None, and why, for what is none."""
    name = item.get("name")
    schema = item.get("parameters") or item.get("inputSchema") or {}
    if not isinstance(name, str) or not isinstance(schema, dict):
        _refuse_tools(notes, "'tools' holds a mapping that is no tool definition; it was left out")
        return None
    command, execution = _read_command(item.get("command")), str(item.get("execution") or "").strip().lower()
    if command is None:  # another program than the one that was meant must not take its place
        _refuse_tools(
            notes, f"The command of the tool '{name[:60]}' is not a list of plain words; the tool was left out"
        )
        return None
    if execution and execution not in EXECUTIONS:
        _refuse_tools(notes, f"The tool '{name[:60]}' has an execution that is not known; the tool was left out")
        return None
    for key in item:
        if key not in _KEYS and key not in _OF_MCP:
            message = f"No client is known to read '{str(key)[:60]}' of a tool; it has no effect"
            notes.add("unknown-field", "note", message, key="tools")
    repeatable = _read_repeatable(item, name, notes)
    return ToolDefinition(name, str(item.get("description") or ""), json_safe(schema), command, execution, repeatable)


def _read_repeatable(item: dict[Any, Any], name: str, notes: DiagnosticCollector) -> bool:
    """`repeatable`, or `idempotent` as others call it; what is neither true nor false, or both, counts as no."""
    answers = [item[key] for key in ("repeatable", "idempotent") if item.get(key) is not None]
    if any(type(value) is not bool for value in answers):
        _refuse_tools(
            notes, f"Whether the tool '{name[:60]}' is repeatable must be true or false; it was taken as false"
        )
    return bool(answers) and all(value is True for value in answers)


def _read_command(value: Any) -> tuple[str, ...] | None:
    """The words of a program: a list, or a text without anything that only a shell would understand."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = _split(value)
    if not isinstance(value, list) or not value or len(value) > MAX_WORDS:
        return None
    words = tuple(str(word) for word in value if isinstance(word, str | int | float))
    good = len(words) == len(value) and words[0].strip() and not any("\0" in word for word in words)
    return words if good else None


def _split(text: str) -> list[str] | None:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that does not end
        return None
    return None if any(word and set(word) <= _OPERATORS for word in words) else words


def _refuse_tools(notes: DiagnosticCollector, message: str) -> None:
    notes.add("wrong-type", "warning", message, key="tools")
