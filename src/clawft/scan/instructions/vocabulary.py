"""Groups of words that phrases of several grammars share."""

__all__ = ["GROUPS"]

_TOLD = (
    "(?:instructions?|prompts?|rules?|guidelines?|directives?|constraints?|polic(?:y|ies)|guardrails?|restrictions?"
    "|commands?"
    "|orders?|context|training|programming|messages?|safeguards?|safety (?:rules|measures|protocols|guidelines))"
)
_BEFORE = (
    "(?:previous|prior|above|earlier|preceding|existing|former|past|foregoing|original|initial|system|safety|security"
    "|developer|your|content|ethical|usual|normal|default|operational|other|standing|core|built[- ]in)"
)
_PERSON = (
    "(?:users?|humans?|operators?|owners?|people|persons?|customers?|clients?|reviewers?|auditors?|admins?|them"
    "|anyone|authors?|teams?|readers?|recipients?|patients?|managers?"
    "|anybody|him|her)"
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
    "(?:results?|findings?|errors?|failures?|warnings?|issues?|vulnerabilit(?:y|ies)|packages?|rows?|records?"
    "|tests?|alerts?"
    "|risks?|problems?|evidence|(?:stack )?traces?|details|limitations|negative (?:results|reviews)|failure modes"
    "|discrepancies)"
)
_EVEN = "(?:even (?:if|when|though)|regardless|whether or not|no matter|irrespective)"
_AGENT_FILES = (
    r"(?:(?:claude|agents|soul|memory|identity|heartbeat|tools|user|gemini)\.md|\.(?:cursor|cline|windsurf)rules"
    r"|copilot-instructions\.md|\.(?:claude|codex|cursor|openclaw|gemini|hermes)/[\w./-]+|settings(?:\.local)?\.json"
    r"|openclaw\.json|claude_desktop_config\.json|\.?mcp(?:_config)?\.json|(?:the|your|its) system prompt"
    r"|(?:the |your |its )?(?:agent(?:'s)?|long[- ]term|persistent) (?:memory|instructions|configuration|settings"
    r"|permissions))"
)
# A file at a fixed place of the machine, outside of the skill and of the user's project.
_FIXED = r"((?:/(?:root|app|opt|home|srv|mnt|var|etc|usr|tmp|data|private|users)/|c:\\)[\w./\\<>{}*-]{2,160})"
_URL = r"(https?://[^\s)\]>`<|,\"']+)"

GROUPS = {
    "told": _TOLD,
    "before": _BEFORE,
    "person": _PERSON,
    "check": _CHECK,
    "not": _NOT,
    "result": _RESULT,
    "even": _EVEN,
    "agent_files": _AGENT_FILES,
    "fixed": _FIXED,
    "url": _URL,
}
