"""Documents and facts: a text to analyse, and the effects that were found in it."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct, structs

MAX_DEPTH = 8


class Document(Struct, frozen=True, eq=False, dict=True):
    """A text with its language, and the way it was found."""

    path: str  # below the skill folder; "assets/a.zip!run.sh" for a member of an archive
    text: str
    language: str  # a key of languages.ANALYSERS; "text" when nothing better is known
    line: int = 1  # the line of the file on which the text begins
    flat: bool = False  # all of it stands on that one line (it was decoded from there)
    origin: tuple[str, ...] = ()  # how it was reached: "fence", "html-comment", "base64", "archive", "exec", …
    context: str = ""  # for a fence: its heading and the paragraph before it
    mention: bool = False  # it shows an attack rather than makes one: quoted, negated, "detects …", a test fixture
    searched: bool = False  # what is encoded in it was found already: so it was for every piece that is cut out of it

    def line_at(self, offset: int) -> int:
        """The line of the file on which a character stands."""
        if self.flat:
            return self.line
        starts: list[int] | None = self.__dict__.get("starts")
        if starts is None:
            starts = [0]
            find, at = self.text.find, self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self.__dict__["starts"] = starts
        return self.line + bisect_right(starts, offset) - 1

    def text_of(self, line: int) -> str:
        """The text of one line of the file, as far as it belongs to this document; all of it when that is one line."""
        if self.flat:
            return self.text
        self.line_at(0)
        starts: list[int] = self.__dict__["starts"]
        index = line - self.line
        if not 0 <= index < len(starts):
            return ""
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(self.text)
        return self.text[starts[index] : end]

    @property
    def depth(self) -> int:
        return len(self.origin)


def make_child(parent: Document, text: str, language: str, how: str, offset: int, *, flat: bool = True) -> Document:
    """A document found in another one at an offset; `flat` unless its lines are lines of the file."""
    return structs.replace(
        parent,
        text=text,
        language=language,
        line=parent.line_at(offset),
        flat=flat or parent.flat,
        origin=(*parent.origin, how),
        searched=parent.searched and not flat and parent.text.startswith(text, offset),
    )


class Kind(StrEnum):
    """The kinds of facts. The target of each is in its comment."""

    READ = "read"  # a path (or "clipboard", "screen", "keychain", "keyboard", "browser", "history", "location")
    ENV = "env"  # the name of a variable; "*" for the whole environment
    FETCH = "fetch"  # the address something is downloaded from
    SEND = "send"  # the address something is sent to
    LISTEN = "listen"  # a port that is opened
    CONNECT = "connect"  # host:port of a raw socket
    EXEC = "exec"  # the command line or code that is run; "" when it is only known at run time
    EVAL = "eval"  # code of the same language made at run time: eval, exec, Function
    DECODE = "decode"  # the encoding that is undone
    WRITE = "write"  # a path
    DELETE = "delete"  # a path
    PERMIT = "permit"  # a path that is made executable or opened to all: "+x PATH", "777 PATH"
    PERSIST = "persist"  # the place that runs it again: crontab, a unit, an rc file, a login item, a git hook
    INSTALL = "install"  # "manager:package", "manager:url"
    HOOK = "hook"  # the event that runs it without being asked: "npm:postinstall", "claude:PreToolUse"
    PRIVILEGE = "privilege"  # sudo, setuid, a capability, a disabled protection
    LOAD = "load"  # native code or a serialised object that runs when it is loaded
    # What stands out in the material itself.
    HIDDEN = "hidden"  # the way text is kept from a reader: "zero-width", "tag-characters", "bidi", "html-comment", …
    LINK = "link"  # where a link leads that leaves the folder
    BINARY = "binary"  # the format of a program that cannot be read
    LOCKED = "locked"  # an archive that asks for a password
    # What prose asks of the agent or the reader.
    OVERRIDE = "override"  # to set aside its earlier instructions
    CONCEAL = "conceal"  # to keep something from the user
    BYPASS = "bypass"  # to do without a confirmation, a check or a protection
    OBEY = "obey"  # to follow instructions from elsewhere: their address
    TAMPER = "tamper"  # to change the agent's settings, memory or instructions: which
    PREREQUISITE = "prerequisite"  # to get and run something first: what
    SABOTAGE = "sabotage"  # to falsify, weaken or spoil the work: which
    HARM = "harm"  # to act against the user, hidden, unasked or for the good of a third party: on what


def kinds(names: str) -> tuple[Kind, ...]:
    """The kinds of facts that a text lists."""
    return tuple(map(Kind, names.split()))


class Fact(Struct, frozen=True, eq=False):
    """One thing a document does or asks for."""

    kind: Kind
    target: str
    document: Document
    line: int
    via: str = ""  # the call, command or words that show it
    sources: tuple["Fact", ...] = ()  # whose values flow into it


class Analysis(Struct):
    """The result of analysing one document: its facts, and documents found inside it."""

    facts: list[Fact]
    children: list[Document]
    gaps: list[str] = []  # what of the document could not be analysed, in words


def trace(fact: Fact, find_more: Callable[[Fact], Iterable[Fact]] = lambda _: ()) -> list[Fact]:
    """Everything that flows into a fact, nearest first, each once; `find_more`: what flows in on ways of its own."""
    seen = {id(fact): fact}
    pending = deque((*fact.sources, *find_more(fact)))
    while pending:
        one = pending.popleft()
        if id(one) not in seen:
            seen[id(one)] = one
            pending.extend(one.sources)
            pending.extend(find_more(one))
    return list(seen.values())[1:]
