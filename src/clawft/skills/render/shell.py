"""The part of the shell's language that we understand: a line in, its commands with their words out.

Understood: words with quotes and backslashes, `|`, `&&`, `||`, `;`, the redirects `<`, `>`, `>>` to one plain file,
`2>&1` and `1>&2`. Variables, globs and `~` are understood as arguments and marked. All else is refused, never
guessed at: what is left means the same to sh and to bash. Nothing is run or looked up here.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal, NoReturn

from msgspec import Struct

from clawft.errors import Refused

MAX_LINE = 16_384


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RESERVED = _names("if then else elif fi do done case esac while until for in ! { } [[ ]] function select time coproc")
# What these do to the shell changes the meaning of the words after them, or of words that nobody has read.
_CHANGES_SHELL = _names(
    """. alias bind break builtin caller compgen complete compopt continue declare disown enable eval exec export fc
    getopts hash history let local logout mapfile popd pushd read readarray readonly return set shift shopt source
    suspend trap typeset ulimit umask unalias unset"""
)
# Their arguments are commands or code: to list one by its name alone would be to list everything.
_COMMAND_RUNNERS = _names(
    """ash awk bash bun busybox chroot command csh dash deno doas env expect find fish flock gawk ionice ksh lua mawk
    nawk nice node nohup npx nsenter osascript parallel perl php pipx pkexec powershell pwsh python ruby
    runuser script sed setarch setpriv setsid sh socat ssh stdbuf strace su sudo systemd-run taskset tclsh time
    timeout toybox tsx unbuffer unshare uvx watch xargs zsh"""
)
_COMMAND_NAME = re.compile(r"[A-Za-z0-9_./:][A-Za-z0-9_./:+@-]*|\[")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9?$!#@*-])")
_DUPLICATE = re.compile(r">&[12](?=[ \t;|&]|$)")
_BLANKS, _ENDS = " \t", " \t;|&<>()"
_REFUSED = {
    "`": "command substitution",
    "(": "a subshell",
    ")": "a subshell",
    "{": "a brace outside quotes",
    "}": "a brace outside quotes",
}
# Letters that show nothing, though Unicode does not call them format characters.
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_LOOK_ALIKES = frozenset(
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2032\u2033\u2035\u2036\u2043"
    "\u2044\u2212\u2215\u2216\u2217\u2223\u2236\u223c\u29f5\u29f8\u01c0\u01c3\u02b9\u02ba\u02bb\u02bc\u02c8\u02cb\u02dc"
    "\ua789"
)


def is_command_runner(name: str) -> bool:
    """Return whether a command runs others, or code: `python3.11` as `python`."""
    return name in _COMMAND_RUNNERS or name.rstrip("0123456789.") in _COMMAND_RUNNERS


class NotUnderstood(Refused):
    """A line outside the grammar; the message says what was met. Code `command-not-understood`."""


class Word(Struct, frozen=True, gc=False):
    """A word after quote removal. Its text is exact only where nothing is marked."""

    text: str
    quoted: bool = False
    glob: bool = False
    tilde: bool = False
    variable: bool = False


class Redirect(Struct, frozen=True):
    kind: Literal["<", ">", ">>"]
    target: Word


class Command(Struct, frozen=True):
    """A simple command; its first word is plain."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)


class Line(Struct, frozen=True):
    """Simple commands, and the operators between them."""

    commands: tuple[Command, ...]
    operators: tuple[str, ...]

    @property
    def normal(self) -> str:
        """The line with the quoting gone and one blank between words, to be searched."""
        parts: list[str] = []
        for command, operator in zip(self.commands, (*self.operators, ""), strict=True):
            redirects = (part for redirect in command.redirects for part in (redirect.kind, redirect.target.text))
            parts += (*command.texts, *redirects, operator)
        return " ".join(part for part in parts if part)


@lru_cache(maxsize=64)  # what judges a command, asks about it and runs it reads the same line
def parse_line(line: str) -> Line:
    """Return the commands of a line. Raises: NotUnderstood."""
    if len(line) > MAX_LINE:
        _refuse(f"a line of more than {MAX_LINE} characters")
    for char in line:
        if not (" " <= char <= "~" or char == "\t"):
            _check_character(char)
    return _Reader(line).read()


def blank_out(text: str) -> str:
    """A text with blanks for the characters that no line may hold, so that a line with it in quotes can be judged."""
    return "".join(char if " " <= char <= "~" or not _is_unseen(char) else " " for char in text)


def _refuse(what: str, why: str = "is not understood") -> NoReturn:
    raise NotUnderstood(
        "command-not-understood",
        f"{what} {why}",
        hint="Quote what is meant as text, or do it in several plain commands",
    )


def _check_character(char: str) -> None:
    """No control, blank or invisible character but space and tab, and none that turns the text around."""
    name = f"the character U+{ord(char):04X}"
    if char in "\r\n":
        _refuse("a line break")
    if _is_unseen(char):
        _refuse(name)


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char)[0] in "CZ" or char in _BLANK_LETTERS or _is_variation(char)


