"""Batch files of Windows: `^` and `%VAR%` undone, commands one by one; what programs do is known elsewhere."""

import re
from collections.abc import Callable

from clawft.scanner.facts import Analysis, Document, Kind
from clawft.scanner.languages.commands import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    is_program,
    join_sources,
    run_call,
    sources_of,
    unknown,
)
from clawft.scanner.languages.long_texts import find_windows
from clawft.scanner.regex import words

MAX_COMMANDS = 40_000
_MARKS = (
    "http", "powershell", "certutil", "bitsadmin", "curl", "mshta", "schtasks", "reg add", "REG ADD", "rundll32",
    "set ", "wmic", "del ", "ftp", "%~",
)  # fmt: skip
_VARIABLE = re.compile(
    r"%(%?)([A-Za-z_][\w()]{0,60})(?::([^%\n]{1,80}))?%|!([A-Za-z_]\w{0,60})(?::([^!\n]{1,80}))?!|%%?~?[a-zA-Z0-9*]"
)
_TOKEN = re.compile(
    r'\^(\r?\n|.)|"((?:\\"(?=\S)|[^"\n])*)"?|(&&|\|\||[&|\n()])|(\d?>>?|<)|([ \t\r,;=]+)'
    r'|((?:%[A-Za-z_]\w*:[^%\n"]{1,80}%|[^\^"&|\n()<> \t\r,;=])+)',
    re.DOTALL,
)
_TAKES_CODE = re.compile(r"@?(?:powershell|pwsh)(?:\.exe)?$", re.IGNORECASE)  # what follows is no batch
_SLICE = re.compile(r"~(-?\d{1,6})(?:,(-?\d{1,6}))?$")
_FOLDERS = {"USERPROFILE": "~", "HOMEPATH": "~", "HOMEDRIVE": "", "CD": ".", "~DP0": "."}
_PLAIN = words(
    "TEMP TMP APPDATA LOCALAPPDATA WINDIR SYSTEMROOT COMSPEC PROGRAMFILES PROGRAMDATA PUBLIC PATH ERRORLEVEL RANDOM"
    " DATE TIME OS"
)
_CONTROL = words(
    "if for else do call @echo goto not exist defined endlocal setlocal shift pause exit title color cls rem in"
)


def analyse(document: Document) -> Analysis:
    """The facts of a batch file."""
    reader = _Reader(CommandContext(document))
    for begin, end in find_windows(document.text, _MARKS):
        reader.read(document.text[begin:end], begin)
    return reader.world.finish()


class _Reader:
    def __init__(self, world: CommandContext) -> None:
        self.world = world
        self.variables: dict[str, CommandValue] = {}
        self._count = 0

    def read(self, text: str, base: int) -> None:
        """Command by command; a pipe hands on what the one before gave."""
        words: list[CommandValue] = []
        redirects: list[tuple[str, CommandValue]] = []
        piped, fed = NOTHING, False
        pending, offset = "", base
        glued = False
        for match in _TOKEN.finditer(text):
            if match[1] is not None and match[1] in ("\n", "\r\n"):
                continue
            if match[3] in ("(", ")") and words and _TAKES_CODE.match(words[0].text):
                last = words.pop()
                words.append(last.with_text(last.text + ("" if glued else " ") + match[3]))
                glued = True
                continue
            if match[3] or match[4]:
                if match[4]:
                    pending, glued = match[4], False
                    continue
                value = self._command(words, redirects, CommandCall("", [], piped, offset, fed=fed))
                piped, fed = (value, True) if match[3] == "|" else (NOTHING, False)
                words, redirects, glued = [], [], False
                continue
            if match[5]:
                glued = False
                if "=" in match[5] and words and words[0].text.lower() == "set":
                    words[-1] = words[-1].with_text(words[-1].text + match[5].strip(" \t\r"))
                    glued = match[5].endswith("=")
                continue
            if not words and not redirects:
                offset = base + match.start()
            value = self._piece(match, base)
            if glued and words and not pending:
                words[-1] = CommandValue(
                    words[-1].text + value.text,
                    join_sources(words[-1].sources, value.sources),
                    words[-1].known and value.known,
                )
            elif pending:
                redirects.append((pending, value))
                pending = ""
            else:
                words.append(value)
            glued = True
        self._command(words, redirects, CommandCall("", [], piped, offset, fed=fed))

    def _piece(self, match: re.Match[str], base: int) -> CommandValue:
        """Part of a word: an escaped character, a string, or plain text."""
        if match[1] is not None:
            return CommandValue(match[1])
        inner = match[2].replace('\\"', '"') if match[2] is not None else match[6]
        return self._expand(inner, base + match.start())

    def _expand(self, text: str, offset: int) -> CommandValue:
        if "%" not in text and "!" not in text:
            return CommandValue(text)
        pieces: list[CommandValue] = []
        at = 0
        for match in _VARIABLE.finditer(text):
            pieces.append(CommandValue(text[at : match.start()]))
            at = match.end()
            name = match[2] or match[4]
            pieces.append(
                self._variable(name.upper(), match[3] or match[5] or "", offset)
                if name
                else CommandValue(match[0], known=False)
            )
        pieces.append(CommandValue(text[at:]))
        return self.world.join(pieces)

    def _variable(self, name: str, change: str, offset: int) -> CommandValue:
        held = self.variables.get(name)
        if held is None:
            if name in _FOLDERS:
                return CommandValue(_FOLDERS[name])
            if name in _PLAIN:
                return CommandValue(f"%{name}%")
            return unknown(f"%{name}%", (self.world.fact(Kind.ENV, name, offset, f"%{name}%"),))
        if not change:
            return held
        if span := _SLICE.match(change):
            begin = int(span[1])
            text = held.text[begin:] if begin >= 0 else held.text[max(0, len(held.text) + begin) :]
            size = int(span[2]) if span[2] else len(text)
            return held.with_text(text[:size])
        old, equals, new = change.partition("=")
        return held.with_text(held.text.replace(old, new) if equals and old else held.text)

    def _command(
        self, words: list[CommandValue], redirects: list[tuple[str, CommandValue]], call: CommandCall
    ) -> CommandValue:
        self._count += 1
        words = self._strip_control(words)
        if not words or self._count > MAX_COMMANDS:
            return NOTHING
        for mark, target in redirects:
            if mark == "<":
                call.stdin, call.fed = self.world.read(target, call), True
        value = self._run(words, call)
        for mark, target in redirects:
            if mark.lstrip("12") in (">", ">>") and not mark.startswith("2"):
                self.world.write(target, value, call, append=mark.endswith(">>"))
                value = NOTHING
        return value

    def _strip_control(self, words: list[CommandValue]) -> list[CommandValue]:
        """Without `@`, `call`, `if … ` and `for … do` in front."""
        for _ in range(12):
            if not words:
                break
            head = words[0].text.lstrip("@").lower()
            if words[0].text.startswith("@") and head:
                words = [words[0].with_text(words[0].text.lstrip("@")), *words[1:]]
            if head.startswith((":", "rem")) and (head.startswith(":") or head == "rem"):
                return []
            if head == "if":
                words = (
                    words[3:]
                    if len(words) > 3 and words[1].text.lower() in ("exist", "defined", "errorlevel")
                    else words[4:]
                    if len(words) > 4
                    else words[1:]
                )
            elif head == "for":
                at = next((index for index, word in enumerate(words) if word.text.lower() == "do"), -1)
                words = words[at + 1 :] if at >= 0 else []
            elif head in ("call", "do", "else", "@"):
                words = words[1:]
            else:
                break
        return words

    def _run(self, words: list[CommandValue], call: CommandCall) -> CommandValue:
        head = words[0].text
        low = head.lower().removesuffix(".exe")
        special = _COMMANDS.get(low)
        if special is not None:
            call.name, call.path, call.args = low, head, words[1:]
            return special(self, call)
        if low in _CONTROL:
            return NOTHING
        program, space, _ = low.partition(" ")
        if space and is_program(program.removesuffix(".exe")):  # a variable that holds several words
            words = [*[words[0].with_text(word) for word in head.split()], *words[1:]]
            return self._run(words, call)
        plain = not re.search(r"[\\/:]", head) and self.world.content_of(head) is None
        known = words[0].with_text(low) if plain else words[0]
        return run_call(self.world, [known, *words[1:]], call)


