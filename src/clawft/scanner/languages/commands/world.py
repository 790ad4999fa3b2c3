"""The world that commands act on while they are read: values, files and what was found so far. Nothing is run.

A value is a text with the facts that flow into it. Files are remembered under their names with what was written to
them, so that what is downloaded, renamed, made executable and started is one flow.
"""

import posixpath
import re
from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Analysis, Fact, Kind
from clawft.scan.languages.commands.persistence import find_commands, find_persistence

__all__ = ["NOTHING", "Call", "Value", "World", "join_sources"]

MAX_SOURCES = 48
MAX_TEXT = 1 << 18
MAX_WORK = 1 << 24  # characters of values made in all
MAX_TARGET = 400
MAX_CHAIN = 12  # wrappers around wrappers
_NO_FILE = re.compile(r"^(-|/dev/(null|stdin|stdout|stderr|zero|u?random|tty|fd/\d+)|&?\d+|nul|NUL)?$")
_TRACES = re.compile(r"_history$|^/var/log/|/Library/Logs/")
_HOLE = re.compile(r"\s*[$`]")  # what is not known stands as it is written
_TEXT_CHARS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class Value(Struct, frozen=True):
    """A text, and the facts whose values are part of it. Unless `known`, the text is only what it is written as."""

    text: str
    sources: tuple[Fact, ...] = ()
    known: bool = True


NOTHING = Value("")


class Call(Struct):
    """One command as it would be run: its name without a folder, its arguments, its input, and where it stands."""

    name: str
    args: list[Value]
    stdin: Value
    offset: int
    path: str = ""  # the name as written
    fed: bool = False  # its input is a pipe, a file or a here-document, not the terminal

    @property
    def texts(self) -> list[str]:
        return [arg.text for arg in self.args]

    @property
    def line(self) -> str:
        """The command line, words joined."""
        return " ".join((self.path or self.name, *self.texts))[:MAX_TARGET]


def join_sources(*many: Iterable[Fact]) -> tuple[Fact, ...]:
    """Facts of several values, each once."""
    filled = [one for one in many if one]
    if len(filled) < 2:
        return tuple(filled[0])[:MAX_SOURCES] if filled else ()
    seen = {id(fact): fact for one in filled for fact in one}
    return tuple(seen.values())[:MAX_SOURCES]


