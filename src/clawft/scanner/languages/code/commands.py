"""Commands that code runs: a mark, a document of its own, and what the command itself reads and sends."""

import re
import shlex
from typing import TYPE_CHECKING

from clawft.scan.documents import make_child
from clawft.scan.facts import Fact, Kind
from clawft.scan.languages.code.calls import Call, Effect
from clawft.scan.languages.code.values import HOLE, Mark, Value, merge, text_of

if TYPE_CHECKING:
    from clawft.scan.languages.code.machine import Machine

__all__ = ["EFFECTS", "guess_language", "run_command"]

MAX_COMMAND = 8000
_INLINE = {
    "python": "python", "node": "javascript", "deno": "javascript", "bun": "javascript", "ruby": "ruby", "perl": "perl",
    "php": "php", "lua": "lua", "osascript": "applescript", "powershell": "powershell", "pwsh": "powershell",
    "rscript": "r",
}  # fmt: skip
_FLAGS = frozenset(("-c", "-e", "-r", "-command", "-ec", "--eval", "-encodedcommand", "eval", "-p", "-ne", "-pe", "-"))
_INTERPRETER = re.compile(
    r"(ba|z|da|k|a|c|tc|fi)?sh$|python[\d.]*$|node(js)?$|deno$|bun$|perl$|ruby$|php$|lua$|osascript$|powershell|pwsh|cmd(\.exe)?$"
    r"|eval$|source$|\.$|msiexec|rundll32|regsvr32|mshta|wscript|cscript|java$|dpkg$|rpm$|installer$"
    r"|insmod$|crontab$|at$|ssh$|xargs$|launchctl$|systemctl$|npx$|uvx?$|pip3?$|npm$|Rscript$|go$|su$|docker$"
)
_SHELLISH = re.compile(
    r"^\s{0,200}(#!.*\bsh\b|curl |wget |bash |sh |sudo |nc |cat |echo |rm |export |chmod |eval |cd |mkdir )"
    r"|\|\s*(ba|z)?sh\b|\$\(|&& "
)
_CODE = {
    "python": re.compile(
        r"^[ \t]*(import |from \w+ import|def |print\(|exec\(|eval\()|__import__|os\.\w+\(|subprocess", re.MULTILINE
    ),
    "javascript": re.compile(r"require\(|\b(const|let|var) \w+ ?=|=>|function ?\(|process\.|fetch\("),
}


def guess_language(text: str, language: str) -> str:
    """The language of a text that came out of a program."""
    text = text[:MAX_COMMAND]
    for name, pattern in _CODE.items():
        if pattern.search(text):
            return name
    if _SHELLISH.search(text):
        return "shell"
    return language if language not in _CODE and re.search(r"\w\(.*\)|\$\w+\s*=|^\s*(use|require)\b", text) else "text"


def _words(value: Value) -> list[Value]:
    return [one for _, one in value.items] if value.items is not None else [value]


def _line(words: list[Value]) -> list[str]:
    """The command lines that a list of words may be."""
    lines = [""]
    for one in words[:64]:
        choices = [_quoted(text_of(const)) for const in one.consts if not isinstance(const, float)][:4] or [HOLE]
        lines = [f"{line} {choice}".strip() for line in lines for choice in choices][:8]
    return lines


def _quoted(word: str) -> str:
    if HOLE in word and not re.search(r"[\s;|&<>$`\"'()]", word):
        return word
    return shlex.quote(word)


def _command(machine: "Machine", call: Call, how: str) -> Value:
    """A command is run."""
    arguments = call.arguments
    value = call.first("args", "command", "cmd", "program")
    if how in ("second", "skip-first", "third"):
        arguments = arguments[3 if how == "third" else 1 :]
        value = arguments[0] if arguments else value
    if (
        how == "argv"
        and len(arguments) > 1
        and arguments[1].items is not None
        and value.items is None
        and not any(isinstance(key, str) for key, _ in arguments[1].items)
    ):
        value = Value((), merge(value.marks, arguments[1].marks), "", [(None, value), *arguments[1].items])
    elif how in ("words", "second", "skip-first", "third") or (how == "list" and len(arguments) > 1):
        listed = [one for part in arguments if part.function is None for one in _words(part)]
        value = Value((), merge(value.marks, call.marks()), "", [(None, one) for one in listed])
    elif how == "all":
        value = Value(value.consts, merge(value.marks, call.marks()), "", value.items)
    feed = call.named.get("input") or call.named.get("stdin")
    extra = feed.marks if feed is not None else ()
    sockets = [mark for one in call.named.values() for mark in one.marks if mark.kind is Kind.CONNECT]
    return run_command(machine, call, value, merge(extra, sockets))


def run_command(machine: "Machine", call: Call, value: Value, extra: tuple[Mark, ...] = ()) -> Value:
    """Mark a command that is run; what it reads comes out of it, what goes into it may be sent by it."""
    if value.function is not None:
        return Value()
    lines = (
        _line(_words(value))
        if value.items is not None
        else [text_of(one) for one in value.consts if isinstance(one, str | bytes)]
    )
    marks: list[Mark] = []
    for line in lines[:16] or [""]:
        line = line[:MAX_COMMAND]
        known = line.replace(HOLE, "").strip()
        sources = merge(_code_of(value, line), extra)
        sources = merge(sources, _written(machine, line))
        marks.append(machine.mark(Kind.EXEC, line if known else "", call.offset, call.ref, sources))
        if known:
            marks += _look_inside(machine, call, line, value)
    return Value((), merge((), marks), "process()")


