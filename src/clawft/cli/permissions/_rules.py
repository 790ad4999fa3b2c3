"""Rules in one config file: what stands there, and changing it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click
from msgspec import UNSET

from clawft.app import App
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.config.edit import Change, Edited, Scope
from clawft.config.permissions import KINDS, Kind
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError
from clawft.trust.audit.log import Entry
from clawft.trust.patterns import Pattern, parse_pattern
from clawft.trust.readonly import is_launcher
from clawft.trust.rules import Rule, check_tracked
from clawft.trust.tools import means_any_tool

__all__ = ["Lists", "add_command", "change_lists", "warn_about"]

Lists = dict[Kind, tuple[str, ...]]


def change_lists(app: App, scope: Scope, change: Callable[[Lists], Lists]) -> tuple[Edited, Lists]:
    """Put what `change` makes of the rules of the user's or the project's own file in their place: the edit, and the
    rules before it. Each change is a line of the audit log first; no other writer comes in between.

    Raises: ClawftError.
    """
    before: Lists = {}
    lines: list[Entry] = []

    def plan(values: dict[str, Any]) -> list[Change]:
        section = values.get("permissions", {})
        before.update({kind: tuple(section.get(kind, ())) for kind in KINDS})
        after = change(before)
        changed = [kind for kind in KINDS if before[kind] != after[kind]]
        lines[:] = _list_changes(scope, before, after)
        return [Change(("permissions", kind), list(after[kind]) or UNSET) for kind in changed]

    with app.audit.last_step(lines) as commit:
        return app.edit_config(scope, plan, commit=commit), before


def _list_changes(scope: Scope, before: Lists, after: Lists) -> Iterator[Entry]:
    for kind in KINDS:
        for text in (*before[kind], *after[kind]):
            if (text in before[kind]) != (text in after[kind]):
                done = "revoked" if text in before[kind] else "allow"
                yield Entry("approval", f"rule {kind} {text}", done, {"rule": f"[permissions] of the {scope}"})


def warn_about(pattern: Pattern, kind: Kind, servers: Mapping[str, object]) -> Iterable[str]:
    """What a person should know of a rule that they add."""
    if not means_any_tool(pattern.name, tuple(servers)):
        yield f"'{pattern.name}' is no tool that is known here"
    words = pattern.text.partition("(")[2].split()
    name = words[0].rstrip(")*").rstrip(":") if words else ""
    if kind == "allow" and name and is_launcher(name) and len(words) == 1:
        yield f"'{name}' runs other commands or code: this allows whatever it is given"


def add_command(kind: Kind, text: str) -> click.Command:
    """The command that adds rules of a kind."""

    @click.command(kind, help=text)
    @click.argument("patterns", nargs=-1, required=True, metavar="PATTERN…")
    @target_option
    @format_option
    def command(patterns: tuple[str, ...], scope: Scope, output: str) -> None:
        app = open_here()
        parsed = [_get_pattern(text) for text in patterns]
        texts = tuple(one.text for one in parsed)

        def add(rules: Lists) -> Lists:
            others = {name: tuple(rule for rule in rules[name] if rule not in texts) for name in KINDS}
            return others | {kind: tuple(dict.fromkeys((*rules[kind], *texts)))}

        edited, before = change_lists(app, scope, add)
        tracked = list(check_tracked([Rule(kind, one) for one in parsed], app.workspace))
        if output == "json":
            print_json(
                "clawft.permissions.change.v1",
                kind=kind,
                patterns=list(texts),
                path=edited.file,
                changed=edited.changed,
                diagnostics=[to_json(one) for one in tracked],
            )
            return
        where = app.workspace.shorten(edited.file)
        for one in parsed:
            there = "" if one.text not in before[kind] else " (it was there)"
            click.echo(one_line(f"{kind} {one.text} in {where}{there}"))
            for warning in warn_about(one, kind, app.config.mcp.servers):
                say(f"{click.style('warning[tool-pattern]', fg='yellow')}: {one_line(warning)}")
        for diagnostic in tracked:
            show_diagnostic(diagnostic, where="")

    return command


def _get_pattern(text: str) -> Pattern:
    """Raises: ClawftError for one that is not understood."""
    pattern = parse_pattern(text, {"CLAUDE_PROJECT_DIR": "/project"})
    if pattern.problem:
        message = f"'{text[:80]}' is not understood: {pattern.problem}"
        raise ClawftError("tool-pattern", message, hint="Run: weft help permissions")
    return pattern
