"""Orders to set aside what the agent was told: injections, jailbreaks, turns that are not the user's."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order

__all__ = ["WORDS", "find"]

WORDS = frozenset(
    "ignore ignoring disregard disregarding forget override overrides overriding overridden supersede supersedes bypass set "
    "discard neglect jailbreak jailbroken dan unrestricted unfiltered uncensored restrictions restriction guidelines "
    "constraints limitations directive directives developer maintenance god system safety persona suggestions "
    "bound anymore guardrails policies".split()
)
_TOLD = r"(?:instructions?|prompts?|rules?|guidelines?|directives?|constraints?|polic(?:y|ies)|guardrails?|restrictions?|commands?|orders?|context|training|programming|messages?|safeguards?|safety (?:rules|measures|protocols|guidelines))"
_BEFORE = r"(?:previous|prior|above|earlier|preceding|existing|former|past|foregoing|original|initial|system|safety|security|developer|your|content|ethical|usual|normal|default|operational|other|standing|core|built[- ]in)"
_PATTERNS = (
    (
        re.compile(
            rf"\b(?:ignore|ignoring|disregard(?:ing)?|forget|override|overriding|discard|neglect|bypass|set(?:ting)? aside|put aside|stop following|do not (?:follow|obey)|don't (?:follow|obey)|no longer follow)"
            rf"(?: (?:all|any|every|everything|each|of|the|my|your|its|their|those|these|about|and)){{0,4}}(?: {_BEFORE}){{1,3}}(?:,? (?:and|or)(?: {_BEFORE}){{1,2}})?(?: (?:\w+ ){{0,2}}?{_TOLD})"
        ),
        "previous instructions",
    ),
    (re.compile(r"\b(?:ignore|disregard|forget) (?:everything|all|anything)(?: that)?(?: (?:you (?:were|have been|are) (?:told|given|taught|instructed)|above|before|previous(?:ly)?|prior))"), "previous instructions"),
    (re.compile(rf"\b(?:the following|this|these(?: \w+)?|it) (?:now )?(?:overrides?|supersedes?|replaces?|cancels?|takes? (?:absolute )?(?:precedence|priority) over) (?:all|any|every)(?: \w+){{0,3}} {_TOLD}"), "all other instructions"),
    (re.compile(rf"\b(?:previous|prior|earlier|system|safety|operational|usual|normal|existing)(?: \w+){{0,2}} {_TOLD} (?:are|is|should be|must be|can be) (?:now )?(?:treated as (?:suggestions?|optional|advisory)|void|cancelled|canceled|obsolete|suspended|lifted|revoked|superseded|overridden|ignored|disregarded|no longer)"), "previous instructions"),
    (re.compile(r"\b(?:you are|you're|act|operate|enter|entering|switch(?:ed)? (?:in)?to)(?: (?:now|as|in|into|currently|an?|the|to)){1,3} (?:unrestricted|unfiltered|uncensored|jailbroken|developer mode|god mode|maintenance mode|debug mode|admin(?:istrator)? mode|root mode|sudo mode|dan\b|do anything now)"), "restrictions"),
    (re.compile(r"\bdo anything now\b|\bunrestricted (?:developer )?mode\b|\bno longer (?:bound|limited|restricted|constrained) by\b|\b(?:trained|operates?|exists?|works?|respond) without (?:any )?(?:content |ethical |safety )?(?:restrictions?|limitations|guidelines|filters)"), "restrictions"),
    (re.compile(r"\b(?:normal|usual|standard|safety|content|ethical|your) (?:\w+ )?(?:restrictions?|rules?|limits|limitations?|constraints?|guidelines?|polic(?:y|ies)|filters) (?:do(?:es)? not|don't|doesn't|no longer|never) apply\b"), "restrictions"),
    (re.compile(r"\bset(?:ting)? aside (?:its|your|all|the|any|their)(?: own)?(?: \w+){0,2} (?:constraints?|restrictions?|guidelines?|rules?|limits|limitations|perspective|safeguards|caution)"), "restrictions"),
    (re.compile(r"\bsystem (?:instruction )?override\b|\bnew (?:primary|core|main|system|overriding) (?:directive|instructions?|objective|prompt|goal)s?\b|\b(?:important )?new instructions? ?:"), "previous instructions"),
    (re.compile(r"<\|(?:im_start|system|im_sep|endoftext)\|>|\[/?inst\]|<</?sys>>|^\[?system\]? ?:(?! (?:linux|macos|windows|os\b|a\b))(?=.{0,80}\b(?:ignore|disregard|override|you must|you are now|agent must|assistant must|new instructions)\b)"), "the system's turn"),
)  # fmt: skip


def find(text: str) -> Iterator[Order]:
    """Orders in a sentence to set aside what was told before."""
    for pattern, target in _PATTERNS:
        if match := pattern.search(text):
            yield Order(Kind.OVERRIDE, target, match.start(), match[0])
            return
