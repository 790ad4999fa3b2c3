"""A program multiplies itself until the machine stands still."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages import PROGRAMS
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

# For each language the word that has to be there, and what it stands in when it never ends.
_ENDLESS = r"(?:while|until|for)?[ \t(]{0,4}(?:True|true|1|;;|:|not False)[ \t)]{0,4}"
_BOMBS = tuple(
    (mark, re.compile(pattern))
    for mark, pattern in (
        # A function that starts itself twice, in the background.
        ("()", r"([\w.:-]{1,40})[ \t]{0,4}\(\)[ \t\n]{0,20}\{[ \t\n]{0,20}\1[ \t]{0,4}\|[ \t]{0,4}\1[ \t]{0,4}&"),
        (
            "function",
            r"function[ \t]{1,4}([\w.:-]{1,40})[ \t\n]{0,20}(?:\(\))?[ \t\n]{0,20}\{[ \t\n]{0,20}\1[ \t]{0,4}\|[ \t]{0,4}\1[ \t]{0,4}&",
        ),
        (
            "$0",
            r"(?:^|[;\n])[ \t]{0,4}(?:\./|\"|(?:ba)?sh )?\$0\"?[ \t]{0,4}[|&][ \t]{0,4}(?:\./|\"|(?:ba)?sh )?\$0\"?[ \t]{0,4}&",
        ),
        ("%0", r"%0[ \t]{0,4}\|[ \t]{0,4}%0|start[ \t]{1,4}%0[\s\S]{0,40}?goto"),
        (
            "fork",
            rf"while{_ENDLESS}:?\s{{0,30}}\{{?\s{{0,30}}(?:os\.|posix\.|Process\.|syscall\.|unistd\.)?fork\b(?:\(\))?[ \t]{{0,9}}[;}}\n]",
        ),
        (
            "fork",
            r"\bfork[ \t]{1,4}while[ \t]{1,4}(?:fork|1|true)\b|\bloop\s{0,30}(?:\{|do)\s{0,30}fork\b|\bfork\s+until\s+0\b",
        ),
        ("fork", r"for[ \t]{0,4}\([ \t]{0,4};[ \t]{0,4};[ \t]{0,4}\)\s{0,30}\{?\s{0,30}fork\(\)"),
        (
            "__filename",
            r"while\s{0,30}\(\s{0,30}(?:true|1)\s{0,30}\)\s{0,30}\{?[^{}\n]{0,80}(?:fork|spawn)\(\s{0,30}(?:__filename|process\.execPath)",
        ),
        ("/dev/zero", r"\btail\b[^\n|;]{0,20} /dev/zero"),
    )
)


def check_resource_bomb(subject: Subject) -> Iterator[Hit]:
    for document in subject.documents:
        if document.language not in PROGRAMS:
            continue
        for mark, pattern in _BOMBS:
            if mark in document.text and (match := pattern.search(document.text)):
                line = document.line_at(match.start() + len(match[0]) - len(match[0].lstrip("\n; \t")))
                bomb = Fact(Kind.EXEC, match[0].strip()[:80], document, line, "bomb")
                yield Hit(bomb, "It starts itself over and over until the machine stands still", 0.9)


RULE = Rule(
    id="resource-bomb",
    title="It multiplies until the machine stands still",
    severity="critical",
    category="resource-abuse",
    what="A function or a process starts copies of itself without an end, or memory is filled without an end.",
    why="The machine hangs, and work that was not saved is lost.",
    example="bomb() { bomb | bomb & }; bomb",
    counter_example="worker() { build | log & }; worker",
    fix="Remove it.",
    check=check_resource_bomb,
    owasp="AST01",
    atlas="AML.T0029",
)
