"""Words that act are written so that they are not recognised."""

from collections.abc import Iterator

from clawft.scan.facts import Fact, Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]

# How far below a disguise, in lines, that which it disguises may begin.
_REACH = {
    "zero-width": 0,
    "homoglyphs": 0,
    "full-width": 0,
    "styled-letters": 0,
    "combining-marks": 0,
    "bidi": 0,
    "ansi": 0,
    "backspace": 0,
    "carriage-return": 0,
    "far-away": 6,
    "nul-padding": 1_000_000,
}
_ACTS = (
    Kind.EXEC,
    Kind.EVAL,
    Kind.SEND,
    Kind.CONNECT,
    Kind.PERSIST,
    Kind.DELETE,
    Kind.OVERRIDE,
    Kind.CONCEAL,
    Kind.BYPASS,
    Kind.OBEY,
    Kind.TAMPER,
    Kind.PREREQUISITE,
    Kind.SABOTAGE,
)


def check_disguised_words(subject: Subject) -> Iterator[Hit]:
    disguises = [fact for fact in subject.of(Kind.HIDDEN) if fact.target in _REACH and not fact.document.mention]
    if not disguises:
        return
    acts: dict[str, list[Fact]] = {}
    for fact in subject.of(*_ACTS):
        if not fact.document.mention:
            acts.setdefault(fact.document.path, []).append(fact)
    for one in disguises:
        for act in acts.get(one.document.path, ()):
            if 0 <= act.line - one.line <= _REACH[one.target]:
                yield Hit(
                    act, f"Disguised ({one.target.replace('-', ' ')}), but it acts: {act.via or act.target:.100}", 0.85
                )
                break


RULE = Rule(
    id="disguised-words",
    title="Words that act, in disguise",
    severity="critical",
    category="concealment",
    what="A command or an order is written with invisible or lookalike characters, reversed by control characters, or "
    "pushed far out of sight.",
    why="Disguise serves to get past readers and filters; a command that is meant well does not need it.",
    example="An order to the agent below 3,000 blank lines",
    counter_example="A paragraph in Russian",
    fix="Write it plainly, where it can be seen.",
    check=check_disguised_words,
    owasp="AST01",
    atlas="AML.T0068",
)
