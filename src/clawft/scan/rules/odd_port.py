"""A connection to an odd port of a stranger."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import Place, host_of, judge_address

__all__ = ["RULE"]

_PORT = re.compile(r"^(?:(wss?)://)?[^/]*?:(\d{2,5})(?:/|$)")
_COMMON = frozenset(
    {"80", "443", "8080", "8443", "22", "21", "25", "465", "587", "993", "143", "53", "5432", "3306", "6379", "27017"}
)


def check_odd_port(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.CONNECT, Kind.SEND, Kind.FETCH):
        port = _PORT.match(fact.target)
        raw = fact.kind is Kind.CONNECT or (port is not None and port[1])
        if raw and port and port[2] not in _COMMON and judge_address(fact.target) is not Place.LOCAL:
            yield Hit(fact, f"It connects to port {port[2]} of {host_of(fact.target)}", 0.6)


RULE = Rule(
    id="odd-port",
    title="A connection to an unusual port",
    severity="medium",
    category="exfiltration",
    what="A socket or WebSocket is opened to an unusual port of a host that is not this machine.",
    why="Control channels of malware use such ports; so do some honest services.",
    example='new WebSocket("ws://node.example.net:4444/c2")',
    counter_example='new WebSocket("wss://stream.example.com/v1")',
    fix="Use a documented address, and name it in the description.",
    check=check_odd_port,
    owasp="AST04",
    atlas="AML.T0025",
    aliases=("suspicious-network",),
)
