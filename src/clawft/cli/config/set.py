"""`weft config set KEY VALUE`: one setting, in the user's or the project's file."""

import click
from msgspec import UNSET

from clawft.app import App
from clawft.cli._complete import complete_keys, complete_values
from clawft.cli.config._text import value_text
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.config import join_path
from clawft.config.edit import Change, Edited, Scope
from clawft.config.listing import get_path, list_settings, redact
from clawft.config.typed import parse_typed
from clawft.errors import ClawftError

__all__ = ["command"]


@click.command("set")
@click.argument("key", shell_complete=complete_keys)
@click.argument("value", required=False, shell_complete=complete_values)
@target_option
@click.option("--unset", is_flag=True, help="Take the setting out of the file.")
@click.option("--literal", is_flag=True, help="Write a secret itself into the file, in plain text.")
@format_option
def command(key: str, value: str | None, scope: Scope, unset: bool, literal: bool, output: str) -> None:
    """Set KEY to VALUE in a config file; comments and layout stay. Lists and tables are written as JSON or TOML.

    A secret is set by the name of a variable, or of a key that `weft onboard` stored:
    weft config set providers.x.api_key env:NAME (or key:NAME)
    """
    if unset == (value is not None):
        raise click.UsageError("Give a VALUE, or --unset")
    app = open_here()
    path = get_path(key)
    new = UNSET if value is None else parse_typed(path, value, app.environ, app.plugin_schemas, literal=literal)
    edited = app.edit_config(scope, [Change(path, new)])
    before = redact(path, edited.before[0], app.environ, app.plugin_schemas, free=False)
    after = redact(path, new, app.environ, app.plugin_schemas)
    if output == "json":
        return print_json(
            "clawft.config.set.v1",
            key=join_path(path),
            value=after,
            before=before,
            path=edited.file,
            changed=edited.changed,
        )
    click.echo(one_line(_tell(join_path(path), before, after, app.workspace.shorten(edited.file), edited)))
    _tell_of_others(app, path, edited.file)
    return None


def _tell(key: str, before: object, after: object, file: str, edited: Edited) -> str:
    was = "" if edited.before[0] is UNSET else f" (was {value_text(before)})"
    if after is None:
        return f"Took {key}{was} out of {file}" if edited.changed else f"{file} does not set {key}"
    done = "Set" if edited.changed else "Nothing to change:"
    return f"{done} {key} = {value_text(after)}{was if edited.changed else ''} in {file}"


def _tell_of_others(app: App, path: tuple[str, ...], file: str) -> None:
    """Say so if something else has the last word on what was changed, or keeps the config from being read."""
    try:
        settings = list_settings(app.config, app.environ, app.plugin_schemas)
    except ClawftError as error:
        return show_diagnostic(error.diagnostic, where=app.workspace.shorten(error.diagnostic.where))
    for one in settings:
        if one.path[: len(path)] == path and one.source != file:
            say(one_line(f"note: {app.workspace.shorten(one.source)} sets {one.key} too, and wins"))
    return None
