"""Places in a template where a client would run a command: `!command` lines, inline and fenced forms (R56, D21).

Looked for in the template only, never in ordinary fences or images. They are recognised here and left as text.
"""

import re

from msgspec import Struct

__all__ = ["Dynamic", "find_dynamic"]

_LINE = re.compile(r"!(?![\[!=`\s])(?P<command>\S.*)$")
_INLINE = re.compile(r"(?:^|(?<=\s))!`(?P<command>[^`\n]+)`")
_FENCE = re.compile(r"[ \t]{0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)$")


class Dynamic(Struct, frozen=True):
    """One such place: its span in the template, its line, and the command."""

    start: int
    end: int
    line: int
    command: str


def find_dynamic(template: str) -> tuple[Dynamic, ...]:
    """Every place, in order."""
    if "!" not in template:
        return ()
    found: list[Dynamic] = []
    offset, fence, opened = 0, "", (0, 0, False)
    for number, line in enumerate(template.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["fence"].startswith(fence) and not mark["info"].strip():
                start, first, is_dynamic = opened
                if is_dynamic:
                    found.append(Dynamic(start, offset + len(line), first, _inside(template[start:offset])))
                fence = ""
        elif mark:
            fence, opened = mark["fence"], (offset, number, mark["info"].strip() == "!")
        else:
            found += _in_line(line, offset, number)
        offset += len(line) + 1
    return tuple(found)


def _inside(block: str) -> str:
    return block.partition("\n")[2].strip()


def _in_line(line: str, offset: int, number: int) -> list[Dynamic]:
    whole = _LINE.match(line)
    if whole:
        return [Dynamic(offset, offset + len(line), number, whole["command"].strip())]
    return [Dynamic(offset + one.start(), offset + one.end(), number, one["command"]) for one in _INLINE.finditer(line)]
