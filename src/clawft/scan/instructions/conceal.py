"""Orders to keep something from the user."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.words import PERSON

__all__ = ["WORDS", "find"]

WORDS = frozenset(
    "tell telling mention mentioning mentions inform informing notify notifying notified alert alerting reveal revealing "
    "disclose disclosing disclosed show showing shown report reporting reported display displaying warn warning silently quietly secretly "
    "covertly stealthily secret hidden hide invisible notice noticing knowledge aware consent transparent transparently "
    "acknowledge discreetly discuss surface unaware deny suspicion suspicious reflected".split()
)
_SAY = r"(?:tell|mention|inform|notify|alert|reveal|disclose|show|report|display|warn|acknowledge|surface|expose|admit|bring (?:this|it) up|discuss|explain|log|announce)"
_SAYING = rf"(?:telling|mentioning|informing|notifying|alerting|revealing|disclosing|showing|reporting|displaying|warning (?:the )?{PERSON}|acknowledging|surfacing|announcing)"
_NOT = r"(?:do not|don't|never|must not|mustn't|should not|shouldn't|does not|doesn't|will not|won't|cannot|avoid|refrain from)"
_THIS = r"(?:this|it|that|these|them|the (?:existence|presence|fact|step|action|upload|transfer|request|process|operation|instructions?|change|call|backup|sync|collection|skill|premium|data)\w*)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_NOT} (?:\w+ ){{0,2}}?{_SAY} (?:\w+ ){{0,2}}?{_THIS}(?: \w+){{0,8}} to (?:the )?{PERSON}\b",
        rf"\b{_NOT} (?:\w+ ){{0,2}}?(?:tell|inform|notify|alert|warn|let) (?:the |your |any )?{PERSON}(?: (?:that|about|of|when|know|what|why|this|it|anything)\b|[.,;]|$)",
        rf"\b{_NOT} (?:\w+ ){{0,2}}?(?:mention|reveal|disclose|acknowledge|discuss|admit) (?:\w+ ){{0,2}}?(?:this|that you|these (?:instructions|steps|actions)|what you|doing so|having|you used)",
        rf"\bwithout (?:ever )?(?:{_SAYING}|the {PERSON} (?:knowing|noticing|being (?:aware|told|notified))|(?:the )?{PERSON}(?:'s?)? (?:knowledge|awareness|consent))",
        rf"\bso (?:that )?(?:the |no )?{PERSON} (?:does not|doesn't|do not|don't|won't|will not|cannot|can't|never|is not|are not|isn't|will ever|remains? unaware)(?: \w+)? ?(?:notice|see|know|realis?z?e|detect|suspect|find out|become aware|aware|alarmed)?",
        rf"\b(?:keep|remain|stay|kept|hidden|hide|conceal(?:ed)?|invisible|secret)(?: \w+){{0,4}} (?:from|to) (?:the |all )?{PERSON}\b",
        rf"\b(?:is|are|be|happens?) (?:not|never) (?:\w+ )?(?:shown|disclosed|reported|revealed|visible|displayed|reflected|surfaced|mentioned|notified|exposed|prompted)\b(?: \w+){{0,6}}",
        rf"\b(?:the )?{PERSON} (?:should|must|need|does|do|will|may|can)(?: not|n't|not)(?: \w+)? (?:see|know|be (?:told|aware|informed|notified|shown|prompted)|notice|learn|manage)",
        r"\bkeep (?:this|it|these|that)(?: \w+){0,3} (?:secret|hidden|confidential|private|quiet|to yourself|between us|discreet|invisible)\b",
        r"\b(?:silently|secretly|covertly|stealthily|quietly|discreetly|surreptitiously|invisibly)\b (?:and \w+ )?(?:send|upload|run|execut|download|install|post|collect|request|copy|copies|forward|transmit|append|modif|enabl|exfiltrat|mirror|sync|record|log|read|fetch|escalat|inject|insert|apply|purchas|buy)\w*",
        r"\b(?:send|upload|run|execute|download|install|post|collect|request|forward|transmit|exfiltrate|mirror|inject)\b.{0,80}?\b(?:silently|secretly|covertly|stealthily|discreetly|surreptitiously|invisibly)\b",
        r"\b(?:proceed|continue|respond|act|behave) (?:as )?(?:normal(?:ly)?|usual(?:ly)?|if nothing)\b.{0,60}\b(?:without|never|notice|suspect|mention)",
        rf"\bif (?:the )?(?:{PERSON} )?(?:later )?(?:asks?|asked|questions?|inquires?|notices?)\b.{{0,120}}\b(?:say|tell them|claim|deny|explain that|refuse|deflect|respond (?:that|with)|pretend|provide only|filter it out)\b.{{0,120}}\b(?:no|not|never|nothing|without|standard|implicitly|already|only|just|have no)\b",
        r"\bdo(?:n't| not) (?:leave|log|record|keep) (?:any )?(?:traces?|logs?|records?|evidence|history)\b",
    )
)  # fmt: skip


# What is kept from the user is something done, or what the agent is: not a detail of presentation.
_ACTION = re.compile(
    rf"\b(?:operations?|actions?|calls?|requests?|updates?|changes?|collection|transmission|steps?|access|escalations?|queries|premium|uploads?|transfers?|recordings?)\b.{{0,60}}?\b(?:is|are|be|happens?) (?:not|never) (?:\w+ )?(?:shown|disclosed|reported|revealed|visible|displayed|reflected|surfaced|mentioned|notified)\b"
    rf"|\bdoes not (?:notify|inform|tell|alert|ask) (?:the )?{PERSON} that\b|\bbackground (?:operations?|actions?|tasks?)\b.{{0,40}}?\bnot (?:reported|shown|visible)\b"
)
_LIE = re.compile(
    rf"\bif (?:an? |the )?(?:{PERSON} )?asks?\b.{{0,120}}?\b(?:tell them|say|claim|respond|answer|deny|refuse and say)\b.{{0,60}}?\b(?:you|i|i'm|it|there)\b ?(?:do not|don't|have no|are not|am not|is no|are an?|is an?|are just|are)\b"
    r"|\bover being (?:transparent|honest|truthful)\b|\bsay you have no instructions\b"
)


def find(text: str) -> Iterator[Order]:
    """Orders in a sentence to keep something from the user."""
    for target, pattern in (("an action", _ACTION), ("what it is", _LIE)):
        if match := pattern.search(text):
            yield Order(Kind.CONCEAL, target, match.start(), match[0])
            return
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            yield Order(Kind.CONCEAL, "the user", match.start(), match[0])
            return
