"""The state that simulated commands act on: values, files and facts; options and addresses of a command line."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from clawft.scanner.facts import Analysis, Document, Fact, Kind, make_child
from clawft.scanner.intake.language import find_language
from clawft.scanner.languages.places import find_format, find_persistent_place

_CRON_LINE = re.compile(r"^[ \t]*(?:@\w+|(?:[\d*/,-]+[ \t]+){5})[ \t]*([^\n]+)$", re.MULTILINE)
_CRON_USER = re.compile(r"[a-z_][a-z0-9_-]*[ \t]+(?=\S)")
_UNIT_LINE = re.compile(r"^(?:Exec(?:Start|StartPre|StartPost|Stop|Reload)?)=[-@+!:]*([^\n]+)$", re.MULTILINE)
_ARGUMENTS = re.compile(r"<key>ProgramArguments</key>\s*<array>(.{0,8000}?)</array>", re.DOTALL)
_STRING = re.compile(r"<string>([^<]*)</string>")


def find_commands(path: str, text: str) -> list[str]:
    """The command lines of a crontab, a unit or a launch agent: what such a place runs."""
    if "cron" in path:
        users = "/cron" in path or "crontab" in path.rpartition("/")[2]
        lines = [match[1] for match in _CRON_LINE.finditer(text)]
        return [_CRON_USER.sub("", line, count=1) for line in lines] if users else lines
    if path.endswith(".plist"):
        found = [_STRING.findall(match[1]) for match in _ARGUMENTS.finditer(text)]
        return [_plain(words[-1] if "-c" in words else " ".join(words)) for words in found if words]
    if path.endswith((".service", ".timer", ".desktop")):
        return [match[1] for match in _UNIT_LINE.finditer(text)]
    return []


def _plain(text: str) -> str:
    """Text of a property list without its entities."""
    for mark, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        text = text.replace(mark, char)
    return text


MAX_SOURCES = 48
MAX_TEXT = 1 << 18
MAX_WORK = 1 << 24  # characters of values made in all
MAX_TARGET = 400
MAX_CHAIN = 12  # wrappers around wrappers
_NO_FILE = re.compile(r"^(-|/dev/(null|stdin|stdout|stderr|zero|u?random|tty|fd/\d+)|&?\d+|nul|NUL)?$")
_TRACES = re.compile(r"_history$|^/var/log/|/Library/Logs/")
_HOLE = re.compile(r"\s*[$`]")  # what is not known stands as it is written
_TEXT_CHARS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class CommandValue(Struct, frozen=True):
    """A text, and the facts whose values are part of it. Unless `known`, the text is only what it is written as."""

    text: str
    sources: tuple[Fact, ...] = ()
    known: bool = True

    def with_text(self, text: str) -> "CommandValue":
        """Another text that is known as far as this one, with the same sources."""
        return CommandValue(text, self.sources, self.known)


NOTHING = CommandValue("")


def unknown(text: str, sources: tuple[Fact, ...]) -> CommandValue:
    """A value that is only known at run time, and what flows into it."""
    return CommandValue(text, sources, known=False)


class CommandCall(Struct):
    """One command as it would be run: its name without a folder, its arguments, its input, and where it stands."""

    name: str
    args: list[CommandValue]
    stdin: CommandValue
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

    def output(self, sources: tuple[Fact, ...]) -> CommandValue:
        """Its output, of which only is known what flows into it."""
        return unknown(f"$({self.name})", sources)


def join_sources(*many: Iterable[Fact]) -> tuple[Fact, ...]:
    """Facts of several values, each once."""
    filled = [sources for sources in many if sources]
    if len(filled) < 2:
        return tuple(filled[0])[:MAX_SOURCES] if filled else ()
    seen = {id(fact): fact for sources in filled for fact in sources}
    return tuple(seen.values())[:MAX_SOURCES]


class CommandContext:
    """The state in which the commands of one document are simulated."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts: list[Fact] = []
        self.children: list[Document] = []
        self.files: dict[str, CommandValue] = {}
        self.folders: dict[str, tuple[Fact, ...]] = {}  # what was unpacked or cloned into a folder
        self.fifos: set[str] = set()
        self.writers: dict[str, Callable[[CommandValue], object]] = {}  # what takes the text written to a `>( )`
        self.cwd = ""
        self.anchor: int | None = None  # the place of an inner text, whose own offsets mean nothing
        self.run_shell: Callable[[str, CommandCall], CommandValue] | None = (
            None  # reads inner shell text in this same world
        )
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
        unique = tuple(sources)
        target = target[:MAX_TARGET]
        key = (kind, target, line, tuple([id(source) for source in unique]))
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = Fact(kind, target, self.document, line, via, unique)
            self.facts.append(found)
        return found

    def note(self, call: CommandCall, kind: Kind, target: str, sources: Iterable[Fact] = (), *, via: str = "") -> Fact:
        """A fact on a command."""
        return self.fact(kind, target, call.offset, via or call.name, sources)

    def output(self, fact: Fact) -> Fact:
        """Return a fact as a source of what it gives back: what was sent along does not come back."""
        if not fact.sources:
            return fact
        kind = Kind.FETCH if fact.kind is Kind.SEND else fact.kind
        return Fact(kind, fact.target, fact.document, fact.line, fact.via)

    # Values.

    def make(self, text: str, sources: Iterable[Fact] = (), *, known: bool = True) -> CommandValue:
        """A value of bounded size, as long as there is work left."""
        self._work += len(text)
        if len(text) > MAX_TEXT or self._work > MAX_WORK:
            return unknown(text[:MAX_TARGET], tuple(sources))
        return CommandValue(text, tuple(sources), known)

    def join(self, values: Sequence[CommandValue], glue: str = "") -> CommandValue:
        """Values as one text: known when all of them are."""
        text = glue.join([value.text for value in values])
        return self.make(text, sources_of(values), known=all(value.known for value in values))

    # Commands.

    def run_words(self, words: list[CommandValue], outer: CommandCall) -> CommandValue:
        """A command inside another one: `sudo …`, `find -exec …`; it has the input of the outer one."""
        from clawft.scanner.languages.commands import run_call  # the table holds programs that come back here

        if self._chain >= MAX_CHAIN or not words:
            return NOTHING
        self._chain += 1
        value = run_call(self, words, CommandCall("", [], outer.stdin, outer.offset, fed=outer.fed))
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

    def read(self, path: CommandValue, call: CommandCall) -> CommandValue:
        """Return the content of a file, as a value that has the reading among its sources."""
        if path.text.startswith("/dev/fd/") and path.text in self.files:
            return self.files[path.text]
        if _NO_FILE.match(path.text):
            return call.stdin if path.text in ("-", "/dev/stdin") else NOTHING
        where = self.resolve(path.text)
        content = self.files.get(where)
        before = join_sources(content.sources, path.sources) if content else path.sources
        if content is None and (folder := self._folder_of(where)):
            before = join_sources(before, folder)
        fact = self.note(call, Kind.READ, where, before)
        if content and content.known:
            return CommandValue(content.text, join_sources((fact,), content.sources))
        return unknown(f"$({call.name} {path.text})"[:MAX_TARGET], (fact,))

    def write(self, path: CommandValue, content: CommandValue, call: CommandCall, *, append: bool = False) -> None:
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
        self.note(call, Kind.WRITE, where, content.sources)
        if find_persistent_place(where):
            self.note(call, Kind.PERSIST, where, content.sources)
        if content.known and not content.text and not append and _TRACES.search(where):
            self.note(call, Kind.DELETE, where)
        if content.known and len(content.text) > 3:
            self._inner_file(where, content, call)

    def _inner_file(self, where: str, content: CommandValue, call: CommandCall) -> None:

        commands = find_commands(where, content.text)
        for command in commands:
            self.child(command, "shell", "written", call.offset)
        if commands:
            return
        language = find_language(where, content.text)
        if language in ("text", "binary") and (find_persistent_place(where) or content.text.startswith("#!")):
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
            self.files[after] = unknown(after, folder)

    def content_of(self, path: str) -> CommandValue | None:
        """Find what was written to a file, or unpacked around it, earlier in the same document."""
        where = self.resolve(path)
        found = self.files.get(where)
        if found is None and (folder := self._folder_of(where)):
            return unknown(where, folder)
        return found

    def sources_in(self, path: str) -> tuple[Fact, ...]:
        """Return what flowed into a file earlier in the same document."""
        content = self.content_of(path)
        return content.sources if content else ()

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

    def run_code(self, code: CommandValue, language: str, call: CommandCall, *, kind: Kind = Kind.EXEC) -> CommandValue:
        """Code is run: a fact, and the code itself as a document (or read right here when it is plain shell)."""
        whole = code.known or _HOLE.match(code.text) is not None or not code.text
        # Data that is put into constant code is not what runs; commands in the holes are read again with the code.
        sources = code.sources if whole else ()
        fact = self.note(call, kind, code.text if code.known else "", sources)
        if code.known or not whole:
            decoded = [source.target for source in code.sources if source.kind is Kind.DECODE]
            if language == "shell" and self.run_shell and not decoded:
                return self.run_shell(code.text, call)
            self.child(code.text, language, decoded[0] if decoded else "exec", call.offset)
        return call.output((self.output(fact),))


