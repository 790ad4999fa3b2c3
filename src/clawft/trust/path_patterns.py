"""A tool call as patterns see it, globs, and path patterns such as `Read(src/**)`."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import real_path
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.trust.network import UrlTarget
    from clawft.trust.shell_text import ShellText


_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)|\{(baseDir)\}")
Item = TypeVar("Item")
Part = TypeVar("Part")


class PatternError(ValueError):
    """A pattern whose brackets hold something that is not understood; the message says why."""


class Wildcard(Enum):
    """A wildcard: any number of items, none included, or exactly one."""

    REST = "*"
    ANY = "?"


Glob = tuple[str | Wildcard, ...]  # single characters and signs


def match_items(pattern: Sequence[Part | Wildcard], items: Sequence[Item], fit: Callable[[Part, Item], bool]) -> bool:
    """Return whether a pattern with signs in it matches all items. It takes the product of both in time, never more."""
    at = here = 0
    back = resume = -1  # the last REST, and how far it has swallowed
    while here < len(items):
        part = pattern[at] if at < len(pattern) else None
        if part is Wildcard.REST:
            back, resume = at, here
            at += 1
        elif part is Wildcard.ANY or (part is not None and not isinstance(part, Wildcard) and fit(part, items[here])):
            at, here = at + 1, here + 1
        elif back >= 0:
            resume += 1
            at, here = back + 1, resume
        else:
            return False
    return all(part is Wildcard.REST for part in pattern[at:])


def matches_glob(glob: Glob, text: str) -> bool:
    """Return whether a glob matches a whole text."""
    return match_items(glob, text, _same)


def is_plain(part: Glob | Wildcard) -> bool:
    """Return whether a glob matches one text only."""
    return not isinstance(part, Wildcard) and all(isinstance(character, str) for character in part)


def parse_glob(text: str, folders: Mapping[str, str], signs: str = "*") -> Glob:
    """Parse a text as characters and signs; the value of a variable is plain. Raises: PatternError."""
    tokens: list[str | Wildcard] = []
    at = 0
    for match in _VARIABLE.finditer(text):
        tokens += _read(text[at : match.start()], signs)
        folder = folders.get(match[1] or match[2] or match[3])
        if not folder:
            raise PatternError(f"it is not known what '{match[0][:60]}' stands for")
        tokens += folder
        at = match.end()
    return (*tokens, *_read(text[at:], signs))


def _read(text: str, signs: str) -> list[str | Wildcard]:
    if any(char in "${}" for char in text):
        raise PatternError("of variables only folders such as ${CLAUDE_SKILL_DIR} are understood")
    return [Wildcard(char) if char in signs else char for char in text]


def _same(one: str, other: str) -> bool:
    return one == other


class PatternRoots(Struct, frozen=True):
    """The folders that relative paths start at: the project for those of patterns, `base` for those of calls."""

    project: str
    base: str = ""
    home: str = ""


class ToolTraits(Struct, frozen=True):
    """The properties of a tool that decide whether a call of it must be asked about."""

    server: bool = False  # of an MCP server or a plugin
    read_only: bool = False  # changes nothing
    judges_itself: bool = False  # judges what it is about to do, or does nothing but talk
    fetches: bool = False  # reaches a host that a model names
    lasts: bool = False  # what it writes is part of later conversations


class CheckedCall:
    """A tool by our own name, and the arguments as a model wrote them: nothing in them is sure to be what it should."""

    def __init__(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        where: PatternRoots,
        traits: ToolTraits = ToolTraits(),  # noqa: B008
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.where = where
        self.traits = traits

    def text(self, name: str) -> str | None:
        """An argument that is a text; '' where it is left out, None where it is anything else."""
        value = self.arguments.get(name)
        return "" if value is None else value if isinstance(value, str) else None

    @cached_property
    def shell(self) -> "ShellText":
        """The commands of a shell text."""
        from clawft.trust.shell_text import ShellText, read_shell_text

        text = self.text("command")
        return ShellText(unread="its command is no text") if text is None else read_shell_text(text)

    @cached_property
    def cwd(self) -> str:
        """The real folder that a command line runs in; '' if that is not known."""
        argument = self.text("cwd")
        return "" if argument is None else self.resolve(argument or self.where.base)[1]

    @property
    def at_start(self) -> bool:
        """Return whether a command line runs where relative paths of the session start."""
        return bool(self.cwd) and self.cwd in (real_path(self.where.base), real_path(self.where.project))

    @cached_property
    def path(self) -> tuple[str, str]:
        """The file or folder that is meant: made absolute as written, and where its links lead; '' for no telling."""
        argument = self.text("path")
        return ("", "") if argument is None else self.resolve(argument or self.where.base)

    def resolve(self, path: str, base: str = "") -> tuple[str, str]:
        """A path of this call, absolute as it is written and with its links resolved."""
        if "\0" in path:
            return "", ""
        full = resolve_path(path, base or self.where.base, self.where.home)
        return full, real_path(full)

    @cached_property
    def target(self) -> "UrlTarget | None":
        """The address that is fetched; None if it makes no sense."""
        from clawft.trust.network import read_url

        try:
            return read_url(self.text("url") or "")
        except Refused:
            return None


Root = Literal["project", "home", "/"]


class PathPattern(Struct, frozen=True):
    """`src/**`, `/abs/x`, `~/notes/*.md`, `*.env`: written as git's ignore files are, and starting at the project."""

    root: Root
    names: tuple[Glob | Wildcard, ...]

    @classmethod
    def parse(cls, argument: str, folders: Mapping[str, str]) -> "PathPattern":
        """Raises: PatternError."""
        if argument.startswith("!") or any(char in argument for char in "[]\\\0"):
            raise PatternError("of the signs in paths only *, ** and ? are understood")
        tokens = parse_glob(argument, folders, "*?")
        at_home, absolute = tokens[:2] == ("~", "/"), tokens[:1] == ("/",)
        names = split_names(tokens[2:] if at_home else tokens)
        if (".", ".") in names:
            raise PatternError("a path may not go up with '..'")
        if not names:
            raise PatternError("there is no path in it")
        # A single name is meant wherever it stands, unless `./` says otherwise.
        anywhere = len(names) == 1 and not absolute and not at_home and tokens[:2] != (".", "/")
        root: Root = "/" if absolute else "home" if at_home else "project"
        return cls(root, (Wildcard.REST, *names) if anywhere else names)

    def covers(self, call: CheckedCall) -> bool:
        return self.matches_path(call.path[1], call.where)

    def touches(self, call: CheckedCall) -> bool:
        """By what is written, or by where it leads. A path that makes no sense is touched."""
        return not call.path[1] or any(self.forbids(path, call.where) for path in call.path)

    def matches_path(self, path: str, where: PatternRoots, *, inside: bool = True) -> bool:
        """Return whether a real path is meant; `inside`: a folder that is named plainly means what is in it."""
        rest = (Wildcard.REST,) if inside and is_plain(self.names[-1]) else ()
        return any(_below(path, root, (*self.names, *rest)) for root in _roots(self.root, where))

    def forbids(self, path: str, where: PatternRoots) -> bool:
        """Return whether a path is meant, read as widely as it can be: links in the start of the pattern are followed
        too."""
        return any(_below(path, root, names) for root, names in self.list_spots(where))

    def list_spots(self, where: PatternRoots) -> Iterator[tuple[str, tuple[Glob | Wildcard, ...]]]:
        """Yield the folders that it starts at, each with the names of what is meant below it, read as widely."""
        plain = next((n for n, name in enumerate(self.names) if not is_plain(name)), len(self.names))
        start = [
            "".join(str(character) for character in name)
            for name in self.names[:plain]
            if not isinstance(name, Wildcard)
        ]
        for root in _roots(self.root, where):
            yield root, (*self.names, Wildcard.REST)
            real = real_path(os.path.join(root, *start)) if start else ""
            if real:
                yield real, (*self.names[plain:], Wildcard.REST)


