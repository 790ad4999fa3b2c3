"""The prompt of a skill: find dynamic places, quote values into their commands, and render the result."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from clawft.errors import Diagnostic, Refused
from clawft.skills.parse.model import Skill
from clawft.skills.render.code import find_code_spans, is_code, split_code
from clawft.skills.render.prefixes import SETTING, find_unlisted
from clawft.skills.render.shell import NotUnderstood, blank_out
from clawft.skills.render.template import PromptArguments, TemplateVariables, find_token, render_template


class FilledCommand(Struct, frozen=True):
    """A command line as the shell gets it; and the same to be judged, where values have blanks for what no line may
    hold, such as line breaks: inside of quotes they mean nothing to a shell."""

    line: str
    judged: str


def complete_variables(skill: Skill, variables: TemplateVariables) -> TemplateVariables:
    """The variables with what the skill itself says of its arguments."""
    numbered = variables.numbered or skill.format == "command"
    return structs.replace(variables, names=skill.arguments or skill.variables, numbered=numbered)


def check_numbers(skill: Skill, path: str) -> tuple[Diagnostic, ...]:
    """Say of the first `$1` outside of code that it stays as it is written, where the skill is not one of Claude's."""
    template = skill.prompt or ""
    match = next((match for match in _NUMBER.finditer(template) if not is_code(template, match.start())), None)
    if match is None or skill.format == "command":
        return ()
    line = max(skill.body_line, 1) + template.count("\n", 0, match.start())
    message = f"{match[0]} stays as it is written: only in .claude folders and plugins of Claude's it is an argument"
    index = int(match[1]) - 1
    return (Diagnostic("bare-number", "note", message, path, line, f"To fill it in, write $ARGUMENTS[{index}]"),)


def fill_command(command: str, arguments: PromptArguments, variables: TemplateVariables) -> FilledCommand:
    """Put values in place of tokens, quoted for where they stand: outside of quotes, or in either kind.

    After a backslash a token stays as it is written. Raises: Refused for a value that no command can be given.
    """
    line: list[str] = []
    judged: list[str] = []
    quote, at = "", 0
    while at < len(command):
        char = command[at]
        taken, value = char, None
        if char == "\\" and (quote != "'" or command[at + 1 : at + 2] in ("$", "{")):
            taken = command[at : at + 2]
        elif char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        elif char in "${" and (found := find_token(command, at, arguments, variables)):
            taken, value = command[at : found[0]], _check(found[1], command)
        at += len(taken)
        line.append(taken if value is None else f"{quote}{_quote(value)}{quote}")
        judged.append(taken if value is None else f"{quote}{_quote(blank_out(value))}{quote}")
    return FilledCommand("".join(line), "".join(judged))


def _quote(value: str) -> str:
    """A value in single quotes, in which a shell knows no other sign than their end."""
    return "'" + value.replace("'", "'\"'\"'") + "'"


def _check(value: str, command: str) -> str:
    try:
        encoded = os.fsencode(value)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        message = f"The arguments have a character that no command can be given: {command[:60]}"
        raise Refused("command-argument", message, hint="Leave it out")
    return value


_NUMBER = re.compile(r"(?<![\w\\])\$([1-9])(?![0-9A-Za-z_.,])")
_COMMAND = re.compile(r"!(?![\[!=`\s])(?P<command>[^\n]+)")
_READ = re.compile(r"read(?:[ \t]+(?P<path>[^\n]*))?")
_MENTION = re.compile(
    r"(?<!\S)@(?P<path>(?:(?:\$\{CLAUDE_(?:SKILL|PROJECT)_DIR\}|\{baseDir\})/)?(?=[\w.~/-]*(?:/|\.\w))[\w.~/-]*[\w/])"
    r"(?=[\s.,;:!?)\]'\"*]|$)"
)
# What is hardly meant as anything but a file: `@types/node` and `@alice/tool` are names of packages.
_SURE = re.compile(r"(?:\.{1,2}|~)?/.*|\$?\{.*|.*\.\w+")

