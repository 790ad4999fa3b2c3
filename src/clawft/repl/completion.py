"""What can follow what is typed: commands, skills, agents, models, settings and files. Quick with thousands of them."""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from clawft.repl.command import find_command
from clawft.repl.commands import COMMANDS
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["ReplCompleter", "starting_with"]

MAX_SHOWN = 50


def starting_with(names: Sequence[str], start: str) -> Sequence[str]:
    """The names of a sorted list that begin so; a list of thousands is not walked."""
    first = bisect_left(names, start)
    last = bisect_left(names, start + "\U0010ffff")
    return names[first : min(last, first + MAX_SHOWN)]


class ReplCompleter(Completer):
    """Completes for one REPL."""

    def __init__(self, repl: "Repl") -> None:
        self._repl = repl
        self._skills: tuple[object, list[str], dict[str, str]] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        text = document.text_before_cursor
        word = text.rpartition(" ")[2].rpartition("\n")[2]
        if text.startswith("/") and "\n" not in text:
            name, space, rest = text[1:].partition(" ")
            yield from self._after(name, rest) if space else self._commands(name)
        elif word.startswith("@"):
            yield from _files(self._repl, word[1:])
        elif word.startswith("$"):
            yield from _complete(starting_with(self._names()[0], word[1:]), word[1:], self._names()[1])

    def _commands(self, start: str) -> Iterator[Completion]:
        for command in COMMANDS:
            if command.name.startswith(start):
                yield Completion(command.name, -len(start), display_meta=command.description)
        names, hints = self._names()
        yield from _complete(starting_with(names, start), start, hints)

    def _after(self, name: str, rest: str) -> Iterator[Completion]:
        command = find_command(name, COMMANDS)
        if command is not None:
            last = rest.rpartition(" ")[2]
            yield from _complete(list(command.complete(self._repl, rest))[:MAX_SHOWN], last, {})

    def _names(self) -> tuple[list[str], dict[str, str]]:
        """Skills that a person may start, sorted, with their argument hints; worked out once for a catalog."""
        skills = self._repl.app.skills
        if self._skills is None or self._skills[0] is not skills:
            usable = [one for one in skills if one.user_may_invoke and one.found.skill is not None]
            hints = {one.name: _hint(one.found.skill) for one in usable if one.found.skill is not None}
            self._skills = (skills, sorted(hints), hints)
        return self._skills[1], self._skills[2]


def _hint(skill: object) -> str:
    hint, description = getattr(skill, "argument_hint", ""), getattr(skill, "description", "")
    return f"{hint} {description}".strip()[:80]


def _complete(names: Iterable[str], start: str, meta: dict[str, str]) -> Iterator[Completion]:
    for name in names:
        yield Completion(name, -len(start), display_meta=meta.get(name, ""))


def _files(repl: "Repl", start: str) -> Iterator[Completion]:
    """Paths below the current folder; folders end in `/`."""
    workspace = repl.app.workspace
    folder, _, begun = start.rpartition("/")
    at = resolve_path(folder or ("/" if start.startswith("/") else "."), workspace.cwd, workspace.home)
    try:
        entries = sorted(os.scandir(at), key=lambda one: one.name)
    except OSError:
        return
    for entry in [one for one in entries if one.name.startswith(begun) and (begun or not one.name.startswith("."))][
        :MAX_SHOWN
    ]:
        text = entry.name + ("/" if entry.is_dir() else "")
        yield Completion(text.replace(" ", "\\ "), -len(begun), display=text)
