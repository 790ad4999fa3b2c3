"""Places in a template that stand for something fetched when it is used (R56, R57, D21).

`!command` lines, the inline form and the fenced form run commands; `!read path` and `@path` bring files. They are
looked for in the template only, never in code, comments or images, nor in what arguments bring. Nothing is run here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.format.model import Skill
from clawft.render.code import find_code_spans, split_code
from clawft.render.command import complete_variables, fill_command
from clawft.render.template import Arguments, Variables
from clawft.trust.prefixes import SETTING, find_unlisted
from clawft.trust.shell import NotUnderstood

__all__ = ["Dynamic", "check_dynamic", "find_dynamic"]

_COMMAND = re.compile(r"!(?![\[!=`\s])(?P<command>[^\n]+)")
_READ = re.compile(r"read(?:[ \t]+(?P<path>[^\n]*))?")
_MENTION = re.compile(
    r"(?<!\S)@(?P<path>(?:(?:\$\{CLAUDE_(?:SKILL|PROJECT)_DIR\}|\{baseDir\})/)?(?=[\w.~/-]*(?:/|\.\w))[\w.~/-]*[\w/])"
    r"(?=[\s.,;:!?)\]'\"*]|$)"
)
# What is hardly meant as anything but a file: `@types/node` and `@alice/tool` are names of packages.
_SURE = re.compile(r"(?:\.{1,2}|~)?/.*|\$?\{.*|.*\.\w+")

# Stand-ins for what is known only when a skill is used: where they stand, a value is one word.
_SOME = Arguments("x", ("x",) * 100)
_ANY = Variables("x", "/x", "/x")

_MARK = re.compile(r"[`~][ \t]*\Z")  # the end of what opens a fence
_MARK_SIZE = 20  # blanks and all

Kind = Literal["command", "read", "file"]


class Dynamic(Struct, frozen=True):
    """One such place: its span in the template, its line, and the command, or for the other kinds the path."""

    start: int
    end: int
    line: int
    command: str
    kind: Kind = "command"

    @property
    def head(self) -> str:
        """The command's first line, short enough to be quoted."""
        return self.command.partition("\n")[0][:60]

    @property
    def commands(self) -> tuple[str, ...]:
        """The command lines, one after the other: a fenced block may hold several, and remarks."""
        lines = (line.strip() for line in self.command.replace("\\\n", "").split("\n"))
        return tuple(line for line in lines if line and not line.startswith("#"))

    @property
    def is_surely_a_file(self) -> bool:
        return self.kind == "read" or bool(_SURE.fullmatch(self.command))


_Span = tuple[int, int, str, Kind]


def find_dynamic(template: str) -> tuple[Dynamic, ...]:
    """Every place, in order."""
    if not _may_have(template):
        return ()
    prose = split_code(template)
    spans: list[_Span] = [(block.start, block.end, block.content, "command") for block in prose.blocks]
    for start, end in prose.lines:
        if template.find("!", start, end) >= 0 or template.find("@", start, end) >= 0:
            spans += _in_line(template[start:end], start)
    return tuple(_places(template, sorted(spans)))


def _may_have(template: str) -> bool:
    """Whether it is worth telling prose from code: most templates hold nothing that could be a place."""
    at = template.find("!")
    while at >= 0:
        before, after = template[max(0, at - 1) : at], template[at + 1 : at + 2]
        if after == "`" or before in ("", "\n") or _MARK.search(template, max(0, at - _MARK_SIZE), at):
            return True
        at = template.find("!", at + 1)
    return "@" in template and _MENTION.search(template) is not None


def _in_line(line: str, start: int) -> Iterator[_Span]:
    """The places of one line of prose."""
    if whole := _COMMAND.match(line):
        yield _command(start, start + len(line), whole["command"])
        return
    taken = list(find_code_spans(line))
    for opened, closed, called in taken:
        if called and (command := line[opened + 1 : closed - 1].strip()):
            yield _command(start + opened - 1, start + closed, command)
    index = 0
    for match in _MENTION.finditer(line):
        while index < len(taken) and taken[index][1] <= match.start():
            index += 1
        if index == len(taken) or taken[index][0] > match.start():
            yield start + match.start(), start + match.end(), match["path"], "file"


def _command(start: int, end: int, command: str) -> _Span:
    read = _READ.fullmatch(command.strip())
    return (start, end, read["path"] or "", "read") if read else (start, end, command, "command")


def _places(template: str, spans: list[_Span]) -> Iterator[Dynamic]:
    line, position = 1, 0
    for start, end, command, kind in spans:
        line += template.count("\n", position, start)
        position = start
        yield Dynamic(start, end, line, command.strip(), kind)


def check_dynamic(
    skill: Skill, path: str, prefixes: Sequence[str] = (), places: Sequence[Dynamic] | None = None
) -> tuple[Diagnostic, ...]:
    """What a turn would do at every such place, with its line in the file; `prefixes` are the commands that may run."""
    first = max(skill.body_line, 1)
    known = complete_variables(skill, _ANY)
    return tuple(
        Diagnostic("dynamic-context", "note", _say(place, prefixes, known), path, first + place.line - 1)
        for place in (find_dynamic(skill.prompt or "") if places is None else places)
        if place.kind != "file" or skill.format == "command" or place.is_surely_a_file
    )


def _say(place: Dynamic, prefixes: Sequence[str], known: Variables) -> str:
    if place.kind == "file":
        return f"If there is such a file, a turn attaches it: {place.head}"
    if place.kind == "read":
        return f"A turn puts this file in its place: {place.head}"
    if not prefixes:
        return f"A turn does not run this command, which stays as text, while {SETTING} is empty: {place.head}"
    for line in place.commands:
        try:
            unlisted = find_unlisted(fill_command(line, _SOME, known).judged, prefixes)
        except NotUnderstood as error:
            return f"A turn refuses to run this command: {error}: {line[:60]}"
        if unlisted:
            return f"A turn refuses to run this command: '{unlisted}' is not in {SETTING}: {line[:60]}"
    return f"A turn runs this command and puts its output in its place: {place.head}"
