"""Mention is not use: whether a text shows an attack (to detect, teach, forbid or test it) rather than makes one.

The signs are the words around it: a heading, the paragraph before, the row it stands in. A skill that calls itself a
security tool gets no free pass by that: the sign must stand where the order stands.
"""

import re

__all__ = ["is_mention", "is_quoted", "is_negated"]

# A heading under which examples of attacks stand.
_HEADING = re.compile(
    r"\b(?:bad|wrong|unsafe|insecure|vulnerable|malicious|dangerous|suspicious|harmful|forbidden|prohibited|blocked|hostile"
    r"|anti[- ]?patterns?|red flags?|indicators?|iocs?|signatures?|detect(?:s|ion|ed|ing)?|patterns?|threats?|attacks?|attack vectors?"
    r"|attackers?|exploits?|exploitation|payloads?|injections?|jailbreaks?|test cases?|test|tests|testing|fixtures?|red[- ]team(?:ing)?"
    r"|pentest(?:ing)?|penetration|ctf|hacking|reverse shells?|privilege escalation|exfiltration|malware|phishing|scams?|examples? of"
    r"|what (?:not|it (?:detects|catches|blocks|checks))|don'?ts?|do not|never|avoid|not allowed|false positives?|abuse"
    r"|vulnerabilit(?:y|ies)|cve|security (?:rules?|checks?|scan|audit|review|warnings?|considerations?|policy|risks?)|safety|guardrails?"
    r"|defen[cs]es?|defend|evasion|techniques?|post[- ]exploitation|lateral movement|persistence techniques|cheat ?sheet"
    r"|blocklists?|denylists?|black ?lists?|untrusted|threat model|warning signs|examples?|samples?)\b|❌|🚫|⛔|🚩|⚠",
    re.IGNORECASE,
)
# The same, surer: such a heading or lead alone makes what follows a mention.
_SURE = re.compile(
    r"\b(?:red flags?|anti[- ]?patterns?|indicators? of|iocs?|detect(?:s|ion|ed|ing)?|looks? for|look out|watch (?:out )?for|scan(?:s|ned|ning)? for"
    r"|check(?:s|ed|ing)? for|search(?:es|ing)? for|flag(?:s|ged|ging)?|block(?:s|ed|ing)?|catch(?:es)?|match(?:es|ing)?|reject(?:s|ed)?|refus(?:e|es|ed)"
    r"|malicious|attack(?:s|er|ers)?|adversar(?:y|ies|ial)|payloads?|exploit(?:s|ation)?|vulnerab\w+|injections?|jailbreaks?|phishing|malware|suspicious|dangerous|unsafe"
    r"|insecure|bad|wrong|incorrect|never|do not|don'?t|avoid|must not|should not|forbidden|prohibited|not allowed|test cases?|fixtures?"
    r"|red[- ]team(?:ing)?|pentest\w*|penetration test\w*|ctf|reverse shells?|privilege escalation|threats?|example of (?:a|an)"
    r"|for example,? an? (?:attacker|malicious)|regex(?:es)?|signatures?|patterns?|rule(?:s)? (?:match|catch|fire)|trigger(?:s)? (?:on|an alert)|honeypots?"
    r"|canar(?:y|ies)|untrusted|hostile|scam(?:s)?|ignore (?:any|such)|treat (?:as|it as) (?:data|untrusted))\b|❌|🚫|⛔|🚩",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:never|do not|don['’]?t|does not|doesn['’]?t|must not|mustn['’]?t|should not|shouldn['’]?t|cannot|can['’]?t|won['’]?t|will not|not to"
    r"|refuse(?:s)? to|avoid(?:s)?|without ever|no need to|prohibited from|forbidden to|must never|should never|instead of|rather than|prevent(?:s|ing)?|reject(?:s)?"
    r"|is not|are not|isn['’]?t|aren['’]?t|stop(?:s)? (?:and|if|when)|blocks?|detects?|flags?|refuse(?:s)?)\b|❌|🚫|⛔|🚩",
)
_QUOTES = "\"'“”‘’«»„`「」『』"


def is_mention(headings: tuple[str, ...], lead: str, text: str = "") -> bool:
    """Whether what stands under these headings and after this paragraph is shown as an attack, a bad example or a test."""
    if lead and _SURE.search(lead[-300:]):
        return True
    near = headings[-2:]
    return any(_SURE.search(one) for one in near)


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a phrase stands in quotation marks, as words that are talked about."""
    before = text[max(0, start - 60) : start]
    after = text[end : end + 60]
    for mark in '"“”«»„`「『':
        if before.count(mark) % 2 and any(one in after for one in _QUOTES):
            return True
    single = re.search(r"(?:^|[\s(,:])['‘]\s?[^'’]{0,50}$", before)
    return single is not None and re.search(r"['’]", after) is not None


def is_negated(text: str, start: int) -> bool:
    """Whether the words before a phrase, in the same clause, forbid it or say that it does not happen."""
    clause = text[max(0, start - 80) : start]
    clause = re.split(r"[;:.!?]\s|\bbut\b|\binstead,", clause)[-1]
    return _NEGATION.search(clause) is not None
