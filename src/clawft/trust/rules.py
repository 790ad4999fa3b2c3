"""The user's lasting rules: patterns that deny, ask or allow, each with where it stands. Deny beats ask beats allow."""

from collections.abc import Iterable

from msgspec import Struct

from clawft.config import Config
from clawft.config.permissions import Kind, list_rules
from clawft.errors import Diagnostic
from clawft.trust.call import Call
from clawft.trust.patterns import Pattern, allows, parse_pattern, pattern_folders

__all__ = ["Rule", "Rules", "load_rules"]


class Rule(Struct, frozen=True):
    kind: Kind
    pattern: Pattern
    source: str = ""

    @property
    def name(self) -> str:
        """The rule as a refusal and the audit log name it."""
        return f"rule {self.kind} {self.pattern.text} in [permissions]"


class Rules(Struct, frozen=True):
    """All rules of a session."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    @property
    def all(self) -> tuple[Rule, ...]:
        """Every rule, the strongest first."""
        return (*self.deny, *self.ask, *self.allow)

    def find(self, call: Call) -> Rule | None:
        """The rule that decides about a call; None if none does."""
        for rule in (*self.deny, *self.ask):
            if rule.pattern.touches(call):
                return rule
        if allows((one.pattern for one in self.allow), call):
            return next(one for one in self.allow if one.pattern.touches(call))
        return None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Rules that are not understood, and what becomes of them."""
        said = {
            "allow": "it allows nothing",
            "ask": "the whole tool is asked for",
            "deny": "the whole tool is denied",
        }
        return tuple(
            Diagnostic(
                "tool-pattern",
                "warning",
                f"permissions.{rule.kind}: '{rule.pattern.text}' is not understood: {rule.pattern.problem};"
                f" {said[rule.kind]}",
                rule.source,
            )
            for rule in self.all
            if rule.pattern.problem
        )


def load_rules(config: Config, project: str) -> Rules:
    """The rules of a config, ready to judge."""
    folders = pattern_folders(project)
    rules = [Rule(one.kind, parse_pattern(one.text, folders), one.source) for one in list_rules(config)]
    return Rules(*(_of(rules, kind) for kind in ("deny", "ask", "allow")))


def _of(rules: Iterable[Rule], kind: str) -> tuple[Rule, ...]:
    return tuple(one for one in rules if one.kind == kind)
