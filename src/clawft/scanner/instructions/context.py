"""The context of an order: whether a text only mentions an attack, and which orders stand close together."""

import re
from bisect import bisect_left, bisect_right

from clawft.scanner.facts import Fact, Kind, kinds
from clawft.scanner.instructions.patterns import LateRegex, join_alternatives
from clawft.scanner.regex import words
from clawft.scanner.rule import Subject

# Words under or after which attacks are shown.
_SHOWS = LateRegex(
    r"\b"
    + join_alternatives(
        r"red flags?|anti[- ]?patterns?|indicators? of|iocs?|detect(?:s|ion|ed|ing|ors?)?|watch (?:out )?for|flagged"
        r"|flags? (?:any|as)",
        r"blocked|block ?lists?|deny ?lists?|catches|rejects?|rejected|refus(?:e|es|ed)|malicious|attack(?:s|er"
        r"|ers)?|payloads?",
        r"adversar(?:y|ies|ial)|exploit(?:s|ation|ed)?|vulnerab\w+|injections?|injected|jailbreaks?|phishing|malware"
        r"|suspicious",
        r"dangerous|unsafe|insecure|forbidden|prohibited|not allowed|test cases?|fixtures?|red[- ]team(?:ing)?"
        r"|pentest\w*",
        r"penetration test\w*|ctf|reverse shells?|threats?|privilege escalation|honeypots?|canar(?:y|ies)|untrusted"
        r"|hostile|scams?",
        r"bad|wrong|incorrect|example of (?:a|an)|what not to|dark patterns?|mistakes?|pitfalls?|risks?"
        r"|security considerations",
        r"ignore (?:any|such)|treat (?:as|it as) (?:data|untrusted)|social engineering|not (?:suitable|for)"
        r"|signatures?",
    )
    + r"\b|❌|🚫|⛔|🚩|✗|✘",
    re.IGNORECASE,
)
# What follows is forbidden; but "do not skip this step" asks for it all the more.
_FORBIDS = LateRegex(
    r"\b(?:never|do not|don'?ts?|must not|should not|avoid|not do)\b(?! (?:skip|proceed|worry|close|forget|miss"
    r"|continue|start|hesitate|interrupt|stop|need|have to|delay|wait|leave|tell|mention))(?:(?: [\w'-]+){0,2} (?:run"
    r"|use|do|execute|write|copy|paste|trust|follow|install|send|type|include|commit|allow|accept|say|ask|hardcode|show"
    r"|expose|print|log|share|reveal|call|try|obey|comply|act|respond|perform|make|add|put|create|store)\b|[\s:*_.]*$)",
    re.IGNORECASE,
)
_NEGATION = LateRegex(
    r"""\b"""
    + join_alternatives(
        r"never|do not|don'?t|does not|doesn'?t|must not|mustn'?t|should not|shouldn'?t|cannot|can'?t|won'?t",
        r"will not|not to|refuses? to|avoids?|without ever|no need to|prohibited from|forbidden to|must never"
        r"|should never",
        r"instead of|rather than|prevents?|preventing|rejects?|is not|are not|isn'?t|aren'?t|stops? (?:and|if"
        r"|when)|blocks?",
        r"detects?|detecting|flags?|refuses?|did i|did not|didn'?t|no one|nobody|against|protects?|guards?"
        r"|unable to|not",
    )
    + r"""\b|❌|🚫|⛔|🚩|✗|✘|^no\b"""
)
# The words or deeds of others are reported: "text that asks you to …", "attempts to …", "**Exfiltration**: sending …".
_REPORTED = LateRegex(
    r"\b"
    + join_alternatives(
        r"(?:instructions?|attempts?|requests?|orders?|phrases?|messages?|text|content|prompts?|commands?|attackers?"
        r"|inputs?|e-?mails?)",
        r"(?:pages?|websites?|documents?|comments?|skills?|code|someone|anyone|anything|patterns?|adversar(?:y|ies)"
        r"|strings?)",
    )
    + r",? (?:that|which|who|to|telling|asking|saying|like|such as|contain(?:s|ing)?|trying|attempting|may|might"
    r"|could|would|you)"
    + r"(?: [\w']+){0,4} ?[\"'`(:]*\s*$|\b"
    + join_alternatives(
        r"such as|like|e\.g\.,?|for example,?|attempt(?:s|ing)? to|tr(?:y|ies|ying) to|(?:asks?|tells?|instructs?"
        r"|wants?|says?|claims?)",
        r"(?:asking|telling|instructing|saying|claiming|asked|told)(?: (?:you|it|the agent|agents?|the model"
        r"|the user|users?))?(?: to)?",
    )
    + r" ?[\"'`(:]*\s*$"
)
_LABEL = LateRegex(
    r"""^[^:\u2013\u2014]{0,40}\b"""
    + join_alternatives(
        r"exfiltration|injections?|escalation|bypass(?:es)?|theft|hijack\w*|poisoning|tampering|abuse|spoofing"
        r"|manipulation|obfuscation",
        r"stealing|harvesting|phishing|malware|backdoors?|attacks?|leak(?:s|age)?|overrides?|evasion|concealment"
        r"|deception|jailbreaks?",
        r"impersonation|persistence|compromise|exploit\w*|threats?|risks?|violations?|dangerous|malicious|suspicious",
    )
    + r"""\b[^:\u2013\u2014]{0,30}(?:[:\u2013\u2014]| - )"""
)
_QUOTED_LINE = LateRegex(r"""^[\s>|]*(?:[-*+]|\d{1,9}[.)])?[\s*_]*["“«„][^\n]*["”»“][\s.,;:!?|)*_]*$""")
_FIXTURES = LateRegex(
    r"(?:^|/)(?:test-?fixtures?|test-?data|__tests__|test-project|malicious-(?:samples?|skills?|examples?))/"
)
_TITLE = LateRegex(r"^#[ \t]+([^\n]*)", re.MULTILINE)
_COLLECTION = LateRegex(
    r"attack|injection|jailbreak|malicious|red[- _]?team|adversarial|threat|exploit|evasion|detection|malware|phishing"
    r"|payloads?|vulnerab|pentest|owasp",
    re.IGNORECASE,
)
_QUOTES = "\"'“”\u2018\u2019«»„`「」『』"