def _is_variation(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\u180b" <= char <= "\u180f" or "\U000e0100" <= char <= "\U000e01ef"


def _is_look_alike(char: str) -> bool:
    """Return whether a character passes for one of ASCII."""
    return char in _LOOK_ALIKES or any(folded.isascii() for folded in unicodedata.normalize("NFKC", char))


class _Reader:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def read(self) -> Line:
        commands, operators = [self._command()], []
        while operator := self._operator():
            operators.append(operator)
            if operator == ";" and not self._peek():
                operators.pop()  # a `;` may end the line
                break
            commands.append(self._command())
        return Line(tuple(commands), tuple(operators))

    def _peek(self) -> str:
        """The next character after blanks, or nothing at the end."""
        while self._at < len(self._line) and self._line[self._at] in _BLANKS:
            self._at += 1
        return self._line[self._at : self._at + 1]

    def _operator(self) -> str:
        if not self._peek():
            return ""
        for operator in ("&&", "||", ";", "|"):
            if self._line.startswith(operator, self._at):
                self._at += len(operator)
                return operator
        _refuse("running in the background")  # a command ends at an operator only, and no other is left

    def _command(self) -> Command:
        words: list[Word] = []
        redirects: list[Redirect] = []
        while (char := self._peek()) and char not in ";|&":
            if char in "<>":
                redirects += self._redirect("")
                continue
            word = self._word()
            if self._line[self._at : self._at + 1] in ("<", ">") and word.text.isdigit() and not word.quoted:
                redirects += self._redirect(word.text)
            else:
                words.append(word)
        if not words:
            _refuse("an operator or a redirect without a command" if char or redirects else "an empty command")
        _check_name(words[0])
        return Command(tuple(words), tuple(redirects))

    def _redirect(self, descriptor: str) -> list[Redirect]:
        """A redirect to a plain file; none for `2>&1`, which opens nothing."""
        if duplicate := _DUPLICATE.match(self._line, self._at):
            if descriptor not in ("", "1", "2"):
                _refuse(f"a redirect of {descriptor}")
            self._at = duplicate.end()
            return []
        kind: Literal["<", ">", ">>"] = "<" if self._line[self._at] == "<" else ">"
        if self._line.startswith(">>", self._at):
            kind = ">>"
        if descriptor not in (("", "0") if kind == "<" else ("", "1", "2")):
            _refuse(f"a redirect of {descriptor}")
        self._at += len(kind)
        if self._line[self._at : self._at + 1] in ("<", ">", "&", "|", "("):
            _refuse("this kind of redirect")
        if self._peek() in ("", *"<>;|&()"):
            _refuse("a redirect without a file")
        target = self._word()
        if target.glob or target.variable or not target.text:
            _refuse("a redirect to a file that is not named plainly")
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            _refuse("a redirect to the network")
        return [Redirect(kind, target)]

    def _word(self) -> Word:
        if self._line[self._at] == "#":
            _refuse("a comment")
        parts = _Parts()
        while self._at < len(self._line) and (char := self._line[self._at]) not in _ENDS:
            if char == "'":
                parts.add_quoted(self._single())
            elif char == '"':
                self._double(parts)
            elif char == "\\":
                parts.add_quoted(self._escaped())
            elif char == "$":
                self._dollar(parts, _BLANKS)
            elif self._line.startswith("{}", self._at):  # to the shell only itself; find and xargs fill it in
                parts.add_quoted("{}")
                self._at += 2
            elif char in _REFUSED:
                _refuse(_REFUSED[char])
            else:
                parts.add_bare(char)
                self._at += 1
        if self._line[self._at : self._at + 1] in ("(", ")"):
            _refuse("a subshell")
        return parts.word()

    def _single(self) -> str:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            _refuse("a quote that never ends")
        text, self._at = self._line[self._at + 1 : end], end + 1
        return text

    def _escaped(self) -> str:
        text = self._line[self._at + 1 : self._at + 2]
        if not text:
            _refuse("a backslash at the end")
        self._at += 2
        return text

    def _double(self, parts: "_Parts") -> None:
        self._at += 1
        parts.add_quoted("")
        while (char := self._line[self._at : self._at + 1]) != '"':
            if not char:
                _refuse("a quote that never ends")
            if char == "`":
                _refuse(_REFUSED[char])
            if char == "$":
                self._dollar(parts, ' \t"|)')
            elif char == "\\" and self._line[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\"):
                parts.add_quoted(self._escaped())
            else:
                parts.add_quoted(char)
                self._at += 1
        self._at += 1

    def _dollar(self, parts: "_Parts", literal_before: str) -> None:
        """A variable, or a `$` that is only itself because of what follows; all else after a `$` is refused."""
        following = self._line[self._at + 1 : self._at + 2]
        if variable := _VARIABLE.match(self._line, self._at):
            parts.add_variable(variable[0])
            self._at = variable.end()
        elif following == "" or following in literal_before:
            parts.add_quoted("$")
            self._at += 1
        elif following == "(":
            _refuse("command substitution")
        else:
            _refuse(f"'${following}'")


class _Parts:
    """The parts that a word is put together from."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._quoted = self._glob = self._tilde = self._variable = False

    def add_quoted(self, text: str) -> None:
        self._text.append(text)
        self._quoted = True

    def add_variable(self, text: str) -> None:
        self._text.append(text)
        self._variable = True

    def add_bare(self, char: str) -> None:
        if not char.isascii() and _is_look_alike(char):
            _refuse(f"the character U+{ord(char):04X} outside quotes")
        # bash expands `~` after the `=` and `:` of what looks like an assignment, too
        if char == "~" and (not self._text or self._text[-1][-1:] in ("", "=", ":")):
            self._tilde = True
        self._glob = self._glob or char in "*?["
        self._text.append(char)

    def word(self) -> Word:
        text = "".join(self._text)
        return Word(text, self._quoted, self._glob and text != "[", self._tilde, self._variable)


def _check_name(word: Word) -> None:
    """The name of a command is plain, and runs something: it neither begins a construct nor changes the shell."""
    if word.text in _RESERVED:
        _refuse(f"the reserved word '{word.text}'")
    if "=" in word.text:
        _refuse("an assignment")
    if word.glob or word.tilde or word.variable or not _COMMAND_NAME.fullmatch(word.text):
        _refuse("a command whose name is not plain text")
    if word.text in _CHANGES_SHELL:
        _refuse(f"'{word.text}'", "changes the shell itself")
