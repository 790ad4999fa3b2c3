"""Statements that only tell something: a print or a log line whose arguments do nothing is not worth reading."""

from functools import cache
from typing import Any

from clawft.scan.languages.code.lexer import COMMAND, LINE, MIXED, NAME, OPERATOR, STRING, Tokens
from clawft.scan.languages.code.tables import find_names

__all__ = ["TELLING", "skip_telling"]

TELLING = frozenset(("print", "console", "logger", "logging"))
_LANGUAGES = frozenset(("python", "javascript"))
# Calls that only change the form of what they are given.
_PURE = frozenset((
    "len", "str", "int", "float", "round", "repr", "sorted", "list", "set", "dict", "tuple", "sum", "min", "max", "abs",
    "range", "type", "bool", "join", "format", "upper", "lower", "strip", "ljust", "rjust", "center", "replace",
    "title", "items", "keys", "values", "isoformat", "strftime", "now", "today", "dumps", "stringify", "toString",
    "toFixed", "toUpperCase", "toLowerCase", "padEnd", "padStart", "slice", "repeat", "trim", "toLocaleString",
    "toISOString", "Date", "String", "Number", "capitalize", "count", "rstrip", "lstrip", "total_seconds", "any", "all",
))  # fmt: skip


@cache
def _names_that_act(language: str) -> frozenset[str]:
    """The last words of what does something by being named: the environment, the cookies of a page."""
    found = find_names(language).items()
    return frozenset(
        name.rpartition(".")[2] for name, (effect, _) in found if effect == "environment" or effect.startswith("is-")
    )


def skip_telling(tokens: Tokens, at: int, limit: int) -> int:
    """The token after the statement that begins here, if it only tells something; the same token otherwise."""
    kinds, values = tokens.kinds, tokens.values
    if tokens.syntax.name not in _LANGUAGES:
        return at
    name, opened = values[at], at + 1
    if values[opened] == "." and kinds[opened + 1] == NAME:
        name, opened = f"{name}.{values[opened + 1]}", opened + 2
    end = tokens.match.get(opened, limit) + 1
    if values[opened] != "(" or end >= limit or not (kinds[end] == LINE or values[end] in (";", "}")):
        return at
    if find_names(tokens.syntax.name).get(name, ("", ""))[0] != "quiet":
        return at
    return end if _is_idle(tokens, opened + 1, end - 1) else at


def _is_idle(tokens: Tokens, start: int, end: int) -> bool:
    """Whether nothing between two tokens can do anything."""
    kinds, values, acting = tokens.kinds, tokens.values, _names_that_act(tokens.syntax.name)
    for at in range(start, end):
        kind, value = kinds[at], values[at]
        if kind == NAME:
            if value in acting or (values[at + 1] == "(" and value not in _PURE):
                return False
        elif kind == OPERATOR:
            if value in (":=", "=>") or (value == "(" and values[at - 1] in (")", "]") and kinds[at - 1] == OPERATOR):
                return False
        elif kind == MIXED:
            if not all(_is_idle_hole(one) for one in value):
                return False
        elif kind == COMMAND or (kind == STRING and values[at + 1] == "("):
            return False
    return True


def _is_idle_hole(part: Any) -> bool:
    return isinstance(part, str) or _is_idle(part, 0, len(part.kinds))