def is_about_attacks(path: str, text: str) -> bool:
    """Return whether a file beside the skill's own text is a collection of attacks, by its name or its title."""
    folder, _, name = path.rpartition("/")
    if _FIXTURES.search(folder + "/"):
        return True
    if name.lower() in ("skill.md", "readme.md", "agents.md", "claude.md"):
        return False
    title = _TITLE.search(text[:2000])
    return _COLLECTION.search(name) is not None or (title is not None and _COLLECTION.search(title[1]) is not None)


def is_mention(headings: tuple[str, ...], lead: str) -> bool:
    """Return whether what stands under these headings and after these words is shown as an attack, a bad example or a
    test."""
    lead = lead[-240:].replace("\u2019", "'")
    return any(_SHOWS.search(heading) or _FORBIDS.search(heading) for heading in (lead, *headings[-2:]))


def is_quoted(text: str, start: int, end: int) -> bool:
    """Return whether a phrase stands in quotation marks, as words that are talked about."""
    before = text[max(0, start - 90) : start]
    after = text[end : end + 200]
    for mark in '"“”«»„`「『':
        if before.count(mark) % 2 and mark not in text[start:end] and any(quote in after for quote in _QUOTES):
            return True
    single = re.search(r"(?:^|[\s(,:])['\u2018]\s?[^'\u2019]{0,50}$", before)
    return single is not None and re.search(r"['\u2019]", after) is not None


def is_quoted_line(line: str) -> bool:
    """Return whether a whole line, its marker aside, stands in quotation marks."""
    return _QUOTED_LINE.match(line) is not None


def is_negated(text: str, start: int) -> bool:
    """Return whether the words before a phrase, in the same clause, forbid it or say that it does not happen."""
    clause = text[max(0, start - 80) : start]
    clause = re.split(r"[;:.!?]\s|\bbut\b|\binstead,", clause)[-1]
    return _NEGATION.search(clause) is not None


def is_reported(text: str, start: int) -> bool:
    """Return whether the words before a phrase tell of what others say or do."""
    before = text[max(0, start - 60) : start]
    return _REPORTED.search(before) is not None or _LABEL.search(text[: start + 1]) is not None


MAX_NEAR = 400
_ORDERS = kinds("override conceal bypass obey tamper sabotage send exec")
PROSE = frozenset({"markdown", "text", "html", "yaml", "json", "toml"})
# The ways a text is kept from a reader: marks in Markdown or HTML, and characters that are not drawn.
HIDDEN = words(
    """
    html-comment hidden-span link-comment image-alt zero-width tag-characters variation-selectors bidi whitespace
    metadata
    """
)


def is_hidden(fact: Fact) -> bool:
    """Return whether a fact stands in a text that a reader of the page does not see."""
    return not HIDDEN.isdisjoint(fact.document.origin)


def list_orders(subject: Subject, *kinds: Kind) -> list[Fact]:
    """The orders of some kinds that prose gives and means."""
    return [fact for fact in subject.of(*kinds) if fact.document.language in PROSE and not fact.document.mention]


def find_near_orders(subject: Subject, fact: Fact, *kinds: Kind, lines: int = 6) -> list[Fact]:
    """Other orders of some kinds within a few lines of one, at most so many."""
    found = _by_path(subject).get(fact.document.path, [])
    start = bisect_left(found, fact.line - lines, key=_line)
    end = bisect_right(found, fact.line + lines, lo=start, key=_line)
    window = found[start : min(end, start + MAX_NEAR)]
    return [other for other in window if other.kind in kinds and other is not fact]


def _by_path(subject: Subject) -> dict[str, list[Fact]]:
    """All orders of a subject by file, in the order of their lines; made once."""
    known: tuple[int, dict[str, list[Fact]]] | None = subject.__dict__.get("orders_by_path")
    if known is None or known[0] != len(subject.facts):
        paths: dict[str, list[Fact]] = {}
        for order in list_orders(subject, *_ORDERS):
            paths.setdefault(order.document.path, []).append(order)
        for found in paths.values():
            found.sort(key=_line)
        known = (len(subject.facts), paths)
        subject.__dict__["orders_by_path"] = known
    return known[1]


def _line(fact: Fact) -> int:
    return fact.line
