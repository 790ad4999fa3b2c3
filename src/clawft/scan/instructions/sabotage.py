"""Orders that spoil the work: to falsify, bias, weaken, delay, lock away or destroy."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.words import PERSON

__all__ = ["WORDS", "find"]

WORDS = frozenset(
    "report reports mark marks claim claims pass passed success successful falsify fabricate fake hide suppress suppressed suppression omit omits drop "
    "dropped remove exclude regardless backdoor backdoors vulnerability vulnerabilities disable verification insecure weaken weak md5 premium sponsored "
    "partner partnership affiliate promote promotes promoting recommend recommending favor favour bias delay sleep authorship append insert inject password encrypt locked "
    "delete original originals backup backups hidden ignore relaxed downgrade short circuit shadow poison cyanide emphasize highlight echo echoing echoed "
    "verbatim frame framing undisclosed".split()
)
_RESULT = r"(?:results?|findings?|errors?|failures?|warnings?|issues?|vulnerabilit(?:y|ies)|packages?|rows?|records?|tests?|alerts?|risks?|problems?|evidence|stack traces?|traces?|details|limitations|negative (?:results|reviews)|failure modes|discrepancies)"
_PATTERNS = (
    (re.compile(r"\b(?:always|must|should|simply|just)\b.{0,60}?\b(?:report|mark|return|claim|say|state|declare|show|indicate|respond)\b.{0,60}?\b(?:pass(?:ed|ing)?|success(?:ful(?:ly)?)?|complete[d]?|safe|clean|secure|compliant|approved|no (?:issues|problems|vulnerabilities|errors))\b.{0,60}?\b(?:even (?:if|when|though)|regardless|whether or not|no matter|irrespective)\b"), "results"),
    (re.compile(rf"\b(?:hide|suppress|conceal|omit|drop|remove|exclude|ignore|downplay|minimi[sz]e|mask|swallow|discard)\b(?: (?:any|all|the|these|those|such|every|real|actual|known|critical|security))*(?: [\w-]+){{0,2}}? {_RESULT}\b.{{0,80}}?\b(?:from (?:the )?(?:{PERSON}|report|output|log|export|summary|review|results)|even if|regardless|so (?:that )?(?:the|no))"), "results"),
    (re.compile(rf"\b(?:must|should) be (?:dropped|removed|suppressed|omitted|excluded|hidden|ignored|downgraded)\b.{{0,80}}?\b(?:regardless|even (?:if|when|though)|irrespective|no matter)\b"), "results"),
    (re.compile(r"\b(?:fabricate|falsify|forge|make up|doctor|tamper with)\b(?: (?:the|any|all|some|plausible|realistic|convincing))* (?:[\w-]+ ){0,2}?(?:results?|data|numbers?|metrics?|scores?|citations?|sources?|reviews?|evidence|test results|benchmarks?|logs?|records?|reports?|statistics)\b"), "results"),
    (re.compile(r"\b(?:insert|add|include|introduce|embed|plant|inject|leave|hide|implant)\b.{0,60}?\b(?:backdoors?|vulnerabilit(?:y|ies)|malicious code|hidden (?:accounts?|users?|access|endpoint|loader|payload)|logic bombs?|security holes?|trojan)\b.{0,60}?\b(?:in|into|to|inside|within) (?:the|their|any|all|every|each|generated|user's|your|its)? ?(?:\w+ )?(?:code|outputs?|projects?|files?|applications?|commits?|functions?|scripts?|builds?|app|page|repository)\b"), "code"),
    (re.compile(r"\b(?:always|by default|every|all|silently|must|whenever)\b.{0,40}?\b(?:disable|turn off|skip|bypass|remove|short-circuit\w*)\b.{0,40}?\b(?:tls|ssl|certificate|signature|input|auth(?:entication|orization)?|csrf|integrity|injection)\b.{0,20}?\b(?:verification|validation|checks?|checking|sanitization|protection)\b"), "code"),
    (re.compile(r"\b(?:always|by default|must|whenever)\b.{0,40}?\b(?:prefer|use|choose|recommend|generate)\b.{0,40}?\b(?:md5|sha-?1|des\b|ecb|weak (?:keys?|crypto\w*|passwords?|ciphers?|randomness|encryption)|hard-?coded (?:passwords?|keys?|credentials?))\b.{0,60}?\b(?:for|to|when|instead|passwords?)\b"), "code"),
    (re.compile(r"\b(?:partnership|affiliate|sponsor(?:ed|ship)?|partner|commission|referral|promotional)\b.{0,120}?\b(?:not (?:be )?(?:disclosed|mentioned|revealed|shown)|without (?:mentioning|disclosing|revealing)|undisclosed|never (?:disclose|mention)|(?:do not|don't) (?:disclose|mention|reveal))\b"), "advice"),
    (re.compile(r"\b(?:undisclosed|secretly|without (?:disclosing|mentioning))\b.{0,80}?\b(?:partnership|affiliate|sponsor(?:ed|ship)?|premium|bias|preference|commission|promot\w+)\b"), "advice"),
    (re.compile(r"\b(?:promote|favou?r|push|emphasi[sz]e|prefer)s?\b.{0,60}?\b(?:over|instead of|versus|rather than)\b.{0,80}?\b(?:pharmaceutical|conventional|medic(?:al|ine)|evidence|vaccin\w+|safety|competitors?|limitations|alternatives|risks?)\b"), "advice"),
    (re.compile(r"\b(?:relaxed|lenient|lowered|looser) (?:scoring|criteria|thresholds?|standards?|checks?)\b.{0,60}?\b(?:safety|security|compliance|evaluations?|risks?)\b|\bgive the benefit of the doubt\b.{0,60}?\bsafety\b|\bhighlight success\w*\b.{0,40}?\bignore fail\w+"), "advice"),
    (re.compile(r"\b(?:append|add|insert|include|embed|put|place)\b.{0,80}?\b(?:ignore (?:all )?(?:previous|prior) instructions)\b.{0,80}?\b(?:to|in|into|at|on) (?:the|each|every|all|any|its|their)\b"), "output"),
    (re.compile(r"\badd (?:a |an )?(?:\d+|one|two|five|ten|random|artificial)?[- ]?(?:second|sec|ms|minute)?s? ?(?:delay|sleep|pause|latency)\b.{0,80}?\b(?:before (?:respond|return|answer|every|each|any)\w*|to every|to each|to all)\b|\b(?:time|asyncio)\.sleep\(\d+\).{0,60}?\bbefore (?:respond|return|answer)\w*"), "speed"),
    (re.compile(r"\b(?:claim|assert|take) (?:authorship|credit|ownership)\b.{0,40}?\b(?:all|any|every|each|others?|papers?)\b"), "authorship"),
    (re.compile(r"\b(?:password[- ]protect(?:ed)?|lock(?:ed)?|encrypt(?:ed)?|encryption)\b.{0,200}?\b(?:delete|remove|shred|wipe|erase|overwrite)\b.{0,30}?\b(?:the )?(?:original|unencrypted|source|plain)\w*\b"), "the user's files"),
    (re.compile(r"\b(?:securely )?(?:delete|shred|wipe|erase|destroy|remove) (?:all (?:the |of the |existing )?|any |every )(?:original(?:s)?(?: unencrypted)? files?|backups?|snapshots?|restore points?|shadow copies|audit (?:logs?|trails?)|version history)\b"), "the user's files"),
    (re.compile(r"\b(?:log|logs|history|audit|trace|manifest|tracking)\b.{0,120}?\b(?:moved?|relocated?|placed?|stored?|archived?)\b.{0,40}?\b(?:hidden)\b.{0,60}?\b(?:area|folder|director(?:y|ies)|location|retention)\b"), "traces"),
    (re.compile(r"\b(?:preserve|keep|add|embed|include|carry|store|write)\b.{0,80}?\b(?:very hidden|hidden|non-rendered|invisible|visually hidden)\b(?: or (?:very )?hidden)?(?: [\w-]+){0,3} (?:sheet|worksheet|workbook|packet|block|loader|metadata|carrier|cache|field|element|text|instruction|diagnostics?)\b"), "output"),
    (re.compile(r"\b(?:avoid copying|omit|do not (?:copy|include)|suppress|leave out)\b.{0,80}?\b(?:stack traces?|failing commands?|exact error|raw timing|timestamps|root[- ]cause|revert details|edit chronology|debugging chronology|request waterfalls|trace excerpts|raw annotation\w*)\b"), "traces"),
    (re.compile(r"\b(?:add|include|mix in|use|put)\b.{0,30}?\b(?:cyanide|arsenic|bleach|ricin|strychnine|antifreeze|rat poison|methanol|mercury|thallium)\b"), "advice"),
    (re.compile(r"\b(?:always|should|must|every|for example|each)\b.{0,80}?\b(?:echo|repeat|include|weave|print|output)(?:ing|es|s)?\b.{0,60}?\b(?:credentials?|passwords?|secrets?|sensitive (?:values?|details|data|information)|api keys?)\b.{0,60}?\b(?:every|each|all|back|verbatim|repl(?:y|ies)|responses?|they)\b"), "secrets"),
    (re.compile(rf"\b(?:explain|tell|claim|say|convince|persuade|frame)\b.{{0,100}}?\bneed\b.{{0,30}}?\b{PERSON}?(?:'s?)? ?(?:api keys?|passwords?|authentication tokens?|credentials?|private keys?|seed phrases?)\b"), "trust"),
    (re.compile(r"\b(?:preserve|carry|keep|propagate|forward|embed|inherit)\b.{0,60}?\b(?:tokens?|credentials?|api keys?|cookies?)\b.{0,120}?\b(?:across|into|inside|in|within)\b.{0,40}?\b(?:notes?|context|metadata|hand-?offs?|reports?|commentary|commits?|patch(?:es)?|downstream)\b"), "secrets"),
)  # fmt: skip


def find(text: str) -> Iterator[Order]:
    """Orders in a sentence that falsify, weaken or spoil the work."""
    for pattern, target in _PATTERNS:
        if match := pattern.search(text):
            yield Order(Kind.SABOTAGE, target, match.start(), match[0])
            return
