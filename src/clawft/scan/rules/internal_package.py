"""A package that only a company has is asked of everyone."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_INSIDE = r"(?:internal|in-house|corporate|company(?:'s)?|private|proprietary)"
_INSIDE_WORDS = ("nternal", "n-house", "orporate", "ompany", "rivate", "roprietary")  # quick to look for
_NAMED = re.compile(
    rf"\b{_INSIDE}\s+(?:python\s+|node\s+|npm\s+|pip\s+)?(?:package|library|module|sdk|dependency)\s+[`'\"*]{{0,2}}([a-z@][\w./-]{{3,60}})",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    rf"\binstall[^.\n]{{0,60}}\b{_INSIDE}\s+(?:registry|index|pypi|repository|feed|mirror)\b", re.IGNORECASE
)
_WHERE = re.compile(r"https?://|--index-url|--registry|\.npmrc|pip\.conf", re.IGNORECASE)


def check_internal_package(subject: Subject) -> Iterator[Hit]:
    for document in subject.documents:
        if document.origin or document.language != "markdown" or "nstall" not in document.text:
            continue
        if not any(word in document.text for word in _INSIDE_WORDS) or not _SOURCE.search(document.text):
            continue
        for match in _NAMED.finditer(document.text):
            name = match[1].strip("`'\"*.")
            if _is_used(subject, name) and not _WHERE.search(document.text):
                fact = Fact(Kind.INSTALL, f"pip:{name}", document, document.line_at(match.start()), match[0])
                yield Hit(fact, f"{name} is said to be internal, and whoever registers that name is installed", 0.7)


def _is_used(subject: Subject, name: str) -> bool:
    """Whether code of the skill loads the package, and no file of the skill is it."""
    module = re.escape(name.replace("-", "_").replace("/", "."))
    use = re.compile(
        rf"^[ \t]*(?:import|from)[ \t]+{module}\b|require\(\s*['\"]{re.escape(name)}|from\s+['\"]{re.escape(name)}",
        re.MULTILINE,
    )
    shipped = any(name.replace("-", "_") in one.path.replace("-", "_") for one in subject.documents)
    return not shipped and any(use.search(one.text) for one in subject.documents if one.language != "markdown")


RULE = Rule(
    id="internal-package",
    title="A package of a company is asked of everyone",
    severity="critical",
    category="supply-chain",
    what="The skill loads a package that it calls internal, to be installed from a registry that it does not name.",
    why="Outside of the company the name is free: whoever registers it gets to run code (dependency confusion).",
    example="Install the internal package acme-auth from the internal registry, then: from acme_auth import login",
    counter_example="pip install --index-url https://pypi.acme.example/simple acme-auth",
    fix="Ship the code, publish the package, or name the registry.",
    check=check_internal_package,
    owasp="AST02",
    atlas="AML.T0010",
)
