"""The tools that a skill brings: items of `tools:` that are mappings (001 §14.4, D14)."""

import shlex
from typing import Any

from clawft.format.fields import json_safe
from clawft.format.model import ToolDefinition
from clawft.format.notes import Notes

__all__ = ["EXECUTIONS", "read_tool"]

EXECUTIONS = ("prompt", "wasm", "native", "shell")
MAX_WORDS = 64
# What MCP's own tool definitions hold beside these is understood, and has no effect.
_KEYS = frozenset(
    {"name", "description", "parameters", "inputSchema", "command", "execution", "repeatable", "idempotent"}
)
_OF_MCP = frozenset({"title", "annotations", "outputSchema", "icons", "_meta"})
_OPERATORS = frozenset("();<>|&")


def read_tool(item: dict[Any, Any], notes: Notes) -> ToolDefinition | None:
    """A tool definition, or one of MCP's (`inputSchema`); None, and why, for what is none."""
    name = item.get("name")
    schema = item.get("parameters") or item.get("inputSchema") or {}
    if not isinstance(name, str) or not isinstance(schema, dict):
        _refuse(notes, "'tools' holds a mapping that is no tool definition; it was left out")
        return None
    command, execution = _read_command(item.get("command")), str(item.get("execution") or "").strip().lower()
    if command is None:  # another program than the one that was meant must not take its place
        _refuse(notes, f"The command of the tool '{name[:60]}' is not a list of plain words; the tool was left out")
        return None
    if execution and execution not in EXECUTIONS:
        _refuse(notes, f"The tool '{name[:60]}' has an execution that is not known; the tool was left out")
        return None
    for key in item:
        if key not in _KEYS and key not in _OF_MCP:
            said = f"No client is known to read '{str(key)[:60]}' of a tool; it has no effect"
            notes.add("unknown-field", "note", said, key="tools")
    repeatable = _read_repeatable(item, name, notes)
    return ToolDefinition(name, str(item.get("description") or ""), json_safe(schema), command, execution, repeatable)


def _read_repeatable(item: dict[Any, Any], name: str, notes: Notes) -> bool:
    """`repeatable`, or `idempotent` as others call it; what is neither true nor false, or both, counts as no."""
    said = [item[key] for key in ("repeatable", "idempotent") if item.get(key) is not None]
    if any(type(value) is not bool for value in said):
        _refuse(notes, f"Whether the tool '{name[:60]}' is repeatable must be true or false; it was taken as false")
    return bool(said) and all(value is True for value in said)


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


def _refuse(notes: Notes, message: str) -> None:
    notes.add("wrong-type", "warning", message, key="tools")
