"""Words become values: variables, command substitutions, braces and arithmetic."""

import fnmatch
import re
from typing import Protocol, TypeVar

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands import NOTHING, CommandContext, CommandValue, join_sources, unknown
from clawft.scanner.languages.shell.words import (
    CommandSubstitution,
    Node,
    Part,
    ProcessSubstitution,
    Quoted,
    ShellParameter,
    ShellWord,
)
from clawft.scanner.regex import words

MAX_WORDS = 200
_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d{1,6}|[a-zA-Z])\.\.(-?\d{1,6}|[a-zA-Z])$")
_SLICE = re.compile(r"\s*(-?\d{1,6})\s*(?::\s*(-?\d{1,6}))?$")
# Set by the shell itself, or of no interest to anyone.
_ORDINARY = words(
    "IFS PATH PWD OLDPWD RANDOM SECONDS LINENO BASH_SOURCE BASH_VERSION BASH ZSH_VERSION FUNCNAME SHLVL PPID UID"
    " EUID REPLY OPTARG OPTIND HOSTTYPE OSTYPE MACHTYPE COLUMNS LINES TERM SHELL LANG LC_ALL PIPESTATUS DIRSTACK"
    " BASH_REMATCH EDITOR PAGER DISPLAY TMPDIR TEMP TMP PS1 PS2 PS4 BASHPID EPOCHSECONDS SRANDOM COMP_WORDS"
    " COMP_CWORD COMPREPLY MAPFILE"
)
_SET_BY_SHELL = {"HOME": "~", "SHELL": "/bin/sh", "BASH": "/bin/bash"}
_Cut = TypeVar("_Cut", str, list[CommandValue])
_ENV_NAME = re.compile(r"(?:npm_|[A-Z])\w*$", re.ASCII)


class SubstitutionRunner(Protocol):
    """The part of an evaluator that runs substitutions during expansion."""

    world: CommandContext
    variables: dict[str, "CommandValue | list[CommandValue]"]
    offset: int

    def capture(self, body: list[Node]) -> CommandValue: ...
    def open_process(self, body: list[Node], *, into: bool) -> str: ...


def expand_words(words: list[ShellWord | str], runner: SubstitutionRunner) -> list[CommandValue]:
    """The words of a command, with braces, splitting and arrays."""
    values: list[CommandValue] = []
    for word in words:
        if isinstance(word, str):
            values.append(CommandValue(word))
        else:
            values += _expand(word, runner)
        if len(values) > MAX_WORDS:
            break
    return values


def expand_one(word: ShellWord | str, runner: SubstitutionRunner) -> CommandValue:
    """A word that stays one: a redirect, an assignment."""
    if isinstance(word, str):
        return CommandValue(word)
    return _concat([_part_value(part, runner) for part in word.parts], runner)


def _concat(values: list[CommandValue], runner: SubstitutionRunner) -> CommandValue:
    return values[0] if len(values) == 1 else runner.world.join(values)


def _expand(word: ShellWord, runner: SubstitutionRunner) -> list[CommandValue]:
    if word.braces:
        return [value for brace in _braces(word)[:64] for value in _expand(brace, runner)]
    done: list[CommandValue] = []
    current: list[CommandValue] = []
    started = False
    for part in word.parts:
        pieces = _split_part(part, runner)
        if pieces is None:
            current.append(_part_value(part, runner))
            started = True
            continue
        for index, piece in enumerate(pieces):
            if index and (current or started):
                done.append(_concat(current, runner) if current else NOTHING)
                current = []
            if piece.text or piece.sources:
                current.append(piece)
                started = True
    if current:
        done.append(_concat(current, runner))
    return done


def _split_part(part: Part, runner: SubstitutionRunner) -> list[CommandValue] | None:
    """Split the value of an unquoted `$x` or `$( )` at blanks; None for a part that stays whole."""
    if isinstance(part, ShellParameter):
        held = runner.variables.get(part.name)
        if isinstance(held, list) and (chosen := _elements(part, held, runner)) is not None:
            return chosen
        if part.quoted and part.name != "@":
            return None
        if part.name in ("@", "*") and isinstance(held, list):
            return held
    elif not isinstance(part, CommandSubstitution) or part.quoted:
        return None
    value = _part_value(part, runner)
    if not value.known:
        return [value]
    if value.text.isspace():
        return [NOTHING, NOTHING]
    words = value.text.split()[:MAX_WORDS]
    pieces = [CommandValue(word, value.sources) for word in words] or [NOTHING]
    if value.text[:1].isspace():
        pieces.insert(0, NOTHING)
    if value.text[-1:].isspace() and words:
        pieces.append(NOTHING)
    return pieces


