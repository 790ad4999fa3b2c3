"""Rules in one config file: what stands there, and changing it."""

import os
from collections.abc import Iterable, Mapping

import click
from msgspec import UNSET

from clawft.app import App
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json, say
from clawft.config import config_files, parse_config, read_config
from clawft.config.edit import Change, Edited, Scope
from clawft.config.permissions import KINDS, Kind
from clawft.errors import ClawftError
from clawft.trust.patterns import Pattern, parse_pattern
from clawft.trust.readonly import is_launcher
from clawft.trust.tools import means_any_tool

__all__ = ["add_command", "load_lists", "save_lists", "warn_about"]

Lists = dict[Kind, tuple[str, ...]]


def load_lists(app: App, scope: Scope) -> Lists:
    """The rules of the user's or the project's own file. Raises: ClawftError."""
    user_dir = app.workspace.user_dir
    for path in config_files(app.workspace):
        data = read_config(path) if (os.path.dirname(path) == user_dir) == (scope == "user") else None
        if data is not None:
            section = parse_config(path, data, app.environ).values.get("permissions", {})
            return {kind: tuple(section.get(kind, ())) for kind in KINDS}
    return dict.fromkeys(KINDS, ())


def save_lists(app: App, scope: Scope, before: Lists, after: Lists) -> Edited:
    """Write what changed; each change is a line of the audit log first. Raises: ClawftError."""
    for kind in KINDS:
        for text in (*before[kind], *after[kind]):
            if (text in before[kind]) != (text in after[kind]):
                done = "revoked" if text in before[kind] else "allow"
                app.audit.write("approval", f"rule {kind} {text}", decision=done, rule=f"[permissions] of the {scope}")
    changed = [kind for kind in KINDS if before[kind] != after[kind]]
    return app.edit_config(scope, [Change(("permissions", kind), list(after[kind]) or UNSET) for kind in changed])


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
        before = load_lists(app, scope)
        added = tuple(dict.fromkeys((*before[kind], *(one.text for one in parsed))))
        others = {one.text for one in parsed}
        after = {name: tuple(one for one in before[name] if one not in others) for name in KINDS} | {kind: added}
        edited = save_lists(app, scope, before, after)
        if output == "json":
            print_json(
                "clawft.permissions.change.v1",
                kind=kind,
                patterns=[one.text for one in parsed],
                path=edited.file,
                changed=edited.changed,
            )
            return
        where = app.workspace.shorten(edited.file)
        for one in parsed:
            there = "" if one.text not in before[kind] else " (it was there)"
            click.echo(one_line(f"{kind} {one.text} in {where}{there}"))
            for warning in warn_about(one, kind, app.config.mcp.servers):
                say(f"{click.style('warning[tool-pattern]', fg='yellow')}: {one_line(warning)}")

    return command


def _get_pattern(text: str) -> Pattern:
    """Raises: ClawftError for one that is not understood."""
    pattern = parse_pattern(text, {"CLAUDE_PROJECT_DIR": "/project"})
    if pattern.problem:
        message = f"'{text[:80]}' is not understood: {pattern.problem}"
        raise ClawftError("tool-pattern", message, hint="Run: weft help permissions")
    return pattern