# Stand-ins for what is known only when a skill is used: where they stand, a value is one word.
_SOME = PromptArguments("x", ("x",) * 100)
_ANY = TemplateVariables("x", "/x", "/x")

_MARK = re.compile(r"[`~][ \t]*\Z")  # the end of what opens a fence
_MARK_SIZE = 20  # blanks and all

DynamicKind = Literal["command", "read", "file"]


class DynamicPlace(Struct, frozen=True):
    """One such place: its span in the template, its line, and the command, or for the other kinds the path."""

    start: int
    end: int
    line: int
    command: str
    kind: DynamicKind = "command"

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
    def is_certainly_a_file(self) -> bool:
        return self.kind == "read" or bool(_SURE.fullmatch(self.command))


_Span = tuple[int, int, str, DynamicKind]


def find_dynamic(template: str) -> tuple[DynamicPlace, ...]:
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
    """Return whether it is worth telling prose from code: most templates hold nothing that could be a place."""
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


def _places(template: str, spans: list[_Span]) -> Iterator[DynamicPlace]:
    line, position = 1, 0
    for start, end, command, kind in spans:
        line += template.count("\n", position, start)
        position = start
        yield DynamicPlace(start, end, line, command.strip(), kind)


def check_dynamic(
    skill: Skill, path: str, prefixes: Sequence[str] = (), places: Sequence[DynamicPlace] | None = None
) -> tuple[Diagnostic, ...]:
    """Return a note for every dynamic place: what a turn would do there, with its line in the file; `prefixes` are the
    commands that may run."""
    first = max(skill.body_line, 1)
    known = complete_variables(skill, _ANY)
    return tuple(
        Diagnostic("dynamic-context", "note", _say(place, prefixes, known), path, first + place.line - 1)
        for place in (find_dynamic(skill.prompt or "") if places is None else places)
        if place.kind != "file" or skill.format == "command" or place.is_certainly_a_file
    )


def _say(place: DynamicPlace, prefixes: Sequence[str], known: TemplateVariables) -> str:
    if place.kind == "file":
        return f"If there is such a file, a turn attaches it: {place.head}"
    if place.kind == "read":
        return f"A turn puts this file in its place: {place.head}"
    if not prefixes:
        return f"A turn runs this command in the sandbox where its mode allows that, and else asks: {place.head}"
    for line in place.commands:
        try:
            unlisted = find_unlisted(fill_command(line, _SOME, known).judged, prefixes)
        except NotUnderstood as error:
            return f"A turn refuses to run this command: {error}: {line[:60]}"
        if unlisted:
            return f"A turn refuses to run this command: '{unlisted}' is not in {SETTING}: {line[:60]}"
    return f"A turn runs this command and puts its output in its place: {place.head}"


class DynamicResults(Struct, frozen=True):
    """The results of a template's dynamic places, by where they start; a place that is missing stays as it is written.

    `files` are attached after the text.
    """

    texts: Mapping[int, str] = {}
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class RenderedPrompt(Struct, frozen=True):
    """The text, and what there is to say about it."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def render_skill(
    skill: Skill,
    arguments: PromptArguments,
    variables: TemplateVariables,
    path: str = "",
    prefixes: Sequence[str] = (),
    fetched: DynamicResults | None = None,
) -> RenderedPrompt:
    """A skill's prompt with its arguments, and with what was fetched for it.

    Where nothing was, its commands are left as they are written, and what a turn would do is said: `prefixes` are
    the commands that may run.
    """
    template = skill.prompt or ""
    known = complete_variables(skill, variables)
    texts = fetched.texts if fetched else {}
    places = find_dynamic(template)
    spans = [(place.start, place.end, texts.get(place.start)) for place in places]
    text = render_template(template, arguments, variables=known, spans=spans)
    if fetched is None:
        return RenderedPrompt(text, check_dynamic(skill, path, prefixes, places))
    return RenderedPrompt("\n\n".join([text, *fetched.files]), fetched.diagnostics)
