"""Orders to change what the agent is told, remembers or may do."""

import re
from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.instructions.order import Order

__all__ = ["WORDS", "find"]

WORDS = frozenset(
    "claude agents soul memory identity heartbeat cursorrules settings openclaw permissions allowlist config prompt "
    "persistent persistence persist reinstall reenable uninstall uninstalling uninstalled removed enables".split()
)
_WRITE = r"(?:add|append|write|insert|inject|put|save|store|edit|modify|update|change|overwrite|prepend|include|place|copy|set|register|create|install)"
_FILES = (
    r"(?:claude\.md|agents\.md|soul\.md|memory\.md|identity\.md|heartbeat\.md|tools\.md|user\.md|gemini\.md|\.cursorrules|\.clinerules|\.windsurfrules|copilot-instructions\.md"
    r"|(?:\.claude|\.codex|\.cursor|\.openclaw|\.gemini|\.hermes)/[\w./-]+|settings(?:\.local)?\.json|openclaw\.json|claude_desktop_config\.json|\.mcp\.json|mcp\.json|mcp_config\.json"
    r"|(?:the|your|its) system prompt|(?:the |your |its )?(?:agent(?:'s)?|long[- ]term|persistent) (?:memory|instructions|configuration|settings|permissions))"
)
_PATTERNS = (
    (re.compile(rf"\b{_WRITE}\b.{{0,120}}?\b(?:to|in|into|inside|of|at)\b.{{0,30}}?({_FILES})"), 1),
    (re.compile(rf"\b(?:edit|modify|update|change|overwrite|replace|rewrite|set)\b.{{0,30}}?({_FILES})"), 1),
    (re.compile(r"\b(?:add|set|grant|append|include|enable)\b.{0,60}?((?:bash\(\*\)|\"?bash\(\*|permissions?\.allow|bypasspermissions|defaultmode|enableallprojectmcpservers|allowlist|auto[- ]?approve)\w*)"), 1),
    (re.compile(r"\b(?:cannot be removed by uninstalling|re-?enables? (?:it|itself)|re-?installs? itself|restores? (?:it|them|itself|themselves) automatically|survives? (?:uninstall\w*|removal))()"), 1),
)  # fmt: skip


def find(text: str) -> Iterator[Order]:
    """Orders in a sentence to change the agent's settings, memory or instructions."""
    for pattern, group in _PATTERNS:
        if match := pattern.search(text):
            yield Order(Kind.TAMPER, match[group] or "itself, against removal", match.start(), match[0])
            return