def _elements(part: ShellParameter, held: list[CommandValue], runner: SubstitutionRunner) -> list[CommandValue] | None:
    """The elements of an array that become words of their own; None when it stays one word."""
    if part.index == "[*]" and part.quoted:
        return None
    if part.index in ("[@]", "[*]") and part.op == ":":
        span = _SLICE.match(expand_one(part.arg, runner).text)
        return _slice(held, int(span[1]), int(span[2]) if span[2] else None) if span else held
    if part.op or part.index not in ("[@]", "[*]", "") or (part.quoted and not part.index):
        return None
    return held if part.index else held[:1]


def _braces(word: ShellWord) -> list[ShellWord]:
    """`{a,b}` and `{1..3}`, each as a word of its own."""
    parts = word.parts[:4000]
    template = "".join(part if isinstance(part, str) else chr(0xF0000 + index) for index, part in enumerate(parts))
    texts = [template]
    for _ in range(8):
        grown = [choice for text in texts for choice in _brace_step(text)]
        if grown == texts or len(grown) > 64:
            texts = grown[:64]
            break
        texts = grown
    return [
        ShellWord(
            [part for piece in re.split(r"([\U000f0000-\U000ffffd])", text) if piece for part in _restore(piece, parts)]
        )
        for text in texts
    ]


def _restore(piece: str, parts: list[Part]) -> list[Part]:
    index = ord(piece[0]) - 0xF0000
    return [parts[index]] if 0 <= index < len(parts) else [piece]


def _brace_step(text: str) -> list[str]:
    for match in _BRACE.finditer(text):
        inner = match[1]
        if "," in inner:
            choices = inner.split(",")[:32]
        elif span := _RANGE.match(inner):
            choices = _range(span[1], span[2])
        else:
            continue
        return [text[: match.start()] + choice + text[match.end() :] for choice in choices]
    return [text]


def _range(first: str, last: str) -> list[str]:
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high = int(first), int(last)
        return [str(index) for index in range(low, min(high, low + 31) + 1)] or [first]
    return [chr(index) for index in range(ord(first[0]), min(ord(last[0]), ord(first[0]) + 31) + 1)] or [first]


def _part_value(part: Part, runner: SubstitutionRunner) -> CommandValue:
    if isinstance(part, str):
        return CommandValue(part)
    if isinstance(part, Quoted):
        return CommandValue(part.text)
    if isinstance(part, ShellParameter):
        return _param(part, runner)
    if isinstance(part, ProcessSubstitution):
        return CommandValue(runner.open_process(part.body, into=part.into))
    value = runner.capture(part.body)
    if value.known:
        return CommandValue(value.text.rstrip("\n"), value.sources)
    return unknown(part.text, value.sources)


def look_up(name: str, runner: SubstitutionRunner, index: str = "") -> CommandValue | None:
    """Return the value of a variable; None if it was never set here."""
    held = runner.variables.get(name)
    if isinstance(held, list):
        if index in ("[@]", "[*]") or name in ("@", "*"):
            parted = runner.variables.get("IFS") if index == "[*]" else None
            glue = CommandValue(parted.text[:1] if isinstance(parted, CommandValue) and parted.known else " ")
            return _concat([part for value in held for part in (value, glue)][:-1] or [NOTHING], runner)
        at = int(index[1:-1]) if index[1:-1].isdigit() and len(index) < 8 else 0
        return held[at] if at < len(held) else NOTHING
    return held


def _unset(name: str, runner: SubstitutionRunner) -> CommandValue:
    """A variable that comes from outside: from the environment, or from the caller."""
    if name in _SET_BY_SHELL:
        return CommandValue(_SET_BY_SHELL[name])
    if name in ("@", "*"):
        return NOTHING if not runner.variables.get("in a function") else CommandValue("$@", known=False)
    if not _ENV_NAME.match(name) or name in _ORDINARY or name in runner.variables:
        return CommandValue("$" + name, known=False)
    return unknown("$" + name, (runner.world.fact(Kind.ENV, name, runner.offset, "$" + name),))


