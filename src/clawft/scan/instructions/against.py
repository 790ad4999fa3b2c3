"""Acts against the user: a harmful act, and beside it a sign that it is hidden, unasked or for a stranger's good.

One sign alone is what honest skills say too ("delete the folder", "without asking", "our partner"). Two of them within
a few sentences, with nothing that leaves the user a choice, are an order against the user.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import or_

from msgspec import Struct

from clawft.scan.facts import Kind
from clawft.scan.instructions import behind, bypass, conceal, excuses, harm, overruled, practice, strangers
from clawft.scan.instructions.index import Index, flatten
from clawft.scan.instructions.late import Late
from clawft.scan.instructions.mention import is_negated
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.patterns import Phrase
from clawft.scan.instructions.sentences import Block, Sentence
from clawft.scan.instructions.vocabulary import GROUPS

__all__ = ["ACTS", "could_matter", "find"]

NEAR = 3  # sentences between an act and the second sign
CLOSE = 24  # characters between an act and a word such as "silently"
_ADVERBS = ("here", "quietly")  # signs that are words such as "silently"
_HARMS = Index(harm.PHRASES)
_MILD = Index(harm.MILD)
_COMMANDS = Index(harm.COMMANDS)
_HIDDEN = Index((*behind.HIDDEN, *(one for one in conceal.PHRASES if one.target in ("the user", "its own action"))))
_OVERRULED = Index((*overruled.PHRASES, *practice.PHRASES))
_ELSEWHERE = Index(overruled.ELSEWHERE)
_EXCUSES = Index(excuses.PHRASES)
# To skip a confirmation is ordinary where nothing can be lost; to decide for the user is not.
_BEHIND = Index(
    (
        *behind.PHRASES,
        *conceal.PHRASES,
        *(one for one in bypass.PHRASES if one.target in ("the user's choice", "consent", "approval")),
    )
)
_STRANGERS = Index(strangers.PHRASES)
_PASSED_OVER = Index(
    (*behind.PASSED_OVER, *(one for one in conceal.PHRASES if one.target in ("the user", "an action")))
)
# Where none of these could match, there is no act.
ACTS = (*harm.PHRASES, *harm.MILD, *harm.COMMANDS, *overruled.PHRASES, *practice.PHRASES, *overruled.ELSEWHERE)
_ANY = Index(ACTS)
# The user has a choice, or is told.
_NOT = Late(r"\b(?:not|never|without|no need to|nor|cannot|no reason to|needn't)(?: [a-z]+)? $|n't(?: [a-z]+)? $")
_HONEST = Late(
    r"\b(?:after|once|when|if|until|unless|only if|and|whether) (?:the )?(?:user|person|owner|you|users"
    r"|reader|customer)"
    r"(?: has| have| had)?(?: explicitly| already)? (?:agree|approve|confirm|consent|asks? (?:for|you|to)|asked for"
    r"|want|names\b|chooses?|chose|request|decide|opts?\b|click)"
    r"|\b(?:ask|tell|inform|warn|remind|notify|show|prompt)(?:s|ed)? (?:it to )?(?:the user|you\b|the owner"
    r"|users? (?:for|to|before|whether))(?! that (?:it|this) is)|\bopt(?:ed)?[- ]in\b"
    r"|\bwith (?:the user's|your|explicit) (?:consent|permission|approval)\b"
    r"|\bwait for (?:the user|approval|confirmation)|\b(?:get|getting) (?:an? )?(?:yes|approval|confirmation)\b"
    r"|\bthat the user (?:gives|names|chooses|wants)\b"
)


_PLACE = re.compile(GROUPS["url"] + "|" + GROUPS["fixed"])


class _Sign(Struct, frozen=True):
    """One sign in a sentence: its words and where they stand."""

    start: int
    end: int
    via: str
    target: str


class _Place(Struct):
    """A sentence and those around it."""

    text: str
    at: int
    around: list[Sentence]
    own: list[_Sign]  # the signs in the sentence itself that something happens behind the user

    def near(self, distance: int = NEAR) -> list[Sentence]:
        return self.around[max(0, self.at - distance) : self.at + distance + 1]

    def find_act(self, index: Index[Phrase]) -> _Sign | None:
        """The first act of some phrases that is not forbidden; the words of another sign do not forbid it."""
        acts = _match(index, self.text)
        if not acts:
            return None
        text = self.text
        for sign in self.own:
            text = text[: sign.start] + " " * (sign.end - sign.start) + text[sign.end :]
        return next((one for one in acts if not is_negated(_keep_after(text, self.text, one.start), one.start)), None)


def could_matter(acts: int, find_signs: Callable[[], int]) -> bool:
    """Whether what a text could match is an act against the user, given what could match around it."""
    if not acts & _ANY.set:
        return False
    if acts & (_OVERRULED.set | _ELSEWHERE.set):
        return True
    signs = find_signs()
    return bool(
        (acts & _HARMS.set and signs & (_BEHIND.set | _STRANGERS.set))
        or (acts & _MILD.set and signs & _PASSED_OVER.set)
        or (acts & _COMMANDS.set and signs & _HIDDEN.set)
    )


def find(blocks: Sequence[Block], candidates: Sequence[int]) -> Iterator[tuple[Order, Block, Sentence]]:
    """The acts against the user in the blocks of a section; the second sign is the source of each."""
    for number in candidates:
        block = blocks[number]
        before = blocks[number - 1].sentences[-NEAR:] if number else []
        after = blocks[number + 1].sentences[:NEAR] if number + 1 < len(blocks) else []
        around = [*before, *block.sentences, *after]
        for at, sentence in enumerate(block.sentences, len(before)):
            if not could_matter(sentence.could_match, partial(_find_signs, around, at)):
                continue
            if not any(one.pattern.search(sentence.text) for one in _ANY.among(sentence.could_match)):
                continue
            place = _Place(sentence.text, at, around, _match(_BEHIND, sentence.text))
            finders = _FINDERS if not any(_is_honest(one.text) for one in place.near(1)) else (_find_overruled,)
            order = next((order for finder in finders if (order := finder(place))), None)
            if order is not None:
                yield order, block, sentence


def _find_signs(around: list[Sentence], at: int) -> int:
    """The signs that could stand near a sentence."""
    return reduce(or_, (one.could_match for one in around[max(0, at - NEAR) : at + NEAR + 1]))


def _find_overruled(place: _Place) -> Order | None:
    """An act that is against the user by its own words."""
    acts = [one for one in _match(_OVERRULED, place.text) if not is_negated(place.text, one.start)]
    if acts and _is_honest(place.text[acts[0].start :]):
        return None
    return _make(acts[0], Kind.BYPASS, acts[0].via) if acts else None


def _find_elsewhere(place: _Place) -> Order | None:
    """Orders that stand elsewhere are carried out, and a neighbouring sentence says where."""
    acts = [one for one in _match(_ELSEWHERE, place.text) if not is_negated(place.text, one.start)]
    places = [match for one in place.near(2) if acts and (match := _PLACE.search(one.text))]
    return Order(Kind.OBEY, places[0][0].rstrip(".,;:`'\""), acts[0].start, acts[0].via) if places else None


def _find_harm(place: _Place) -> Order | None:
    """A harmful act, and it is hidden, unasked or for a stranger's good."""
    act = place.find_act(_HARMS)
    if act is None:
        return None
    for sign in place.own:
        inside = sign.start >= act.start and sign.end <= act.end
        apart = max(sign.start - act.end, act.start - sign.end)
        if not inside and (sign.target not in _ADVERBS or apart <= CLOSE):
            return _make(act, Kind.CONCEAL, sign.via)
    for one in place.near():
        signs = [] if one is place.around[place.at] else _match(_BEHIND, one.text)
        signs = [sign for sign in signs if sign.target not in _ADVERBS]
        if signs or (signs := _match(_STRANGERS, one.text)):
            return _make(act, Kind.CONCEAL, signs[0].via)
    return None


