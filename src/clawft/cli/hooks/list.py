"""`weft hooks list`: every hook found, whether it runs or not, with its state and the reason for it."""

from collections.abc import Sequence

import click

from clawft.cli._states import NARROW, count_states, tell_reason
from clawft.cli.hooks._json import row_json
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say, show_diagnostic, table_lines, terminal_width
from clawft.describe.diagnostics import to_json
from clawft.hooking import HookRow, check_folders, load_rows

__all__ = ["command", "count_rows", "row_lines"]

_MARKS = {"ready": "✓", "shadowed": "·", "disabled": "·"}


@click.command("list")
@format_option
def command(output: str) -> None:
    """List every hook found, with its state and why."""
    app = open_here()
    rows = sorted(load_rows(app), key=lambda one: one.name)
    said = (*app.config.diagnostics, *check_folders(app))
    if output == "json":
        listed = [row_json(one) for one in rows]
        return print_json("clawft.hooks.list.v1", hooks=listed, diagnostics=[to_json(one) for one in said])
    if rows:
        click.echo("\n".join(row_lines(rows, terminal_width())))
    for diagnostic in said:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.path))
    say(count_rows(rows))
    return None


def row_lines(rows: Sequence[HookRow], columns: int | None) -> list[str]:
    """A table of hooks, with what is to be said of each, for so many columns."""
    if (columns or NARROW) >= NARROW:
        heads = ("", "NAME", "EVENTS", "STATE", "FROM", "KIND")
        table = [(_mark(one), one.name, ", ".join(one.events), one.state, one.origin, one.kind) for one in rows]
        return table_lines(heads, table, wide=2, after=[_reason(one) for one in rows], columns=columns)
    short = [(_mark(one), one.name, one.state) for one in rows]
    after = [_reason(one) or ", ".join(one.events) for one in rows]
    return table_lines(("", "NAME", "STATE"), short, wide=1, after=after, columns=columns)


def _mark(row: HookRow) -> str:
    return _MARKS.get(row.state, "✗")


def _reason(row: HookRow) -> str:
    """One line on why a hook does not simply run, or what else to know of it."""
    return tell_reason(row.state, row.reasons, (), f"weft hooks show {row.name}")


def count_rows(rows: Sequence[HookRow]) -> str:
    """How many hooks there are, and of which state."""
    return count_states("hook", (one.state for one in rows)) if rows else "No hooks found. See: weft help hooks"
