"""The user's lasting rules: patterns that deny, ask or allow, each with where it stands. Deny beats ask beats allow."""

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from clawft.config import Config
from clawft.config.permissions import Kind, list_rules
from clawft.errors import Diagnostic
from clawft.git import find_git_root, list_tracked
from clawft.trust.call import Call, Where
from clawft.trust.path_patterns import Paths
from clawft.trust.patterns import Pattern, allows, parse_pattern, pattern_folders
from clawft.workspace import Workspace

__all__ = ["Rule", "Rules", "check_tracked", "load_rules"]


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


def check_tracked(rules: Iterable[Rule], workspace: Workspace) -> Iterator[Diagnostic]:
    """Name the rules that deny to read what git tracks: its objects hold that too, and no sandbox can hide it there."""
    closed = [(rule, rule.pattern.matcher) for rule in rules if rule.kind == "deny" and rule.pattern.names("read_file")]
    closed = [(rule, paths) for rule, paths in closed if isinstance(paths, Paths)]
    root = find_git_root(workspace.project) if closed else None
    tracked = [os.path.join(root, entry.path) for entry in list_tracked(root)] if root else []
    where = Where(workspace.project, workspace.project, workspace.home)
    for rule, paths in closed:
        meant = [path for path in tracked if isinstance(paths, Paths) and paths.forbids(path, where)]
        if meant:
            first = os.path.relpath(meant[0], workspace.project)
            some = first if len(meant) == 1 else f"{first} and {len(meant) - 1} more"
            count = f"{len(meant)} file{'s' * (len(meant) > 1)}"
            yield Diagnostic(
                "rule-tracked",
                "warning",
                f"{rule.pattern.text} denies to read {count} that git tracks: {some}. Commands can read tracked files "
                "from git's objects",
                rule.source,
                hint="Git commands that may show them ask first. To hide a file, take it out of git's history",
            )


def _of(rules: Iterable[Rule], kind: str) -> tuple[Rule, ...]:
    return tuple(one for one in rules if one.kind == kind)