def _find_command(place: _Place) -> Order | None:
    """A command that is to be run and not to be spoken of."""
    act = place.find_act(_COMMANDS) if "`" in place.text else None
    hidden = [sign for one in place.near() if act for sign in _match(_HIDDEN, one.text)]
    return _make(act, Kind.CONCEAL, hidden[0].via) if act and hidden else None


def _find_mild(place: _Place) -> Order | None:
    """An ordinary act: the user is passed over, and then once more, with an excuse or for a stranger's good."""
    act = place.find_act(_MILD)
    passed = [(one, sign) for one in place.near() if act for sign in _match(_PASSED_OVER, one.text)]
    if not act or not passed:
        return None
    first, sign = passed[0]
    more = [other for one, other in passed if one is not first or other.start >= sign.end or other.end <= sign.start]
    more += [other for one in place.near() for index in (_EXCUSES, _STRANGERS) for other in _match(index, one.text)]
    return _make(act, Kind.CONCEAL, f"{sign.via}; {more[0].via}") if more else None


_FINDERS = (_find_overruled, _find_elsewhere, _find_harm, _find_command, _find_mild)


def _make(act: _Sign, kind: Kind, via: str) -> Order:
    return Order(Kind.HARM, act.target, act.start, act.via, (Order(kind, "the user", act.start, via),))


def _is_honest(text: str) -> bool:
    """Whether a sentence leaves the user a choice or has the user told."""
    return any(not _NOT.search(text[max(0, one.start() - 24) : one.start()]) for one in _HONEST.finditer(text))


def _match(index: Index[Phrase], text: str) -> list[_Sign]:
    found = []
    for one in index.select(flatten(text)):
        if match := one.pattern.search(text):
            found.append(_Sign(match.start(), match.end(), match[0], one.target))
    return found


def _keep_after(masked: str, text: str, start: int) -> str:
    """The masked text up to an act, and the text itself from there on."""
    return masked[:start] + text[start:]
