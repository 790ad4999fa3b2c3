"""Commands that code runs: a mark, a document of its own, and what the command itself reads and sends."""

import re
import shlex

from clawft.scanner.facts import Fact, Kind, make_child
from clawft.scanner.languages import analyse
from clawft.scanner.languages.code.machine import Machine
from clawft.scanner.languages.code.values import (
    HOLE,
    DraftFact,
    Effect,
    ProgramCall,
    ProgramValue,
    make_list,
    merge_marks,
    text_of,
)

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


def _words(value: ProgramValue) -> list[ProgramValue]:
    return [element for _, element in value.items] if value.items is not None else [value]


def _line(words: list[ProgramValue]) -> list[str]:
    """The command lines that a list of words may be."""
    lines = [""]
    for word in words[:64]:
        choices = [_quoted(text_of(const)) for const in word.consts if not isinstance(const, float)][:4] or [HOLE]
        lines = [f"{line} {choice}".strip() for line in lines for choice in choices][:8]
    return lines


def _quoted(word: str) -> str:
    if HOLE in word and not re.search(r"[\s;|&<>$`\"'()]", word):
        return word
    return shlex.quote(word)


def _command(machine: Machine, call: ProgramCall, how: str) -> ProgramValue:
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
        value = ProgramValue((), merge_marks(value.marks, arguments[1].marks), "", [(None, value), *arguments[1].items])
    elif how in ("words", "second", "skip-first", "third") or (how == "list" and len(arguments) > 1):
        listed = [word for part in arguments if part.function is None for word in _words(part)]
        value = make_list(listed, merge_marks(value.marks, call.marks()))
    elif how == "all":
        value = ProgramValue(value.consts, merge_marks(value.marks, call.marks()), "", value.items)
    feed = call.named.get("input") or call.named.get("stdin")
    extra = feed.marks if feed is not None else ()
    sockets = [mark for value in call.named.values() for mark in value.marks if mark.kind is Kind.CONNECT]
    return run_command(machine, call, value, merge_marks(extra, sockets))


def run_command(
    machine: Machine, call: ProgramCall, value: ProgramValue, extra: tuple[DraftFact, ...] = ()
) -> ProgramValue:
    """Mark a command that is run; what it reads comes out of it, what goes into it may be sent by it."""
    if value.function is not None:
        return ProgramValue()
    lines = (
        _line(_words(value))
        if value.items is not None
        else [text_of(const) for const in value.consts if isinstance(const, str | bytes)]
    )
    marks: list[DraftFact] = []
    for line in lines[:16] or [""]:
        line = line[:MAX_COMMAND]
        known = line.replace(HOLE, "").strip()
        sources = merge_marks(_code_of(value, line), extra)
        sources = merge_marks(sources, _written(machine, line))
        marks.append(machine.note(call, Kind.EXEC, line if known else "", sources))
        if known:
            marks += _look_inside(machine, call, line, value)
    return ProgramValue((), merge_marks((), marks), "process()")


def _code_of(value: ProgramValue, line: str) -> tuple[DraftFact, ...]:
    """Return what flows into a command as code; input that is only data for a known program does not."""
    if _runs_what_it_gets(line) or HOLE not in line:
        return value.marks
    return tuple(mark for mark in value.marks if mark.kind in (Kind.READ, Kind.ENV, Kind.EXEC))


def _runs_what_it_gets(line: str) -> bool:
    """Return whether the program of a command is not known, or runs what it is given."""
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


def _written(machine: Machine, line: str) -> list[DraftFact]:
    """Files that the program wrote before and that the command runs."""
    program = line.split(None, 1)[0].strip("'\"") if line.split() else ""
    name = program.rpartition("/")[2]
    wide = _INTERPRETER.match(name) is not None or name in ("open", "start", "xdg-open", "sudo", "nohup", "env", HOLE)
    found = []
    for path, mark in list(machine.files.items())[:200]:
        if len(path) > 3 and (path in program or (wide and path in line)):
            found.append(mark)
    return found


def _look_inside(machine: Machine, call: ProgramCall, line: str, value: ProgramValue) -> list[DraftFact]:
    """Analyse the command itself: what it reads comes out of the call, what goes into it may be sent by it."""

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


def _carries(marks: tuple[DraftFact, ...]) -> bool:
    return any(mark.kind in (Kind.READ, Kind.ENV, Kind.EXEC) for mark in marks)


def _as_mark(machine: Machine, fact: Fact, call: ProgramCall) -> DraftFact:
    found = machine.mark(Kind.WRITE, fact.target, call.offset, fact.via)
    found.sources.update(dict.fromkeys(fact.sources))
    return found


def _inner(value: ProgramValue, line: str) -> tuple[str, str]:
    """The code that a command carries for an interpreter, or the command itself."""
    words = [word.texts()[0] if word.texts() else HOLE for word in _words(value)] if value.items is not None else []
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


def _dup(machine: Machine, call: ProgramCall, _: str) -> ProgramValue:
    """A socket becomes the input and output of this process: what it runs next is run from afar."""
    connects = tuple(mark for mark in call.marks() if mark.kind is Kind.CONNECT)
    if connects:
        machine.note(call, Kind.EXEC, "", connects)
    return ProgramValue()


COMMAND_EFFECTS: dict[str, Effect] = {
    "exec": _command,
    "dup": _dup,
    "backtick": lambda machine, call, _: run_command(machine, call, call.first()),
}
