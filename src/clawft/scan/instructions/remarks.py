"""Prose inside code and settings: comments, docstrings and long texts, which an agent reads like any other."""

import re
from collections.abc import Iterator

from clawft.scan.instructions.segments import Part

__all__ = ["find_remarks"]

MIN_BLANKS = 5
MAX_REMARKS = 4_000
_REMARK = re.compile(
    r"(?:^[ \t]*(?:#+|//+|--|;+|\*|<!--|rem\b)[ \t]+[^\n]*(?:\n|\Z))+"  # lines of comment
    r'|"""[^"\\]{20,8000}"""'
    r"|/\*[^*]{20,8000}\*/"
    r'|"[^"\n\\]{30,4000}"'
    r"|'[^'\n\\]{30,4000}'"
    r"|^[ \t-]*[\w-]{2,40}:[ \t]+[^\"'\n{\[][^\n]{30,4000}$",  # a value of YAML
    re.MULTILINE | re.IGNORECASE,
)


def find_remarks(text: str) -> Iterator[Part]:
    """Each comment or text of several words, as a block of prose."""
    for count, match in enumerate(_REMARK.finditer(text)):
        if count >= MAX_REMARKS:
            return
        if match[0].count(" ") >= MIN_BLANKS:
            yield Part("remark", match.start(), match.end())
