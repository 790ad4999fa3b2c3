"""`weft config show`, `get` and `path`: settings, their values and where these come from."""

import os
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from clawft.cli.completion import complete_keys
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, say, show_diagnostic, table_lines, terminal_width
from clawft.config import config_files, join_path
from clawft.config.listing import Setting, find_values, get_path, list_settings
from clawft.server.protocol.base import diagnostic_json
from clawft.trust.modes import find_unfollowed
from clawft.workspace import Workspace


def value_text(value: Any) -> str:
    """A text as it is; anything else as JSON has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def with_state(setting: Setting) -> str:
    """A value as a table has it; of a secret also whether it is there."""
    if setting.value is None or (setting.configured is False and not setting.value):
        return "(not set)"
    if setting.configured is None or setting.value == "<redacted>":
        return value_text(setting.value) or '""'
    there = "stored" if str(setting.value).startswith("key:") else "set"
    return f"{setting.value} ({there if setting.configured else f'not {there}'})"


@click.command("show")
@click.argument("section", default="")
@click.option("--all", "defaults", is_flag=True, help="Also those that nothing sets, with their defaults.")
@format_option
def show_command(section: str, defaults: bool) -> CommandResult:
    """Show what is set, or all of SECTION that is set: its value, and the file or variable that sets it."""
    app = open_here()
    path = get_path(section) if section else ()
    settings = list_settings(app.config, app.environ, app.plugin_schemas, defaults=defaults)
    shown = [setting for setting in settings if setting.path[: len(path)] == path]
    diagnostics = (*app.config.diagnostics, *find_unfollowed(app.config, app.workspace.user_dir))

    def show() -> None:
        if shown:
            for line in setting_lines(shown, app.workspace, terminal_width()):
                click.echo(line)
        for diagnostic in diagnostics:
            show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
        if not shown:
            say("Nothing is set" + ("" if defaults else ". Run: weft config show --all"))

    return CommandResult(
        "clawft.config.show.v1",
        {
            "settings": [_to_json(setting) for setting in shown],
            "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics],
        },
        show,
    )


def setting_lines(settings: Sequence[Setting], workspace: Workspace, columns: int | None) -> list[str]:
    """A table of settings for so many columns."""
    rows = [(setting.key, with_state(setting), _place(setting, workspace)) for setting in settings]
    return table_lines(("SETTING", "VALUE", "FROM"), rows, wide=1, columns=columns)


def _to_json(setting: Setting) -> dict[str, object]:
    shown = {"key": setting.key, "value": setting.value, "source": setting.source, "line": setting.line or None}
    return shown if setting.configured is None else {**shown, "configured": setting.configured}


def _place(setting: Setting, workspace: Workspace) -> str:
    place = workspace.shorten(setting.source)
    return f"{place}:{setting.line}" if setting.line else place


@click.command("get")
@click.argument("key", shell_complete=complete_keys)
@format_option
def get_command(key: str) -> CommandResult:
    """Print the value of KEY, such as agents.defaults.model: what is set, else the default. A table prints as JSON.

    A secret prints as the name of its variable only. A name with a dot in it stands in double quotes:
    'providers.x.models."a-4.1".context_window'
    """
    app = open_here()
    path = get_path(key)
    value = find_values(list_settings(app.config, app.environ, app.plugin_schemas, defaults=True), path)
    return CommandResult(
        "clawft.config.get.v1",
        {"key": join_path(path), "value": value},
        "" if value is None else clean(value_text(value)),
    )


@click.command("path")
@format_option
def path_command() -> CommandResult:
    """Print the files that settings are read from; later ones win."""
    workspace = open_here().workspace
    files = [(path, os.path.exists(path)) for path in config_files(workspace)]

    def show() -> None:
        for path, exists in files:
            click.echo(one_line(path if exists else f"{path} (not there)"))

    return CommandResult(
        "clawft.config.path.v1", {"files": [{"path": path, "exists": exists} for path, exists in files]}, show
    )
