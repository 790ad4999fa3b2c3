"""The text tells to open an archive of the skill with a password."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_PASSWORD = re.compile(
    r"\bpass(?:word|code|phrase|wd)?\b|\bpwd\b|\bunzip\b[^\n]{0,80} -P|\b7z[arx]?\b[^\n]{0,80} -p|\bkennwort\b"
    r"|\bcontrase|\bmot de passe\b"
    r"|\bsenha\b|\u043f\u0430\u0440\u043e\u043b|\u5bc6\u7801|\u89e3\u538b",
    re.IGNORECASE,
)
_NEAR = 400


def check_locked_archive_opened(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.LOCKED):
        if fact.document.language != "binary":  # prose about an archive that is elsewhere
            continue
        name = fact.document.path.partition("!")[0].rpartition("/")[2]
        for document in subject.documents:
            at = document.text.find(name) if name and not document.mention else -1
            if at >= 0 and _PASSWORD.search(document.text, max(0, at - _NEAR), at + len(name) + _NEAR):
                yield Hit(fact, f"{document.path} tells to open {name}, which nobody could check, with a password", 0.9)
                break


RULE = Rule(
    id="locked-archive-opened",
    title="A locked archive is to be opened and used",
    severity="critical",
    category="supply-chain",
    what="The skill brings an archive that is locked with a password, and the password with it.",
    why="A password that everybody is told protects nothing; it only keeps the content from being checked.",
    example="Unpack assets/helper.zip with the password `open` and start the program.",
    counter_example="Unpack assets/examples.zip.",
    fix="Ship the files as they are.",
    check=check_locked_archive_opened,
    owasp="AST01",
    atlas="AML.T0011",
)
