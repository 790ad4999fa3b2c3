"""Completion in the REPL: commands, skills, arguments of commands, and files. Fast with thousands of skills."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from clawft.cli.output import one_line
from clawft.cli.repl.commands import COMMANDS, find_command
from clawft.cli.repl.context import ReplContext
from clawft.skills.parse.model import Skill
from clawft.trust.status import SkillStatus
from clawft.workspace import resolve_path

MAX_SHOWN = 50
_MAX_META = 80
_MAX_ENTRIES = 10_000  # of a folder


def starting_with(names: Sequence[str], start: str) -> Sequence[str]:
    """The names of a sorted list that begin so; a list of thousands is not walked."""
    first = bisect_left(names, start)
    last = bisect_left(names, start + "\U0010ffff")
    return names[first : min(last, first + MAX_SHOWN)]


class ReplCompleter(Completer):
    """Completes for one REPL."""

    def __init__(self, repl: ReplContext) -> None:
        self._repl = repl
        self._of: tuple[SkillStatus, ...] | None = None  # the catalog that the names below are of
        self._names: list[str] = []
        self._hints: dict[str, str] = {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        text = document.text_before_cursor
        word = text.replace("\\ ", "__").replace("\n", " ").rpartition(" ")[2]
        word = text[len(text) - len(word) :]
        if word.startswith("@"):
            yield from _files(self._repl, word[1:])
        elif text.startswith("/") and "\n" not in text:
            name, space, rest = text[1:].partition(" ")
            yield from self._after(name, rest) if space else self._commands(name)
        elif word.startswith("$"):
            yield from self._skills(word[1:])

    def _commands(self, start: str) -> Iterator[Completion]:
        for command in COMMANDS:
            if command.name.startswith(start):
                yield Completion(command.name, -len(start), display_meta=command.description)
        yield from self._skills(start)

    def _after(self, name: str, rest: str) -> Iterator[Completion]:
        """Complete what may follow a command; after a skill's name, another skill or a file."""
        command = find_command(name)
        last = rest.rpartition(" ")[2]
        if command is not None:
            yield from _complete(islice(command.complete(self._repl, rest), MAX_SHOWN), last, {})
        elif last.startswith("/"):
            yield from self._skills(last[1:])

    def _skills(self, start: str) -> Iterator[Completion]:
        """Skills that a person may start; sorted once for a catalog."""
        skills = self._repl.app.skills
        if self._of is not skills:
            usable = {skill.name: skill.found.skill for skill in skills if skill.user_may_invoke}
            self._hints = {name: _hint(skill) for name, skill in usable.items() if skill is not None}
            self._names, self._of = sorted(self._hints), skills
        return _complete(starting_with(self._names, start), start, self._hints)


def _hint(skill: Skill) -> str:
    return one_line(f"{skill.argument_hint} {skill.description}"[: 2 * _MAX_META])[:_MAX_META]


def _complete(names: Iterable[str], start: str, meta: Mapping[str, str]) -> Iterator[Completion]:
    for name in names:
        yield Completion(name, -len(start), display=one_line(name), display_meta=meta.get(name, ""))


def _files(repl: ReplContext, start: str) -> Iterator[Completion]:
    """Paths below the current folder; folders end in `/`."""
    workspace = repl.app.workspace
    folder, _, begun = start.replace("\\ ", " ").rpartition("/")
    at = resolve_path(folder or ("/" if start.startswith("/") else "."), workspace.cwd, workspace.home)
    try:
        with os.scandir(at) as entries:
            found = sorted(
                (entry.name, entry.is_dir())
                for entry in islice(entries, _MAX_ENTRIES)
                if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
            )
    except OSError:
        return
    for name, is_folder in found[:MAX_SHOWN]:
        if name.isprintable():  # one that is not could not be typed again
            text = name + ("/" if is_folder else "")
            yield Completion(text.replace(" ", "\\ "), -len(begun.replace(" ", "\\ ")), display=text)
