"""The nodes of a shell script and its words: quotes, variables and substitutions."""

import re
from collections.abc import Callable

from msgspec import Struct

from clawft.scanner.languages.commands.texts import unescape_ansi


class Quoted(Struct, gc=False):
    """Text in quotes: no braces, no splitting."""

    text: str


class ShellParameter(Struct):
    """`$name` or `${name…}`."""

    name: str
    quoted: bool = False
    op: str = ""  # what stands after the name: ":-", "%%", "/", "^^", …; "!" and "length" for a mark before it
    arg: "ShellWord | str" = ""
    index: str = ""  # "[@]", "[0]"


class CommandSubstitution(Struct):
    """`$(…)` or backticks."""

    body: "list[Node]"
    text: str
    quoted: bool = False


class ProcessSubstitution(Struct):
    """`<(…)`, or `>(…)` when it takes what is written."""

    body: "list[Node]"
    into: bool


Part = str | Quoted | ShellParameter | CommandSubstitution | ProcessSubstitution


class ShellWord(Struct):
    """A word that has to be expanded; a plain one is a `str`."""

    parts: list[Part]
    braces: bool = False


class ShellRedirect(Struct):
    """One redirect; `target` is the text itself for a here-document or a here-string."""

    fd: str
    op: str
    target: ShellWord | str
    quoted: bool = False  # a here-document that is taken as written
    strip: bool = False  # a here-document whose leading tabs are dropped


class SimpleCommand(Struct):
    """A command with its words."""

    offset: int
    words: list[ShellWord | str]
    assigns: list[tuple[str, bool, ShellWord | str | list[ShellWord | str]]]  # name, whether it is appended, value
    redirects: list[ShellRedirect]


class CommandGroup(Struct):
    """Commands that share their input and output: `( )`, `{ }`, the body of a loop or a condition."""

    offset: int
    body: "list[Node]"
    redirects: list[ShellRedirect]
    subshell: bool = False
    variable: str = ""  # of a for loop
    values: list[ShellWord | str] = []


class ShellPipe(Struct):
    """Commands of which each reads what the one before wrote."""

    commands: "list[Node]"


class ShellFunction(Struct):
    """A function is defined."""

    name: str
    body: "Node | None"


Node = SimpleCommand | CommandGroup | ShellPipe | ShellFunction


MAX_NESTING = 20
MAX_RETRIES = 8  # quotes that turned out to be no quotes

_PLAIN = re.compile(r"[^\s;&|<>()\\'\"`${}]+")
_IN_BRACES = re.compile(r"[^\s\\'\"`$}]+|\s+")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_BRACED = re.compile(r"\{([!#]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])(\[[^\]\n]{0,200}\])?", re.ASCII)
_OPERATOR = re.compile(r":?[-=?+]|##?|%%?|//?[#%]?|\^\^?|,,?|:|@")
_BRACE_LIST = re.compile(r"\{[^{}]*(?:,|\.\.)")
_SPECIAL = frozenset(" \t\r\n\f\v;&|<>()")


