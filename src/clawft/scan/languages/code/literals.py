"""What a literal means: escapes in strings, numbers in all their spellings."""

import re
from typing import Any

from clawft.scan.languages.code.syntax import Form

__all__ = ["read_number", "unescape"]

_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|x\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]+\}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\d{3}|\r?\n|.)",
    re.DOTALL,
)
_DECIMAL = re.compile(r"(?<!\\)\\(\d{1,3})")
_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "\n": "",
}


def unescape(body: str, form: Form) -> str:
    """The text that the inside of a string stands for."""
    if form.holes == "{":
        body = body.replace("{{", "{").replace("}}", "}")
    if form.raw or "\\" not in body:
        return body
    if form.decimal:
        body = _DECIMAL.sub(lambda found: chr(int(found[1]) % 256), body)
    return _ESCAPE.sub(_escaped, body)


def _escaped(found: "re.Match[str]") -> str:
    code = found[1]
    try:
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:].strip("{}"), 16))
        if code[0] in "01234567" and code != "0":
            return chr(int(code, 8) if len(code) < 3 or code[0] in "0123" else int(code) % 256)
    except (ValueError, OverflowError):
        return code
    return _SIMPLE.get(code, code.strip("\r\n"))


def read_number(text: str) -> Any:
    """The number that a literal stands for; 0 when it is none."""
    if text[:2].lower() in ("0x", "0o", "0b"):
        return _whole(re.sub(r"[uin]\d*$|_", "", text), 0)
    text = text.replace("_", "").rstrip("LlNnuUfFdD")
    if len(text) > 1 and text[0] == "0" and text.isdigit() and set(text) <= set("01234567"):
        return _whole(text, 8)
    if "." in text:
        try:
            return float(text)
        except ValueError:
            return 0
    digits = re.match(r"\d{0,300}", text)
    return _whole(digits[0] if digits else "", 10)


def _whole(digits: str, base: int) -> int:
    try:
        return int(digits[:300], base)
    except ValueError:
        return 0
