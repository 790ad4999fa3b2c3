"""`weft hooks list`: every hook with its state and the reason for it."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from clawft.app.app import App
from clawft.app.hooks import AnyHookStatus, check_folders, find_plugin_hooks, load_all_hooks
from clawft.cli.completion import completes, open_app_for
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, say, show_diagnostics, table_lines, terminal_width
from clawft.cli.skills.list import NARROW, render_reason, render_state_counts
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.discovery.hooks import load_claude_hooks, load_hooks, load_skill_commands, load_skill_hooks
from clawft.skills.discovery.locations import hook_locations
from clawft.trust.hooks import HookStatus


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


def kind_of(row: AnyHookStatus) -> str:
    return "deno" if isinstance(row, HookStatus) else "command"


def row_json(row: AnyHookStatus) -> dict[str, Any]:
    """The summary of one hook."""
    return {
        "name": row.name,
        "kind": kind_of(row),
        "state": row.state,
        "events": row.found.events,
        "origin": row.found.origin,
        "path": row.file,
        "description": row.found.about.description if isinstance(row, HookStatus) and row.found.about else "",
        "reasons": [diagnostic_json(reason) for reason in row.reasons],
    }


def load_own_hooks(app: App) -> dict[str, HookStatus]:
    """Those that are scanned by themselves, by name; the first of a name that can run, or else the first.

    Raises: ClawftError.
    """
    hooks: dict[str, HookStatus] = {}
    for row in sorted(load_all_hooks(app), key=lambda one: one.state != "ready"):
        if isinstance(row, HookStatus) and row.found.hook is not None and row.found.skill is None:
            hooks.setdefault(row.name, row)
    return hooks


_MARKS = {"ready": "✓", "shadowed": "·", "disabled": "·"}


@completes
def complete_hooks(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Complete the names of hooks. Hooks in folders are read only for their names: completion does not check trust."""
    yield from find_hook_names(open_app_for(ctx))


@click.command("list")
@format_option
def command() -> CommandResult:
    """List every hook found, with its state and why."""
    app = open_here()
    rows = sorted(load_all_hooks(app), key=lambda one: one.name)
    diagnostics = (*app.config.diagnostics, *check_folders(app))
    listed = [row_json(row) for row in rows]

    def show() -> None:
        if rows:
            click.echo("\n".join(row_lines(rows, terminal_width())))
        show_diagnostics(diagnostics, app.workspace.shorten)
        say(count_rows(rows))

    return CommandResult(
        "clawft.hooks.list.v1",
        {"hooks": listed, "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics]},
        show,
    )


def row_lines(rows: Sequence[AnyHookStatus], columns: int | None) -> list[str]:
    """A table of hooks, with what is to be said of each, for so many columns."""
    if (columns or NARROW) >= NARROW:
        heads = ("", "NAME", "EVENTS", "STATE", "FROM", "KIND")
        table = [
            (_mark(row), row.name, ", ".join(row.found.events), row.state, row.found.origin, kind_of(row))
            for row in rows
        ]
        return table_lines(heads, table, wide=2, after=[_reason(row) for row in rows], columns=columns)
    short = [(_mark(row), row.name, row.state) for row in rows]
    after = [_reason(row) or ", ".join(row.found.events) for row in rows]
    return table_lines(("", "NAME", "STATE"), short, wide=1, after=after, columns=columns)


def _mark(row: AnyHookStatus) -> str:
    return _MARKS.get(row.state, "✗")


def _reason(row: AnyHookStatus) -> str:
    """One line on why a hook does not simply run, or what else to know of it."""
    return render_reason(row.state, row.reasons, (), f"weft hooks show {row.name}")


def count_rows(rows: Sequence[AnyHookStatus]) -> str:
    """Return a line with the number of hooks in each state."""
    return render_state_counts("hook", (row.state for row in rows)) if rows else "No hooks found. See: weft help hooks"