_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
_REMOTE = re.compile(r"^(?:[\w.$-]+@)?([\w.${}\[\]-]+|\[[0-9a-f:]+\]):(?!\\)", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Return whether a word is a URL."""
    return _SCHEME.match(text) is not None


def received_from(world: CommandContext, facts: list[Fact]) -> CommandValue:
    name = facts[0].target if facts else ""
    return unknown(f"$(fetch {name})", tuple(world.output(fact) for fact in facts))


def base_name(address: str) -> str:
    return address.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or "index.html"


def remote_address(text: str) -> str:
    if is_address(text):
        return text
    match = _REMOTE.match(text)
    return (
        "" if match is None or len(match[1]) < 2 else text.rpartition("@")[2] if "@" in text.partition(":")[0] else text
    )


class CommandOptions(Struct):
    """Options in order, each with its value, and the operands."""

    pairs: list[tuple[str, CommandValue]]
    operands: list[CommandValue]

    def get(self, *names: str) -> CommandValue | None:
        """The last value of an option, under any of its names."""
        return next((value for name, value in reversed(self.pairs) if name in names), None)

    def every(self, *names: str) -> list[CommandValue]:
        return [value for name, value in self.pairs if name in names]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.pairs)


def tail_of(value: CommandValue, start: int) -> CommandValue:
    """The rest of a value, with its sources."""
    return value.with_text(value.text[start:])


def join_words(values: Sequence[CommandValue]) -> CommandValue:
    """Values as the words of one text: known when all of them are."""
    text = " ".join(value.text for value in values)
    return CommandValue(text, sources_of(values), all(value.known for value in values))


def sources_of(values: Iterable[CommandValue]) -> tuple[Fact, ...]:
    return join_sources(*[value.sources for value in values if value.sources])


def split_options(args: Sequence[CommandValue], short: str = "", long: str = "") -> CommandOptions:
    """Options and operands; `short` are the letters, `long` the words (with their dashes) that take a value."""
    options = CommandOptions([], [])
    index, size, names = 0, len(args), long.split()
    while index < size:
        arg = args[index]
        text = arg.text
        index += 1
        if len(text) < 2 or text[0] != "-":
            options.operands.append(arg)
        elif text == "--":
            options.operands.extend(args[index:])
            break
        elif text.startswith("--") or text in names:
            name, equals, _ = text.partition("=")
            if equals:
                options.pairs.append((name, tail_of(arg, len(name) + 1)))
            elif name in names and index < size:
                options.pairs.append((name, args[index]))
                index += 1
            else:
                options.pairs.append((name, NOTHING))
        else:
            index += _short(options, arg, short, args[index] if index < size else NOTHING)
    return options


def _short(options: CommandOptions, arg: CommandValue, short: str, following: CommandValue) -> int:
    """Letters after one dash; how many of the following words they took."""
    for at in range(1, min(len(arg.text), 40)):
        letter = arg.text[at]
        if letter in short:
            attached = at + 1 < len(arg.text)
            options.pairs.append(("-" + letter, tail_of(arg, at + 1) if attached else following))
            return 0 if attached else 1
        options.pairs.append(("-" + letter, NOTHING))
    return 0
