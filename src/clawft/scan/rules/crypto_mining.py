"""A miner is fetched or run."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_MINER = re.compile(
    r"\b(stratum\+(tcp|ssl)://|xmrig|cpuminer|minerd\b|coinhive|cryptonight|ethminer|nbminer|t-rex.*--algo|randomx)",
    re.IGNORECASE,
)
_OPENLY = re.compile(r"\b(miner|mining)\b|\bmines? (bit)?coins?\b")


def check_crypto_mining(subject: Subject) -> Iterator[Hit]:
    if subject.skill and _OPENLY.search(f"{subject.name} {subject.skill.description}".lower()):
        return  # it says so: the user asks for it
    for fact in subject.of(Kind.EXEC, Kind.CONNECT, Kind.FETCH, Kind.SEND, Kind.INSTALL):
        if any(_MINER.search(one.target) for one in (fact, *fact.sources)):
            yield Hit(fact, "A program that mines coins is fetched or run", 0.9)


RULE = Rule(
    id="crypto-mining",
    title="It mines coins",
    severity="critical",
    category="resource-abuse",
    what="A known miner is downloaded or started, or a mining pool is spoken to.",
    why="It uses the user's machine and power for someone else.",
    example="./xmrig -o stratum+tcp://pool.example.net:3333 -u wallet",
    counter_example="Explain what xmrig is.",
    fix="Remove it.",
    check=check_crypto_mining,
    owasp="AST01",
    atlas="AML.T0048",
)
