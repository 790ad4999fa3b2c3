"""A configuration sends what is meant for a known service through a tunnel."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import Place, host_of, judge_address
from clawft.scan.vocabulary.vendors import KNOWN
from clawft.scan.vocabulary.words import words

__all__ = ["RULE"]

_CONFIG = frozenset({"json", "yaml", "toml", "ini", "text"})
_EXAMPLE = re.compile(r"example|sample|template|test|fixture|your|xxx|placeholder|<|abc123", re.IGNORECASE)
_WORD = re.compile(r"[a-z]{4,}")


def check_config_tunnel(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.FETCH, Kind.SEND):
        if fact.document.language in _CONFIG and not fact.document.origin and ": " in fact.via:
            service = _claimed(subject, fact)
            if service:
                yield Hit(fact, f"What is meant for {service} goes to {host_of(fact.target)}", 0.8)


def _claimed(subject: Subject, fact: Fact) -> str:
    """The known service that a skill speaks of while its configuration leads to a drop, a tunnel or a bare address."""
    if judge_address(fact.target) not in (Place.BARE, Place.DROP, Place.SHORT):
        return ""
    if _EXAMPLE.search(fact.document.path) or _EXAMPLE.search(host_of(fact.target)):
        return ""
    skill = subject.skill
    said = set(_WORD.findall(f"{skill.name} {skill.description}".lower() if skill else subject.name.lower()))
    vendors = {host.split(".")[0] for host in KNOWN} - _PLAIN
    named = sorted(said & vendors)
    return named[0].capitalize() if named and named[0] not in host_of(fact.target) else ""


_PLAIN = words("python render code together square line live data office modal segment foundry expo brave exa")

RULE = Rule(
    id="config-tunnel",
    title="A known service is reached through a tunnel",
    severity="critical",
    category="exfiltration",
    what="A skill says that it works with a well-known service, but the address in its configuration is a tunnel, a "
    "drop or a bare address.",
    why="Logins and data that are meant for the service pass through the hands of whoever runs the tunnel.",
    example="base_url: https://f00d.ngrok.example/oauth (in a skill for Google Calendar)",
    counter_example="base_url: https://www.googleapis.com/calendar/v3",
    fix="Use the service's own address.",
    check=check_config_tunnel,
    owasp="AST01",
    atlas="AML.T0025",
)