def _param(part: ShellParameter, runner: SubstitutionRunner) -> CommandValue:
    name, op = part.name, part.op
    if name == "((":
        return _arithmetic(str(part.arg))
    if name == "IFS":
        return CommandValue(" ")  # whatever it is set to, it parts words
    held = look_up(name, runner, part.index)
    if op == "!" and held is not None and held.known:
        return look_up(held.text, runner) or _unset(held.text, runner)
    if op in (":-", "-", ":=", "="):
        return _default(part, held, runner)
    if op in (":+", "+"):
        return expand_one(part.arg, runner)
    value = held if held is not None else _unset(name, runner)
    if not op or op in (":?", "?", "@", "!"):
        return value
    if op == "length":
        return CommandValue(str(len(value.text)), (), known=value.known)
    if not value.known:
        return value
    return runner.world.make(_changed(value.text, op, expand_one(part.arg, runner).text), value.sources)


def _default(part: ShellParameter, held: CommandValue | None, runner: SubstitutionRunner) -> CommandValue:
    """`${name:-word}`: the word, when nothing is known of the name."""
    if held is not None and (held.text or held.sources):
        return held
    other = expand_one(part.arg, runner)
    if held is not None:
        return other
    outside = _unset(part.name, runner)
    if outside.known:
        return outside
    if not other.text:
        return outside
    value = CommandValue(other.text, join_sources(other.sources, outside.sources), other.known)
    if part.op in (":=", "="):
        runner.variables[part.name] = value
    return value


def _changed(text: str, op: str, arg: str) -> str:
    if op == ":":
        span = _SLICE.match(arg)
        return _slice(text, int(span[1]), int(span[2]) if span[2] else None) if span else text
    if op[0] == "/":
        old, _, new = arg.partition("/")
        old = old.replace("\\", "")
        if not old or any(mark in old for mark in "*?["):
            return (
                text.replace(old.strip("*?[]"), new)
                if old.strip("*?[]") and "[" not in old
                else _replace_class(text, old, new)
            )
        return text.replace(old, new, -1 if op.startswith("//") else 1)
    if op[0] in "#%":
        return _trim(text, op, arg)
    if op[0] == "^":
        return text.upper() if op == "^^" else text[:1].upper() + text[1:]
    if op[0] == ",":
        return text.lower() if op == ",," else text[:1].lower() + text[1:]
    return text


def _replace_class(text: str, old: str, new: str) -> str:
    """`${x//[abc]/}`."""
    match = re.fullmatch(r"\[([^\]!^]{1,80})\]", old)
    return "".join(new if char in match[1] else char for char in text) if match else text


def _slice(text: _Cut, begin: int, size: int | None) -> _Cut:
    begin = begin if begin >= 0 else max(0, len(text) + begin)
    if size is None:
        return text[begin:]
    return text[begin : begin + size] if size >= 0 else text[begin:size]


def _trim(text: str, op: str, pattern: str) -> str:
    if len(pattern) > 200 or len(text) > 4000:
        return text
    plain = not any(mark in pattern for mark in "*?[")
    if plain:
        return text.removeprefix(pattern) if op[0] == "#" else text.removesuffix(pattern)
    if pattern.count("*") > 2:
        return text
    matches = re.compile(fnmatch.translate(pattern)).match
    spans = range(len(text) + 1)
    if op[0] == "#":
        order = reversed(spans) if op == "##" else iter(spans)
        return next((text[at:] for at in order if matches(text[:at])), text)
    order = iter(spans) if op == "%%" else reversed(spans)
    return next((text[:at] for at in order if matches(text[at:])), text)


def _arithmetic(text: str) -> CommandValue:
    if re.fullmatch(r"[\d\s+*()-]{1,40}", text) and "**" not in text and re.search(r"\d", text):
        numbers = re.fullmatch(r"\s*(\d{1,9})\s*([+*-])\s*(\d{1,9})\s*", text)
        if numbers:
            left, right = int(numbers[1]), int(numbers[3])
            return CommandValue(str({"+": left + right, "-": left - right, "*": left * right}[numbers[2]]))
        if text.strip().isdigit():
            return CommandValue(text.strip())
    return CommandValue("$((" + text + "))", known=False)
