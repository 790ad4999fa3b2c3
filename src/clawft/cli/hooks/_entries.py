"""What `enable` and `disable` share: whether a hook is on, written to the user's config, and told."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec import structs

from clawft.app import App
from clawft.cli._switches import write_switches
from clawft.cli.hooks._json import row_json
from clawft.cli.options import open_here
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.config.edit import Edited
from clawft.config.hooks import HookEntry, HooksSettings
from clawft.hooking import HookRow, hook_settings, load_rows
from clawft.trust.hooks import HOOK_STATES, HookStanding, entry_of

__all__ = ["as_enabled", "key_of", "tell", "write_enabled"]


def key_of(row: HookRow, settings: HooksSettings) -> str:
    """Under which name the config has a hook: its own, or the key that it gives itself."""
    if not isinstance(row.standing, HookStanding) or row.name in settings.entries:
        return row.name
    entry, hook = entry_of(row.standing.found, settings), row.standing.found.hook
    return hook.key if hook and settings.entries.get(hook.key) is entry else row.name


def as_enabled(settings: HooksSettings, rows: Sequence[HookRow]) -> HooksSettings:
    """The settings as if nothing turned these hooks off."""
    entries = dict(settings.entries)
    for row in rows:
        key = key_of(row, settings)
        entries[key] = structs.replace(entries.get(key, HookEntry()), enabled=True)
    return structs.replace(settings, enabled=True, claude=True, entries=entries)


def write_enabled(app: App, rows: Sequence[HookRow], *, enabled: bool) -> Edited:
    """Have hooks on or off. Raises: ClawftError."""
    settings = hook_settings(app)
    return write_switches(app, "hooks", (key_of(row, settings) for row in rows), enabled=enabled)


def tell(meant: Sequence[HookRow], edited: Edited | None, output: str, **more: Any) -> None:
    """How hooks stand now, and what was written."""
    app = open_here()
    now = {(row.name, row.file): row for row in load_rows(app)}
    rows = [now.get((row.name, row.file), row) for row in meant]
    if output == "json":
        told = {"path": edited.file if edited else None, "changed": edited is not None and edited.changed}
        return print_json("clawft.hooks.entries.v1", hooks=[row_json(row) for row in rows], **told, **more)
    for row in rows:
        click.echo(one_line(f"{row.name} is {row.state}: {HOOK_STATES.get(row.state, '')}"))
        for reason in row.reasons if row.state != "ready" else ():
            show_diagnostic(reason, where="", indent="  ")
    if edited is not None and edited.changed:
        say(one_line(f"Written to {app.workspace.shorten(edited.file)}"))
    return None
