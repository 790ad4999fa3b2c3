"""What runs without being asked: the facts behind a hook, in the command itself and in the scripts that it starts."""

import posixpath
import re

from msgspec import Struct

from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.lazy import lazy
from clawft.scan.subject import Subject

__all__ = ["Unasked", "find_unasked"]

_MAX_SCRIPTS = 24
_MAX_TEXT = 200_000
_MAX_WORDS = 300
_VARIABLE = lazy(r"^(?:\$\{?\w+\}?|\{\w+\}|\$\(\w+\)|%\w+%|~|\.{1,2})[/\\]+")
_SCRIPT = lazy(
    r"(?<![\w.@~${}%()/\\-])[\w.@~${}%()/\\-]{0,200}[\w-]"
    r"\.(?:[cm]?[jt]sx?|pyw?|sh|bash|zsh|rb|pl|php|ps1|bat|cmd|lua|go|rs|r|command)\b"
)
_HERE = lazy(r"\bnode\s+\./?(?:\s|$|[;&|])")
_MAKE = lazy(r"(?:^|[;&|]\s*)make\b")
_CD = lazy(r"\bcd\s+['\"]?([\w./-]{1,200})")
_RELATIVE = lazy(r"(?:^|[\s'\"=;&|(])(\.{0,2}/?(?:[\w.-]+/)+[\w.-]+|\./[\w.-]+)(?=$|[\s'\";&|)])")
_REQUIRE = lazy(r"(?:require\(|from|import\(?)\s*['\"](\.{1,2}/[\w./-]{1,200})['\"]")
_IMPORT = lazy(r"^[ \t]*(?:from|import)[ \t]+\.?([A-Za-z_][\w.]{0,100})", re.MULTILINE)
_MODULE = lazy(r"-m[ \t]+([A-Za-z_][\w.]{0,100})")
_INDEXES = (
    "",
    ".js",
    ".cjs",
    ".mjs",
    ".ts",
    ".py",
    ".sh",
    "/index.js",
    "/index.ts",
    "/__init__.py",
    "/__main__.py",
    "/main.py",
)


class Unasked(Struct, frozen=True):
    """A hook and everything that its command does."""

    hook: Fact
    facts: tuple[Fact, ...]
    scripts: tuple[str, ...]  # the files it runs


def find_unasked(subject: Subject) -> list[Unasked]:
    """Each hook of a skill with the facts behind it."""
    found: list[Unasked] | None = subject.__dict__.get("unasked")
    if found is None:
        hooks = subject.of(Kind.HOOK)
        found = _collect(subject, hooks[:500]) if hooks else []
        subject.__dict__["unasked"] = found
    return found


def _collect(subject: Subject, hooks: list[Fact]) -> list[Unasked]:
    by_path: dict[str, list[Fact]] = {}
    for fact in subject.facts:
        by_path.setdefault(fact.document.path, []).append(fact)
    texts: dict[str, Document] = {}
    for document in subject.documents:
        texts.setdefault(document.path, document)
    found = []
    for hook in hooks:
        own = by_path.get(hook.document.path, ())
        direct: list[Fact]
        if hook.target == "openclaw:hook":
            folder = posixpath.dirname(hook.via)
            scripts = _follow({posixpath.join(folder, f"handler{ending}") for ending in _INDEXES}, texts)
            direct = []
        elif hook.via == hook.document.path:
            scripts = _follow({hook.via}, texts)
            direct = []
        else:
            direct = [fact for fact in own if _is_of(fact, hook)]
            scripts = _follow(_named(hook.via, hook.document.path, texts), texts)
        facts = [*direct, *(fact for path in scripts for fact in by_path.get(path, ()))]
        found.append(Unasked(hook, tuple(fact for fact in facts if fact is not hook), tuple(scripts)))
    return found


def _is_of(fact: Fact, hook: Fact) -> bool:
    """Whether a fact is of the command that a hook runs."""
    document = fact.document
    if hook.document.origin[-1:] == ("written",) and hook.via == hook.document.context:
        return document is hook.document or (
            document.line == hook.document.line and document.origin[: len(hook.document.origin)] == hook.document.origin
        )
    if document is hook.document:
        return fact.line == hook.line and fact.via == hook.target  # a hook that sends what it is given to an address
    return document.line == hook.line and ("hook" in document.origin or document.text == hook.via)


def _named(line: str, path: str, texts: dict[str, Document]) -> set[str]:
    """The files of the skill that a command line names."""
    line = line[:_MAX_TEXT]
    words = dict.fromkeys(match[0] for match in _SCRIPT.finditer(line))
    words.update(dict.fromkeys(match[1] for match in _RELATIVE.finditer(line)))
    words.update(dict.fromkeys(match[1].replace(".", "/") for match in _MODULE.finditer(line)))
    if _HERE.search(line):
        words["./index"] = None
    if _MAKE.search(line):
        words.update(dict.fromkeys(("Makefile", "makefile", "GNUmakefile")))
    for folder in [match[1] for match in _CD.finditer(line)][:20]:
        words.update({posixpath.join(folder, word): None for word in list(words)[:50]})
    return {found for word in list(words)[:_MAX_WORDS] if (found := _resolve(word, path, texts))}


def _resolve(word: str, path: str, texts: dict[str, Document]) -> str:
    folder = posixpath.dirname(path)
    word = word.replace("\\", "/").strip("'\"()")
    plain = word
    while match := _VARIABLE.match(plain):
        plain = plain[match.end() :]
    plain = plain.lstrip("/")
    for base in dict.fromkeys((folder, posixpath.dirname(folder), "")):
        for name in (word, plain):
            for ending in _INDEXES:
                full = posixpath.normpath(posixpath.join(base, name + ending))
                if full in texts and full != path:
                    return full
    if "/" in plain:
        return next((one for one in texts if one.endswith("/" + plain) and one != path), "")
    return ""


def _follow(start: set[str], texts: dict[str, Document]) -> list[str]:
    """Some files, and the files of the skill that they run or import in turn."""
    pending = sorted(start)
    seen: list[str] = []
    while pending and len(seen) < _MAX_SCRIPTS:
        path = pending.pop(0)
        if path in seen or path not in texts:
            continue
        seen.append(path)
        if texts[path].language in ("json", "yaml", "toml", "markdown", "text"):
            continue
        text = texts[path].text[:_MAX_TEXT]
        names = {match[1] for match in _REQUIRE.finditer(text)}
        names |= {match[1].replace(".", "/") for match in _IMPORT.finditer(text)} if path.endswith(".py") else set()
        pending.extend(found for name in sorted(names) if (found := _resolve(name, path, texts)))
        pending.extend(sorted(_named(text, path, texts)))
    return seen
