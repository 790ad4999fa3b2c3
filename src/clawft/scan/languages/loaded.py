"""Commands that run when a skill is loaded: `!` before inline code, and fences marked with `!`.

Agents run these before the model sees the text and put what they print in their place, so nobody is asked.
"""

import re

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Analysis, Fact, Kind
from clawft.scan.findings import ON_LOAD

__all__ = ["note_loaded"]

_INLINE = re.compile(r"(?<![\w`!\\])!`([^`\n]{2,2000})`")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MAX = 200


def note_loaded(document: Document, analysis: Analysis) -> None:
    """Add the commands that loading a text runs, each as a hook and a document."""
    text = document.text
    if "!`" not in text and "```!" not in text:
        return
    found: list[tuple[int, str]] = []
    at, fence = 0, ""
    for mark in _FENCE.finditer(text):
        if not fence:
            found.extend((one.start(1), one[1]) for one in _INLINE.finditer(text, at, mark.start()))
            fence, at = mark[1], mark.end()
            running = mark[2].strip().startswith("!")
        elif mark[1].startswith(fence) and not mark[2].strip():
            if running:
                found.append((at + 1, text[at + 1 : mark.start()]))
            fence, at = "", mark.end()
    if not fence:
        found.extend((one.start(1), one[1]) for one in _INLINE.finditer(text, at))
    for offset, command in found[:_MAX]:
        analysis.facts.append(Fact(Kind.HOOK, ON_LOAD, document, document.line_at(offset), command.strip()))
        analysis.children.append(make_child(document, command, "shell", "hook", offset, flat="\n" not in command))