class World:
    """What is known while the commands of one document are read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts: list[Fact] = []
        self.children: list[Document] = []
        self.files: dict[str, Value] = {}
        self.folders: dict[str, tuple[Fact, ...]] = {}  # what was unpacked or cloned into a folder
        self.fifos: set[str] = set()
        self.writers: dict[str, Callable[[Value], None]] = {}  # what takes the text written to a `>( )`
        self.cwd = ""
        self.anchor: int | None = None  # the place of an inner text, whose own offsets mean nothing
        self.run_shell: Callable[[str, Call], Value] | None = None  # reads inner shell text in this same world
        self._seen: dict[tuple[object, ...], Fact] = {}
        self._work = 0
        self._chain = 0
        self._inner: set[tuple[str, str]] = set()

    def finish(self) -> Analysis:
        return Analysis(self.facts, self.children)

    # Facts.

    def fact(self, kind: Kind, target: str, offset: int, via: str = "", sources: Iterable[Fact] = ()) -> Fact:
        """A fact, once for each line and flow."""
        at = self.anchor if self.anchor is not None else offset
        line = self.document.line_at(at)
        given = tuple(sources)
        target = target[:MAX_TARGET]
        key = (kind, target, line, tuple([id(one) for one in given]))
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = Fact(kind, target, self.document, line, via, given)
            self.facts.append(found)
        return found

    def output(self, fact: Fact) -> Fact:
        """The same fact as a source of what it gives back: what was sent along does not come back."""
        if not fact.sources:
            return fact
        kind = Kind.FETCH if fact.kind is Kind.SEND else fact.kind
        return Fact(kind, fact.target, fact.document, fact.line, fact.via)

    # Values.

    def make(self, text: str, sources: Iterable[Fact] = (), *, known: bool = True) -> Value:
        """A value of bounded size, as long as there is work left."""
        self._work += len(text)
        if len(text) > MAX_TEXT or self._work > MAX_WORK:
            return Value(text[:MAX_TARGET], tuple(sources), known=False)
        return Value(text, tuple(sources), known)

    # Commands.

    def run_words(self, words: list[Value], outer: Call) -> Value:
        """A command inside another one: `sudo …`, `find -exec …`; it has the input of the outer one."""
        from clawft.scan.languages.commands import run_call  # the table holds programs that come back here

        if self._chain >= MAX_CHAIN or not words:
            return NOTHING
        self._chain += 1
        value = run_call(self, words, Call("", [], outer.stdin, outer.offset, fed=outer.fed))
        self._chain -= 1
        return value

    # Files.

    def resolve(self, path: str) -> str:
        """A path below the folder that `cd` went to; one form for all spellings."""
        path = path.replace("$HOME", "~").replace("${HOME}", "~")
        if self.cwd and not path.startswith(("/", "~", "$", "<")) and ":" not in path[:3]:
            path = f"{self.cwd}/{path}"
        if path.startswith("./") or "/./" in path or "//" in path or "/.." in path:
            path = posixpath.normpath(path)
        return path

    def read(self, path: Value, call: Call) -> Value:
        """What a file holds, as a value that has the reading among its sources."""
        if path.text.startswith("/dev/fd/") and path.text in self.files:
            return self.files[path.text]
        if _NO_FILE.match(path.text):
            return call.stdin if path.text in ("-", "/dev/stdin") else NOTHING
        where = self.resolve(path.text)
        content = self.files.get(where)
        before = join_sources(content.sources, path.sources) if content else path.sources
        if content is None and (folder := self._folder_of(where)):
            before = join_sources(before, folder)
        fact = self.fact(Kind.READ, where, call.offset, call.name, before)
        if content and content.known:
            return Value(content.text, join_sources((fact,), content.sources))
        return Value(f"$({call.name} {path.text})"[:MAX_TARGET], (fact,), known=False)

    def write(self, path: Value, content: Value, call: Call, *, append: bool = False) -> None:
        """Text goes into a file: remembered, and analysed in the language of the file's name."""
        if path.text.startswith("/dev/fd/") and (writer := self.writers.get(path.text)):
            writer(content)
            return
        if _NO_FILE.match(path.text):
            return
        where = self.resolve(path.text)
        before = self.files.get(where)
        if append and before:
            text = before.text + content.text if before.known and content.known else content.text
            known = before.known and content.known
            self.files[where] = self.make(text, join_sources(before.sources, content.sources), known=known)
        else:
            self.files[where] = content
        self.fact(Kind.WRITE, where, call.offset, call.name, content.sources)
        if place := find_persistence(where):
            self.fact(Kind.PERSIST, place, call.offset, call.name, content.sources)
        if content.known and not content.text and not append and _TRACES.search(where):
            self.fact(Kind.DELETE, where, call.offset, call.name)
        if content.known and len(content.text) > 3:
            self._inner_file(where, content, call)

    def _inner_file(self, where: str, content: Value, call: Call) -> None:
        from clawft.scan.intake.kinds import find_language
        from clawft.scan.languages.places import find_format

        commands = find_commands(where, content.text)
        for command in commands:
            self.child(command, "shell", "written", call.offset)
        if commands:
            return
        language = find_language(where, content.text)
        if language in ("text", "binary") and (find_persistence(where) or content.text.startswith("#!")):
            language = "shell"
        if language not in ("text", "binary") or find_format(where):
            self.child(content.text, language, "written", call.offset, where)

    def copy(self, source: str, target: str) -> None:
        """A file gets another name."""
        before, after = self.resolve(source), self.resolve(target)
        if after.endswith("/") or after in (".", "/tmp", "/usr/local/bin", "~/.local/bin", "~/bin", "/usr/bin"):
            after = posixpath.join(after, posixpath.basename(before))
        if before in self.files:
            self.files[after] = self.files[before]
        elif folder := self._folder_of(before):
            self.files[after] = Value(after, folder, known=False)

    def content_of(self, path: str) -> Value | None:
        """What was written to a file, or unpacked around it, earlier in the same document."""
        where = self.resolve(path)
        found = self.files.get(where)
        if found is None and (folder := self._folder_of(where)):
            return Value(where, folder, known=False)
        return found

    def _folder_of(self, where: str) -> tuple[Fact, ...]:
        if not self.folders:
            return ()
        here = where
        while here:
            here = posixpath.dirname(here)
            if here in self.folders:
                return self.folders[here]
            if here in ("", "/"):
                break
        return ()

    # Inner documents.

    def child(self, text: str, language: str, how: str, offset: int, context: str = "") -> None:
        """A document inside this one; for one that is written to a file, `context` is the file's path."""
        if not text.strip() or (language, text) in self._inner:
            return
        if _TEXT_CHARS.search(text[:2000]) and len(_TEXT_CHARS.findall(text[:2000])) > len(text[:2000]) // 20:
            return
        self._inner.add((language, text))
        at = self.anchor if self.anchor is not None else offset
        inner = make_child(self.document, text, language, how, at)
        self.children.append(structs.replace(inner, context=context) if context else inner)

    def run_code(self, code: Value, language: str, call: Call, *, kind: Kind = Kind.EXEC) -> Value:
        """Code is run: a fact, and the code itself as a document (or read right here when it is plain shell)."""
        whole = code.known or _HOLE.match(code.text) is not None or not code.text
        # Data that is put into constant code is not what runs; commands in the holes are read again with the code.
        sources = code.sources if whole else ()
        fact = self.fact(kind, code.text if code.known else "", call.offset, call.name, sources)
        if code.known or not whole:
            decoded = [one.target for one in code.sources if one.kind is Kind.DECODE]
            if language == "shell" and self.run_shell and not decoded:
                return self.run_shell(code.text, call)
            self.child(code.text, language, decoded[0] if decoded else "exec", call.offset)
        return Value(f"$({call.name})", (self.output(fact),), known=False)
