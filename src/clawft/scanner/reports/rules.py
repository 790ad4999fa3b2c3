"""The rules as pages: what each finds and why, for `weft scan explain`, for docs/rules.md and for SARIF."""

from collections.abc import Sequence

from clawft.errors import NotFound, find_close
from clawft.scanner.findings import SEVERITIES
from clawft.scanner.rule import ScanRule

_OWASP = {
    "AST01": "Malicious Skills", "AST02": "Supply Chain Compromise", "AST03": "Over-Privileged Skills",
    "AST04": "Insecure Metadata", "AST05": "Untrusted External Instructions", "AST06": "Weak Isolation",
    "AST07": "Update Drift", "AST08": "Poor Scanning", "AST09": "No Governance", "AST10": "Cross-Platform Reuse",
}  # fmt: skip
_EFFECTS = {
    "critical": "a skill with such a finding is malicious, and blocked",
    "high": "a skill with such a finding is suspicious",
    "medium": "worth a look; the verdict stays clean",
    "low": "worth knowing; the verdict stays clean",
    "info": "said for completeness; the verdict stays clean",
}


def find_rule(name: str, rules: Sequence[ScanRule]) -> ScanRule:
    """The rule of an id, or of an id that other scanners know it by. Raises: NotFound with the close match."""
    wanted = name.strip().lower()
    for rule in rules:
        if wanted == rule.id or wanted in (alias.lower() for alias in rule.aliases):
            return rule
    close = find_close(wanted, [alias for rule in rules for alias in (rule.id, *rule.aliases)])
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft scan rules"
    raise NotFound("rule-not-found", f"No rule '{name}'", hint=hint)


def render_rules(rules: Sequence[ScanRule]) -> str:
    """Every rule on one Markdown page, the gravest first."""
    ordered = sorted(rules, key=lambda rule: (SEVERITIES.index(rule.severity), rule.id))
    return "\n".join(render_rule(rule, level=2) for rule in ordered)


def render_rule(rule: ScanRule, *, level: int = 1) -> str:
    """The page of one rule, in Markdown without tables."""
    parts = [
        f"{'#' * level} {rule.id}",
        f"{rule.title}.",
        rule.what,
        f"**Why it matters.** {rule.why}",
        f"**Found:**\n\n{_code(rule.example)}",
        f"**Not found:**\n\n{_code(rule.counter_example)}",
        f"**What to do.** {rule.fix}",
        "\n".join(f"- {label}: {value}" for label, value in _facts(rule) if value),
    ]
    return "\n\n".join(parts) + "\n"


def tags_of(rule: ScanRule) -> list[str]:
    """Return the tags of a rule, those of other catalogues included."""
    return list(dict.fromkeys(filter(None, ("security", rule.category, rule.owasp, rule.atlas))))


def _facts(rule: ScanRule) -> list[tuple[str, str]]:
    owasp = f"{rule.owasp} {_OWASP.get(rule.owasp, '')}".strip()
    return [
        ("Severity", f"{rule.severity} ({_EFFECTS[rule.severity]})"),
        ("Category", rule.category),
        ("OWASP Agentic Skills Top 10", owasp),
        ("MITRE ATLAS", rule.atlas),
        ("Also known as", ", ".join(f"`{alias}`" for alias in rule.aliases)),
    ]


def _code(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.strip("\n").split("\n"))
