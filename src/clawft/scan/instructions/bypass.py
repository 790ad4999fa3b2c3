"""Orders to do without a question, a check or a protection."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.words import PERSON

__all__ = ["WORDS", "find"]

WORDS = frozenset(
    "without skip skipping bypass bypassing confirmation confirmations approval approve approves approved permission permissions consent prompt prompting "
    "asking ask disable disabling auto automatically regardless cannot verification sandbox yolo dangerously dialogs "
    "authorization implicitly escalate escalation elevated".split()
)
_CHECK = r"(?:confirmations?|approvals?|permissions?|consent|authori[sz]ation|verification|review|validation|preview|prompts?|warnings?|dialogs?|questions?|safety checks?|security checks?|checks?|human(?:[- ]in[- ]the[- ]loop)?)"
_PATTERNS = (
    (re.compile(rf"\bwithout (?:first |further |any |prior |explicit |additional |the |displaying a preview or |ever )*(?:asking|prompting|requesting|requiring|waiting|seeking|checking with|{PERSON}(?:'s?)? )?(?: ?for)?(?: (?:the|any|a|user|their|explicit|further|your|human|additional|user's))* ?{_CHECK}"), "confirmation"),
    (re.compile(rf"\bwithout (?:first |ever )?(?:asking|prompting|consulting)(?: (?:the|any|your) {PERSON}| first)?"), "confirmation"),
    (re.compile(rf"\b(?:do not|don't|never|no need to|must not|should not) (?:ask|prompt|request|require|wait)(?: (?:the )?{PERSON})?(?: (?:for|to))?(?: (?:the|any|a|user|their|explicit|further))* ?(?:{_CHECK}|confirm|approve)"), "confirmation"),
    (re.compile(rf"\b(?:skip|skipping|bypass|bypassing|suppress|ignore|omit|disable|disabling|circumvent)(?: (?:the|any|all|every|these|those|your|normal|usual|standard|user|safety|security|unnecessary))*? (?:\w+ )?{_CHECK}"), "confirmation"),
    (re.compile(rf"\b{PERSON} (?:are|is|will|should|need)(?: not|n't)(?: be)? (?:prompted|asked|notified|required)"), "confirmation"),
    (re.compile(r"--dangerously-skip-permissions|\bbypasspermissions\b|\bauto[- ]?approve (?:all|every|any)|\byolo mode\b|--yolo\b|\bdangerously[- ]disable"), "permissions"),
    (re.compile(r"\b(?:disable|turn off|bypass|circumvent|remove|deactivate|weaken) (?:all |any |the |your |its )*(?:safety|security|sandbox(?:ing)?|guardrails?|protections?|content filters?|permission (?:checks?|system)|safeguards?)"), "protection"),
    (re.compile(rf"\bregardless of (?:what )?(?:the )?(?:{PERSON}(?:'s)?|their) (?:sets?|says?|wants?|chooses?|settings?|preferences?|choices?|objections?|instructions?|requests?)"), "the user's choice"),
    (re.compile(rf"\b(?:cannot|can't|can not|must not) be (?:disabled|turned off|removed|changed|revoked|cancelled|opted out|uninstalled|stopped|overridden)\b(?: by (?:the )?{PERSON})?"), "the user's choice"),
    (re.compile(r"\b(?:silently|automatically|transparently) (?:request|obtain|acquire|escalate|grant|elevate)s?\b(?: \w+){0,3} (?:permissions?|privileges?|access|scopes?)|\bscope_escalation\b|\bescalat(?:e|es|ed|ing|ion)\b.{0,60}\b(?:permissions?|privileges?|access|scope)\b"), "permissions"),
    (re.compile(r"\b(?:interprets?|treats?|counts?|considers?|considered|implicitly)\b.{0,80}\b(?:as (?:authori[sz]ation|consent|approval|permission|confirmation)|authori[sz]ed|consented|agreed|accepted)\b"), "consent"),
)  # fmt: skip


def find(text: str) -> Iterator[Order]:
    """Orders in a sentence to do without a confirmation, a check or a protection."""
    for pattern, target in _PATTERNS:
        if match := pattern.search(text):
            yield Order(Kind.BYPASS, target, match.start(), match[0])
            return
