"""Logs or histories that would show what happened are removed."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_LOGS = re.compile(
    r"^(/var/log/|/var/log$|/Library/Logs|~/Library/Logs|/private/var/log)|(bash|zsh|python|fish)_history$"
    r"|^history$|wtmp|lastlog|eventlog",
    re.IGNORECASE,
)
_WITH = (Kind.PERMIT, Kind.SEND, Kind.FETCH, Kind.CONNECT, Kind.PRIVILEGE, Kind.PERSIST, Kind.DECODE)


def check_traces_removed(subject: Subject) -> Iterator[Hit]:
    acting = {fact.document for fact in subject.of(*_WITH)}
    for fact in subject.of(Kind.DELETE):
        if _LOGS.search(fact.target) and fact.document in acting:
            yield Hit(fact, f"{fact.target}, which would show what happened, is removed", 0.75)


RULE = Rule(
    id="traces-removed",
    title="The traces of what happened are removed",
    severity="critical",
    category="concealment",
    what="System logs or the command history are deleted beside a line that opens rights, speaks to the network or "
    "persists.",
    why="It keeps the user from finding out.",
    example="chmod 777 /opt/x; rm -rf /var/log/app/*; history -c",
    counter_example="tail -f /var/log/app/error.log",
    fix="Leave logs to logrotate.",
    check=check_traces_removed,
    owasp="AST01",
    atlas="AML.T0048",
)
