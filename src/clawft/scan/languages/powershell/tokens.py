"""The small parts of PowerShell: patterns of its words, names and operators."""

import re

__all__ = ["MEMBER", "NUMBER", "OPERATOR", "SPACE", "TYPE", "VARIABLE", "WORD", "name_of", "unescape"]

SPACE = re.compile(r"(?:[ \t\r\f\v\xa0]|`\r?\n|<#.*?(?:#>|\Z))+", re.DOTALL)
VARIABLE = re.compile(
    r"(?:\$(?=\S)|@(?=[A-Za-z_]))(?:\{([^}\n]{1,80})\}|([A-Za-z_]\w*(?::[A-Za-z_][\w.()]*)?)|([$?^_]))"
)
WORD = re.compile(r"(?:[^\s`'\"|;{}()&<>,$@#]|(?<=[\w.-])[#@&](?=\S)|`[^\n])+")
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:kb|mb|gb)?\b", re.IGNORECASE)
TYPE = re.compile(r"\[([A-Za-z_][\w.]*(?:\[\])?)\]")
MEMBER = re.compile(r"(::|\.)([A-Za-z_]\w*|['\"][^'\"\n]{1,60}['\"])")
OPERATOR = re.compile(r"-([a-zA-Z]{1,12})\b(?!-)")


def name_of(match: re.Match[str]) -> str:
    name = (match[1] or match[2] or match[3]).lower()
    scope, colon, rest = name.partition(":")
    return rest if colon and scope in ("global", "script", "local", "private", "using", "variable") else name


def unescape(word: str) -> str:
    """A word without the backticks in it."""
    return re.sub(r"`(.)", r"\1", word) if "`" in word else word
