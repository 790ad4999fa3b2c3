"""AppleScript: what it asks the shell to do, what it asks the user for, and what it makes start at login."""

import re

from clawft.scanner.facts import Analysis, Document, Kind
from clawft.scanner.languages.commands import NOTHING, CommandCall, CommandContext, CommandValue, unknown
from clawft.scanner.languages.long_texts import find_windows
from clawft.scanner.languages.shell.evaluator import ShellEvaluator

MAX_LINES = 40_000
MAX_PARTS = 400
_MARKS = ("shell", "script", "dialog", "login item", "clipboard", "keystroke", "set ", "POSIX", "http")
_LINE = re.compile(r"[^\n]*\n?")
_CONTINUED = re.compile(r"¬[ \t]*\n")
_PART = re.compile(
    r'\s*(?:"((?:\\.|[^"\\])*)"|(quoted form of|POSIX path of|text returned of|the result|result|the clipboard'
    r"|contents of|as text|as string|ASCII character|character id|reverse of)|\(|\)|([A-Za-z_]\w*)|(\d+)|([&{},]))",
    re.IGNORECASE,
)
_SET = re.compile(r"^\s*(?:set|copy)\s+(?:the\s+)?([A-Za-z_]\w*)\s+to\s+(.+)$", re.IGNORECASE | re.DOTALL)
_SHELL = re.compile(r"\bdo\s+shell\s+script\s+", re.IGNORECASE)
_TERMINAL = re.compile(r"\bdo\s+script\s+", re.IGNORECASE)
_RUN = re.compile(r"\brun\s+script\s+", re.IGNORECASE)
_CODES = {"ascii character", "character id"}


def analyse(document: Document) -> Analysis:
    """The facts of a script."""
    reader = _Reader(CommandContext(document))
    for begin, end in find_windows(document.text, _MARKS):
        reader.read(document.text[begin:end], begin)
    return reader.world.finish()


class _Reader:
    def __init__(self, world: CommandContext) -> None:
        self.world = world
        self.variables: dict[str, CommandValue] = {}
        self._shell = ShellEvaluator(world)
        self._count = 0

    def read(self, text: str, base: int) -> None:
        text = _CONTINUED.sub(lambda match: " " * len(match[0]), text)
        for match in _LINE.finditer(text):
            line = match[0].strip()
            if line and not line.startswith(("--", "#")) and self._count < MAX_LINES:
                self._count += 1
                self._line(line, base + match.start())

    def _line(self, line: str, offset: int) -> None:
        result = self._effects(line, offset)
        if match := _SET.match(line):
            name = match[1].lower()
            self._keep(name, result if result is not None else self._value(match[2], offset))
        if result is not None:
            self._keep("result", result)

    def _keep(self, name: str, value: CommandValue) -> None:
        """A variable; one that is only known at run time becomes one of the shell, so that it flows into commands."""
        if not value.known:
            self._shell.variables["as_" + name] = value
            value = unknown("$as_" + name, value.sources)
        self.variables[name] = value

    def _effects(self, line: str, offset: int) -> CommandValue | None:
        """Evaluate a line; return its result, if it has one."""
        world = self.world
        low = line.lower()
        if match := _SHELL.search(line):
            command = self._value(line[match.end() :], offset)
            if re.search(r"with\s+administrator\s+privileges", low):
                world.fact(Kind.PRIVILEGE, "administrator privileges: " + command.text, offset, "do shell script")
            return self._run_shell(command, offset, "do shell script")
        if match := _TERMINAL.search(line):
            return self._run_shell(self._value(line[match.end() :], offset), offset, "do script")
        if match := _RUN.search(line):
            return world.run_code(
                self._value(line[match.end() :], offset), "applescript", CommandCall("run script", [], NOTHING, offset)
            )
        if "display dialog" in low and "hidden answer" in low:
            return unknown("$(dialog)", (world.fact(Kind.READ, "keyboard", offset, "display dialog … hidden answer"),))
        if "login item" in low and "make" in low:
            world.fact(Kind.PERSIST, "login item", offset, line[:120])
        elif re.search(r"\bset\s+the\s+clipboard\b", low):
            return None
        elif match := re.search(r"\bread\s+(?:file|posix file|alias)\s+(.+)", line, re.IGNORECASE):
            return world.read(self._value(match[1], offset), CommandCall("read", [], NOTHING, offset))
        elif match := re.search(r"\bopen\s+location\s+(.+)", line, re.IGNORECASE):
            address = self._value(match[1], offset)
            world.fact(Kind.FETCH, address.text, offset, "open location", address.sources)
        elif match := re.search(r"\bduplicate\s+(.+?)\s+to\s+(.+)", line, re.IGNORECASE):
            world.fact(Kind.READ, self._value(match[1], offset).text, offset, "duplicate")
        return None

    def _run_shell(self, command: CommandValue, offset: int, via: str) -> CommandValue:
        call = CommandCall(via, [], NOTHING, offset, via)
        return self.world.run_code(command, "shell", call)

    def _value(self, text: str, offset: int) -> CommandValue:
        """An expression: strings and names joined by `&`."""
        pieces: list[CommandValue] = []
        code, backwards = False, False
        for count, match in enumerate(_PART.finditer(text)):
            if count > MAX_PARTS:
                break
            word = (match[2] or "").lower()
            if word == "the clipboard":
                pieces.append(
                    unknown("$(clipboard)", (self.world.fact(Kind.READ, "clipboard", offset, "the clipboard"),))
                )
            elif word in _CODES:
                code = True
            elif word == "reverse of":
                backwards = True
            elif word in ("the result", "result"):
                pieces.append(self.variables.get("result", NOTHING))
            elif match[1] is not None:
                plain = re.sub(r"\\(.)", lambda one: {"n": "\n", "t": "\t"}.get(one[1], one[1]), match[1])
                pieces.append(CommandValue(plain[::-1] if backwards else plain))
                backwards = False
            elif match[4] and code:
                pieces.append(CommandValue(chr(int(match[4][:6]) % 0x110000)))
                code = False
            elif match[3]:
                name = match[3].lower()
                if name in ("with", "without", "as", "in", "giving", "default", "buttons"):
                    break
                if name in self.variables:
                    pieces.append(self.variables[name])
        return self.world.join(pieces)
