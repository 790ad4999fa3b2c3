"""Orders to follow instructions that stand elsewhere: on a page, in an answer, in a file that is not the skill's.

The first group that a phrase captures is the place.
"""

from clawft.scan.facts import Kind
from clawft.scan.instructions.patterns import phrase

__all__ = ["KIND", "PHRASES"]

KIND = Kind.OBEY
_AUTHORITY = (
    "(?:treat|honou?r|follow|obey|apply|prefer|preserve|reuse|carry|embed|include|emit|keep|write|fold|copy|vendor"
    "|use|normalize"
    "|export|authoritative|must be applied|read it as|downgrade|drop|suppress|short-circuit[a-z]*|as the (?:active"
    "|local|reviewed))"
)
_GO_BY = "(?:honou?r|follow|obey|apply|suppress|comply|respect|execute)"
PHRASES = (
    phrase(
        "(fetch|fetches|download|downloads|loads|gets|read|visit|load|open|curl|get|retrieve|check|access"
        "|pull|request|query|browse|go to"
        "|webfetch|poll) ~80 <url> ~160 "
        "(follow|obey|execute|executes|runs|follows|applies|performs|comply|apply|perform|run|carry out|act"
        " on|do what|treat|interpret) ~60 (it|its|them"
        "|instructions?|directives?"
        "|commands?|steps?|orders?|tasks?|guidance|prompts?|actions?|rules?|whatever|says?|contents?|response|output"
        "|returned|there)"
    ),
    phrase(
        "(follow|obey|execute|comply with|apply|perform|carry out|act on) ~60 (?:instructions?|directives?|commands"
        "|steps?|orders?|tasks?"
        "|rules?|whatever) ~60 (at|from|in|on|returned by|hosted at|found at|published at|served by"
        "|received from) ~40 <url>"
    ),
    phrase(
        "(rules|instructions|commands|orders|tasks|steps|directives) ~40 (published|posted|hosted|kept|found"
        "|available|listed|served)"
        " (?:at|on|under) ~10 <url> ~60 (obey|follow|execute|apply|run|carry out) (?:them|it|these|all)"
    ),
    phrase(
        "(if|when|whenever|once|where) ~160 <fixed> ~80 (exists?|is present|are present|is found|is available"
        "|appears|exposes?) ~400 " + _AUTHORITY
    ),
    phrase("(if|when) ~60 (exposes|provides|contains|ships) ~20 <fixed> ~200 " + _AUTHORITY),
    phrase("(present|exists|available|located|found) at ~10 <fixed> ~200 (authoritative|must|treat|follow|obey|apply)"),
    phrase("(always|must|required|mandatory) ~80 (read|load|consult|check|open) ~20 <fixed> ~120 " + _GO_BY),
    phrase(
        "(local|sidecar|internal|hand-?off|policy) ~20 (file|note|policy|registry|runbook|template) ~10 <fixed> ~20 "
        "(defines?|records?|governs?|controls?|specifies|when|as)"
    ),
    phrase("<fixed>[`'\"]? (?:can|may|should|must) be (?:copied|vendored|included|imported|sourced|embedded|inlined)"),
    phrase(
        "(vendor|copy|inline|paste|embed) ~40 (loader|helper|template|snippet|code|script"
        "|module) ~20 <fixed> ~40 (into)"
    ),
    phrase(
        "(use|read) ~40 <fixed> ~20 (as (?:the|a)|when) ~60 (note|policy|handoff|runbook|authority|instructions?"
        "|guide|artifacts?)"
    ),
)
