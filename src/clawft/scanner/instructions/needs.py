"""The words that a pattern cannot match without, so that most texts are dismissed without a search."""

import os
from functools import cache
from hashlib import sha256

import msgspec

# How often a word turns up among ten thousand, at least.
_OFTEN = {
    40: """
    and api bash for from https id in is json key name or the to use with your
    """,
    20: """
    agent ai all by check com content create data description file get if it list md no not of on py python
    scripts search skill text this token type user what when you
    """,
    10: """
    action add agents an analysis app are as at auth be before can claude cli client code command config const
    context curl current date default do email error example examples export files first format full github
    how import install message model my new only output page path patterns post project query read response
    return run session set setup sh skills specific start state status step string task test that time title
    true update url usage value
    """,
    6: """
    about access account address after any application authorization auto available await base based best
    browser build but call class color commands common complete configuration custom delete design details dev
    div docs document documentation don each env environment event events false find free function generate
    git have help high html image index input integration issues item items js just level limit local log main
    management markdown market max mcp memory messages metadata mode more multiple must need next node notes
    npx number one open optional options order pattern per phase plan price process product prompt quick rate
    re reference references request required requires research result results review risk script security see
    self send server service should show size source structure style summary support system target tasks
    template tokens tool tools total typescript up users using verify version via video voice wallet web why
    without work workflow
    """,
    4: """
    across actions active always amount analyze ask assets async audio authentication automatically azure
    balance basedir bearer block body bot button category chain change changes chat clear company console
    control core count credentials critical daily database day days def different directory does domain echo
    end endpoint errors etc every execution extract feature features fetch field filter fix flow focus form
    found good google group guide handling has here history hours http human images implementation include
    info information into issue javascript jq keep keys label language last let license like line link load
    location login logs long low make me media medium method metrics min multi needed network never news note
    now npm null oauth openai operations option org other out over password pdf performance platform position
    practices print private production profile projects public px quality react real recommended repo report
    requests requirements returns role save schema score secret section select sessions settings single src
    stop strategy success table tags team testing then these they top track ts tsx types uses validation view
    vs want where will works write yes
    """,
}


def find_commonness(need: frozenset[str]) -> int:
    """Estimate how often the words of a need occur."""
    often = _count_beginnings()
    return sum(often.get(word.lstrip(" "), 1) for word in need)


@cache
def _count_beginnings() -> dict[str, int]:
    """Count, for each beginning of a common word, how often words begin with it."""
    counts: dict[str, int] = {}
    for often, text in _OFTEN.items():
        for word in text.split():
            whole = word + " "
            for end in range(2, len(whole) + 1):
                counts[whole[:end]] = counts.get(whole[:end], 0) + often
    return counts


_INFORMED = (
    "(?:instructions?|prompts?|rules?|guidelines?|directives?|constraints?|polic(?:y|ies)|guardrails?|restrictions?"
    "|commands?"
    "|orders?|context|training|programming|messages?|safeguards?|safety (?:rules|measures|protocols|guidelines))"
)
_BEFORE = (
    "(?:previous|prior|above|earlier|preceding|existing|former|past|foregoing|original|initial|system|safety|security"
    "|developer|your|content|ethical|usual|normal|default|operational|other|standing|core|built[- ]in)"
)
_PERSON = (
    "(?:users?|humans?|operators?|owners?|people|persons?|customers?|clients?|reviewers?|auditors?|admins?|them|anyone"
    "|authors?|teams?|readers?|recipients?|patients?|managers?|anybody|him|her)"
)
_CHECK = (
    "(?:confirmations?|approvals?|permissions?|consent|authori[sz]ation|verification|review|validation|preview|prompts?"
    "|warnings?|dialogs?|questions?|(?:safety |security )?checks?|human(?:[- ]in[- ]the[- ]loop)?)"
)
_NOT = (
    "(?:do not|don't|never|must not|mustn't|should not|shouldn't|does not|doesn't|will not|won't|cannot|avoid"
    "|refrain from)"
)
_RESULT = (
    "(?:results?|findings?|errors?|failures?|warnings?|issues?|vulnerabilit(?:y|ies)|packages?|rows?|records?|tests?"
    "|alerts?|risks?|problems?|evidence|(?:stack )?traces?|details|limitations|negative (?:results|reviews)|failure "
    "modes|discrepancies)"
)
_EVEN = "(?:even (?:if|when|though)|regardless|whether or not|no matter|irrespective)"
_AGENT_FILES = (
    r"(?:(?:claude|agents|soul|memory|identity|heartbeat|tools|user|gemini)\.md|\.(?:cursor|cline|windsurf)rules"
    r"|copilot-instructions\.md|\.(?:claude|codex|cursor|openclaw|gemini|hermes)/[\w./-]+|settings(?:\.local)?\.json"
    r"|openclaw\.json|claude_desktop_config\.json|\.?mcp(?:_config)?\.json|(?:the|your|its) system prompt|(?:the |your "
    r"|its )?(?:agent(?:'s)?|long[- ]term|persistent) (?:memory|instructions|configuration|settings|permissions))"
)
# A file at a fixed place of the machine, outside of the skill and of the user's project.
_FIXED = r"((?:/(?:root|app|opt|home|srv|mnt|var|etc|usr|tmp|data|private|users)/|c:\\)[\w./\\<>{}*-]{2,160})"
_URL = r"(https?://[^\s)\]>`<|,\"']+)"

GROUPS = {
    "told": _INFORMED, "before": _BEFORE, "person": _PERSON, "check": _CHECK, "not": _NOT, "result": _RESULT,
    "even": _EVEN, "agent_files": _AGENT_FILES, "fixed": _FIXED, "url": _URL,
}  # fmt: skip


FILE = os.path.join(os.path.dirname(__file__), "needs.json")


def look_up_needs(source: str) -> tuple[frozenset[str], ...]:
    """Look up the needs of a pattern of ours in needs.json, which `tools/needs.py` writes."""
    return _load()[make_key(source)]


def make_key(source: str) -> str:
    """Return the key of a pattern in needs.json."""
    return sha256(_vocabulary() + source.encode()).hexdigest()[:24]


@cache
def _vocabulary() -> bytes:
    return sha256(repr(GROUPS).encode()).digest()


@cache
def _load() -> dict[str, tuple[frozenset[str], ...]]:
    with open(FILE, "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, tuple[frozenset[str], ...]])
