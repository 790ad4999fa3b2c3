"""What `pin`, `enable` and `disable` share: a setting of single skills, written to a config file."""

import click

from clawft.app import App
from clawft.cli.options import open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.config import join_path
from clawft.config.edit import Change, Scope
from clawft.describe.diagnostics import to_json
from clawft.describe.entries import entry_name, entry_of
from clawft.trust import STATES, Standing

__all__ = ["set_entries"]


def set_entries(names: tuple[str, ...], setting: str, value: bool, scope: Scope, output: str) -> None:
    """Give a setting of skills a value, in one write, and tell how each stands now. Raises: ClawftError."""
    app = open_here()
    entries = dict.fromkeys(entry_name(app, app.get_skill(name)) for name in names)
    changes = [Change(("skills", "entries", entry, setting), value) for entry in entries]
    edited = app.edit_config(scope, changes)
    now = open_here()
    standings = list({one.found.file: one for one in map(now.get_skill, names)}.values())
    if output == "json":
        skills = [_to_json(now, one) for one in standings]
        return print_json("clawft.skills.entries.v1", skills=skills, path=edited.file, changed=edited.changed)
    for one in standings:
        pinned = "pinned and " if entry_of(now, one).pinned else ""
        click.echo(one_line(f"{one.name} is {pinned}{one.state}: {STATES[one.state]}"))
        if one.state != "ready":
            for reason in one.reasons:
                show_diagnostic(reason, where="", indent="  ")
        if getattr(entry_of(now, one), setting) is not value:
            key = join_path(("skills", "entries", entry_name(now, one)))
            say(one_line(f"note: something else sets {key}.{setting} too, and wins. Run: weft config show {key}"))
    say(one_line(f"{'Written to' if edited.changed else 'So it was in'} {now.workspace.shorten(edited.file)}"))
    return None


def _to_json(app: App, standing: Standing) -> dict[str, object]:
    entry = entry_of(app, standing)
    return {
        "name": standing.name,
        "enabled": entry.enabled,
        "pinned": entry.pinned,
        "state": standing.state,
        "reasons": [to_json(reason) for reason in standing.reasons],
    }
