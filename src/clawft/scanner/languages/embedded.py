"""Code and orders embedded in other files.

Commands that loading a skill runs, command lines among strings, prose in comments, code in data files.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
from msgspec import structs

from clawft.scanner.facts import Analysis, Document, Fact, Kind, make_child, trace
from clawft.scanner.findings import ON_LOAD
from clawft.scanner.instructions import find_orders, find_remarks, is_about_attacks

MAX_STRING_COMMANDS = 200
MAX_STRINGS_TEXT = 200_000
_STRING = re.compile(
    r"(?<!\\)\"((?:[^\"\\\n]|\\.){12,600})\"|(?<!\\)'((?:[^'\\\n]|\\.){12,600})'|(?<!\\)`([^`\n]{12,600})`"
)
# A string that is a command line by itself: a download that is run, or a shell with a command.
_COMMAND = re.compile(
    r"\s*(?:sudo\s+)?(?:(?:curl|wget)\s[^\n]*(?:\||&&|;|-o|-O)|(?:/bin/)?(?:ba|z|da)?sh\s+-c\b|powershell\b|mshta\s|certutil\s"
    r"|(?:cat|tar|base64|zip)\s[^\n]*\||cmd(?:\.exe)?\s+/c|python3?\s+-c|node\s+-e|echo\s[^\n]*\|\s*base64)",
    re.IGNORECASE,
)
_WORDS = ("curl", "wget", "sh -c", "powershell", "mshta", "certutil", "base64", "cmd", "tar ", "cat ", "python", "node")


def note_strings(document: Document, analysis: Analysis) -> None:
    """Add the strings of a text that are command lines, each as a document of its own."""
    lower = document.text[:MAX_STRINGS_TEXT].lower()
    if not any(word in lower for word in _WORDS):
        return
    for count, match in enumerate(_STRING.finditer(document.text, 0, MAX_STRINGS_TEXT)):
        if count >= MAX_STRING_COMMANDS:
            break
        text = (match[1] or match[2] or match[3]).replace('\\"', '"')
        if _COMMAND.match(text):
            windows = text.lstrip().lower().startswith(("powershell", "mshta", "certutil", "cmd"))
            analysis.children.append(
                make_child(document, text, "batch" if windows else "shell", "string", match.start())
            )


_INLINE = re.compile(r"(?<![\w`!\\])!`([^`\n]{2,2000})`")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MAX = 200


def note_loaded(document: Document, analysis: Analysis) -> None:
    """Add the commands that loading a text runs, each as a hook and a document."""
    text = document.text
    if "!`" not in text and "```!" not in text:
        return
    found: list[tuple[int, str]] = []
    at, fence = 0, ""
    for mark in _FENCE.finditer(text):
        if not fence:
            found.extend((match.start(1), match[1]) for match in _INLINE.finditer(text, at, mark.start()))
            fence, at = mark[1], mark.end()
            running = mark[2].strip().startswith("!")
        elif mark[1].startswith(fence) and not mark[2].strip():
            if running:
                found.append((at + 1, text[at + 1 : mark.start()]))
            fence, at = "", mark.end()
    if not fence:
        found.extend((match.start(1), match[1]) for match in _INLINE.finditer(text, at))
    for offset, command in found[:_MAX]:
        analysis.facts.append(Fact(Kind.HOOK, ON_LOAD, document, document.line_at(offset), command.strip()))
        analysis.children.append(make_child(document, command, "shell", "hook", offset, flat="\n" not in command))


# Without one of these words no order speaks to an agent, or sends anything anywhere.
_HINTS = ("user", "instruction", "agent", "assistant", "://")


def analyse_remarks(document: Document) -> Analysis:
    """The orders in what a file says rather than does."""
    lower = document.text.lower()
    if not any(word in lower for word in _HINTS):
        return Analysis([], [])
    mention = document.mention or is_about_attacks(document.path, "")
    prose = structs.replace(document, language="text", origin=(*document.origin, "remark"), mention=mention)
    return Analysis(find_orders(prose, list(find_remarks(document.text))), [])


MAX_RUNS = 40
MAX_CARRIED_STRINGS = 400
MAX_PAIRS = 100
MAX_CARRIED_TEXT = 60_000
_DATA = frozenset(("json", "yaml", "toml", "ini", "text", "markdown", "html", "clojure"))


def find_carried(documents: Sequence[Document], facts: Sequence[Fact]) -> list[Document]:
    """The texts of data files that something runs, each in the language that it is run in."""
    runs = [
        fact
        for fact in facts
        if fact.kind in (Kind.EXEC, Kind.EVAL)
        and fact.sources
        and (not fact.target.strip("{} ") or "{}" in fact.target)
    ]
    if not runs:
        return []
    files: dict[str, Document] = {}
    for document in documents:
        if not document.origin and document.language in _DATA and document.path != "SKILL.md":
            files.setdefault(posixpath.basename(document.path), document)
    found: list[Document] = []
    for run in runs[:MAX_RUNS] if files else ():
        language = run.document.language if run.kind is Kind.EVAL else "shell"
        for source in trace(run):
            held = files.get(posixpath.basename(source.target)) if source.kind is Kind.READ else None
            if held is not None:
                found.extend(make_child(held, text, language, "exec", 0) for text in _texts(held))
    return found


def _texts(document: Document) -> Iterator[str]:
    """The strings of a file of data and all of them joined; or its whole text."""
    if document.language != "json":
        yield document.text[:MAX_CARRIED_TEXT]
        return
    try:
        parsed = msgspec.json.decode(document.text)
    except (msgspec.DecodeError, RecursionError):
        return
    strings = list(_strings(parsed))
    yield from strings
    yield from (first + second for first, second in pairwise(strings[:MAX_PAIRS]))
    if len(strings) > 1:
        yield "".join(strings)[:MAX_CARRIED_TEXT]


def _strings(value: object) -> Iterator[str]:
    pending, count = [value], 0
    while pending and count < MAX_CARRIED_STRINGS:
        one = pending.pop()
        if isinstance(one, str):
            count += 1
            yield one[:MAX_CARRIED_TEXT]
        elif isinstance(one, dict):
            pending.extend(reversed(one.values()))
        elif isinstance(one, list):
            pending.extend(reversed(one))
