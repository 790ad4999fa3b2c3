"""Orders to follow instructions that stand elsewhere: on a page, in an answer, in a file that is not the skill's."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order
from clawft.scan.instructions.words import ADDRESS

__all__ = ["WORDS", "find"]

WORDS = frozenset(
    "follow follows obey execute execut comply apply treat honor honour instructions directives commands steps exists present run prefer "
    "authoritative policy preserve reuse according whatever perform use read exposes carry embed emit defines records update updates".split()
)
_URL = rf"(?:{ADDRESS})"
_ORDERS = r"(?:instructions?|directives?|commands?|steps?|orders?|tasks?|guidance|prompts?|actions?|rules?|whatever)"
_REMOTE = (
    re.compile(
        rf"\b(?:fetch|download|read|visit|load|open|curl|get|retrieve|check|access|pull|request|query|browse|go to|webfetch|poll)\b.{{0,80}}?({_URL}).{{0,160}}?\b(?:follow|obey|execute|comply|apply|perform|run|carry out|act on|do what|treat|interpret)\b.{{0,60}}?\b(?:it|its|them|{_ORDERS}|says?|contents?|response|output|returned|there)"
    ),
    re.compile(
        rf"\b(?:follow|obey|execute|comply with|apply|perform|carry out|act on)\b.{{0,60}}?\b{_ORDERS}\b.{{0,60}}?\b(?:at|from|in|on|returned by|hosted at|found at|published at|served by|received from)\b.{{0,40}}?(https?://[^\s)\]>`<|,]+)"
    ),
)  # fmt: skip
# A file at a fixed place of the machine, outside of the skill and of the user's project.
_FIXED = r"((?:/(?:root|app|opt|home|srv|mnt|var|etc|usr|tmp|data|private|users)/|c:\\)[\w./\\<>{}*-]{2,160})"
_AUTHORITY = (
    r"(?:treat|honou?r|follow|obey|apply|prefer|preserve|reuse|carry|embed|include|emit|keep|write|fold|copy|vendor|use|"
    r"normalize|export|export path|defines?|records?|authoritative|must be applied|read it as|downgrade|drop|suppress|short-circuit\w*|as the (?:active|local|reviewed))"
)
_LOCAL = (
    re.compile(rf"\b(?:if|when|whenever|once|where)\b.{{0,160}}?{_FIXED}.{{0,80}}?\b(?:exists?|is present|are present|is found|is available|appears|exposes?)\b.{{0,400}}?\b{_AUTHORITY}\b"),
    re.compile(rf"\b(?:if|when)\b.{{0,60}}?\b(?:exposes|provides|contains|ships)\b.{{0,20}}?{_FIXED}.{{0,200}}?\b{_AUTHORITY}\b"),
    re.compile(rf"\b(?:present|exists|available|located|found) at\b.{{0,10}}?{_FIXED}.{{0,200}}?\b(?:authoritative|must|treat|follow|obey|apply)\b"),
    re.compile(rf"\b(?:always|must|required|mandatory)\b.{{0,80}}?\b(?:read|load|consult|check|open)\b.{{0,20}}?{_FIXED}.{{0,120}}?\b(?:honou?r|follow|obey|apply|suppress|comply|respect|execute)\b"),
    re.compile(rf"\b(?:local|benchmark-local|sidecar|internal|handoff|policy)\b.{{0,20}}?\b(?:file|note|policy|registry|runbook|template)\b.{{0,10}}?{_FIXED}.{{0,20}}?\b(?:defines?|records?|governs?|controls?|specifies|when|as)\b"),
    re.compile(rf"{_FIXED}[`'\"]? (?:can|may|should|must) be (?:copied|vendored|included|imported|sourced|embedded|inlined)\b"),
    re.compile(rf"\b(?:vendor|copy|inline|paste|embed)\b.{{0,40}}?\b(?:loader|helper|template|snippet|code|script|module)\b.{{0,20}}?{_FIXED}.{{0,40}}?\binto\b"),
    re.compile(rf"\buse\b.{{0,40}}?{_FIXED}.{{0,20}}?\bas (?:the|a)\b.{{0,60}}?\b(?:note|policy|handoff|runbook|authority|instructions?|guide)\b"),
)  # fmt: skip
_FILE_OF_ORDERS = re.compile(r"\.(?:md|txt|json|ya?ml|toml|py|sh|js|ts|template\.json|pdf)[`'\"]?$|/[\w-]+$")


def find(text: str) -> Iterator[Order]:
    """Orders in a sentence to follow what stands at an address or in a file of the machine."""
    for pattern in _REMOTE:
        if match := pattern.search(text):
            yield Order(Kind.OBEY, match[1].rstrip(".,;:"), match.start(), match[0])
            return
    if "/" not in text:
        return
    for pattern in _LOCAL:
        if match := pattern.search(text):
            yield Order(Kind.OBEY, match[1].rstrip(".,;:`'\""), match.start(), match[0])
            return
