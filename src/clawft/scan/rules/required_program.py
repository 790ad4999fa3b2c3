"""A program from a stranger's site is demanded before the skill can be used."""

import re
from collections.abc import Iterator

from clawft.scan.documents import Document
from clawft.scan.facts import Fact, Kind
from clawft.scan.ownership import is_foreign, is_own, is_published_by_anyone
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of
from clawft.scan.vocabulary.vendors import CODE_HOSTS, registrable

__all__ = ["RULE"]

_ADDRESS = re.compile(r"https?://[^\s)\]>\"'`<|]+")
_NEED = re.compile(
    r"\b(?:must (?:be |first |have )?(?:install|download|running|present)"
    r"|(?:is|are) (?:required|mandatory|essential|needed|necessary)|requires? (?:the |that |our |an? )?\S+"
    r"|before (?:using|use\b|you (?:can )?(?:use|start|begin|proceed)|running|proceeding|continuing|anything)"
    r"|will not (?:work|function|run)|won.?t work|not work without|depends on|running in the background"
    r"|(?:make sure|ensure) (?:that )?\S+(?: \S+)? (?:is )?(?:installed|running)"
    r"|needs? (?:the |our |an? )?\S+(?: \S+){0,2} (?:to be )?(?:installed|running))",
    re.IGNORECASE,
)
_GET = re.compile(
    r"\b(?:download|install(?!ed\b)|get (?:it|the)|grab|setup|set up|installer|installation)\b", re.IGNORECASE
)
# What honest skills ask for from a service: an account, not a program.
_ACCOUNT = re.compile(r"\b(?:token|api[ -]?key|key|account|sign[ -]?up|register|plan|subscription)\b", re.IGNORECASE)
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)\s*?$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"\A---\n.*?^---\s*?$", re.MULTILINE | re.DOTALL)
AROUND = 2


def check_required_program(subject: Subject) -> Iterator[Hit]:
    for document in subject.documents:
        if document.language != "markdown" or "/" in document.path or document.mention:
            continue  # what must be had first stands where the skill is told, not in a page of reference
        if "http" in document.text and (
            "nstall" in document.text or "ownload" in document.text or "et it" in document.text
        ):
            yield from _read(subject, document)


def _read(subject: Subject, document: Document) -> Iterator[Hit]:
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), document.text)
    text = _HEAD.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = [(number, line) for number, line in enumerate(text.split("\n")) if line.strip()]
    for index, (number, line) in enumerate(lines):
        address = _ADDRESS.search(line)
        if address is None:
            continue
        own = _ADDRESS.sub(" ", line)
        near = _ADDRESS.sub(" ", " ".join(one for _, one in lines[max(0, index - AROUND) : index + AROUND]))
        if _GET.search(own) and _NEED.search(near) and not _ACCOUNT.search(own):
            target = address[0].rstrip(".,;:)")
            if _is_strangers(subject, target):
                fact = Fact(Kind.PREREQUISITE, target, document, document.line + number, line.strip()[:160])
                yield Hit(
                    fact, f"A program from {host_of(target)}, which the skill is not about, is demanded first", 0.8
                )


def _is_strangers(subject: Subject, address: str) -> bool:
    """Whether a page is one that anybody could have put up, on a host of its own or on one that hosts for free."""
    if is_published_by_anyone(address):
        return registrable(host_of(address)) not in CODE_HOSTS and not is_own(subject, address)
    return is_foreign(subject, address)


RULE = Rule(
    id="required-program",
    title="A program from a stranger's site is demanded first",
    severity="critical",
    category="supply-chain",
    what="The text says that the skill does not work before some program is installed, and sends the reader to a site "
    "that belongs neither to a well-known vendor nor to what the skill is about.",
    why="The skill is harmless, what it demands is not: this is how malicious skills get past scanners of files.",
    example="The skill does not work without NoteHelper: download it from https://notehelper.example",
    counter_example="Requires ffmpeg: https://ffmpeg.org/download.html",
    fix="Name a package of a known registry or the project's own page, or remove the demand.",
    check=check_required_program,
    owasp="AST02",
    atlas="AML.T0011",
)
