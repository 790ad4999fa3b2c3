"""The commands that a text names in its fenced shell blocks, one per line, and why some cannot be run as they stand."""

import re
from collections.abc import Iterator

from msgspec import Struct

__all__ = ["Command", "find_commands"]

_FENCE = re.compile(r"^(\s*)(?:[-*+>]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*\{?\.?([\w+-]*)")
_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session", "shellsession", "terminal"})
_PROMPT = re.compile(r"^\s*[$%]\s+(\S.*)$")
_PLACEHOLDER = re.compile(
    r"<[A-Za-z](?:[\w ./|:-]*[\w.])?>"  # <file>, but not `<in >out`
    r"|(?<!\$)\{[A-Za-z_][\w .-]*\}"  # {x}, but neither ${x} nor {a,b}
    r"|\.\.\.|…|\bpath/to/|\byour[-_]|\[[A-Z][A-Z_]+\]",
    re.IGNORECASE,
)
_HEREDOC = re.compile(r"(?<!<)<<(?!<)")
_OPENERS = {"for": "done", "while": "done", "until": "done", "select": "done", "if": "fi", "case": "esac"}
_OPEN_END = re.compile(r"(?:[{(]|\b(?:do|then|else))$")
_GOES_ON = re.compile(r"(?:\||&&)$")
# They change the shell they run in, and every command has a shell of its own.
_STATE = re.compile(r"^(?:(?:cd|export|source|\.|unset|alias)(?:\s|$)|[A-Za-z_]\w*=\S*$)")
_SETTING = re.compile(r"^set\s")  # for scripts; it does nothing for a single command
_WHY_MANY = "it goes over several lines"
_WHY_PLACEHOLDER = "it holds a placeholder"
_WHY_BUILDS = "it builds on a line that holds a placeholder"


class Command(Struct, frozen=True):
    """One command line. `why_left` is set where it cannot be run as it stands."""

    line: str
    why_left: str = ""


def find_commands(text: str) -> tuple[Command, ...]:
    """Every command of every shell block, in order."""
    return tuple(command for block in _blocks(text) for command in _read_block(block))


def _blocks(text: str) -> Iterator[list[str]]:
    """The lines of each shell block that has an end; in one without, prose would be taken for commands."""
    lines = iter(text.splitlines())
    for line in lines:
        opening = _FENCE.match(line)
        if not opening:
            continue
        indent, fence, language = opening[1], opening[2], opening[3].lower()
        block: list[str] = []
        for inner in lines:
            bare = inner.strip()
            if len(bare) >= len(fence) and set(bare) == {fence[0]}:
                if language in _SHELLS:
                    yield block
                break
            block.append(inner.removeprefix(indent))


def _read_block(block: list[str]) -> Iterator[Command]:
    prefix, why_left = "", ""
    lines = list(_logical_lines(_without_output(block)))
    for number, line in enumerate(lines):
        plain, is_open = _strip_comment(line)
        if not plain or _SETTING.match(plain):
            continue
        if is_open or _opens_more(plain):
            rest = f" (and {len(lines) - number - 1} more lines)" if number + 1 < len(lines) else ""
            yield Command(plain + rest, _WHY_MANY)
            return  # what follows is part of it, or builds on it
        if _PLACEHOLDER.search(plain):
            yield Command(plain, _WHY_PLACEHOLDER)
            why_left = why_left or (_WHY_BUILDS if _STATE.match(plain) else "")
        elif _STATE.match(plain):
            prefix += f"{plain} && "
        else:
            yield Command(prefix + plain, why_left)


def _without_output(block: list[str]) -> list[str]:
    """Where lines have a prompt, those without are what commands printed."""
    if not any(_PROMPT.match(line) for line in block):
        return block
    commands: list[str] = []
    for line in block:
        prompt = _PROMPT.match(line)
        if prompt:
            commands.append(prompt[1])
        elif commands and commands[-1].endswith("\\"):
            commands[-1] = commands[-1][:-1] + line.strip().removeprefix(">")
    return commands


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Lines with those joined that end in a backslash, a pipe or `&&`."""
    held = ""
    for line in lines:
        bare = line.strip()
        if bare.endswith("\\") and not bare.endswith("\\\\"):
            held += bare[:-1].rstrip() + " "
        elif _GOES_ON.search(bare) and not bare.startswith("#"):
            held += bare + " "
        else:
            yield held + bare
            held = ""
    if held:
        yield held.rstrip()


def _strip_comment(line: str) -> tuple[str, bool]:
    """A line without its comment, and whether a quote in it stays open."""
    quote, is_escaped, opens_word = "", False, True
    for index, letter in enumerate(line):
        if letter == "#" and opens_word and not quote:
            return line[:index].rstrip(), False
        opens_word = not is_escaped and (letter.isspace() or letter in ";|&(")
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
    return line.strip(), bool(quote)


def _opens_more(line: str) -> bool:
    """Whether a line begins something that ends on a later one: a heredoc, a loop, a function."""
    words = line.replace(";", " ; ").split()
    closer = _OPENERS.get(words[0])
    return bool(_HEREDOC.search(line) or _OPEN_END.search(line) or (closer and closer not in words))
