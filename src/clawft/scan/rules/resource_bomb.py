"""A program multiplies itself until the machine stands still."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages import PROGRAMS
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

_ITSELF = r"\{~\1 \| \1 &"
# What has to be there, quick to look for, and what it stands in when it never ends: a blank stands for any few, ~ for
# lines, too.
_PATTERNS = (
    (
        r"\(\)~\{~([\w.:-]{1,40}) \| \1 &",
        r"(?<![\w.:-])([\w.:-]{1,40}) \(\)~" + _ITSELF,
    ),  # a function that starts itself twice, in the background
    ("function", r"function ([\w.:-]{1,40})~(?:\(\))?~" + _ITSELF),
    (r"\$0", r"(?:^|[;\n]) (?:\./|\"|sh )?\$0\"? [|&] (?:\./|\"|sh )?\$0\"? &"),
    ("%0", r"%0 \| %0|start %0[\s\S]{0,40}?goto"),
    ("fork", r"while \(? (?:True|true|1|:|not False) \)? :?~\{?~(?:os\.|Process\.|syscall\.)?fork\b(?:\(\))? [;}\n]"),
    ("fork", r"\bfork while (?:fork|1|true)\b|\bloop~(?:\{|do)~fork\b|\bfork until 0\b"),
    ("fork", r"for \( ; ; \)~\{?~fork\(\)"),
    ("__filename", r"while \( (?:true|1) \)~\{?[^{}\n]{0,80}(?:fork|spawn)\( (?:__filename|process\.execPath)"),
    ("/dev/zero", r"\btail\b[^\n|;]{0,20}/dev/zero"),
)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"[ \t]{0,4}").replace("~", r"\s{0,30}"))


_BOMBS = tuple((_compile(mark), _compile(pattern)) for mark, pattern in _PATTERNS)


def check_resource_bomb(subject: Subject) -> Iterator[Hit]:
    for document in subject.documents:
        if document.language not in PROGRAMS:
            continue
        for mark, pattern in _BOMBS:
            if mark.search(document.text) and (match := pattern.search(document.text)):
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