def _code_of(value: Value, line: str) -> tuple[Mark, ...]:
    """What flows into a command as something to run: what only is data for a known program does not."""
    if _runs_what_it_gets(line) or HOLE not in line:
        return value.marks
    return tuple(one for one in value.marks if one.kind in (Kind.READ, Kind.ENV, Kind.EXEC))


def _runs_what_it_gets(line: str) -> bool:
    """Whether the program of a command is not known, or runs what it is given."""
    words = line.split(None, 8)
    while words and (words[0] in ("sudo", "env", "nohup", "exec", "command", "time") or "=" in words[0]):
        words.pop(0)
    if not words or HOLE in words[0]:
        return True
    if _INTERPRETER.match(words[0].strip("'\"").rpartition("/")[2]) is None:
        return False
    for word in words[1:]:
        if word.strip("'\"").lower() in ("/c", "/k"):
            return True
        if not word.startswith("-"):
            return HOLE in word  # a script that is known gets the rest as data
        if word.lower() in _FLAGS:
            return True
    return True


def _written(machine: "Machine", line: str) -> list[Mark]:
    """Files that the program wrote before and that the command runs."""
    program = line.split(None, 1)[0].strip("'\"") if line.split() else ""
    name = program.rpartition("/")[2]
    wide = _INTERPRETER.match(name) is not None or name in ("open", "start", "xdg-open", "sudo", "nohup", "env", HOLE)
    found = []
    for path, mark in list(machine.files.items())[:200]:
        if len(path) > 3 and (path in program or (wide and path in line)):
            found.append(mark)
    return found


def _look_inside(machine: "Machine", call: Call, line: str, value: Value) -> list[Mark]:
    """Analyse the command itself: what it reads comes out of the call, what goes into it may be sent by it."""
    from clawft.scan.languages import analyse

    text, language = _inner(value, line)
    text = text.replace(HOLE, "{}")
    machine.child(text, language, "exec", call.offset)
    document = machine.module.document
    if len(text) > 2000 or document.depth > 5:
        return []
    try:
        analysis = analyse(make_child(document, text, language, "exec", machine.module.place(call.offset)))
    except Exception:  # the document itself goes through the engine, which reports the failure
        return []
    out = []
    for fact in analysis.facts:
        if fact.kind in (Kind.READ, Kind.ENV, Kind.FETCH):
            out.append(machine.mark(fact.kind, fact.target, call.offset, fact.via))
        if fact.kind in (Kind.SEND, Kind.FETCH, Kind.CONNECT) and _carries(value.marks):
            kind = Kind.SEND if fact.kind is Kind.FETCH else fact.kind
            sent = machine.mark(kind, fact.target, call.offset, fact.via or call.ref, value.marks)
            sent.sources.update(dict.fromkeys(fact.sources))
        if fact.kind is Kind.WRITE and fact.target:
            machine.stored += fact.target not in machine.files
            machine.files.setdefault(fact.target, _as_mark(machine, fact, call))
    return out


def _carries(marks: tuple[Mark, ...]) -> bool:
    return any(one.kind in (Kind.READ, Kind.ENV, Kind.EXEC) for one in marks)


def _as_mark(machine: "Machine", fact: Fact, call: Call) -> Mark:
    found = machine.mark(Kind.WRITE, fact.target, call.offset, fact.via)
    found.sources.update(dict.fromkeys(fact.sources))
    return found


def _inner(value: Value, line: str) -> tuple[str, str]:
    """The code that a command carries for an interpreter, or the command itself."""
    words = [one.texts()[0] if one.texts() else HOLE for one in _words(value)] if value.items is not None else []
    if len(words) >= 3:
        program = re.sub(r"[\d.]+(\.exe)?$|\.exe$", "", words[0].rpartition("/")[2].lower())
        language = _INLINE.get(program)
        if language and words[1].lower() in _FLAGS:
            return words[2], language
        if program in ("sh", "bash", "zsh", "dash", "ksh") and words[1].lstrip("-") in ("c", "lc", "ic", "xc"):
            return words[2], "shell"
        if program == "cmd" and words[1].lower() == "/c":
            return " ".join(words[2:]), "batch"
    return line, "shell"


def _backtick(machine: "Machine", call: Call, _: str) -> Value:
    return run_command(machine, call, call.first())


def _dup(machine: "Machine", call: Call, _: str) -> Value:
    """A socket becomes the input and output of this process: what it runs next is run from afar."""
    connects = tuple(mark for mark in call.marks() if mark.kind is Kind.CONNECT)
    if connects:
        machine.mark(Kind.EXEC, "", call.offset, call.ref, connects)
    return Value()


EFFECTS: dict[str, Effect] = {"exec": _command, "backtick": _backtick, "dup": _dup}