def _set(reader: _Reader, call: CommandCall) -> CommandValue:
    if not call.args:
        return unknown("$(set)", (reader.world.note(call, Kind.ENV, "*", via="set"),))
    args = call.args[1:] if call.args[0].text.lower() in ("/a", "/p") else call.args
    text = " ".join(argument.text for argument in args)
    name, equals, value = text.partition("=")
    if equals:
        known = all(argument.known for argument in args) and call.args[0].text.lower() != "/p"
        reader.variables[name.strip().upper()] = reader.world.make(value.strip(), sources_of(args), known=known)
    return NOTHING


def _type(reader: _Reader, call: CommandCall) -> CommandValue:
    values = [reader.world.read(argument, call) for argument in call.args if not argument.text.startswith("/")]
    return values[0] if values else NOTHING


def _copy(reader: _Reader, call: CommandCall) -> CommandValue:
    words = [argument for argument in call.args if not argument.text.startswith("/")]
    return run_call(reader.world, [CommandValue("mv" if call.name in ("move", "ren") else "cp"), *words], call)


def _delete(reader: _Reader, call: CommandCall) -> CommandValue:
    flags = " ".join(argument.text for argument in call.args if argument.text.startswith("/"))
    for argument in call.args:
        if not argument.text.startswith("/"):
            target, via = reader.world.resolve(argument.text), f"{call.name} {flags}".strip()
            reader.world.note(call, Kind.DELETE, target, argument.sources, via=via)
    return NOTHING


def _start(reader: _Reader, call: CommandCall) -> CommandValue:
    """`start "title" /b program`: the title and the switches go."""
    words = call.args
    while words and (words[0].text.startswith("/") or not words[0].text):
        words = words[1:]
    if len(words) > 1 and " " in words[0].text and "." not in words[0].text:
        words = words[1:]
    return run_call(reader.world, words, CommandCall("", [], NOTHING, call.offset)) if words else NOTHING


def _cd(reader: _Reader, call: CommandCall) -> CommandValue:
    where = [argument.text for argument in call.args if argument.text.lower() != "/d"]
    reader.world.cwd = where[0] if where and "%" not in where[0] and where[0] != "." else ""
    return NOTHING


def _persist_variable(reader: _Reader, call: CommandCall) -> CommandValue:
    if re.match(r"(?i)path$|.*preload", call.args[0].text if call.args else ""):
        reader.world.note(call, Kind.PERSIST, call.line)
    return NOTHING


_COMMANDS: dict[str, Callable[[_Reader, CommandCall], CommandValue]] = {
    "set": _set, "type": _type, "more": _type, "copy": _copy, "xcopy": _copy,
    "robocopy": _copy, "move": _copy, "ren": _copy, "del": _delete, "erase": _delete, "rd": _delete, "rmdir": _delete,
    **dict.fromkeys(("echo", "echo."), lambda reader, call: reader.world.join(call.args, " ")),
    "format": _delete, "start": _start, "cd": _cd, "chdir": _cd, "pushd": _cd, "setx": _persist_variable,
}  # fmt: skip