class WordReader:
    """Reads words at a place of the text. What stands in `$( )` is read by the one who reads commands."""

    def __init__(
        self, text: str, read_commands: Callable[[int, int], tuple[list[Node], int]], depth: int, base: int
    ) -> None:
        self.text = text
        self.depth = depth
        self._base = base
        self._read_commands = read_commands  # (at, depth) -> what stands there up to the closing ")", and the end
        self._retries = 0 if depth == 0 else MAX_RETRIES
        self._no_single = len(text) + 1  # from here on there is no closing single quote
        self._no_tick = len(text) + 1

    def read(self, at: int) -> tuple[ShellWord | str, int]:
        """The word at a place, and where it ends."""
        plain = _PLAIN.match(self.text, at)
        end = plain.end() if plain else at
        if plain and (end >= len(self.text) or self.text[end] in _SPECIAL):
            return plain[0], end
        parts: list[Part] = [plain[0]] if plain else []
        end = self._read_parts(parts, end, "")
        return _finish(parts), end

    def _read_parts(self, parts: list[Part], at: int, closing: str) -> int:
        """The parts of a word, up to a blank or an operator, or up to `closing` inside braces."""
        text, size = self.text, len(self.text)
        pattern = _IN_BRACES if closing else _PLAIN
        while at < size:
            match = pattern.match(text, at)
            if match:
                parts.append(match[0])
                at = match.end()
                continue
            char = text[at]
            if char == closing or (not closing and char in _SPECIAL):
                break
            at = self._read_special(parts, at, char)
        return at

    def _read_special(self, parts: list[Part], at: int, char: str) -> int:
        if char == "'":
            return self._single(parts, at)
        if char == '"':
            return self._double(parts, at)
        if char == "\\":
            following = self.text[at + 1 : at + 2]
            if following == "\r" and self.text.startswith("\r\n", at + 1):
                return at + 3
            if following != "\n":
                parts.append(Quoted(following or "\\"))
            return at + 2
        if char == "$":
            return self._dollar(parts, at, quoted=False)
        if char == "`":
            return self._tick(parts, at, quoted=False)
        parts.append(char)
        return at + 1

    def _single(self, parts: list[Part], at: int) -> int:
        end = self.text.find("'", at + 1) if at < self._no_single else -1
        if end < 0:
            self._no_single = min(self._no_single, at)
        # The apostrophe of "don't" in the output that a fence shows.
        prose = parts and self.text[at - 1].isalpha() and self.text[at + 1 : at + 2].isalpha()
        if end < 0 or (prose and "\n" in self.text[at + 1 : min(end, at + 400)]):
            parts.append(Quoted("'"))
            return at + 1
        parts.append(Quoted(self.text[at + 1 : end]))
        return end + 1

    def _double(self, parts: list[Part], at: int) -> int:
        inner: list[Part] = []
        end, closed = self.read_quoted(inner, at + 1)
        if not closed and self._retries < MAX_RETRIES:
            self._retries += 1
            return at + 1
        parts.append(Quoted(""))
        parts.extend(inner)
        return end

    def read_quoted(self, parts: list[Part], at: int) -> tuple[int, bool]:
        """The parts up to the closing double quote; where it ends, and whether there was one."""
        text, size = self.text, len(self.text)
        while at < size:
            match = _IN_QUOTES.match(text, at)
            if match:
                parts.append(Quoted(match[0]))
                at = match.end()
                if at >= size:
                    break
            char = text[at]
            if char == '"':
                return at + 1, True
            if char == "$":
                at = self._dollar(parts, at, quoted=True)
            elif char == "`":
                at = self._tick(parts, at, quoted=True)
            else:
                following = text[at + 1 : at + 2]
                if following != "\n":
                    parts.append(Quoted(following if following in '$`"\\' and following else "\\" + following))
                at += 2
        return at, False

    def _dollar(self, parts: list[Part], at: int, *, quoted: bool) -> int:
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "(":
            return self._substitution(parts, at, quoted=quoted)
        if following == "{":
            return self._braced(parts, at, quoted=quoted)
        if following == "'" and not quoted:
            return self._ansi(parts, at)
        if following == '"' and not quoted:
            return at + 1
        name = _NAME.match(text, at + 1)
        if name is None:
            parts.append(Quoted("$"))
            return at + 1
        parts.append(ShellParameter(name[0], quoted))
        return name.end()

    def _substitution(self, parts: list[Part], at: int, *, quoted: bool) -> int:
        text = self.text
        if text.startswith("((", at + 1):
            line_end = text.find("\n", at)
            end = text.find("))", at, line_end if line_end >= 0 else min(len(text), at + 400))
            if 0 <= end < at + 400:
                parts.append(ShellParameter("((", quoted, arg=text[at + 3 : end]))
                return end + 2
        if self.depth >= MAX_NESTING:
            parts.append(Quoted("$("))
            return at + 2
        body, end = self._read_commands(at + 2, self.depth + 1)
        parts.append(CommandSubstitution(body, text[at : min(end, at + 200)], quoted))
        return end

    def read_process(self, at: int) -> tuple[ShellWord | str, int]:
        """`<(…)` or `>(…)` at a place."""
        if self.depth >= MAX_NESTING:
            return "", at + 2
        into = self.text[at] == ">"
        body, end = self._read_commands(at + 2, self.depth + 1)
        return ShellWord([ProcessSubstitution(body, into)]), end

    def _braced(self, parts: list[Part], at: int, *, quoted: bool) -> int:
        match = _BRACED.match(self.text, at + 1)
        if match is None or self.depth >= MAX_NESTING:
            parts.append(Quoted("$"))
            return at + 1
        param = ShellParameter(match[2], quoted, {"!": "!", "#": "length"}.get(match[1], ""), index=match[3] or "")
        end = match.end()
        operator = _OPERATOR.match(self.text, end)
        if operator and not param.op:
            param.op = operator[0]
            end = operator.end()
        arg: list[Part] = []
        self.depth += 1
        end = self._read_parts(arg, end, "}")
        self.depth -= 1
        param.arg = _finish(arg) if arg else ""
        parts.append(param)
        return end + 1

    def _ansi(self, parts: list[Part], at: int) -> int:
        end = at + 2
        while True:
            end = self.text.find("'", end)
            if end < 0:
                parts.append(Quoted("$"))
                return at + 1
            backslashes, before = 0, end - 1
            while self.text[before] == "\\" and before > at:
                backslashes, before = backslashes + 1, before - 1
            if backslashes % 2 == 0:
                break
            end += 1
        parts.append(Quoted(unescape_ansi(self.text[at + 2 : end])))
        return end + 1

    def _tick(self, parts: list[Part], at: int, *, quoted: bool) -> int:
        end = self._find_tick(at + 1)
        if end < 0 or self.depth >= MAX_NESTING:
            parts.append(Quoted("`"))
            return at + 1
        inner = self.text[at + 1 : end].replace("\\`", "`")
        parts.append(
            CommandSubstitution(
                parse_inner(inner, self.depth + 1, self._base + at + 1), self.text[at : min(end + 1, at + 200)], quoted
            )
        )
        return end + 1

    def _find_tick(self, at: int) -> int:
        if at >= self._no_tick:
            return -1
        end = self.text.find("`", at)
        while end > 0 and self.text[end - 1] == "\\":
            end = self.text.find("`", end + 1)
        if end < 0:
            self._no_tick = at
        return end


def parse_inner(text: str, depth: int, base: int) -> list[Node]:
    """The commands of a text inside another one."""
    from clawft.scanner.languages.shell.parser import ShellParser

    return ShellParser(text, depth, base=base).read()


def _finish(parts: list[Part]) -> ShellWord | str:
    """A word of its parts; a plain `str` when nothing in it is left to expand."""
    braces = "{" in parts and _BRACE_LIST.search(_template(parts)) is not None
    if not braces and all(isinstance(part, str | Quoted) for part in parts):
        return "".join(part if isinstance(part, str) else part.text for part in parts)  # type: ignore[union-attr]
    return ShellWord(parts, braces)


def _template(parts: list[Part]) -> str:
    return "".join(part if isinstance(part, str) else "\0" for part in parts)