class DeniedPaths:
    """The real paths that rules, agents and skills forbid to read, and those that they forbid to change."""

    def __init__(
        self, unreadable: Sequence[PathPattern], unwritable: Sequence[PathPattern], where: PatternRoots
    ) -> None:
        self._unreadable = _compile(unreadable, where)
        self._unwritable = _compile(unwritable, where)

    def __bool__(self) -> bool:
        return bool(self._unreadable or self._unwritable)

    def hides(self, path: str) -> bool:
        """Return whether a path may not be read, as `PathPattern.forbids` decides it."""
        return _matches(self._unreadable, path)

    def protects(self, path: str) -> bool:
        """Return whether a path may not be changed."""
        return _matches(self._unwritable, path)


def _compile(patterns: Sequence[PathPattern], where: PatternRoots) -> Any:
    """One automaton for all of them, since every entry of a project is compared; None for no pattern."""
    import re2  # type: ignore[import-untyped]  # most projects deny no paths

    spots = dict.fromkeys(spot for pattern in patterns for spot in pattern.list_spots(where))
    written = [_write_expression(root, names) for root, names in spots]
    return re2.compile("|".join(written)) if written else None


def _write_expression(root: str, names: Sequence[Glob | Wildcard]) -> str:
    parts = ["".join(f"/{re.escape(_show(name))}" for name in _names(root))]
    for name in names:
        characters = "" if isinstance(name, Wildcard) else "".join(_write_character(character) for character in name)
        parts.append(r"(?:/[^/]*)*" if name is Wildcard.REST else f"/{characters}")
    return "".join(parts)


def _write_character(character: str | Wildcard) -> str:
    if isinstance(character, Wildcard):
        return "[^/]*" if character is Wildcard.REST else "[^/]"
    return re.escape(_show(character))


def _show(text: str) -> str:
    """A name with another letter in the place of each byte that is no text."""
    return text.encode("utf-8", "replace").decode()


def _matches(expression: Any, path: str) -> bool:
    return expression is not None and bool(expression.fullmatch(_show(path)))


def split_names(tokens: Glob) -> tuple[Glob | Wildcard, ...]:
    """The names of a path; `**` alone is any number of folders, and `.` none."""
    names: list[list[str | Wildcard]] = [[]]
    for token in tokens:
        if token == "/":
            names.append([])
        else:
            names[-1].append(token)
    filled = [name for name in names if name and name != ["."]]
    return tuple(Wildcard.REST if name == [Wildcard.REST, Wildcard.REST] else tuple(name) for name in filled)


def _below(path: str, root: str, names: Sequence[Glob | Wildcard]) -> bool:
    if not path:
        return False
    parts, start = _names(path), _names(root)
    return parts[: len(start)] == start and match_items(names, parts[len(start) :], matches_glob)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _roots(root: Root, where: PatternRoots) -> list[str]:
    if root == "/":
        return ["/"]
    folder = where.project if root == "project" else where.home
    return [path for path in dict.fromkeys((real_path(folder), folder)) if path] if folder else []
