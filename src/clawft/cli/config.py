"""`weft config show`, `get` and `path`: settings, their values and where these come from."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from clawft.cli.completion import complete_models, completes, offer, open_app_for
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, clean, one_line, say, show_diagnostics, table_lines, terminal_width
from clawft.config import config_files, join_path
from clawft.config.listing import Setting, find_values, get_path, list_settings
from clawft.config.schema import choices_of, find_kind, plain, walk_sections
from clawft.errors import ClawftError
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


if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@completes
def complete_keys(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    typed = incomplete.split(".")
    for path, kind in walk_sections():
        section = _name_parts(path, typed)
        yield from ((f"{section}.{field}", "") for field in kind.__struct_fields__)
    with suppress(ClawftError):
        yield from ((".".join(path), "") for path in _paths(open_app_for(ctx).config.values))


def complete_values(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """The values that a setting may have, where they can be listed."""
    key = str(ctx.params.get("key") or "")
    if key == "agents.defaults.model":
        return complete_models(ctx, _param, incomplete)
    kind = find_kind(key.split(".")) if key else None
    values = ("true", "false") if plain(kind) is bool else choices_of(kind)
    return offer(((str(value), "") for value in values), incomplete)


def _name_parts(path: str, typed: list[str]) -> str:
    """A section with the names that were typed in place of NAME and MODEL; `<NAME>` is no key and not offered."""
    parts = path.split(".")
    return ".".join(
        (typed[at] if at < len(typed) - 1 and typed[at] else f"<{part}>") if part in ("NAME", "MODEL") else part
        for at, part in enumerate(parts)
    )


def _paths(values: dict[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
        else:
            yield *above, key


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
        show_diagnostics(diagnostics, app.workspace.shorten)
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
