"""Places in a template where a client would run a command: `!command` lines, inline and fenced forms (R56, D21).

In Claude's command files also `@path`, where it would attach a file. Looked for in the template only, never in ordinary
fences or images. They are recognised here and left as text.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.format.model import Skill

__all__ = ["Dynamic", "check_dynamic", "find_dynamic"]

# A fence, or a line that starts with `!`; found from the line end before it, which is the fast thing to look for.
_LINE = re.compile(r"\n(?:[ \t]{0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)|!(?![\[!=`\s])(?P<command>[^\n]+))")
_MENTION = re.compile(r"(?<!\S)@(?=[\w.~/-]*(?:/|\.\w))(?P<path>[\w.~/-]*[\w/])")
_INLINE = re.compile(r"!`(?P<command>[^`\n]+)`")


class Dynamic(Struct, frozen=True):
    """One such place: its span in the template, its line, and the command."""

    start: int
    end: int
    line: int
    command: str

    @property
    def head(self) -> str:
        """The command's first line, short enough to be quoted."""
        return self.command.partition("\n")[0][:60]


def check_dynamic(skill: Skill, path: str) -> tuple[Diagnostic, ...]:
    """Every command that some clients would run, and file they would attach, with its line in the file."""
    first = max(skill.body_line, 1)
    message = "Some clients would run this command; it is left as text and was not run: "
    prompt = skill.prompt or ""
    said = [(place.line, message + place.head) for place in find_dynamic(prompt)]
    if skill.format == "command":
        said += [(line, _ATTACHED + name) for line, name in _find_mentions(prompt)]
    return tuple(Diagnostic("dynamic-context", "note", text, path, first + line - 1) for line, text in sorted(said))


_ATTACHED = "Some clients would attach this file; it is left as text: "


def _find_mentions(prompt: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(prompt.split("\n"), 1):
        for match in _MENTION.finditer(line):
            yield number, match["path"][:60]


_Span = tuple[int, int, str]


def find_dynamic(template: str) -> tuple[Dynamic, ...]:
    """Every place, in order."""
    if "!" not in template:
        return ()
    text = "\n" + template
    spans: list[_Span] = []
    fenced: list[tuple[int, int]] = []
    fence, opened, runs = "", 0, False
    for match in _LINE.finditer(text):
        if match["command"] is not None:
            if not fence:
                spans.append((match.start() + 1, match.end(), match["command"]))
        elif not fence:
            fence, opened, runs = match["fence"], match.start() + 1, match["info"].strip() == "!"
        elif match["fence"].startswith(fence) and not match["info"].strip():
            if runs:
                spans.append((opened, match.end(), text[opened : match.start()].partition("\n")[2]))
            fenced.append((opened, match.end()))
            fence = ""
    if fence:
        fenced.append((opened, len(text)))
    spans += _inline(text, sorted([*fenced, *((start, end) for start, end, _ in spans)]))
    return tuple(_places(text, sorted(spans)))


def _inline(text: str, taken: list[tuple[int, int]]) -> list[_Span]:
    """The form !`command`, at the start of a line or after white space, outside of all that is taken."""
    spans: list[_Span] = []
    index = 0
    for match in _INLINE.finditer(text):
        start = match.start()
        while index < len(taken) and taken[index][1] <= start:
            index += 1
        inside = index < len(taken) and taken[index][0] <= start
        if not inside and text[start - 1].isspace():
            spans.append((start, match.end(), match["command"]))
    return spans


def _places(text: str, spans: list[_Span]) -> Iterator[Dynamic]:
    """The spans as places in the template, which is `text` without its first character."""
    line = position = 0
    for start, end, command in spans:
        line += text.count("\n", position, start)
        position = start
        yield Dynamic(start - 1, end - 1, line, command.strip())
