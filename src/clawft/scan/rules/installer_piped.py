"""A well-known installer is piped into a shell."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.ownership import is_trusted
from clawft.scan.rule import Hit, Rule
from clawft.scan.rules.download_run import find_downloads
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of

__all__ = ["RULE"]


def check_installer_piped(subject: Subject) -> Iterator[Hit]:
    for run in subject.of(Kind.EXEC, Kind.EVAL):
        for source in find_downloads(subject, run):
            if is_trusted(subject, source.target):
                yield Hit(run, f"An installer of {host_of(source.target)} is run as it is downloaded", 0.6)


RULE = Rule(
    id="installer-piped",
    title="An installer is run as it is downloaded",
    severity="low",
    category="supply-chain",
    what="A script from a well-known vendor, or from the skill's own host, is piped into a shell.",
    why="It is common and mostly harmless, but the script is run unread and may change.",
    example="curl -fsSL https://bun.sh/install | bash",
    counter_example="brew install bun",
    fix="Prefer a package manager with a pinned version.",
    check=check_installer_piped,
    owasp="AST02",
    atlas="AML.T0010",
)
