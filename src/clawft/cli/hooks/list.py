"""`weft hooks list`: every hook with its state and the reason for it."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from clawft.app.app import App
from clawft.app.hooks import HookRow, check_folders, find_plugin_hooks, load_rows
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say, show_diagnostic, table_lines, terminal_width
from clawft.cli.skills.list import NARROW, render_reason, render_state_counts
from clawft.server.protocol.envelope import diagnostic_json
from clawft.skills.discovery.hooks import load_claude_hooks, load_hooks, load_skill_commands, load_skill_hooks
from clawft.skills.discovery.locations import hook_locations
from clawft.trust import SkillStatus
from clawft.trust.hooks import HookStatus, make_hook_skill


def find_hook_names(app: App) -> Iterator[tuple[str, str]]:
    """Each with what it is. Raises: ClawftError."""
    extra = app.own_config.hooks.load.extra_dirs
    skills = app.catalog.found
    places, files = find_plugin_hooks(app)
    folders = hook_locations(app.workspace, extra, places)
    for hook in (*load_hooks(folders), *load_skill_hooks(skills)):
        yield hook.name, hook.hook.about.description if hook.hook else ""
    for each in (*load_claude_hooks(app.workspace, files), *load_skill_commands(skills)):
        yield each.name, ", ".join(each.events)


def row_json(row: HookRow) -> dict[str, Any]:
    """The summary of one hook."""
    return {
        "name": row.name,
        "kind": row.kind,
        "state": row.state,
        "events": row.events,
        "origin": row.origin,
        "path": row.file,
        "description": row.description,
        "reasons": [diagnostic_json(reason) for reason in row.reasons],
    }


def load_as_skills(app: App) -> dict[str, SkillStatus]:
    """By name; the first of a name that can run, or else the first. Raises: ClawftError."""
    hooks: dict[str, SkillStatus] = {}
    for row in sorted(load_rows(app), key=lambda one: one.state != "ready"):
        one = row.hook_status
        if isinstance(one, HookStatus) and one.found.hook is not None and one.found.skill is None:
            hooks.setdefault(row.name, SkillStatus(make_hook_skill(one.found), row.state, row.reasons))
    return hooks


_MARKS = {"ready": "✓", "shadowed": "·", "disabled": "·"}


@click.command("list")
@format_option
def command(output: str) -> None:
    """List every hook found, with its state and why."""
    app = open_here()
    rows = sorted(load_rows(app), key=lambda one: one.name)
    diagnostics = (*app.config.diagnostics, *check_folders(app))
    if output == "json":
        listed = [row_json(row) for row in rows]
        return print_json(
            "clawft.hooks.list.v1",
            hooks=listed,
            diagnostics=[diagnostic_json(diagnostic) for diagnostic in diagnostics],
        )
    if rows:
        click.echo("\n".join(row_lines(rows, terminal_width())))
    for diagnostic in diagnostics:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.path))
    say(count_rows(rows))
    return None


def row_lines(rows: Sequence[HookRow], columns: int | None) -> list[str]:
    """A table of hooks, with what is to be said of each, for so many columns."""
    if (columns or NARROW) >= NARROW:
        heads = ("", "NAME", "EVENTS", "STATE", "FROM", "KIND")
        table = [(_mark(row), row.name, ", ".join(row.events), row.state, row.origin, row.kind) for row in rows]
        return table_lines(heads, table, wide=2, after=[_reason(row) for row in rows], columns=columns)
    short = [(_mark(row), row.name, row.state) for row in rows]
    after = [_reason(row) or ", ".join(row.events) for row in rows]
    return table_lines(("", "NAME", "STATE"), short, wide=1, after=after, columns=columns)


def _mark(row: HookRow) -> str:
    return _MARKS.get(row.state, "✗")


def _reason(row: HookRow) -> str:
    """One line on why a hook does not simply run, or what else to know of it."""
    return render_reason(row.state, row.reasons, (), f"weft hooks show {row.name}")


def count_rows(rows: Sequence[HookRow]) -> str:
    """Return a line with the number of hooks in each state."""
    return render_state_counts("hook", (row.state for row in rows)) if rows else "No hooks found. See: weft help hooks"
