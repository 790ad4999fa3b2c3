"""Commands in the brackets of a pattern, `Bash(git:*)`: matched word by word on a line that was understood.

To allow a line, every command of it must be meant. To forbid it, one is enough, also one that `sudo` or `sh -c` runs;
that is a fence against mistakes: what somebody wants to hide is held by the command policy and the sandbox.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from glob import iglob
from itertools import islice

from msgspec import Struct

from clawft.files import real_path
from clawft.git import find_git_root
from clawft.trust.call import Call
from clawft.trust.git_contents import is_git, list_named_paths, shows_contents
from clawft.trust.globs import Glob, PatternError, Sign, fits, is_plain, match_items, parse_glob
from clawft.trust.path_patterns import Paths, split_names
from clawft.trust.readonly import find_read_only, is_launcher
from clawft.trust.shell import Line, NotUnderstood, Word, parse_line

__all__ = ["Commands", "find_shown", "names_path"]

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "fish"})
_MAX_DEPTH = 3
_MAX_FOUND = 2_000
Words = tuple[Word, ...]


class Meant(Struct, frozen=True):
    """One command: its name, and what may follow. `relative`: a path in it means another file in another folder."""

    name: Glob
    rest: tuple[Glob | Sign, ...]
    relative: bool = False


class Commands(Struct, frozen=True):
    """`git:*`, `git log *`, `npm test`; several may stand in the brackets, divided by a comma and a blank."""

    meant: tuple[Meant, ...]

    @classmethod
    def parse(cls, argument: str, folders: Mapping[str, str]) -> "Commands":
        """Raises: PatternError."""
        return cls(tuple(_read(part.strip(), folders) for part in re.split(r",\s+", argument)))

    @staticmethod
    def cover(matchers: "Sequence[Commands]", call: Call) -> bool:
        """Whether every command of the line is meant by one of them, and none opens a file by a redirect."""
        if call.line is None:
            return False
        moves = any(command.words[0].text == "cd" for command in call.line.commands)
        return all(
            all(one.target.text == "/dev/null" for one in command.redirects)
            and any(one.mean(command.words, call, moves=moves) for one in matchers)
            for command in call.line.commands
        )

    def covers(self, call: Call) -> bool:
        return Commands.cover((self,), call)

    def touches(self, call: Call) -> bool:
        return call.line is None or any(self.mean(words, call) for words in _all_commands(call.line))

    def mean(self, words: Words, call: Call, *, moves: bool = False) -> bool:
        """Whether a command is one of these; `moves`: `cd` stands in the line, so nobody knows where it starts."""
        name, rest = words[0].text, words[1:]
        return any(
            _is_named(one.name, name, call, moves=moves)
            and match_items(one.rest, rest, _is_word)
            and (not one.relative or (not moves and call.at_start))
            for one in self.meant
        )


def names_path(paths: Paths, call: Call, *, writing: bool) -> bool:
    """Whether a word of a command line is a path that is meant; `writing`: of commands that do more than read."""
    if call.line is None:
        return True
    words = [
        (word, is_git(command))
        for command in _all_commands(call.line)
        if not writing or find_read_only(tuple(one.text for one in command)) is None
        for word in command[1:]
    ]
    for command in call.line.commands:
        words += [(one.target, False) for one in command.redirects if not writing or one.kind != "<"]
    return any(paths.forbids(path, call.where) for word, of_git in words for path in _paths_of(word, call, of_git))


def find_shown(closed: Sequence[Paths], call: Call) -> str:
    """The git command of a line that may show what is forbidden to read; '' if there is none."""
    for command in _all_commands(call.line) if call.line is not None and closed else ():
        if is_git(command) and shows_contents(command, call, closed):
            return " ".join(word.text for word in command[:2])
    return ""


def _paths_of(word: Word, call: Call, of_git: bool) -> Iterator[str]:
    """What a word may stand for: itself, the value after its `=`, and all that a glob finds; what it names to git."""
    if of_git:
        roots = [root for root in (call.where.project, find_git_root(call.cwd) if call.cwd else None) if root]
        for path in list_named_paths(word.text, call.cwd, roots):
            yield from call.resolve(path)
    for text in {word.text, word.text.partition("=")[2]} - {""}:
        full, real = call.resolve(text, call.cwd)
        yield from (full, real)
        if word.glob and full:
            yield from (path for found in islice(iglob(full), _MAX_FOUND) for path in (found, real_path(found)))


def _read(text: str, folders: Mapping[str, str]) -> Meant:
    plain, more = (text[:-2], True) if text.endswith(":*") else (text, False)
    try:
        words = shlex.split(plain) if any(char in plain for char in "'\"") else plain.split()
    except ValueError as error:
        raise PatternError("a quote in it never ends") from error
    if not words or not words[0].strip("*"):
        raise PatternError("it names no command")
    if any(char in ";|&<>()`\n" for word in words for char in word):
        raise PatternError("it is no single plain command")
    rest = [Sign.REST if word in ("*", "**") else parse_glob(word, folders) for word in words[1:]]
    if more or words[-1].endswith("*"):
        rest.append(Sign.REST)
    return Meant(parse_glob(words[0], folders), tuple(rest), any(map(_is_relative, words[1:])))


def _is_relative(word: str) -> bool:
    return "/" in word and not word.startswith(("/", "-", "$", "{", "*")) and "://" not in word


def _is_word(glob: Glob, word: Word) -> bool:
    return not (word.glob or word.tilde or word.variable) and fits(glob, word.text)


def _is_named(glob: Glob, name: str, call: Call, *, moves: bool) -> bool:
    """Whether the name of a command is meant. One with a folder in it is compared by the file that it leads to."""
    if "/" not in name or "/" not in glob:
        return "/" not in name and "/" not in glob and fits(glob, name)
    if not call.cwd or (moves and not name.startswith("/")):
        return False
    paths = Paths("/" if glob[0] == "/" else "project", split_names(glob))
    full, real = call.resolve(name, call.cwd)
    # A plain path may be a link itself: it is what was written.
    as_written = is_plain(glob) and ".." not in name.split("/")
    return paths.means(full if as_written else real, call.where, inside=False)


def _all_commands(line: Line) -> Iterator[Words]:
    """Every command that a line runs, or may run through another; the names with and without their folders."""
    for command in line.commands:
        yield from _expand(command.words, 0)


def _expand(words: Words, depth: int) -> Iterator[Words]:
    yield words
    name = words[0].text.rpartition("/")[2]
    if name != words[0].text:
        yield Word(name), *words[1:]
    if not is_launcher(name) or depth == _MAX_DEPTH:
        return
    for index, later in enumerate(words[1:], 1):
        base = later.text.rpartition("/")[2]
        if base:
            yield Word(base), *words[index + 1 :]
        if name in _SHELLS and " " in later.text:
            yield from _expand_text(later.text, depth)


def _expand_text(text: str, depth: int) -> Iterator[Words]:
    try:
        line = parse_line(text)
    except NotUnderstood:
        return
    for command in line.commands:
        yield from _expand(command.words, depth + 1)
