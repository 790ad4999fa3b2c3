"""Backslashes as `$'…'`, `echo -e` and `printf` understand them."""

import re

__all__ = ["unescape_ansi"]

_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|c.|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


def unescape_ansi(text: str) -> str:
    """The text of `$'…'`, `echo -e` and `printf`."""
    return _ANSI.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        value = int(code[1:], 16)
        return chr(value) if value < 0x110000 and not 0xD800 <= value < 0xE000 else ""
    if code[0].isdigit() and code[0] < "8":
        return chr(int(code, 8) & 255)
    return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else "\\" + code)
